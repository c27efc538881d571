/* SPDX-License-Identifier: Apache-2.0 */
/* codecs.c - the table of byte codecs; see codec.h. docs/architecture.md lists what a new codec
 * needs. */
#include "formats/codec/codec.h"

#include "formats/codec/zstd_codec.h"

#include <string.h>

const struct codec codecs[] = {
    {.name = "plain", .summary = "bytes as they are"},
    {
        .name = "zstd",
        .summary = "Zstandard frames (RFC 8878), compressed with checksums",
        .extensions = {".zst", ".zstd", NULL},
        .level_min = ZSTD_LEVEL_MIN,
        .level_max = ZSTD_LEVEL_MAX,
        .level_default = ZSTD_LEVEL_DEFAULT,
        .recognises = zstd_recognises,
        .skippable_bytes = zstd_skippable_bytes,
        .is_sound = zstd_is_sound,
        .decoder_open = zstd_decoder_open,
        .decode = zstd_decode,
        .decoder_reset = zstd_decoder_reset,
        .decoder_close = zstd_decoder_close,
        .scan = zstd_scan,
        .decode_frames = zstd_decode_frames,
        .content_bytes = zstd_content_bytes,
        .find_frames = zstd_find_frames,
        .encoder_open = zstd_encoder_open,
        .encoder_bytes = zstd_encoder_bytes,
        .encoded_bytes_max = zstd_encoded_bytes_max,
        .encode = zstd_encode,
        .encoder_close = zstd_encoder_close,
    },
};
const size_t codec_count = sizeof codecs / sizeof codecs[0];

const struct codec *codec_find(const char *name)
{
    for (size_t i = 0; i < codec_count; i++)
        if (strcmp(codecs[i].name, name) == 0)
            return &codecs[i];
    return NULL;
}

const struct codec *codec_find_by_magic(const unsigned char *head, size_t bytes)
{
    for (size_t i = 0; i < codec_count; i++)
        if (codecs[i].recognises && codecs[i].recognises(head, bytes))
            return &codecs[i];
    return &codecs[0];
}

const struct codec *codec_find_by_name(const char *name, size_t *stem_length)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < codec_count; i++)
        for (const char *const *extension = codecs[i].extensions; *extension; extension++)
            if (file_name_has_extension(name, length, *extension)) {
                *stem_length = length - strlen(*extension);
                return &codecs[i];
            }
    *stem_length = length;
    return &codecs[0];
}
