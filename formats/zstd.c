/* zstd.c - Zstandard streams (RFC 8878) through libzstd: any number of frames, skippable ones among
 * them, in; one frame with a checksum, made by several threads, out.
 *
 *   in -> ZSTD_decompressStream -> out: the caller's memory, whatever its size
 *   in -> ZSTD_compressStream2  -> out
 *
 * The decoder is fed no more than libzstd asks for next, a block or a header at a time. So a
 * failing call has consumed everything before the block at fault, and the caller can say where that
 * stands.
 */
#include "formats/zstd_codec.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

struct zstd_decoder {
    ZSTD_DCtx *context;
    size_t first_hint; /* bytes that libzstd wants of a new frame */
    size_t hint;       /* bytes that it wants next */
    bool frame_open;
    bool frame_done; /* at least one frame has been read to its end */
};

bool zstd_recognises(const unsigned char *head, size_t bytes)
{
    if (bytes < 4)
        return false;
    const uint32_t magic = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 |
                           (uint32_t)head[3] << 24;
    return magic == ZSTD_MAGICNUMBER ||
           (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

void *zstd_decoder_open(void)
{
    struct zstd_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder)
        return NULL;
    decoder->context = ZSTD_createDCtx();
    if (!decoder->context) {
        free(decoder);
        return NULL;
    }
    decoder->first_hint = decoder->hint = ZSTD_initDStream(decoder->context);
    return decoder;
}

/* Says in words what a failed call of ZSTD_decompressStream means. */
static bool explain_failure(const struct zstd_decoder *decoder, size_t result, struct error *error)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return error_set(error, "no memory to decompress zstd data");
    case ZSTD_error_frameParameter_windowTooLarge:
        return error_set(error, "the zstd window is larger than 128 MiB, the most that is read; "
                                "compress the data again with --long=27 or less");
    case ZSTD_error_prefix_unknown:
        if (decoder->frame_done)
            return error_set(error, "corrupt zstd data: garbage behind the last frame");
        break;
    default:
        break;
    }
    return error_set(error, "corrupt zstd data: %s", ZSTD_getErrorName(result));
}

bool zstd_decode(void *state, struct byte_reader *in, struct byte_writer *out, bool *frame_open,
                 struct error *error)
{
    struct zstd_decoder *decoder = state;
    /* Without input a call still brings out what an open frame holds back. */
    while (out->bytes > 0 && (in->bytes > 0 || decoder->frame_open)) {
        const bool had_input = in->bytes > 0;
        ZSTD_inBuffer input = {in->data, in->bytes < decoder->hint ? in->bytes : decoder->hint, 0};
        ZSTD_outBuffer output = {out->data, out->bytes, 0};
        const size_t result = ZSTD_decompressStream(decoder->context, &output, &input);
        if (ZSTD_isError(result))
            return explain_failure(decoder, result, error);
        in->data += input.pos;
        in->bytes -= input.pos;
        out->data += output.pos;
        out->bytes -= output.pos;
        decoder->frame_open = result != 0;
        decoder->frame_done |= result == 0;
        decoder->hint = result != 0 ? result : decoder->first_hint;
        if (!had_input)
            break;
    }
    *frame_open = decoder->frame_open;
    return true;
}

void zstd_decoder_close(void *state)
{
    struct zstd_decoder *decoder = state;
    if (!decoder)
        return;
    ZSTD_freeDCtx(decoder->context);
    free(decoder);
}

void *zstd_encoder_open(int level, unsigned threads)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (!context)
        return NULL;
    if (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1))) {
        ZSTD_freeCCtx(context);
        return NULL;
    }
    /* One worker even for one thread: libzstd writes the same bytes for any number of workers but
     * none. A libzstd that was built without threads refuses, and compresses in the caller's. */
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, (int)(threads < 256 ? threads : 256));
    return context;
}

bool zstd_encode(void *encoder, struct byte_reader *in, struct byte_writer *out, bool finish,
                 bool *finished, struct error *error)
{
    ZSTD_inBuffer input = {in->data, in->bytes, 0};
    ZSTD_outBuffer output = {out->data, out->bytes, 0};
    const size_t result =
        ZSTD_compressStream2(encoder, &output, &input, finish ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(result))
        return error_set(error, "zstd cannot compress: %s", ZSTD_getErrorName(result));
    in->data += input.pos;
    in->bytes -= input.pos;
    out->data += output.pos;
    out->bytes -= output.pos;
    *finished = finish && result == 0;
    return true;
}

void zstd_encoder_close(void *encoder)
{
    ZSTD_freeCCtx(encoder);
}
