/* SPDX-License-Identifier: Apache-2.0 */
/* counting_sort.h - counting sort for keys of 8 and 16 bits, and for keys of a dense range.
 *
 * One read counts each value, then the values are written in order. The caller asks for the output
 * in pieces, so that it can use each while it is in a cache.
 */
#ifndef CPU_COUNTING_SORT_H
#define CPU_COUNTING_SORT_H

#include "core/key_order.h"

#include <stddef.h>
#include <stdint.h>

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

/* ---- Keys of a dense range ---- */

/* Counting sort for a bucket with no more possible values than keys.
 *
 *   keys of a bucket, in pieces --> counts by value --in order, decoded--> keys
 *
 * Applies to 4-byte keys by the hundred million and to 8-byte integers from a small range.
 * Functions run in one thread, own and allocate nothing. width: bytes per key, 4 or 8.
 */

/* Returns the number of counters for `values` values. The caller clears them. */
size_t dense_keys_counts(size_t values);

/* Counts keys[0..count): ordered bits in lowest .. lowest + values - 1. */
void dense_keys_count(unsigned width, uint32_t *counts, size_t values, uint64_t lowest,
                      const void *keys, size_t count);

/* Writes the counted keys to keys[0..count), sorted and decoded. Changes the counters. */
void dense_keys_write(unsigned width, uint32_t *counts, size_t values, uint64_t lowest,
                      struct key_order order, void *keys, size_t count);

#endif
