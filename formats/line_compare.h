/* SPDX-License-Identifier: Apache-2.0 */
/* line_compare.h - compares two lines by keys, and by the last resort.
 *
 * Nothing is prepared or kept: for bulk work see line_rank.h, which is built on this.
 */
#ifndef FORMATS_LINE_COMPARE_H
#define FORMATS_LINE_COMPARE_H

#include "core/line_order.h"

#include <stddef.h>

/* Compares by keys [first, key_count) alone. Below 0: line a sorts before line b; above 0: after
 * it; 0: all keys are equal. The lines exclude their terminators. A key of LINE_STRICT is compared
 * as one of LINE_GENERAL. */
int line_compare_keys(const struct line_order *order, size_t first, const char *a, size_t a_length,
                      const char *b, size_t b_length);

/* Compares by the last resort: the bytes of the whole lines. Returns 0 if the order has none. */
int line_compare_last(const struct line_order *order, const char *a, size_t a_length, const char *b,
                      size_t b_length);

#endif
