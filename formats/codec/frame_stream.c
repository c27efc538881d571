/* SPDX-License-Identifier: Apache-2.0 */
/* frame_stream.c - see frame_stream.h. */
#include "formats/codec/frame_stream.h"

#include "core/trace.h"
#include "formats/codec/codec.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of one read(2). The bytes after a batch are copied to the memory of the next one, so reads
 * must be small for small frames. */
#define READ_BYTES ((size_t)256 << 10)

/* Maximum bytes kept for frame_stream_rewind(). */
#define HEAD_BYTES_MAX ((size_t)4 << 20)

/* Bytes of content from which a batch of frames is worth a thread. */
#define BATCH_CONTENT_ENOUGH ((size_t)4 << 20)

/* Maximum compressed bytes of a frame that is kept whole: BATCH_CONTENT_MAX of incompressible
 * content. */
#define BATCH_BYTES_MAX (BATCH_CONTENT_MAX + ((size_t)1 << 20))

/* An error in the header of the first frame may mean that the data is not compressed: plain data
 * can begin with the magic of a codec. */
#define HEADER_BYTES_MAX 18
#define HOW_TO_READ_AS_IT_IS "; if it is not compressed, say --format=FORMAT:plain"

static size_t buffered(const struct frame_stream *stream)
{
    return stream->end - stream->begin;
}

bool frame_stream_open(struct frame_stream *stream, unsigned char *head, size_t head_bytes,
                       size_t capacity, struct error *error)
{
    stream->data = head;
    stream->end = head_bytes;
    stream->capacity = capacity;
    stream->decoder = stream->codec->decoder_open(stream->window_log);
    return stream->decoder || error_set(error, "%s: no memory to decompress it", stream->name);
}

void frame_stream_close(struct frame_stream *stream)
{
    if (stream->decoder)
        stream->codec->decoder_close(stream->decoder);
    free(stream->data);
    stream->decoder = NULL;
    stream->data = NULL;
}

static bool grow(struct frame_stream *stream, size_t capacity, struct error *error)
{
    unsigned char *const data = realloc(stream->data, capacity);
    if (!data)
        return error_set(error, "%s: no memory to read it", stream->name);
    stream->data = data;
    stream->capacity = capacity;
    return true;
}

/* Makes room for READ_BYTES more bytes, in place of consumed bytes unless the head is kept. */
static bool make_room(struct frame_stream *stream, struct error *error)
{
    if (stream->capacity - stream->end >= READ_BYTES)
        return true;
    if (!stream->keeps_head || stream->capacity >= HEAD_BYTES_MAX) {
        memmove(stream->data, stream->data + stream->begin, buffered(stream));
        stream->end -= stream->begin;
        stream->begin = 0;
    }
    const size_t need = stream->end + READ_BYTES;
    return need <= stream->capacity ||
           grow(stream, need > 2 * stream->capacity ? need : 2 * stream->capacity, error);
}

/* Waits until the file is readable. Fails if reading must end. */
static bool wait_for_input(const struct frame_stream *stream, struct error *error)
{
    struct pollfd files[] = {{.fd = stream->file, .events = POLLIN},
                             {.fd = stream->waker, .events = POLLIN}};
    if (stream->waker < 0)
        return true;
    while (poll(files, 2, -1) < 0)
        if (errno != EINTR)
            return error_set_errno(error, "%s", stream->name);
    return files[1].revents == 0 || error_set(error, "%s: closed while it is read", stream->name);
}

