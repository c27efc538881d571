/* SPDX-License-Identifier: Apache-2.0 */
/* zstd.c - Zstandard streams (RFC 8878) by libzstd. Input: any number of frames, including
 * skippable ones. Output: frames with content size and checksum.
 *
 *   in -> ZSTD_decompressStream -> out: the caller's memory, of any size
 *   whole frames -> ZSTD_decompressDCtx -> out: memory for all of their content
 *   in -> ZSTD_compress2        -> out: one frame
 *
 * The stream decoder gets only the bytes that libzstd requests next, a block or a header. So a
 * failing call has consumed everything before the faulty block, and the caller can report its
 * position.
 *
 * Frames are found here and not by ZSTD_findFrameCompressedSize, which cannot distinguish an
 * unfinished frame from a broken one, and cannot find before a frame's end that it is too large to
 * be kept whole.
 *
 * One fault is not found in a frame that is decoded whole: its blocks or matches may need a larger
 * window than the frame states, which a stream would refuse. The content is correct even so.
 */
#include "formats/codec/codec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Windows of zstd(1)'s --long. */
#define WINDOW_LOG_MIN 10
#define WINDOW_LOG_MAX 31
#define WINDOW_LOG_DEFAULT 27

/* Maximum bytes of a block, both compressed and decompressed (RFC 8878, 3.1.1.2.4). */
#define BLOCK_BYTES_MAX ((size_t)128 << 10)

/* Maximum blocks of a frame that is kept whole, so that finding its end stays cheap. */
#define BLOCKS_MAX 4096

#define FRAME_HEADER_BYTES_MAX 18
#define BLOCK_HEADER_BYTES 3
#define SKIPPABLE_HEADER_BYTES 8

/* Maximum blocks of a file whose content is measured: 128 GiB of content. Blocks may be as small as
 * 3 bytes, and each may need a read: 10 ms for 1 GB in the page cache. */
#define MEASURED_BLOCKS_MAX ((size_t)1 << 20)

struct zstd_decoder {
    ZSTD_DCtx *context;
    unsigned window_log; /* frames with a larger window are refused */
    size_t first_hint;   /* bytes that libzstd requests for a new frame */
    size_t hint;         /* bytes that it requests next */
    bool frame_open;
    unsigned char header[FRAME_HEADER_BYTES_MAX]; /* first bytes of the frame */
    size_t header_bytes;
    uint64_t content_bytes; /* decoded bytes of the frame */
};

static uint32_t read_le32(const unsigned char *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
           (uint32_t)data[3] << 24;
}

