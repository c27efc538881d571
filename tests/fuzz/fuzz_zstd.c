/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_zstd.c - Zstandard frames, valid and broken, decoded in pieces, as whole frames, and by a
 * source of one thread.
 *
 * The reference is libzstd: ZSTD_decompressStream, and ZSTD_findFrameCompressedSize for the sizes
 * of frames.
 */
#include "formats/codec/codec.h"
#include "formats/io/source.h"
#include "tests/fuzz/fuzz.h"

#include <zstd.h>

#define CONTENT_MAX ((size_t)1 << 18)
#define STREAM_MAX ((size_t)1 << 16)

static const struct codec *zstd;
static ZSTD_CCtx *compressor;
static ZSTD_DCtx *reference;
static void *decoder;

static void prepare(void)
{
    zstd = codec_find("zstd");
    compressor = ZSTD_createCCtx();
    reference = ZSTD_createDCtx();
    decoder = zstd->decoder_open(0);
}

/* Bytes of the content, or of the stream. There is room for more than the limit, so that an excess
 * is noticed. */
struct bytes {
    uint8_t *data;
    size_t bytes;
};

/* ---- streams ---- */

/* Appends a frame with the next bytes of the input. */
static void add_frame(struct bytes *stream, struct fuzz_input *input)
{
    const unsigned flags = fuzz_take(input);
    size_t bytes = fuzz_take(input);
    bytes = bytes < input->bytes ? bytes : input->bytes;
    ZSTD_CCtx_reset(compressor, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, flags & 1 ? 1 : 5);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, flags >> 1 & 1);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_contentSizeFlag, flags >> 2 & 1);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_windowLog, flags & 8 ? 10 : 17);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_hashLog, 6); /* quick to clear */
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_chainLog, 6);
    ZSTD_inBuffer in = {input->data, bytes, 0};
    ZSTD_outBuffer out = {stream->data + stream->bytes, STREAM_MAX - stream->bytes, 0};
    if (flags & 16) { /* two blocks */
        in.size = bytes / 2;
        ZSTD_compressStream2(compressor, &out, &in, ZSTD_e_flush);
        in.size = bytes;
    }
    for (unsigned i = 0; i < (flags & 32 ? 40 : 1) && out.size - out.pos > 1000; i++) {
        in.pos = i > 0 ? 0 : in.pos; /* some content repeatedly */
        ZSTD_compressStream2(compressor, &out, &in, ZSTD_e_continue);
    }
    if (ZSTD_compressStream2(compressor, &out, &in, ZSTD_e_end) == 0)
        stream->bytes += out.pos;
    input->data += bytes;
    input->bytes -= bytes;
}

static void add_bytes(struct bytes *stream, const void *data, size_t bytes)
{
    bytes = bytes < STREAM_MAX - stream->bytes ? bytes : STREAM_MAX - stream->bytes;
    memcpy(stream->data + stream->bytes, data, bytes);
    stream->bytes += bytes;
}

static void add_skippable(struct bytes *stream, unsigned length)
{
    uint8_t frame[8 + 255] = {0x50, 0x2a, 0x4d, 0x18, (uint8_t)length};
    frame[0] |= length & 15;
    add_bytes(stream, frame, 8 + length);
}

static void break_stream(struct bytes *stream, size_t at, unsigned change)
{
    if (stream->bytes > 0)
        stream->data[at % stream->bytes] ^= (uint8_t)change;
}

/* Makes a stream of frames, raw bytes and broken bytes. */
static void make_stream(struct bytes *stream, struct fuzz_input *input)
{
    while (input->bytes > 0) {
        const unsigned what = fuzz_take(input);
        if (what < 'P') {
            add_frame(stream, input);
        } else if (what < 'a') {
            add_skippable(stream, fuzz_take(input));
        } else if (what < 'z') {
            const size_t at = fuzz_take(input);
            break_stream(stream, at, fuzz_take(input));
        } else if (what == 'z') {
            stream->bytes -= stream->bytes > 0;
        } else {
            add_bytes(stream, input->data, input->bytes);
            input->bytes = 0;
        }
    }
}