/* Appends the bytes of one read(2) to the buffer. */
static bool read_more(struct frame_stream *stream, struct error *error)
{
    if (!make_room(stream, error) || !wait_for_input(stream, error))
        return false;
    const uint64_t begin_ns = trace_begin();
    ssize_t got;
    do
        got = read(stream->file, stream->data + stream->end, READ_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_set_errno(error, "%s", stream->name);
    trace_end(TRACE_READ, begin_ns, (uint64_t)got);
    stream->end += (size_t)got;
    stream->file_ended = got == 0;
    return true;
}

static bool set_place(struct error *error, const char *name, uint64_t offset, bool is_first_frame,
                      const struct error *cause)
{
    return error_set(error, "%s: compressed byte %" PRIu64 ": %s%s", name, offset, cause->message,
                     is_first_frame && offset <= HEADER_BYTES_MAX ? HOW_TO_READ_AS_IT_IS : "");
}

/* Calls the decoder once with the buffered bytes. */
static bool decode_buffered(struct frame_stream *stream, struct byte_writer *out,
                            struct error *error)
{
    struct byte_reader in = {stream->data + stream->begin, buffered(stream)};
    struct error cause = {0};
    const bool decoded =
        stream->codec->decode(stream->decoder, &in, out, &stream->frame_open, &cause);
    stream->offset += buffered(stream) - in.bytes;
    stream->begin = stream->end - in.bytes;
    if (!decoded)
        return set_place(error, stream->name, stream->offset, !stream->has_frames, &cause);
    stream->has_frames |= !stream->frame_open;
    return true;
}

bool frame_stream_decode(struct frame_stream *stream, void *data, size_t bytes, size_t *got,
                         struct error *error)
{
    struct byte_writer out = {data, bytes};
    while (out.bytes == bytes) {
        if (buffered(stream) == 0 && !stream->file_ended && !read_more(stream, error))
            return false;
        const bool is_last = stream->file_ended && buffered(stream) == 0;
        if (is_last && !stream->frame_open)
            break;
        if (!decode_buffered(stream, &out, error))
            return false;
        if (is_last && stream->frame_open && out.bytes == bytes)
            return error_set(error, "%s: compressed byte %" PRIu64 ": truncated %s data",
                             stream->name, stream->offset, stream->codec->name);
    }
    *got = bytes - out.bytes;
    return true;
}

bool frame_stream_rewind(struct frame_stream *stream)
{
    stream->keeps_head = false;
    if (stream->offset != stream->begin) /* part of the head was discarded */
        return false;
    stream->codec->decoder_reset(stream->decoder);
    stream->offset = stream->begin = 0;
    stream->frame_open = stream->has_frames = false;
    return true;
}

/* Finds the next frame, and reads all of it. *is_whole: it can be kept whole. */
static bool find_frame(struct frame_stream *stream, struct frame_extent *extent, bool *is_whole,
                       struct error *error)
{
    enum frame_kind kind;
    for (;;) {
        kind = stream->codec->scan(stream->data + stream->begin, buffered(stream),
                                   BATCH_CONTENT_MAX, extent);
        if (kind != FRAME_PART || stream->file_ended || buffered(stream) > BATCH_BYTES_MAX)
            break;
        if (!read_more(stream, error))
            return false;
    }
    *is_whole = kind == FRAME_WHOLE;
    return true;
}

/* Adds the next whole frames in the buffer, until the batch has enough. */
static void add_frames(const struct frame_stream *stream, struct frame_extent *batch)
{
    struct frame_extent next;
    while (batch->content_max < BATCH_CONTENT_ENOUGH &&
           stream->codec->scan(stream->data + stream->begin + batch->bytes,
                               buffered(stream) - batch->bytes,
                               BATCH_CONTENT_MAX - batch->content_max, &next) == FRAME_WHOLE) {
        batch->bytes += next.bytes;
        batch->content_max += next.content_max;
    }
}

/* Passes the stream's memory to the batch, and takes the batch's memory for the bytes after the
 * frames. */
static bool hand_over(struct frame_stream *stream, size_t bytes, struct frame_batch *batch,
                      struct error *error)
{
    const size_t rest = buffered(stream) - bytes;
    if (batch->capacity < rest + READ_BYTES) {
        free(batch->data);
        batch->data = malloc(rest + READ_BYTES);
        batch->capacity = batch->data ? rest + READ_BYTES : 0;
        if (!batch->data)
            return error_set(error, "%s: no memory to read it", stream->name);
    }
    memcpy(batch->data, stream->data + stream->begin + bytes, rest);
    const struct frame_batch full = {.data = stream->data,
                                     .capacity = stream->capacity,
                                     .begin = stream->begin,
                                     .bytes = bytes,
                                     .offset = stream->offset,
                                     .content_max = batch->content_max};
    stream->data = batch->data;
    stream->capacity = batch->capacity;
    stream->begin = 0;
    stream->end = rest;
    stream->offset += bytes;
    *batch = full;
    return true;
}

bool frame_stream_cut(struct frame_stream *stream, struct frame_batch *batch, bool *is_cut,
                      struct error *error)
{
    struct frame_extent extent;
    *is_cut = false;
    if (!find_frame(stream, &extent, is_cut, error) || !*is_cut)
        return !error->is_set;
    add_frames(stream, &extent);
    batch->content_max = extent.content_max;
    *is_cut = hand_over(stream, extent.bytes, batch, error);
    stream->has_frames |= *is_cut;
    return *is_cut;
}

/* Sets the error for a batch that could not be decoded, and its position, by decoding it again as a
 * stream. The content is dropped. */
static bool explain_batch(const struct frame_stream *stream, const struct frame_batch *batch,
                          void *decoder, struct error *error)
{
    unsigned char scrap[16 << 10];
    struct byte_reader in = {batch->data + batch->begin, batch->bytes};
    struct error cause = {0};
    bool frame_open = false;
    while (in.bytes > 0 || frame_open) {
        struct byte_writer out = {scrap, sizeof scrap};
        const bool had_input = in.bytes > 0;
        if (!stream->codec->decode(decoder, &in, &out, &frame_open, &cause) ||
            (!had_input && out.bytes == sizeof scrap))
            break;
    }
    error_set(&cause, "corrupt %s data", stream->codec->name);
    return set_place(error, stream->name, batch->offset + (batch->bytes - in.bytes),
                     batch->offset == 0, &cause);
}

bool frame_batch_decode(const struct frame_stream *stream, const struct frame_batch *batch,
                        void *decoder, unsigned char *content, size_t *bytes, struct error *error)
{
    const struct byte_reader in = {batch->data + batch->begin, batch->bytes};
    struct byte_writer out = {content, batch->content_max};
    if (!stream->codec->decode_frames(decoder, in, &out))
        return explain_batch(stream, batch, decoder, error);
    *bytes = batch->content_max - out.bytes;
    return true;
}
