/* SPDX-License-Identifier: Apache-2.0 */
/* decimal_run.h - whether lines that follow each other are plain decimals in order, told by their
 * bytes: without a number made of any.
 *
 * A plain decimal is [-]digits[.digits]; where the order is that of -g also with an exponent,
 * [eE][+-]digits. Sorted lines are that nearly always, and neighbours nearly always have the same
 * sign, as many digits before the point, and the same exponent: then the first digit that differs
 * tells, however many there are.
 */
#ifndef FORMATS_DECIMAL_RUN_H
#define FORMATS_DECIMAL_RUN_H

#include "core/line_order.h"

#include <stdbool.h>
#include <stddef.h>

/* So many bytes behind the lines have to be readable, though they may mean nothing. */
#define DECIMAL_RUN_SLACK_BYTES ((size_t)64)

/* Whether the order is one of plain decimals: by the whole line as a number first. */
bool decimal_run_suits(const struct line_order *order);

/* Walks through text[0..bytes), which is whole lines, from the line at *next on, which is behind
 * the one at *previous, while each goes behind the one before it for certain, by the first key of
 * an order that suits; with a unique order, while their keys are not equal either. Returns by how
 * many lines it has gone on. Where it stops may be nothing wrong: that is for line_rank.h to tell.
 */
size_t decimal_run_walk(const struct line_order *order, const char *text, size_t bytes,
                        size_t *previous, size_t *next);

#endif