static bool is_skippable(uint32_t magic)
{
    return (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static bool zstd_recognises(const unsigned char *head, size_t bytes)
{
    if (bytes < 4)
        return false;
    const uint32_t magic = read_le32(head);
    return magic == ZSTD_MAGICNUMBER || is_skippable(magic);
}

static bool zstd_is_skippable(const unsigned char *head, size_t bytes)
{
    return bytes >= 4 && is_skippable(read_le32(head));
}

static void zstd_decoder_close(void *state)
{
    struct zstd_decoder *decoder = state;
    if (!decoder)
        return;
    ZSTD_freeDCtx(decoder->context);
    free(decoder);
}

static void *zstd_decoder_open(unsigned window_log)
{
    struct zstd_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder)
        return NULL;
    decoder->window_log = window_log ? window_log : WINDOW_LOG_DEFAULT;
    decoder->context = ZSTD_createDCtx();
    if (!decoder->context ||
        ZSTD_isError(ZSTD_DCtx_setParameter(decoder->context, ZSTD_d_windowLogMax,
                                            (int)decoder->window_log))) {
        zstd_decoder_close(decoder);
        return NULL;
    }
    decoder->first_hint = decoder->hint = ZSTD_initDStream(decoder->context);
    return decoder;
}

/* The header of a frame (RFC 8878, 3.1.1.1). */
struct frame_header {
    size_t bytes;
    uint64_t window_bytes;
    size_t block_bytes_max;
    uint64_t content_bytes; /* or ZSTD_CONTENTSIZE_UNKNOWN */
    size_t checksum_bytes;
};

static enum frame_kind scan_header(const unsigned char *data, size_t bytes,
                                   struct frame_header *header)
{
    static const unsigned char dictionary_bytes[] = {0, 1, 2, 4}, content_bytes[] = {0, 2, 4, 8};
    if (bytes < 5)
        return FRAME_PART;
    const unsigned char descriptor = data[4];
    const bool is_single_segment = descriptor & 0x20;
    const size_t size_bytes =
        is_single_segment && descriptor >> 6 == 0 ? 1 : content_bytes[descriptor >> 6];
    header->bytes = 5 + !is_single_segment + dictionary_bytes[descriptor & 3] + size_bytes;
    if (bytes < header->bytes)
        return FRAME_PART;
    header->content_bytes = ZSTD_getFrameContentSize(data, bytes);
    if (header->content_bytes == ZSTD_CONTENTSIZE_ERROR)
        return FRAME_OTHER;
    const uint64_t base = (uint64_t)1 << (10 + (data[5] >> 3));
    header->window_bytes =
        is_single_segment ? header->content_bytes : base + base / 8 * (data[5] & 7);
    header->block_bytes_max =
        header->window_bytes < BLOCK_BYTES_MAX ? (size_t)header->window_bytes : BLOCK_BYTES_MAX;
    header->checksum_bytes = descriptor & 4 ? 4 : 0;
    return FRAME_WHOLE;
}

/* Sets the error for a window that is too large, with the --long that the frame needs. libzstd does
 * not read the header of a frame whose window is larger than all that it can decode. */
static bool explain_window(const struct zstd_decoder *decoder, struct error *error)
{
    struct frame_header header;
    unsigned need = WINDOW_LOG_MIN;
    const bool is_read =
        scan_header(decoder->header, decoder->header_bytes, &header) == FRAME_WHOLE;
    while (is_read && need <= WINDOW_LOG_MAX && (uint64_t)1 << need < header.window_bytes)
        need++;
    if (!is_read || need > WINDOW_LOG_MAX)
        return error_set(error, "the zstd window is larger than 2 GiB, the most that can be read");
    const bool is_small = decoder->window_log < 20;
    return error_set(error,
                     "the zstd window is larger than %u %s; --long=%u reads it, with %" PRIu64
                     " MiB of memory for it",
                     1u << (decoder->window_log - (is_small ? 10 : 20)), is_small ? "KiB" : "MiB",
                     need, (header.window_bytes >> 20) + 1);
}

static bool explain_failure(const struct zstd_decoder *decoder, size_t result, struct error *error)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return error_set(error, "no memory to decompress zstd data");
    case ZSTD_error_frameParameter_windowTooLarge:
        return explain_window(decoder, error);
    case ZSTD_error_dictionary_wrong:
        return error_set(error, "this zstd data needs a dictionary, which is not read here; "
                                "decompress it first (zstd -dc -D DICTIONARY)");
    case ZSTD_error_prefix_unknown: /* the first frame was found by its magic */
        return error_set(error, "corrupt zstd data: garbage after the last frame");
    default:
        return error_set(error, "corrupt zstd data: %s", ZSTD_getErrorName(result));
    }
}

/* Keeps the header bytes and counts the content of a call, which may be the first one for a
 * frame. */
static void count_call(struct zstd_decoder *decoder, const ZSTD_inBuffer *in, size_t content_bytes)
{
    if (!decoder->frame_open)
        decoder->header_bytes = decoder->content_bytes = 0;
    const size_t room = FRAME_HEADER_BYTES_MAX - decoder->header_bytes;
    const size_t part = in->pos < room ? in->pos : room;
    memcpy(decoder->header + decoder->header_bytes, in->src, part);
    decoder->header_bytes += part;
    decoder->content_bytes += content_bytes;
}

/* Returns true if the frame has the magic of a version from 0.2 to 0.7. */
static bool is_old_frame(const struct zstd_decoder *decoder)
{
    const uint32_t magic = decoder->header_bytes < 4 ? 0 : read_le32(decoder->header);
    return magic >= 0xFD2FB522 && magic <= 0xFD2FB527;
}

