/* SPDX-License-Identifier: Apache-2.0 */
/* key_counts.h - keys of one or two bytes, kept as how often each comes: any number of them, in
 * little memory. What is sorted by parts and merged again where keys are wider, is added up here.
 */
#ifndef CORE_KEY_COUNTS_H
#define CORE_KEY_COUNTS_H

#include "core/error.h"
#include "core/key_order.h"

#include <stddef.h>
#include <stdint.h>

struct key_counts;

/* item_bytes: 1 or 2. NULL when memory runs out. */
struct key_counts *key_counts_create(unsigned item_bytes);

/* Adds stored keys that are in order. */
void key_counts_add(struct key_counts *counts, const void *items, size_t count);

/* Hands the first `wanted` keys to `write` in the order, a buffer after the other. */
bool key_counts_write(const struct key_counts *counts, struct key_order order, uint64_t wanted,
                      bool (*write)(void *context, const void *items, size_t count,
                                    struct error *error),
                      void *context, struct error *error);

/* counts may be NULL. */
void key_counts_free(struct key_counts *counts);

#endif
