/* radix_sort.h - the CPU's sort: stable, parallel, on ordered bits.
 */
#ifndef CPU_RADIX_SORT_H
#define CPU_RADIX_SORT_H

#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>

struct radix_task {
    unsigned item_bytes;    /* 1, 2, 4, 8: keys; 16: struct key_index, by key, then index; of equal
                             * keys the indices must ascend */
    struct key_order order; /* of the stored keys */
    size_t count;           /* items; count * item_bytes fits a size_t */
    unsigned threads;       /* at most so many, at least 1 */
};

/* The scratch that radix_sort needs for the task; false when that does not fit a size_t. */
bool radix_sort_scratch_bytes(const struct radix_task *task, size_t *bytes);

/* Sorts items[0..task->count), where they are. items and scratch are aligned to a cache line (64
 * bytes). Can be called from inside a parallel region. */
void radix_sort(const struct radix_task *task, void *items, void *scratch);

#endif