/* Makes two checks of a frame that has ended which ZSTD_decompressStream does not make. The content
 * must be as long as the header states, also if the last block is empty. And the header must be
 * valid: after a broken one libzstd looks for a frame of an old version. */
static bool check_ended(const struct zstd_decoder *decoder, struct error *error)
{
    const uint64_t stated = ZSTD_getFrameContentSize(decoder->header, decoder->header_bytes);
    if (stated == ZSTD_CONTENTSIZE_ERROR && !is_old_frame(decoder))
        return error_set(error, "corrupt zstd data: the header of a frame is broken");
    return stated == decoder->content_bytes || stated == ZSTD_CONTENTSIZE_UNKNOWN ||
           stated == ZSTD_CONTENTSIZE_ERROR ||
           error_set(error, "corrupt zstd data: less than the frame says that it holds");
}

/* Calls ZSTD_decompressStream once, and returns its result: 0 if a frame has ended. Advances `in`
 * and `out`, unless it fails. */
static size_t decode_once(struct zstd_decoder *decoder, struct byte_reader *in,
                          struct byte_writer *out)
{
    ZSTD_inBuffer input = {in->data, in->bytes < decoder->hint ? in->bytes : decoder->hint, 0};
    ZSTD_outBuffer output = {out->data, out->bytes, 0};
    const size_t result = ZSTD_decompressStream(decoder->context, &output, &input);
    if (ZSTD_isError(result)) {
        input.pos = input.size; /* it may have a part of the header */
        count_call(decoder, &input, 0);
        return result;
    }
    count_call(decoder, &input, output.pos);
    in->data += input.pos;
    in->bytes -= input.pos;
    out->data += output.pos;
    out->bytes -= output.pos;
    decoder->frame_open = result != 0;
    decoder->hint = result != 0 ? result : decoder->first_hint;
    return result;
}

static bool zstd_decode(void *state, struct byte_reader *in, struct byte_writer *out,
                        bool *frame_open, struct error *error)
{
    struct zstd_decoder *decoder = state;
    bool frame_ended = false;
    /* Without input, a call still returns buffered content of an open frame. */
    while (out->bytes > 0 && !frame_ended && (in->bytes > 0 || decoder->frame_open)) {
        const bool had_input = in->bytes > 0;
        const size_t result = decode_once(decoder, in, out);
        if (ZSTD_isError(result))
            return explain_failure(decoder, result, error);
        frame_ended = result == 0;
        if (frame_ended && !check_ended(decoder, error))
            return false;
        if (!had_input)
            break;
    }
    *frame_open = decoder->frame_open;
    return true;
}

static enum frame_kind scan_skippable(const unsigned char *data, size_t bytes,
                                      struct frame_extent *extent)
{
    if (bytes < SKIPPABLE_HEADER_BYTES)
        return FRAME_PART;
    *extent = (struct frame_extent){SKIPPABLE_HEADER_BYTES + (size_t)read_le32(data + 4), 0};
    return bytes < extent->bytes ? FRAME_PART : FRAME_WHOLE;
}

/* Adds a block to the frame. *is_last: it is the last one (RFC 8878, 3.1.1.2). Returns false if it
 * is invalid: ZSTD_decompressDCtx accepts some blocks that ZSTD_decompressStream refuses, and vice
 * versa, but the result must not depend on the number of threads. */
static bool add_block(const unsigned char *data, const struct frame_header *frame,
                      struct frame_extent *extent, bool *is_last)
{
    enum { RAW, RUN_LENGTH, COMPRESSED };
    const uint32_t header = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;
    const unsigned kind = header >> 1 & 3;
    const size_t bytes = header >> 3;
    *is_last = header & 1;
    extent->bytes += BLOCK_HEADER_BYTES + (kind == RUN_LENGTH ? 1 : bytes);
    extent->content_max += kind == COMPRESSED ? frame->block_bytes_max : bytes;
    return bytes <= frame->block_bytes_max && (kind < COMPRESSED || (kind == COMPRESSED && bytes));
}

