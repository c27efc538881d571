/* SPDX-License-Identifier: Apache-2.0 */
/* frames.h - decodes and encodes the frames of a compressed file with several threads. */
#ifndef FORMATS_FRAMES_H
#define FORMATS_FRAMES_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

/* ---- frame_reader.c ----
 *
 * Decodes the content of a compressed file ahead of the reading thread; for source.c. */

struct codec;
struct frame_reader;

struct frame_reader_spec {
    const char *name; /* of the file, for messages; borrowed, like the next three fields */
    int file;
    int waker; /* an eventfd: once another thread has written to it, waiting for the file fails; 0:
                  none, for a file that does not make a reader wait */
    const struct codec *codec; /* a codec that decodes */
    bool is_guess;       /* plain data may begin with the magic of the codec by chance: messages add
                            CODEC_ADVICE, and skippable frames without others are an error */
    unsigned window_log; /* for decoder_open */
    unsigned threads;    /* maximum number of decoding threads; 1: the caller's thread only */
    unsigned readers;    /* readers that are in use at once, and share the memory */
    uint64_t origin;     /* of the first byte in the file, for messages */
};

/* Opens a reader. Takes over head[0..head_bytes), from malloc(3) with room for `capacity` bytes:
 * the first bytes of the file, already read. Returns NULL on failure, and frees the head. */
struct frame_reader *frame_reader_open(const struct frame_reader_spec *spec, unsigned char *head,
                                       size_t head_bytes, size_t capacity, struct error *error);

/* Starts to decode ahead, if threads are allowed and memory for two of them is available. Before
 * this call, a reader has no more memory than a decoder needs, so that many can be open. */
bool frame_reader_start(struct frame_reader *reader, struct error *error);

/* Reads the next 1..bytes bytes of content; sets *got to 0 at the end. */
bool frame_reader_read(struct frame_reader *reader, void *data, size_t bytes, size_t *got,
                       struct error *error);

/* Returns the memory that the frames of one of `readers` readers take if up to `threads` threads
 * decode ahead in each. */
size_t frame_reader_bytes(unsigned threads, unsigned readers);

/* Ends the threads, even if they wait for input, and frees the reader, which may be NULL. */
void frame_reader_close(struct frame_reader *reader);

/* ---- frame_writer.c ----
 *
 * Compresses content as frames that can be decompressed by several threads too; for sink.c.
 *
 * A frame has FRAME_CONTENT_BYTES of content; the last one has the rest. So the output depends only
 * on the content, not on the number of threads or the sizes of writes. */

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

/* Returns the memory that a writer takes. It has fewer threads than the maximum if a quarter of the
 * free memory does not hold what they take. */
size_t frame_writer_bytes(const struct codec *codec, int level, unsigned threads);

/* Fails if memory cannot hold what a whole frame takes to compress: the system might end the
 * process. name: of the output, for the message. */
bool frame_writer_check(const struct codec *codec, int level, const char *name,
                        struct error *error);

/* Opens a writer. Returns NULL if memory runs out. */
struct frame_writer *frame_writer_open(const struct frame_writer_spec *spec);

/* Compresses `bytes` bytes of `data`. The caller may reuse `data` on return. */
bool frame_writer_write(struct frame_writer *writer, const void *data, size_t bytes,
                        struct error *error);

/* Compresses the buffered bytes, and waits until everything is written. Writes at least one
 * frame. */
bool frame_writer_finish(struct frame_writer *writer, struct error *error);

/* Drops frames that have not begun, ends the workers and frees the writer, which may be NULL. */
void frame_writer_close(struct frame_writer *writer);

#endif
