/* SPDX-License-Identifier: Apache-2.0 */
/* frame_stream.h - the compressed bytes of a file, to be decoded as they come, or to be cut into
 * whole frames that others decode; for frame_reader.c.
 *
 *   file -> data[begin..end) -> frame_stream_decode -> the caller's memory
 *                            -> frame_stream_cut    -> struct frame_batch
 *
 * Errors name the file and the compressed byte.
 */
#ifndef FORMATS_FRAME_STREAM_H
#define FORMATS_FRAME_STREAM_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct codec;

/* The most content of the frames of a batch. What is larger is decoded as it comes. */
#define BATCH_CONTENT_MAX ((size_t)32 << 20)

struct frame_stream {
    const char *name; /* of the file, for messages; borrowed, as the next two are */
    int file;
    const struct codec *codec;
    unsigned window_log; /* for decoder_open */
    int waker;           /* readable when reading is to end; -1: reading need not be ended */
    bool keeps_head;     /* the first bytes are kept, so that frame_stream_rewind can go back */
    void *decoder;
    unsigned char *data; /* compressed bytes read ahead: data[begin..end) */
    size_t capacity, begin, end;
    uint64_t offset; /* of data[begin] in the file, or from where it began to be read */
    bool frame_open; /* the decoder is inside a frame */
    bool has_frames; /* one has been decoded, or cut off */
    bool file_ended;
};

/* Whole frames, cut out of a stream: at least one, and together of BATCH_CONTENT_MAX bytes of
 * content at most. Starts as {0}; the stream takes its memory, and gives other memory for it. */
struct frame_batch {
    unsigned char *data;
    size_t capacity, begin, bytes;
    uint64_t offset; /* as that of a stream */
    size_t content_max;
};

/* Takes over head[0..head_bytes), which is malloc'd, has room for `capacity`, and holds the first
 * bytes read from the file. The caller closes the stream, also when this fails. */
bool frame_stream_open(struct frame_stream *stream, unsigned char *head, size_t head_bytes,
                       size_t capacity, struct error *error);

/* Decodes 1..bytes bytes; *got 0 at the end of the file. */
bool frame_stream_decode(struct frame_stream *stream, void *data, size_t bytes, size_t *got,
                         struct error *error);

/* Goes back to the first byte, for the last time. False where it cannot, and stays. */
bool frame_stream_rewind(struct frame_stream *stream);

/* Between two frames: cuts off those that come next. *is_cut false where there is none that can be
 * kept whole: the next one is large, cut off or broken, or the file is at its end. */
bool frame_stream_cut(struct frame_stream *stream, struct frame_batch *batch, bool *is_cut,
                      struct error *error);

void frame_stream_close(struct frame_stream *stream);

/* Decodes a batch to content, of batch->content_max bytes; *bytes says how many there are. */
bool frame_batch_decode(const struct frame_stream *stream, const struct frame_batch *batch,
                        void *decoder, unsigned char *content, size_t *bytes, struct error *error);

#endif
