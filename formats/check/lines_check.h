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
    char *text;    /* the first line out of order, if any; the caller frees it */
    size_t length; /* without its terminator */
};

/* Reads the source up to the first line that sorts before its predecessor or, with a unique order,
 * has keys equal to its predecessor's. With LINE_STRICT, a line that is not a number is an error.
 * `lines_before` lines of the source have been read already; messages add it to line numbers. */
bool lines_check(struct source *source, const struct line_order *order, uint64_t lines_before,
                 unsigned threads, struct lines_check *check, struct error *error);

/* ---- decimal_run.c, for lines_check.c ----
 *
 * Checks whether consecutive lines are plain decimals in order, by comparing their bytes, without
 * converting them to numbers.
 *
 * A plain decimal is [-]digits[.digits]; with the order of -g it may have an exponent,
 * [eE][+-]digits. Sorted lines of numbers nearly always are plain decimals, and neighbours nearly
 * always have the same sign, number of digits before the point, and exponent. Then the first digit
 * that differs decides their order, whatever their length.
 */

/* This many bytes after the lines must be readable; their values do not matter. */
#define DECIMAL_RUN_SLACK_BYTES ((size_t)64)

/* Returns true if the first key of the order is the whole line as a number. */
bool decimal_run_suits(const struct line_order *order);

/* Checks lines of text[0..bytes), which must be whole lines, from offset *next on. The line at
 * *previous is the one before *next. Stops at the first line that is not certain to sort after its
 * predecessor by the first key of the order or, with a unique order, may have an equal key. The
 * order must suit. Returns the number of lines passed, and moves *previous and *next. The line at
 * which it stops may still be in order: compare it by line_compare.h. */
size_t decimal_run_walk(const struct line_order *order, const char *text, size_t bytes,
                        size_t *previous, size_t *next);

#endif