/* ---- the reference ---- */

/* Returns true for the formats before version 0.8, which libzstd may have been built to decode. */
static bool is_legacy(const uint8_t *frame, size_t bytes)
{
    return bytes >= 4 && frame[0] >= 0x22 && frame[0] <= 0x27 &&
           memcmp(frame + 1, "\xb5\x2f\xfd", 3) == 0;
}

/* Decodes as zstd.h says. It passes no more bytes at a time than libzstd requests, because libzstd
 * refuses a compressed block of 0 bytes in a frame passed as a whole, and accepts it otherwise.
 * Also, each frame must hold the size it states, which ZSTD_decompressStream does not check if the
 * last block is empty. And its header must be valid, because libzstd looks for an old format after
 * a broken one. *is_unjudged: the content is too long, or a frame is in an old format. */
static bool decode_reference(struct bytes stream, struct bytes *content, bool *is_unjudged)
{
    ZSTD_inBuffer in = {stream.data, 0, 0};
    size_t begin = 0, content_begin = 0, hint = ZSTD_initDStream(reference);
    const size_t first_hint = hint;
    *is_unjudged = false;
    content->bytes = 0;
    while (in.pos < stream.bytes || in.pos > begin) {
        ZSTD_outBuffer out = {content->data, CONTENT_MAX, content->bytes};
        const size_t before = in.pos, left = stream.bytes - in.pos;
        *is_unjudged = before == begin && is_legacy(stream.data + before, left);
        if (*is_unjudged)
            return true;
        if (before == begin &&
            ZSTD_getFrameContentSize(stream.data + before, left) == ZSTD_CONTENTSIZE_ERROR)
            return false;
        in.size = in.pos + (hint < left ? hint : left);
        hint = ZSTD_decompressStream(reference, &out, &in);
        if (ZSTD_isError(hint) || (hint > 0 && in.pos == before && out.pos == content->bytes))
            return false; /* broken or truncated */
        content->bytes = out.pos;
        *is_unjudged = out.pos == CONTENT_MAX;
        if (*is_unjudged)
            return true;
        if (hint == 0) {
            const unsigned long long stated =
                ZSTD_getFrameContentSize(stream.data + begin, stream.bytes - begin);
            if (stated < ZSTD_CONTENTSIZE_ERROR && stated != content->bytes - content_begin)
                return false;
            begin = in.pos;
            content_begin = content->bytes;
            hint = first_hint;
        }
    }
    return true;
}

static void compare(const char *path, bool is_read, struct bytes found, bool is_expected,
                    struct bytes expected)
{
    if (is_read != is_expected)
        fuzz_fail("%s: %s, by libzstd %s", path, is_read ? "sound" : "broken",
                  is_expected ? "sound" : "broken");
    if (is_read &&
        (found.bytes != expected.bytes || memcmp(found.data, expected.data, found.bytes) != 0))
        fuzz_fail("%s: %zu bytes, by libzstd %zu, or other ones", path, found.bytes,
                  expected.bytes);
}

/* ---- the code under test ---- */

/* Decodes by the stream decoder, in pieces. */
static bool decode_pieces(struct bytes stream, size_t in_piece, size_t out_piece,
                          struct bytes *content, struct error *error)
{
    bool frame_open = false;
    size_t done = 0;
    content->bytes = 0;
    zstd->decoder_close(decoder);
    decoder = zstd->decoder_open(0);
    while (done < stream.bytes || frame_open) {
        const size_t in_left = stream.bytes - done, out_left = CONTENT_MAX - content->bytes;
        const size_t in_bytes = in_piece < in_left ? in_piece : in_left;
        struct byte_reader in = {stream.data + done, in_bytes};
        struct byte_writer out = {content->data + content->bytes,
                                  out_piece < out_left ? out_piece : out_left};
        const size_t out_bytes = out.bytes;
        if (!zstd->decode(decoder, &in, &out, &frame_open, error))
            return false;
        done += in_bytes - in.bytes;
        content->bytes += out_bytes - out.bytes;
        if (in.bytes == in_bytes && out.bytes == out_bytes)
            return false;
    }
    return true;
}

