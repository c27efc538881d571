/* SPDX-License-Identifier: Apache-2.0 */
/* formats.c - the table of file formats; see format.h. docs/architecture.md lists what a new format
 * needs. */
#include "formats/array/format.h"

#include "formats/codec/codec.h"
#include "formats/file_name.h"

#include <string.h>

const struct format *const formats[] = {&format_raw, &format_npy, &format_text};
const size_t format_count = sizeof formats / sizeof formats[0];

const struct format *format_find(const char *name)
{
    for (size_t i = 0; i < format_count; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

/* Returns the key type with the name of the extension (".f64"), or NULL. NumPy's names are not
 * used. */
static const struct key_type *type_of_extension(const char *extension)
{
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++)
        if (strcmp(key_types[i].name, extension + 1) == 0)
            return &key_types[i];
    return NULL;
}

const struct format *format_find_by_name(const char *name, const struct key_type **type)
{
    size_t stem_length;
    codec_find_by_name(name, &stem_length);
    *type = NULL;
    for (size_t i = 0; i < format_count; i++)
        for (const char *const *extension = formats[i]->extensions; *extension; extension++)
            if (file_name_has_extension(name, stem_length, *extension)) {
                const char *const found = name + stem_length - strlen(*extension);
                *type = type_of_extension(*extension);
                if (!*type || memcmp(found, *extension, strlen(*extension)) == 0)
                    return formats[i];
                *type = NULL; /* names of types are in lower case */
            }
    return NULL;
}
