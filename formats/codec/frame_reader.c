/* SPDX-License-Identifier: Apache-2.0 */
/* frame_reader.c - see frames.h.
 *
 *                   +-> several small frames, whole -> a worker decodes them --+
 *   file -> cutter -|                                                         +-> slots, in order
 *                   +-> a large frame, as it comes -> the cutter decodes a piece                |
 *                                                            the caller's memory <- copied <----+
 *
 * The cutter, a thread, reads the file and fills one slot after another: with whole frames for a
 * worker to decode, or with a piece that it decodes itself, of a frame that is too large to be
 * kept, truncated or invalid. So a file of one large frame is decoded by one thread, in parallel
 * with the caller, and a file of many frames by all. The slots are a ring: their number, and the
 * limits of a slot (BATCH_CONTENT_MAX, PIECE_BYTES), bound the memory for decoding ahead.
 *
 *   used <= filled <= used + slot_count
 *
 * Slots before `used` have been read by the caller. Slots before `filled`, the number in
 * cutter_main(), have been filled by the cutter, which puts those with frames into a queue for the
 * workers. The caller waits for the slot that it reads next.
 */
#include "formats/codec/frames.h"

#include "core/host_limits.h"
#include "core/threads.h"
#include "core/trace.h"
#include "formats/codec/codec.h"
#include "formats/descriptor.h"

#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- The compressed bytes of a file: decoded as they come, or cut into whole frames ---- */

/* Maximum bytes of content in the frames of a batch. A larger frame is decoded as it comes. */
#define BATCH_CONTENT_MAX ((size_t)32 << 20)

/* Bytes of one read(2). The bytes after a batch are copied to the memory of the next one, so reads
 * must be small for small frames. */
#define READ_BYTES ((size_t)256 << 10)

/* Bytes of content from which a batch of frames is worth a thread. */
#define BATCH_CONTENT_ENOUGH ((size_t)4 << 20)

/* Maximum compressed bytes of a frame that is kept whole: BATCH_CONTENT_MAX of incompressible
 * content. */
#define BATCH_BYTES_MAX (BATCH_CONTENT_MAX + ((size_t)1 << 20))

