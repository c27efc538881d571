/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h - the files of other programs that gpusort neither reads nor writes: how they begin,
 * and what they are called.
 */
#ifndef FORMATS_FOREIGN_H
#define FORMATS_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

enum foreign_kind {
    FOREIGN_BINARY,
    FOREIGN_TEXT,       /* lines of text may be such a file, numbers are not */
    FOREIGN_COMPRESSED, /* any bytes, as with zstd: its extension follows that of a format */
};

struct foreign {
    const char *name;          /* "gzip", as in "gzip data" */
    const char *extensions[5]; /* ".gz", in lower case; ended by NULL; there may be none */
    const char *magic;         /* the bytes that such a file has at magic_offset; NULL: not known */
    size_t magic_offset;
    const char *unpack; /* the command that unpacks it; NULL where it is to be converted */
    enum foreign_kind kind;
};

/* The row whose magic is in head[0..bytes), NULL if there is none. */
const struct foreign *foreign_find_by_magic(const unsigned char *head, size_t bytes);

/* The row with an extension that ends name[0..length), NULL if there is none. */
const struct foreign *foreign_find_by_name(const char *name, size_t length);

/* True when the row has a magic and head[0..bytes) has it. */
bool foreign_begins_so(const struct foreign *foreign, const unsigned char *head, size_t bytes);

#endif
