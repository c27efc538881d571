/* SPDX-License-Identifier: Apache-2.0 */
/* frame_writer.h - content compressed by several threads, as frames that can be decompressed by
 * several too; for sink.c.
 *
 * A frame holds FRAME_CONTENT_BYTES of content, the last one what is left. So what is written goes
 * by the content alone, not by the number of threads nor by how it came in pieces.
 */
#ifndef FORMATS_FRAME_WRITER_H
#define FORMATS_FRAME_WRITER_H

#include "core/error.h"

#include <stddef.h>

struct codec;
struct output_file;
struct frame_writer;

/* 1 GiB has 64 of them, enough for as many threads; and the last threads end soon after one
 * another. Twice the window of level 19, so that little is lost by beginning anew. */
#define FRAME_CONTENT_BYTES ((size_t)16 << 20)

struct frame_writer_spec {
    const char *name; /* for messages; borrowed, as the next two are */
    struct output_file *output;
    const struct codec *codec; /* one that encodes */
    int level;
    unsigned threads; /* at most so many compress, at least 1 */
};

/* NULL when memory runs out. */
struct frame_writer *frame_writer_open(const struct frame_writer_spec *spec);

/* Takes all of data; done with it on return. */
bool frame_writer_write(struct frame_writer *writer, const void *data, size_t bytes,
                        struct error *error);

/* Compresses what is held back, if anything, and waits until all is written. At least one frame is
 * made. */
bool frame_writer_finish(struct frame_writer *writer, struct error *error);

/* Drops what has not been begun. writer may be NULL. */
void frame_writer_close(struct frame_writer *writer);

#endif