/* Decodes by a source that reads a file. */
static bool read_source(struct bytes stream, size_t piece, struct bytes *content,
                        uint64_t *bytes_left, struct error *error)
{
    struct source *source;
    const int file = fuzz_open_file(stream.data, stream.bytes);
    bool ok = source_open_file(file, "x.zst", zstd, 1, &source, error);
    size_t got = 1;
    content->bytes = 0;
    *bytes_left = ok ? source_stop_and_get_left(source) : 0;
    while (ok && got > 0) {
        const size_t left = CONTENT_MAX - content->bytes;
        ok = source_read(source, content->data + content->bytes, piece < left ? piece : left, &got,
                         error);
        content->bytes += got;
    }
    source_close(source);
    close(file);
    return ok;
}

/* Decodes a whole frame at once, as threads do. This may accept a frame that the stream decoder
 * refuses because its window is too small, which does not matter here (formats/codec/zstd.c). */
static void check_frame(uint8_t *data, size_t bytes, size_t content_max)
{
    static uint8_t found[CONTENT_MAX], expected_data[CONTENT_MAX];
    struct byte_reader in = {data, bytes};
    struct byte_writer out = {found, content_max};
    struct bytes expected = {expected_data, 0};
    bool is_unjudged;
    const bool is_sound = zstd->decode_frames(decoder, in, &out);
    if (decode_reference((struct bytes){data, bytes}, &expected, &is_unjudged) && !is_unjudged)
        compare("a whole frame", is_sound, (struct bytes){found, content_max - out.bytes}, true,
                expected);
}

/* Checks the size of each frame, up to one that is not whole, and that a part of it is found to be
 * one. */
static void check_scan(struct bytes stream, size_t cut)
{
    struct frame_extent extent, other;
    for (size_t at = 0; at < stream.bytes; at += extent.bytes) {
        uint8_t *const frame = stream.data + at;
        const size_t left = stream.bytes - at;
        const size_t expected = ZSTD_findFrameCompressedSize(frame, left);
        const enum frame_kind kind = zstd->scan(decoder, frame, left, CONTENT_MAX, &extent);
        if (kind != FRAME_WHOLE)
            return;
        if (extent.bytes != expected)
            fuzz_fail("a frame of %zu bytes; by libzstd %zu (%s)", extent.bytes, expected,
                      ZSTD_getErrorName(expected));
        const size_t part = cut % extent.bytes;
        if (zstd->scan(decoder, frame, part, CONTENT_MAX, &other) != FRAME_PART)
            fuzz_fail("%zu bytes of a frame of %zu are not taken for a part of it", part,
                      extent.bytes);
        if (extent.content_max <= CONTENT_MAX)
            check_frame(frame, extent.bytes, extent.content_max);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t stream_data[STREAM_MAX], expected_data[CONTENT_MAX], found_data[CONTENT_MAX];
    static struct error error;
    struct fuzz_input input = {data, bytes};
    struct bytes stream = {stream_data, 0}, expected = {expected_data, 0}, found = {found_data, 0};
    const unsigned pieces = fuzz_take(&input);
    const size_t in_piece = (size_t)1 << (pieces & 7), out_piece = (size_t)3 << (pieces >> 3 & 15);
    bool is_unjudged;
    uint64_t bytes_left;
    if (!zstd)
        prepare();
    make_stream(&stream, &input);
    error.is_set = false;
    if (!zstd->recognises(stream.data, stream.bytes))
        return 0;
    check_scan(stream, pieces);
    const bool is_sound = decode_reference(stream, &expected, &is_unjudged);
    if (is_unjudged)
        return 0;
    compare("in pieces", decode_pieces(stream, in_piece, out_piece, &found, &error), found,
            is_sound, expected);
    error.is_set = false;
    compare("a source", read_source(stream, out_piece, &found, &bytes_left, &error), found,
            is_sound, expected);
    if (is_sound && bytes_left != SIZE_UNKNOWN && bytes_left != expected.bytes)
        fuzz_fail("%llu bytes are said to be there, there are %zu", (unsigned long long)bytes_left,
                  expected.bytes);
    return 0;
}
