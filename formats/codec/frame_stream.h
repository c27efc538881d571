/* SPDX-License-Identifier: Apache-2.0 */
/* frame_stream.h - the compressed bytes of a file, to decode as they come, or to cut into whole
 * frames that other threads decode; for frame_reader.c.
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

/* Maximum bytes of content in the frames of a batch. A larger frame is decoded as it comes. */
#define BATCH_CONTENT_MAX ((size_t)32 << 20)

struct frame_stream {
    const char *name; /* of the file, for messages; borrowed, like the next two fields */
    int file;
    const struct codec *codec;
    unsigned window_log; /* for decoder_open */
    int waker;           /* readable when reading must end; -1: none */
    bool keeps_head;     /* keeps the first bytes for frame_stream_rewind */
    void *decoder;
    unsigned char *data; /* compressed bytes read ahead: data[begin..end) */
    size_t capacity, begin, end;
    uint64_t offset; /* of data[begin] in the file, from where reading began */
    bool frame_open; /* the decoder is inside a frame */
    bool has_frames; /* a frame was decoded, or cut */
    bool file_ended;
};

/* Whole frames, cut from a stream: at least one, with at most BATCH_CONTENT_MAX bytes of content in
 * total. Initialise it as {0}. The stream takes its memory and gives other memory for it. */
struct frame_batch {
    unsigned char *data;
    size_t capacity, begin, bytes;
    uint64_t offset; /* of the frames, as in a stream */
    size_t content_max;
};

/* Opens a stream. Takes over head[0..head_bytes), from malloc(3) with room for `capacity` bytes:
 * the first bytes of the file, already read. The caller closes the stream, also after a failure. */
bool frame_stream_open(struct frame_stream *stream, unsigned char *head, size_t head_bytes,
                       size_t capacity, struct error *error);

/* Decodes 1..bytes bytes; sets *got to 0 at the end of the file. */
bool frame_stream_decode(struct frame_stream *stream, void *data, size_t bytes, size_t *got,
                         struct error *error);

/* Returns to the first byte, and stops keeping it. Returns false, without a change of position, if
 * the first bytes are not kept any more. */
bool frame_stream_rewind(struct frame_stream *stream);

/* Between two frames: cuts the next frames. Sets *is_cut to false if the next frame cannot be kept
 * whole, because it is large, truncated or invalid, or if the file has ended. */
bool frame_stream_cut(struct frame_stream *stream, struct frame_batch *batch, bool *is_cut,
                      struct error *error);

void frame_stream_close(struct frame_stream *stream);

/* Decodes a batch to `content`, which has room for batch->content_max bytes, and sets *bytes. */
bool frame_batch_decode(const struct frame_stream *stream, const struct frame_batch *batch,
                        void *decoder, unsigned char *content, size_t *bytes, struct error *error);

#endif
