/* SPDX-License-Identifier: Apache-2.0 */
/* array_sort.h - the CPU's sort: stable, parallel, on ordered bits.
 */
#ifndef CPU_ARRAY_SORT_H
#define CPU_ARRAY_SORT_H

#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>

struct sort_task {
    unsigned item_bytes;    /* 1, 2, 4, 8: keys; 16: struct key_index, by key, then index; of equal
                             * keys the indices must ascend */
    struct key_order order; /* of the stored keys */
    size_t count;           /* items; count * item_bytes fits a size_t */
    unsigned threads;       /* at most so many, at least 1 */
};

/* The scratch that the sort needs for the task; false when that does not fit a size_t. */
bool array_sort_scratch_bytes(const struct sort_task *task, size_t *bytes);

/* Begins to sort items[0..task->count), where they are: what is in order, from the first item on,
 * can be used while threads of its own sort the rest. items and scratch are aligned to a cache line
 * (64 bytes). The sorting is in the scratch; of items of 4 bytes and more, what of that stands as
 * far from its beginning as items that are in their place stand from theirs is not used any more.
 * Can be called from inside a parallel region. */
struct array_sort;
struct array_sort *array_sort_begin(const struct sort_task *task, void *items, void *scratch);

/* How many items from the first one on are in their place for good: more than `known`, or all. The
 * calling thread, always the same, sorts while there are not. */
size_t array_sort_await(struct array_sort *sorting, size_t known);

/* Ends it when the threads have done what they have begun: what is not in its place by then is
 * lost. */
void array_sort_end(struct array_sort *sorting);

#endif
