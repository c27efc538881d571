/* SPDX-License-Identifier: Apache-2.0 */
/* frame_reader.h - decodes the content of a compressed file ahead of the reading thread, with
 * several threads; for source.c.
 */
#ifndef FORMATS_FRAME_READER_H
#define FORMATS_FRAME_READER_H

#include "core/error.h"

#include <stddef.h>

struct codec;
struct frame_reader;

struct frame_reader_spec {
    const char *name; /* of the file, for messages; borrowed, like the next two fields */
    int file;
    const struct codec *codec; /* a codec that decodes */
    unsigned window_log;       /* for decoder_open */
    unsigned threads;          /* maximum number of decoding threads; 1: the caller's thread only */
};

/* Opens a reader. Takes over head[0..head_bytes), from malloc(3) with room for `capacity` bytes:
 * the first bytes of the file, already read. Returns NULL on failure, and frees the head. */
struct frame_reader *frame_reader_open(const struct frame_reader_spec *spec, unsigned char *head,
                                       size_t head_bytes, size_t capacity, struct error *error);

/* Starts to decode ahead, if threads are allowed. Before this call, a reader has no more memory
 * than a decoder needs, so that many can be open. */
bool frame_reader_start(struct frame_reader *reader, struct error *error);

/* Reads the next 1..bytes bytes of content; sets *got to 0 at the end. */
bool frame_reader_read(struct frame_reader *reader, void *data, size_t bytes, size_t *got,
                       struct error *error);

/* Ends the threads, even if they wait for input, and frees the reader, which may be NULL. */
void frame_reader_close(struct frame_reader *reader);

#endif
