/* SPDX-License-Identifier: Apache-2.0 */
/* few_values.h - keys of a few distinct values: they are counted, not moved.
 *
 *   some keys --> their values --each part counts its own, until it meets another--> counts
 *             --in order, an equal share of the cursors each--> keys
 *
 * The values are held as they are stored and put in order at the end. A kernel is single-threaded,
 * owns nothing and allocates nothing. width: of a key in bytes, 4 or 8.
 */
#ifndef CPU_FEW_VALUES_H
#define CPU_FEW_VALUES_H

#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every value costs one more look at each key, in the first cache. */
#define FEW_VALUES_MAX 8

struct few_values {
    unsigned count;
    uint64_t stored[FEW_VALUES_MAX]; /* their bits, in the order of their keys */
};

/* Looks at some keys all over, of 256 at least; false where they have more than FEW_VALUES_MAX
 * values. If only others have, the count tells. */
bool few_values_find(struct few_values *values, unsigned width, const void *keys, size_t count,
                     struct key_order order);

/* Sets counts[v] to how many of keys[begin..end) have the value v; false when one has none of
 * them. */
bool few_values_count(const struct few_values *values, unsigned width, const void *keys,
                      size_t begin, size_t end, size_t *counts);

/* keys[begin..end) = what is there when all are sorted; ends[v]: the keys up to the value v. */
void few_values_write(const struct few_values *values, unsigned width, void *keys, size_t begin,
                      size_t end, const size_t *ends);

#endif
