/* SPDX-License-Identifier: Apache-2.0 */
/* decimal_run.h - checks whether consecutive lines are plain decimals in order, by comparing their
 * bytes, without converting them to numbers.
 *
 * A plain decimal is [-]digits[.digits]; with the order of -g it may have an exponent,
 * [eE][+-]digits. Sorted lines of numbers nearly always are plain decimals, and neighbours nearly
 * always have the same sign, number of digits before the point, and exponent. Then the first digit
 * that differs decides their order, whatever their length.
 */
#ifndef FORMATS_DECIMAL_RUN_H
#define FORMATS_DECIMAL_RUN_H

#include "core/line/line_order.h"

#include <stdbool.h>
#include <stddef.h>

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
