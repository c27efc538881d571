/* SPDX-License-Identifier: Apache-2.0 */
/* lines_header.h - reads the first lines of an input, which are not sorted: --header. They are read
 * from the source before anything else.
 */
#ifndef FORMATS_LINES_HEADER_H
#define FORMATS_LINES_HEADER_H

#include "formats/io/source.h"

struct lines_header {
    char *text; /* from malloc(3); the caller frees it */
    size_t bytes;
    size_t room; /* room in `text` */
};

/* Reads the first `lines` lines of the source, or all if there are fewer. Initialise *header as
 * {0}. A last line without a terminator gets one. */
bool lines_header_read(struct source *source, char terminator, size_t lines,
                       struct lines_header *header, struct error *error);

#endif
