/* SPDX-License-Identifier: Apache-2.0 */
/* lines_check.h - checks whether the lines of a source are in order, as sort -c does.
 *
 *   source -> pieces, each read and checked by one thread, then joined to the pieces before it
 *
 * It uses 256 KiB of memory per thread, and a few times the longest line.
 */
#ifndef FORMATS_LINES_CHECK_H
#define FORMATS_LINES_CHECK_H

#include "core/error.h"
#include "core/line/line_order.h"
#include "formats/io/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines_check {
    uint64_t lines; /* lines in order */
    uint64_t bytes; /* bytes read, plus 1 if the last terminator was missing */
    bool is_disordered;
    uint64_t rest_bytes; /* of these bytes, from the line out of order on */
    char *text;          /* the first line out of order, if any; the caller frees it */
    size_t length;       /* without its terminator */
};

/* Reads the source up to the first line that sorts before its predecessor or, with a unique order,
 * has keys equal to its predecessor's. With LINE_STRICT, a line that is not a number is an error.
 * `lines_before` lines of the source have been read already; messages add it to line numbers.
 * On success a plain file is at the end of the bytes read, and has no more to read. Any other
 * source may have more, if a line was out of order. */
bool lines_check(struct source *source, const struct line_order *order, uint64_t lines_before,
                 unsigned threads, struct lines_check *check, struct error *error);

#endif
