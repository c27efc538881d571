/* SPDX-License-Identifier: Apache-2.0 */
/* codec_choice.h - finds how a file is compressed when it is opened; for source.c. */
#ifndef FORMATS_CODEC_CHOICE_H
#define FORMATS_CODEC_CHOICE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct codec;
struct input_file;
struct source_spec;

struct codec_choice {
    const struct codec *codec;
    bool is_unproven; /* only skippable frames of it were found so far */
};

/* Reads the first bytes of the file to head[0..SOURCE_PEEK_MAX), sets *head_bytes, and chooses the
 * codec by the rules of source_open_as(). Reads no more than is needed for the choice. */
bool codec_choose(struct input_file *input, const struct source_spec *spec, unsigned char *head,
                  size_t *head_bytes, struct codec_choice *choice, struct error *error);

#endif
