/* SPDX-License-Identifier: Apache-2.0 */
/* file_name.h - extensions of file names. */
#ifndef FORMATS_FILE_NAME_H
#define FORMATS_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Returns true if name[0..length) ends with the extension (".zst"), in any case, and is longer: a
 * file called ".zst" is a hidden file without an extension. */
static inline bool file_name_has_extension(const char *name, size_t length, const char *extension)
{
    const size_t extension_length = strlen(extension);
    if (length <= extension_length)
        return false;
    const char *end_of_stem = name + length - extension_length;
    return end_of_stem[-1] != '/' && strncasecmp(end_of_stem, extension, extension_length) == 0;
}

#endif
