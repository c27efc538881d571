/* SPDX-License-Identifier: Apache-2.0 */
/* item_merge.h - sorted arrays of items merged into one, in a cache, by one thread; and what
 * whoever cuts larger ones to that size needs.
 *
 *   arrays --merged by twos--> half as many --> ... --> one
 *
 * Items of 4 and 8 bytes are compared as unsigned integers, the ordered bits of numbers
 * (key_order.h); those of 16 as struct key_index is: an integer of 128 bits.
 */
#ifndef CORE_ITEM_MERGE_H
#define CORE_ITEM_MERGE_H

#include "core/key_order.h"

#include <stddef.h>

struct item_array {
    const void *items; /* in order */
    size_t count;
};

/* Merges arrays[0..array_count), at least one, into `out`; scratch is as large. Changes `arrays`.
 * item_bytes: 4, 8 or 16, as everywhere here. */
void item_merge(unsigned item_bytes, struct item_array *arrays, size_t array_count, void *out,
                void *scratch);

/* The same of arrays that stand in `from`, which is lost; returns `from` or `other`, whichever the
 * merged items are in. */
void *item_merge_within(unsigned item_bytes, struct item_array *arrays, size_t array_count,
                        void *from, void *other);

/* How many of the array's items are less than *item or, with `or_equal`, not greater. */
size_t item_count_before(unsigned item_bytes, struct item_array array, const void *item,
                         bool or_equal);

/* Stored bits to ordered bits, in place, and back. Items of 16 bytes have no order but their own.
 */
void item_encode(unsigned item_bytes, struct key_order order, void *items, size_t count);
void item_decode(unsigned item_bytes, struct key_order order, void *items, size_t count);

#endif
