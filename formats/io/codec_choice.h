/* SPDX-License-Identifier: Apache-2.0 */
/* codec_choice.h - which codec an input has, when it is opened.
 *
 *   a given codec is used; else the magic and the name decide
 *   a magic without the name: skippable frames -> the frame after them -> is it sound?
 *
 * Text and numbers may begin with the magic of a codec by chance, and skippable frames have no
 * content. If such data were decompressed, it would be lost without an error.
 */
#ifndef FORMATS_CODEC_CHOICE_H
#define FORMATS_CODEC_CHOICE_H

#include "formats/io/input_file.h"
#include "formats/io/source.h"

struct codec_choice {
    const struct codec *codec;
    bool is_unproven; /* only skippable frames of it were found so far */
    size_t bytes;     /* of the file, read to `data` */
};

/* Returns the most bytes that codec_choose() reads to `data`. */
size_t codec_choice_room(const struct input_file *input);

/* Reads the first bytes of the file to data[0..room), and chooses the codec by the rules of
 * source_open_as(). Reads no more than is needed for the choice. There is room for
 * codec_choice_room() bytes, or for more than a regular file has. */
bool codec_choose(struct input_file *input, const struct source_spec *spec, unsigned char *data,
                  size_t room, struct codec_choice *choice, struct error *error);

#endif
