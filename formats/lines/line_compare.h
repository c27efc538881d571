/* SPDX-License-Identifier: Apache-2.0 */
/* line_compare.h - compares two lines by keys, and by the last resort. Nothing is precomputed:
 * line_rank.h, which uses this, is for many comparisons.
 */
#ifndef FORMATS_LINE_COMPARE_H
#define FORMATS_LINE_COMPARE_H

#include "core/line/line_order.h"

#include <stddef.h>

/* Compares keys [first, key_count). Returns a value below 0 if line a sorts before line b, above 0
 * if it sorts after it, 0 if all keys are equal. The lines exclude their terminators. A LINE_STRICT
 * key is compared as LINE_GENERAL. */
int line_compare_keys(const struct line_order *order, size_t first, const char *a, size_t a_length,
                      const char *b, size_t b_length);

/* Compares by the last resort: the bytes of the whole lines. Returns 0 if the order has none. */
int line_compare_last(const struct line_order *order, const char *a, size_t a_length, const char *b,
                      size_t b_length);

#endif
