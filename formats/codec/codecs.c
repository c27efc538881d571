/* SPDX-License-Identifier: Apache-2.0 */
/* codecs.c - the table of byte codecs; see codec.h. docs/extending.md lists what a new codec
 * needs. */
#include "formats/codec/codec.h"

#include <string.h>

static const struct codec codec_plain = {.name = "plain", .summary = "bytes as they are"};
const struct codec *const codecs[] = {&codec_plain, &codec_zstd};
const size_t codec_count = sizeof codecs / sizeof codecs[0];

const struct codec *codec_find(const char *name)
{
    for (size_t i = 0; i < codec_count; i++)
        if (strcmp(codecs[i]->name, name) == 0)
            return codecs[i];
    return NULL;
}

const struct codec *codec_find_by_magic(const unsigned char *head, size_t bytes)
{
    for (size_t i = 0; i < codec_count; i++)
        if (codecs[i]->recognises && codecs[i]->recognises(head, bytes))
            return codecs[i];
    return codecs[0];
}

const struct codec *codec_find_by_name(const char *name, size_t *stem_length)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < codec_count; i++)
        for (const char *const *extension = codecs[i]->extensions; *extension; extension++)
            if (file_name_has_extension(name, length, *extension)) {
                *stem_length = length - strlen(*extension);
                return codecs[i];
            }
    *stem_length = length;
    return codecs[0];
}