static enum frame_kind scan_blocks(const unsigned char *data, size_t bytes, size_t content_limit,
                                   const struct frame_header *header, struct frame_extent *extent)
{
    const bool is_sized = header->content_bytes != ZSTD_CONTENTSIZE_UNKNOWN;
    bool is_last = false;
    *extent = (struct frame_extent){header->bytes, 0};
    for (size_t blocks = 0; !is_last; blocks++) {
        if (bytes < extent->bytes || bytes - extent->bytes < BLOCK_HEADER_BYTES)
            return FRAME_PART;
        if (blocks == BLOCKS_MAX || !add_block(data + extent->bytes, header, extent, &is_last))
            return FRAME_OTHER;
        if (!is_sized && extent->content_max > content_limit)
            return FRAME_OTHER;
    }
    extent->bytes += header->checksum_bytes;
    if (is_sized)
        extent->content_max = (size_t)header->content_bytes;
    return bytes < extent->bytes ? FRAME_PART : FRAME_WHOLE;
}

static enum frame_kind zstd_scan(const void *state, const unsigned char *data, size_t bytes,
                                 size_t content_limit, struct frame_extent *extent)
{
    const struct zstd_decoder *const decoder = state;
    if (bytes < 4)
        return FRAME_PART;
    const uint32_t magic = read_le32(data);
    if (is_skippable(magic))
        return scan_skippable(data, bytes, extent);
    if (magic != ZSTD_MAGICNUMBER)
        return FRAME_OTHER;
    struct frame_header header;
    const enum frame_kind kind = scan_header(data, bytes, &header);
    if (kind != FRAME_WHOLE)
        return kind;
    const bool is_sized = header.content_bytes != ZSTD_CONTENTSIZE_UNKNOWN;
    if (header.window_bytes > (uint64_t)1 << decoder->window_log ||
        (is_sized && header.content_bytes > content_limit))
        return FRAME_OTHER;
    return scan_blocks(data, bytes, content_limit, &header, extent);
}

/* The bytes of a file that were read last. */
struct window {
    int file;
    uint64_t end; /* end of the readable bytes */
    uint64_t offset;
    size_t bytes;
    unsigned char data[4096];
};

/* As pread(2), but does not wait for bytes that are not in memory: reading the headers of a file on
 * a cold disk would take as long as reading all of it. */
static ssize_t read_at_hand(int file, void *data, size_t bytes, uint64_t at)
{
    const struct iovec part = {data, bytes};
    const ssize_t got = preadv2(file, &part, 1, (off_t)at, RWF_NOWAIT);
    if (got >= 0 || errno != EOPNOTSUPP)
        return got;
    return pread(file, data, bytes, (off_t)at); /* tmpfs, which is memory, and some others */
}

/* Returns `want` bytes from `at` on; NULL if they are not in memory, or on failure. */
static const unsigned char *look(struct window *window, uint64_t at, size_t want)
{
    if (at > window->end || window->end - at < want)
        return NULL;
    if (at < window->offset || at - window->offset + want > window->bytes) {
        const ssize_t got = read_at_hand(window->file, window->data, sizeof window->data, at);
        window->offset = at;
        window->bytes = got > 0 ? (size_t)got : 0;
    }
    return at - window->offset + want <= window->bytes ? window->data + (at - window->offset)
                                                       : NULL;
}

static bool measure_blocks(struct window *window, uint64_t at, const struct frame_header *header,
                           size_t *blocks, struct frame_extent *extent)
{
    bool is_last = false;
    *extent = (struct frame_extent){header->bytes, 0};
    while (!is_last) {
        const unsigned char *data = look(window, at + extent->bytes, BLOCK_HEADER_BYTES);
        if (!data || ++*blocks > MEASURED_BLOCKS_MAX || !add_block(data, header, extent, &is_last))
            return false;
    }
    extent->bytes += header->checksum_bytes;
    return true;
}

