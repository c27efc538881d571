/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h - the formats of other programs that gpusort neither reads nor writes: their first
 * bytes and their names.
 */
#ifndef FORMATS_FOREIGN_H
#define FORMATS_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

enum foreign_kind {
    FOREIGN_BINARY,
    FOREIGN_TEXT,       /* lines of text may be such a file, numbers are not */
    FOREIGN_COMPRESSED, /* of any data, as with zstd: its extension follows another one */
};

struct foreign {
    const char *name;          /* "gzip", as in "gzip data" */
    const char *extensions[5]; /* ".gz", in lower case; terminated by NULL; there may be none */
    const char *magic;         /* the bytes at magic_offset of such a file; NULL: not known */
    size_t magic_offset;
    const char *unpack; /* the command that unpacks it; NULL: it must be converted */
    enum foreign_kind kind;
};

/* Returns the row whose magic is in head[0..bytes), or NULL. */
const struct foreign *foreign_find_by_magic(const unsigned char *head, size_t bytes);

/* Returns the row with an extension that name[0..length) ends with, or NULL. */
const struct foreign *foreign_find_by_name(const char *name, size_t length);

/* Returns true if the row has a magic and head[0..bytes) has it. */
bool foreign_begins_so(const struct foreign *foreign, const unsigned char *head, size_t bytes);

#endif
