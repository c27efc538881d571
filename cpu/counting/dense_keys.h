/* SPDX-License-Identifier: Apache-2.0 */
/* dense_keys.h - counting sort for a bucket with no more possible values than keys.
 *
 *   keys of a bucket, in pieces --> counts by value --in order, decoded--> keys
 *
 * Applies to 4-byte keys by the hundred million and to 8-byte integers from a small range.
 * Functions run in one thread, own and allocate nothing. width: bytes per key, 4 or 8.
 */
#ifndef CPU_DENSE_KEYS_H
#define CPU_DENSE_KEYS_H

#include "core/key_order.h"

#include <stddef.h>
#include <stdint.h>

/* Returns the number of counters for `values` values. The caller clears them. */
size_t dense_keys_counts(size_t values);

/* Counts keys[0..count): ordered bits in lowest .. lowest + values - 1. */
void dense_keys_count(unsigned width, uint32_t *counts, size_t values, uint64_t lowest,
                      const void *keys, size_t count);

/* Writes the counted keys to keys[0..count), sorted and decoded. Changes the counters. */
void dense_keys_write(unsigned width, uint32_t *counts, size_t values, uint64_t lowest,
                      struct key_order order, void *keys, size_t count);

#endif