/* Adds the frame at *at, and advances *at past it. */
static bool measure_frame(struct window *window, uint64_t *at, size_t *blocks, uint64_t *content)
{
    const uint64_t left = window->end - *at;
    const size_t want = left < FRAME_HEADER_BYTES_MAX ? (size_t)left : FRAME_HEADER_BYTES_MAX;
    const unsigned char *data = look(window, *at, want);
    struct frame_header header;
    struct frame_extent extent;
    if (!data || want < SKIPPABLE_HEADER_BYTES || !zstd_recognises(data, want))
        return false;
    if (is_skippable(read_le32(data))) {
        ++*blocks;
        scan_skippable(data, want, &extent);
    } else {
        if (scan_header(data, want, &header) != FRAME_WHOLE ||
            header.content_bytes == ZSTD_CONTENTSIZE_UNKNOWN ||
            !measure_blocks(window, *at, &header, blocks, &extent) ||
            header.content_bytes > extent.content_max) /* the stated size is wrong */
            return false;
        *content += header.content_bytes;
    }
    *at += extent.bytes;
    return *at <= window->end && *blocks <= MEASURED_BLOCKS_MAX;
}

static bool zstd_find_frames(int file, uint64_t begin, uint64_t end,
                             struct frame_position *positions, size_t count, uint64_t *content)
{
    struct window window = {.file = file, .end = end};
    uint64_t at = begin;
    size_t blocks = 0, found = 0;
    while (at < end && (count == 0 || found < count)) {
        const uint64_t offset = at, before = *content;
        if (!measure_frame(&window, &at, &blocks, content))
            return false;
        for (; found < count && positions[found].position < *content; found++) {
            positions[found].offset = offset;
            positions[found].before = before;
        }
    }
    return found == count;
}

static bool zstd_decode_frames(void *state, struct byte_reader in, struct byte_writer *out)
{
    struct zstd_decoder *decoder = state;
    const size_t result =
        ZSTD_decompressDCtx(decoder->context, out->data, out->bytes, in.data, in.bytes);
    if (ZSTD_isError(result))
        return false;
    if (result > 0) { /* otherwise out->data may be NULL */
        out->data += result;
        out->bytes -= result;
    }
    return true;
}

static void *zstd_encoder_open(int level)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (!context)
        return NULL;
    if (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1))) {
        ZSTD_freeCCtx(context);
        return NULL;
    }
    return context;
}

/* Memory of an encoder of frames of 16 MiB. Measured with version 1.5.4: 1 MiB for level 3, 13 for
 * level 9, 66 for level 19 and 250 for level 22. */
static size_t zstd_encoder_bytes(int level)
{
    return (size_t)(level <= 4 ? 3 : level <= 9 ? 13 : level <= 19 ? 70 : 250) << 20;
}

static size_t zstd_encoded_bytes_max(size_t bytes)
{
    return ZSTD_compressBound(bytes);
}

static bool zstd_encode(void *encoder, struct byte_reader in, struct byte_writer *out,
                        struct error *error)
{
    const size_t result = ZSTD_compress2(encoder, out->data, out->bytes, in.data, in.bytes);
    if (ZSTD_isError(result))
        return error_set(error, "zstd cannot compress: %s", ZSTD_getErrorName(result));
    out->data += result;
    out->bytes -= result;
    return true;
}

static void zstd_encoder_close(void *encoder)
{
    ZSTD_freeCCtx(encoder);
}

const struct codec codec_zstd = {
    .name = "zstd",
    .summary = "Zstandard frames (RFC 8878), compressed with checksums",
    .extensions = {".zst", ".zstd", NULL},
    .level_min = 1,
    .level_max = 22,
    .level_default = 3,
    .window_log_min = WINDOW_LOG_MIN,
    .window_log_max = WINDOW_LOG_MAX,
    .window_log_default = WINDOW_LOG_DEFAULT,
    .recognises = zstd_recognises,
    .is_skippable = zstd_is_skippable,
    .decoder_open = zstd_decoder_open,
    .decode = zstd_decode,
    .decoder_close = zstd_decoder_close,
    .scan = zstd_scan,
    .decode_frames = zstd_decode_frames,
    .find_frames = zstd_find_frames,
    .encoder_open = zstd_encoder_open,
    .encoder_bytes = zstd_encoder_bytes,
    .encoded_bytes_max = zstd_encoded_bytes_max,
    .encode = zstd_encode,
    .encoder_close = zstd_encoder_close,
};
