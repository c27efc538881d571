/* SPDX-License-Identifier: Apache-2.0 */
/* counting_sort.h - sorts keys of 8 and 16 bits: counts each value, then writes them out.
 *
 * Keys of so few values are their own bucket numbers and carry nothing else, so nothing is moved:
 * one read counts, one write puts each value as often as it was seen. The write is by pieces, so
 * that each can be given while it is in a cache.
 */
#ifndef CPU_COUNTING_SORT_H
#define CPU_COUNTING_SORT_H

#include "core/key_order.h"

#include <stddef.h>

/* Bytes of workspace for keys of key_bytes (1 or 2) and so many threads. */
size_t counting_sort_workspace_bytes(unsigned key_bytes, unsigned threads);

struct counting_task {
    void *keys;
    size_t count;
    unsigned key_bytes; /* 1 or 2 */
    struct key_order order;
    unsigned threads; /* at most */
    void *workspace;  /* aligned to 8 bytes */
};

/* Counts the keys. */
void counting_sort_count(const struct counting_task *task);

/* Once all are counted: writes the next piece, those keys that are to stand at cursors [begin,
 * end), and returns end. The last one ends at task->count. */
size_t counting_sort_write(const struct counting_task *task, size_t begin);

#endif