struct frame_stream {
    struct frame_reader_spec spec;
    void *decoder;
    unsigned char *data; /* compressed bytes read ahead: data[begin..end) */
    size_t capacity, begin, end;
    uint64_t offset; /* of data[begin], from spec.origin on */
    bool frame_open; /* the decoder is inside a frame */
    bool has_frames; /* that are not skippable */
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

static size_t buffered(const struct frame_stream *stream)
{
    return stream->end - stream->begin;
}

/* Makes room for READ_BYTES more bytes, in place of consumed bytes. */
static bool make_room(struct frame_stream *stream, struct error *error)
{
    if (stream->capacity - stream->end >= READ_BYTES)
        return true;
    memmove(stream->data, stream->data + stream->begin, buffered(stream));
    stream->end -= stream->begin;
    stream->begin = 0;
    const size_t need = stream->end + READ_BYTES;
    if (need <= stream->capacity)
        return true;
    const size_t capacity = need > 2 * stream->capacity ? need : 2 * stream->capacity;
    unsigned char *const data = realloc(stream->data, capacity);
    if (!data)
        return error_set(error, "%s: no memory to read it", stream->spec.name);
    stream->data = data;
    stream->capacity = capacity;
    return true;
}

static bool read_more(struct frame_stream *stream, struct error *error)
{
    const int file = stream->spec.file;
    if (!make_room(stream, error))
        return false;
    if (stream->spec.waker > 0 && !descriptor_await_input(file, stream->spec.waker))
        return error_set(error, "%s: closed while it is read", stream->spec.name);
    const uint64_t begin_ns = trace_begin();
    ssize_t got;
    do
        got = read(file, stream->data + stream->end, READ_BYTES);
    while (got < 0 && descriptor_must_retry(file, POLLIN));
    if (got < 0)
        return error_set_errno(error, "%s", stream->spec.name);
    trace_end(TRACE_READ, begin_ns, (uint64_t)got);
    stream->end += (size_t)got;
    stream->file_ended = got == 0;
    return true;
}

static bool set_position(struct error *error, const struct frame_stream *stream, uint64_t offset,
                         const struct error *cause)
{
    return error_set(error, "%s: compressed byte %" PRIu64 ": %s%s", stream->spec.name,
                     stream->spec.origin + offset, cause->message,
                     stream->spec.is_guess ? CODEC_ADVICE : "");
}

static bool decode_buffered(struct frame_stream *stream, struct byte_writer *out,
                            struct error *error)
{
    struct byte_reader in = {stream->data + stream->begin, buffered(stream)};
    struct error cause = {0};
    const bool decoded =
        stream->spec.codec->decode(stream->decoder, &in, out, &stream->frame_open, &cause);
    stream->offset += buffered(stream) - in.bytes;
    stream->begin = stream->end - in.bytes;
    if (!decoded)
        return set_position(error, stream, stream->offset, &cause);
    return true;
}

/* Reads until there are bytes to decode, or the magic of a frame, or the file has ended. */
static bool read_next(struct frame_stream *stream, struct error *error)
{
    const size_t want = stream->frame_open ? 1 : CODEC_MAGIC_BYTES;
    while (buffered(stream) < want && !stream->file_ended)
        if (!read_more(stream, error))
            return false;
    stream->has_frames |=
        !stream->frame_open && buffered(stream) > 0 &&
        !stream->spec.codec->is_skippable(stream->data + stream->begin, buffered(stream));
    return true;
}

/* Decodes 1..bytes bytes; sets *got to 0 at the end of the file. */
static bool frame_stream_decode(struct frame_stream *stream, void *data, size_t bytes, size_t *got,
                                struct error *error)
{
    const char *const codec = stream->spec.codec->name;
    struct byte_writer out = {data, bytes};
    struct error cause = {0};
    while (out.bytes == bytes) {
        if (!read_next(stream, error))
            return false;
        const bool is_last = stream->file_ended && buffered(stream) == 0;
        if (is_last && !stream->frame_open)
            break;
        if (!decode_buffered(stream, &out, error))
            return false;
        if (is_last && stream->frame_open && out.bytes == bytes) {
            error_set(&cause, "truncated %s data", codec);
            return set_position(error, stream, stream->offset, &cause);
        }
    }
    *got = bytes - out.bytes;
    return *got > 0 || stream->has_frames || !stream->spec.is_guess ||
           error_set(error, "%s: skippable %s frames, and no others" CODEC_ADVICE,
                     stream->spec.name, codec);
}

/* Finds the next frame, and reads until all of it is in memory, unless it cannot be kept whole.
 * *is_whole: it can be. */
static bool find_frame(struct frame_stream *stream, struct frame_extent *extent, bool *is_whole,
                       struct error *error)
{
    enum frame_kind kind;
    for (;;) {
        kind = stream->spec.codec->scan(stream->decoder, stream->data + stream->begin,
                                        buffered(stream), BATCH_CONTENT_MAX, extent);
        if (kind != FRAME_PART || stream->file_ended || buffered(stream) > BATCH_BYTES_MAX)
            break;
        if (!read_more(stream, error))
            return false;
    }
    *is_whole = kind == FRAME_WHOLE;
    return true;
}

static void add_frames(const struct frame_stream *stream, struct frame_extent *batch)
{
    struct frame_extent next;
    while (batch->content_max < BATCH_CONTENT_ENOUGH &&
           stream->spec.codec->scan(stream->decoder, stream->data + stream->begin + batch->bytes,
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
            return error_set(error, "%s: no memory to read it", stream->spec.name);
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

/* Between two frames: cuts the next frames. Sets *is_cut to false if the next frame cannot be kept
 * whole, because it is large, truncated or invalid, or if the file has ended. */
static bool frame_stream_cut(struct frame_stream *stream, struct frame_batch *batch, bool *is_cut,
                             struct error *error)
{
    struct frame_extent extent;
    *is_cut = false;
    if (!find_frame(stream, &extent, is_cut, error) || !*is_cut)
        return !error->is_set;
    add_frames(stream, &extent);
    batch->content_max = extent.content_max;
    *is_cut = hand_over(stream, extent.bytes, batch, error);
    stream->has_frames = true;
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
        if (!stream->spec.codec->decode(decoder, &in, &out, &frame_open, &cause) ||
            (!had_input && out.bytes == sizeof scrap))
            break;
    }
    error_set(&cause, "corrupt %s data", stream->spec.codec->name);
    return set_position(error, stream, batch->offset + (batch->bytes - in.bytes), &cause);
}

/* Decodes a batch to `content`, which has room for batch->content_max bytes, and sets *bytes. */
static bool frame_batch_decode(const struct frame_stream *stream, const struct frame_batch *batch,
                               void *decoder, unsigned char *content, size_t *bytes,
                               struct error *error)
{
    const struct byte_reader in = {batch->data + batch->begin, batch->bytes};
    struct byte_writer out = {content, batch->content_max};
    if (!stream->spec.codec->decode_frames(decoder, in, &out))
        return explain_batch(stream, batch, decoder, error);
    *bytes = batch->content_max - out.bytes;
    return true;
}

/* ---- The reader ---- */

/* Maximum number of workers. One decodes about 1 GB/s, and the caller cannot consume more than 16
 * of them make. */
#define WORKERS_MAX 16

/* Slots in addition to one for each worker: one that is being filled, and one that is being
 * read. */
#define SPARE_SLOTS 2

/* Memory of a slot: 32 MiB of content and its frames, unless they are barely compressed. The frames
 * that gpusort writes take 16 to 32 MiB. */
#define SLOT_BYTES ((size_t)40 << 20)

/* Bytes of a piece of a large frame. */
#define PIECE_BYTES ((size_t)4 << 20)

struct frame_slot {
    struct frame_batch batch;
    unsigned char *content; /* `capacity` bytes, reused */
    size_t capacity, bytes, consumed;
    struct counter decoded; /* above the number of the slot if it is decoded, or has failed */
    bool is_end;            /* it has no content, and no slot follows */
    struct error error;
};

struct frame_reader {
    struct frame_stream stream; /* of the caller; once it is started, of the cutter */
    unsigned threads;
    bool is_ahead; /* the cutter was started */
    pthread_t cutter, workers[WORKERS_MAX];
    unsigned worker_count; /* workers started by the cutter */
    struct frame_slot *slots;
    size_t slot_count;
    struct ring *batches; /* slots that workers decode: `bytes` of an entry is the slot's number */
    struct counter used;
    atomic_bool is_stopped; /* the caller reads no more */
};

static struct frame_slot *slot_at(const struct frame_reader *reader, uint64_t number)
{
    return &reader->slots[number % reader->slot_count];
}

struct frame_reader *frame_reader_open(const struct frame_reader_spec *spec, unsigned char *head,
                                       size_t head_bytes, size_t capacity, struct error *error)
{
    struct frame_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        free(head);
        error_set(error, "%s: no memory to decompress it", spec->name);
        return NULL;
    }
    reader->threads = spec->threads < WORKERS_MAX ? spec->threads : WORKERS_MAX;
    reader->stream = (struct frame_stream){.spec = *spec,
                                           .decoder = spec->codec->decoder_open(spec->window_log),
                                           .data = head,
                                           .capacity = capacity,
                                           .end = head_bytes};
    counter_start(&reader->used);
    if (!reader->stream.decoder) {
        error_set(error, "%s: no memory to decompress it", spec->name);
        frame_reader_close(reader);
        return NULL;
    }
    return reader;
}

/* ---- The workers ---- */

static bool reserve_content(const struct frame_reader *reader, struct frame_slot *slot,
                            size_t bytes)
{
    if (bytes <= slot->capacity)
        return true;
    free(slot->content);
    slot->content = malloc(bytes);
    slot->capacity = slot->content ? bytes : 0;
    return slot->content ||
           error_set(&slot->error, "%s: no memory to decompress it", reader->stream.spec.name);
}

static void decode_batch(const struct frame_reader *reader, struct frame_slot *slot, void *decoder)
{
    const uint64_t begin_ns = trace_begin();
    if (!decoder)
        error_set(&slot->error, "%s: no memory to decompress it", reader->stream.spec.name);
    else if (reserve_content(reader, slot, slot->batch.content_max))
        frame_batch_decode(&reader->stream, &slot->batch, decoder, slot->content, &slot->bytes,
                           &slot->error);
    trace_end(TRACE_DECODE, begin_ns, slot->bytes);
}

static void *worker_main(void *opaque)
{
    struct frame_reader *reader = opaque;
    const struct codec *const codec = reader->stream.spec.codec;
    void *decoder = codec->decoder_open(reader->stream.spec.window_log);
    struct ring_entry entry;
    bool is_well = true;
    while (is_well && ring_pop(reader->batches, &entry)) {
        struct frame_slot *const slot = slot_at(reader, entry.bytes);
        decode_batch(reader, slot, decoder);
        is_well = !slot->error.is_set; /* the slot may be filled again once it is decoded */
        counter_raise(&slot->decoded, entry.bytes + 1);
    }
    codec->decoder_close(decoder);
    return NULL;
}

/* ---- The cutter ---- */

/* Starts another worker, if allowed and possible. Returns false if there is no worker. */
static bool add_worker(struct frame_reader *reader)
{
    if (reader->worker_count < reader->threads &&
        thread_start(&reader->workers[reader->worker_count], "decoder", worker_main, reader) == 0)
        reader->worker_count++;
    return reader->worker_count > 0;
}

/* Decodes up to PIECE_BYTES of the open frame, or of the next one. */
static bool decode_piece(struct frame_reader *reader, struct frame_slot *slot)
{
    const uint64_t begin_ns = trace_begin();
    size_t got = 1;
    if (!reserve_content(reader, slot, PIECE_BYTES))
        return false;
    do {
        if (!frame_stream_decode(&reader->stream, slot->content + slot->bytes,
                                 PIECE_BYTES - slot->bytes, &got, &slot->error))
            return false;
        slot->bytes += got;
    } while (got > 0 && slot->bytes < PIECE_BYTES && reader->stream.frame_open);
    trace_end(TRACE_DECODE, begin_ns, slot->bytes);
    return true;
}

/* Fills the slot with the next frames, piece, error or end, and decodes it or queues it for a
 * worker. Returns false if no slot follows. */
static bool fill_slot(struct frame_reader *reader, uint64_t number)
{
    struct frame_slot *const slot = slot_at(reader, number);
    bool is_cut = false;
    slot->bytes = slot->consumed = 0;
    bool ok = reader->stream.frame_open ||
              frame_stream_cut(&reader->stream, &slot->batch, &is_cut, &slot->error);
    if (is_cut && add_worker(reader))
        return ring_push(reader->batches, (struct ring_entry){NULL, number});
    if (is_cut)
        decode_batch(reader, slot, reader->stream.decoder);
    else
        ok = ok && decode_piece(reader, slot);
    ok = ok && !slot->error.is_set;
    slot->is_end = ok && slot->bytes == 0 && !is_cut;
    const bool goes_on = ok && !slot->is_end;
    counter_raise(&slot->decoded, number + 1); /* from here on the slot is the caller's */
    return goes_on;
}

static void *cutter_main(void *opaque)
{
    struct frame_reader *reader = opaque;
    bool goes_on = true;
    for (uint64_t number = 0; goes_on; number++) {
        if (number >= reader->slot_count) /* until the slot's memory was read */
            counter_await(&reader->used, number + 1 - reader->slot_count);
        goes_on = !reader->is_stopped && fill_slot(reader, number);
    }
    ring_close(reader->batches);
    return NULL;
}

/* ---- The caller ---- */

/* Returns how many threads may decode ahead in each of `readers` readers. In a small container the
 * slots of many threads would exceed its memory, and the process would be killed. */
static unsigned threads_with_room(unsigned threads, unsigned readers)
{
    const size_t memory = memory_at_start();
    const size_t slots = memory / 2 / SLOT_BYTES / readers;
    if (memory == 0 || slots >= threads + SPARE_SLOTS)
        return threads;
    return slots > SPARE_SLOTS ? (unsigned)slots - SPARE_SLOTS : 1;
}

size_t frame_reader_bytes(unsigned threads, unsigned readers)
{
    const unsigned most = threads_with_room(threads < WORKERS_MAX ? threads : WORKERS_MAX, readers);
    return most > 1 ? (most + SPARE_SLOTS) * SLOT_BYTES : 0;
}

bool frame_reader_start(struct frame_reader *reader, struct error *error)
{
    if (reader->threads < 2 || reader->slots) /* it was called before */
        return true;
    reader->threads = threads_with_room(reader->threads, reader->stream.spec.readers);
    if (reader->threads < 2)
        return true;
    reader->slot_count = reader->threads + SPARE_SLOTS;
    reader->slots = calloc(reader->slot_count, sizeof *reader->slots);
    reader->batches = ring_create(reader->slot_count);
    if (!reader->slots || !reader->batches)
        return error_set(error, "%s: no memory to decompress it", reader->stream.spec.name);
    for (size_t i = 0; i < reader->slot_count; i++)
        counter_start(&reader->slots[i].decoded);
    reader->is_ahead = thread_start(&reader->cutter, "cutter", cutter_main, reader) == 0;
    return true;
}

static bool read_ahead(struct frame_reader *reader, void *data, size_t bytes, size_t *got,
                       struct error *error)
{
    *got = 0;
    while (*got == 0) {
        const uint64_t number = reader->used.value; /* only this thread changes it */
        struct frame_slot *const slot = slot_at(reader, number);
        counter_await(&slot->decoded, number + 1);
        if (slot->is_end)
            break;
        if (slot->error.is_set) {
            error_merge(error, &slot->error);
            return false;
        }
        *got = smaller(bytes, slot->bytes - slot->consumed);
        if (*got > 0) /* otherwise `content` may be NULL */
            memcpy(data, slot->content + slot->consumed, *got);
        slot->consumed += *got;
        if (slot->consumed == slot->bytes)
            counter_raise(&reader->used, number + 1);
    }
    return true;
}

bool frame_reader_read(struct frame_reader *reader, void *data, size_t bytes, size_t *got,
                       struct error *error)
{
    if (reader->is_ahead)
        return read_ahead(reader, data, bytes, got, error);
    const uint64_t begin_ns = trace_begin();
    if (!frame_stream_decode(&reader->stream, data, bytes, got, error))
        return false;
    trace_end(TRACE_DECODE, begin_ns, *got);
    return true;
}

static void stop(struct frame_reader *reader)
{
    reader->is_stopped = true;
    ring_stop(reader->batches);
    counter_stop(&reader->used);
    if (reader->stream.spec.waker > 0)
        (void)eventfd_write(reader->stream.spec.waker, 1); /* cannot fail: the counter is 0 or 1 */
    pthread_join(reader->cutter, NULL);
    for (unsigned i = 0; i < reader->worker_count; i++)
        pthread_join(reader->workers[i], NULL);
}

void frame_reader_close(struct frame_reader *reader)
{
    if (!reader)
        return;
    if (reader->is_ahead)
        stop(reader);
    for (size_t i = 0; reader->slots && i < reader->slot_count; i++) {
        free(reader->slots[i].batch.data);
        free(reader->slots[i].content);
    }
    free(reader->slots);
    reader->stream.spec.codec->decoder_close(reader->stream.decoder);
    free(reader->stream.data);
    ring_free(reader->batches);
    free(reader);
}
