/* SPDX-License-Identifier: Apache-2.0 */
/* frame_reader.h - the content of a compressed file, decoded ahead of the reading thread by
 * several threads; for source.c.
 */
#ifndef FORMATS_FRAME_READER_H
#define FORMATS_FRAME_READER_H

#include "core/error.h"

#include <stddef.h>

struct codec;
struct frame_reader;

struct frame_reader_spec {
    const char *name; /* of the file, for messages; borrowed, as the next two are */
    int file;
    const struct codec *codec; /* one that decodes */
    unsigned window_log;       /* for decoder_open */
    unsigned threads;          /* maximum number of decoding threads; 1: the caller's alone */
};

/* Takes over head[0..head_bytes), malloc'd with room for `capacity`: the first bytes of the file,
 * which have been read. NULL on failure; then the head is freed. */
struct frame_reader *frame_reader_open(const struct frame_reader_spec *spec, unsigned char *head,
                                       size_t head_bytes, size_t capacity, struct error *error);

/* Decodes ahead from now on, if there may be threads for that. Until then a reader has no more
 * memory than a decoder needs, so that many can be open. */
bool frame_reader_start(struct frame_reader *reader, struct error *error);

/* The next 1..bytes bytes of content; *got 0 at the end. */
bool frame_reader_read(struct frame_reader *reader, void *data, size_t bytes, size_t *got,
                       struct error *error);

/* Ends the threads, even if they wait for input. reader may be NULL. */
void frame_reader_close(struct frame_reader *reader);

#endif
