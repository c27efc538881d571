/* SPDX-License-Identifier: Apache-2.0 */
/* dense_keys.h - keys that have no more possible values than they are: they are counted, not moved.
 *
 *   keys of a bucket, in pieces --> counts by value --in order, decoded--> keys
 *
 * So go floats and integers of 4 bytes by the hundred million, and integers of 8 bytes from a range
 * that is not large. A kernel is single-threaded, owns nothing and allocates nothing. width: of a
 * key in bytes, 4 or 8.
 */
#ifndef CPU_DENSE_KEYS_H
#define CPU_DENSE_KEYS_H

#include "core/key_order.h"

#include <stddef.h>
#include <stdint.h>

/* How many counts there are for so many values. All are 0 at first. */
size_t dense_keys_counts(size_t values);

/* Counts keys[0..count), ordered bits from `lowest` on, of so many values. */
void dense_keys_count(unsigned width, uint32_t *counts, size_t values, uint64_t lowest,
                      const void *keys, size_t count);

/* keys[0..count) = the keys that were counted, in order, as they are stored. Once: the counts are
 * others then. */
void dense_keys_write(unsigned width, uint32_t *counts, size_t values, uint64_t lowest,
                      struct key_order order, void *keys, size_t count);

#endif
