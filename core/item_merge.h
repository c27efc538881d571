/* SPDX-License-Identifier: Apache-2.0 */
/* item_merge.h - merges sorted arrays of items in a cache, with one thread, and helps to cut larger
 * arrays.
 *
 *   arrays --pairs are merged--> half as many arrays --> ... --> one array
 *
 * Items of 4 and 8 bytes are compared as unsigned integers, the ordered bits of numbers
 * (key_order.h). Items of 16 bytes are struct key_index, compared as integers of 128 bits.
 */
#ifndef CORE_ITEM_MERGE_H
#define CORE_ITEM_MERGE_H

#include <stdbool.h>
#include <stddef.h>

struct item_array {
    const void *items; /* in order */
    size_t count;
};

/* Merges arrays[0..array_count), at least one, into `out`. `scratch` has the same size; no array is
 * in either. Changes `arrays`. item_bytes: 4, 8 or 16, as in item_count_before(). */
void item_merge(unsigned item_bytes, struct item_array *arrays, size_t array_count, void *out,
                void *scratch);

/* As item_merge(), for arrays of struct key_index in `from`, which is overwritten. Returns `from`
 * or `other`: the one with the merged items. */
void *item_merge_within(struct item_array *arrays, size_t array_count, void *from, void *other);

/* Returns how many of the array's items are less than *item; with `or_equal`, less or equal. */
size_t item_count_before(unsigned item_bytes, struct item_array array, const void *item,
                         bool or_equal);

#endif
