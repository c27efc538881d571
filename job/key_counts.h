/* SPDX-License-Identifier: Apache-2.0 */
/* key_counts.h - how often each bit pattern of one or two bytes occurs in a job in parts: the parts
 * are counted, instead of being kept as sorted runs and merged.
 */
#ifndef JOB_KEY_COUNTS_H
#define JOB_KEY_COUNTS_H

#include "core/error.h"
#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key_counts;

/* item_bytes: 1 or 2. Returns NULL if memory runs out; the caller frees it by free(3). */
struct key_counts *key_counts_create(unsigned item_bytes);

/* Adds stored keys, which are in order. */
void key_counts_add(struct key_counts *counts, const void *items, size_t count);

/* Passes at most `wanted` keys, in the given order and without the first `skipped`, to `write`, one
 * buffer after another. */
bool key_counts_write(const struct key_counts *counts, struct key_order order, uint64_t skipped,
                      uint64_t wanted,
                      bool (*write)(void *context, const void *items, size_t count,
                                    struct error *error),
                      void *context, struct error *error);

/* Returns the count of each bit pattern, as stored, which the caller may change. Sets *count to the
 * number of patterns. */
uint64_t *key_counts_table(struct key_counts *counts, size_t *count);

#endif
