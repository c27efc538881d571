/* SPDX-License-Identifier: Apache-2.0 */
/* counting_sort.h - counting sort for keys of 8 and 16 bits.
 *
 * One read counts each value, then the values are written in order. The caller asks for the output
 * in pieces, so that it can use each while it is in a cache.
 */
#ifndef CPU_COUNTING_SORT_H
#define CPU_COUNTING_SORT_H

#include "core/key_order.h"

#include <stddef.h>

/* Returns the bytes of workspace for keys of key_bytes (1 or 2). */
size_t counting_sort_workspace_bytes(unsigned key_bytes, unsigned threads);

struct counting_task {
    void *keys;
    size_t count;
    unsigned key_bytes; /* 1 or 2 */
    struct key_order order;
    unsigned threads; /* maximum, at least 1 */
    void *workspace;  /* aligned to 8 bytes */
};

/* Counts the keys, with all threads. */
void counting_sort_count(const struct counting_task *task);

/* Called after counting: writes sorted keys to positions [begin, end) and returns `end`, which
 * is task->count for the last piece. */
size_t counting_sort_write(const struct counting_task *task, size_t begin);

#endif
