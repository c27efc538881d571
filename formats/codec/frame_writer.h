/* SPDX-License-Identifier: Apache-2.0 */
/* frame_writer.h - compresses content with several threads, as frames that can be decompressed by
 * several threads too; for sink.c.
 *
 * A frame has FRAME_CONTENT_BYTES of content; the last one has the rest. So the output depends only
 * on the content, not on the number of threads or the sizes of writes.
 */
#ifndef FORMATS_FRAME_WRITER_H
#define FORMATS_FRAME_WRITER_H

#include "core/error.h"

#include <stddef.h>

struct codec;
struct frame_writer;

/* Content of a frame. 1 GiB has 64 frames, enough for as many threads, and the last threads finish
 * soon after each other. It is twice the window of level 19, so that a new frame loses little
 * compression. */
#define FRAME_CONTENT_BYTES ((size_t)16 << 20)

struct frame_writer_spec {
    const char *name; /* for messages; borrowed, as the context and the codec are */

    /* Writes a frame after the one before it. Called by any thread, but never by two at once. */
    bool (*write)(void *context, const void *frame, size_t bytes, struct error *error);
    void *context;
    const struct codec *codec; /* one that encodes */
    int level;
    unsigned threads; /* maximum number of compressing threads, at least 1 */
};

/* Opens a writer. Returns NULL if memory runs out. */
struct frame_writer *frame_writer_open(const struct frame_writer_spec *spec);

/* Compresses `bytes` bytes of `data`. The caller may reuse `data` on return. */
bool frame_writer_write(struct frame_writer *writer, const void *data, size_t bytes,
                        struct error *error);

/* Compresses the buffered bytes, and waits until everything is written. Writes at least one
 * frame. */
bool frame_writer_finish(struct frame_writer *writer, struct error *error);

/* Drops jobs that have not begun, ends the workers and frees the writer, which may be NULL. */
void frame_writer_close(struct frame_writer *writer);

#endif
