/* SPDX-License-Identifier: Apache-2.0 */
/* array_sort.h - sorts an array with all threads: stable, on ordered bits. See cpu/README.md for
 * which algorithm sorts which input.
 */
#ifndef CPU_ARRAY_SORT_H
#define CPU_ARRAY_SORT_H

#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>

struct sort_task {
    unsigned item_bytes;    /* bytes per item: 1, 2, 4, 8 (keys) or 16 (struct key_index), by
                             * key, then index; indices of equal keys must ascend in the input */
    struct key_order order; /* of the stored keys */
    size_t count;           /* items; count * item_bytes fits a size_t */
    unsigned threads;       /* maximum, at least 1 */
};

/* Sets *bytes to the size of the scratch. Returns false if it does not fit a size_t. */
bool array_sort_scratch_bytes(const struct sort_task *task, size_t *bytes);

/* Begins to sort items[0..task->count) in place. Threads of its own continue after the return;
 * the sorted prefix that array_sort_await reports can be used meanwhile. items and scratch are
 * aligned to a cache line (64 bytes); the caller owns both and keeps them until array_sort_end.
 * The result is in the scratch and needs no free. With items of 4 bytes or more, the part of the
 * scratch before the offset of the sorted prefix is no longer used. Can be called inside a
 * parallel region. */
struct array_sort;
struct array_sort *array_sort_begin(const struct sort_task *task, void *items, void *scratch);

/* Waits until more than `known` items, or all, are sorted, and returns the length of the sorted
 * prefix. The caller sorts buckets while it waits. Always the same thread. */
size_t array_sort_await(struct array_sort *sorting, size_t known);

/* Waits for the threads and ends the sort. Buckets that no thread has begun stay unsorted and
 * their keys are lost. */
void array_sort_end(struct array_sort *sorting);

#endif
