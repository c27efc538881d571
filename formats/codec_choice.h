/* SPDX-License-Identifier: Apache-2.0 */
/* codec_choice.h - how the bytes of a file are compressed, found out when it is opened; for
 * source.c.
 */
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
    bool is_unproven; /* only skippable frames have been seen of it */
};

/* Reads the first bytes of the file, of which head[0..SOURCE_PEEK_MAX) takes *head_bytes, and
 * chooses the codec as source_open_as does. Reads no more than it needs to choose. */
bool codec_choose(struct input_file *input, const struct source_spec *spec, unsigned char *head,
                  size_t *head_bytes, struct codec_choice *choice, struct error *error);

#endif
