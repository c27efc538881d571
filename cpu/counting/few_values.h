/* SPDX-License-Identifier: Apache-2.0 */
/* few_values.h - counting sort for keys of up to 8 distinct values.
 *
 *   sample --> values --each thread counts its range, until another value is found--> counts
 *          --in order, divided among the threads--> keys
 *
 * Values are compared as stored bits. Functions run in one thread, own and allocate nothing. width:
 * bytes per key, 4 or 8.
 */
#ifndef CPU_FEW_VALUES_H
#define CPU_FEW_VALUES_H

#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each value costs one more comparison per key, in L1. */
#define FEW_VALUES_MAX 8

struct few_values {
    unsigned count;
    uint64_t stored[FEW_VALUES_MAX]; /* stored bits, in key order */
};

/* Samples keys[0..count), at least 256; false if the sample has more than FEW_VALUES_MAX values.
 * Other keys may have more: few_values_count reports that. */
bool few_values_find(struct few_values *values, unsigned width, const void *keys, size_t count,
                     struct key_order order);

/* Sets counts[v] to the number of keys[begin..end) with value v. Returns false if a key has
 * another value. */
bool few_values_count(const struct few_values *values, unsigned width, const void *keys,
                      size_t begin, size_t end, size_t *counts);

/* Writes positions [begin, end) of the sorted output. ends[v]: number of keys up to value v. */
void few_values_write(const struct few_values *values, unsigned width, void *keys, size_t begin,
                      size_t end, const size_t *ends);

#endif
