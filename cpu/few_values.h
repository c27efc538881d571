/* SPDX-License-Identifier: Apache-2.0 */
/* few_values.h - counting sort for keys of up to 8 distinct values, and of up to 2048.
 *
 * Values are compared as stored bits. Functions run in one thread, own and allocate nothing. width:
 * bytes per key, 4 or 8. Up to 8 values:
 *
 *   sample --> values --each thread counts its range, until another value is found--> counts
 *          --in order, divided among the threads--> keys
 */
#ifndef CPU_FEW_VALUES_H
#define CPU_FEW_VALUES_H

#include "core/backend.h"
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

/* ---- Up to 2048 values ---- */

/* By a hash table:
 *
 *   keys --each thread in its own table, until there are too many values--> counts
 *        --merged and sorted--> ends --divided among the threads--> keys
 */

#define VALUE_TABLE_BITS 11
#define VALUE_TABLE_VALUES_MAX ((size_t)2048)

/* A value is in the line of its hash, or in one of the next if that is full. */
struct value_table {
    struct value_line {
        uint64_t stored[4], counts[4]; /* a count of 0: empty slot */
    } lines[1 << VALUE_TABLE_BITS];    /* aligned to cache lines */
    size_t values;
    size_t displaced; /* keys counted outside of their home line */
    struct key_index room[2][VALUE_TABLE_VALUES_MAX];
    const struct key_index *ends; /* set by value_table_sort: values in order; key: ordered bits,
                                   * index: number of keys up to this value */
};

/* Samples 128 of `count` keys, at least 128; true if some of them are equal. */
bool value_table_suits(unsigned width, const void *keys, size_t count);

void value_table_clear(struct value_table *table);

/* Adds keys[begin..end). Returns false, with the table unusable, if there are or seem to be too
 * many values. */
bool value_table_count(struct value_table *table, unsigned width, const void *keys, size_t begin,
                       size_t end);

/* Adds the counts of another table; false as value_table_count. */
bool value_table_merge(struct value_table *table, const struct value_table *other);

/* Sorts the values into table->ends, which points into the table. */
void value_table_sort(struct value_table *table, unsigned width, struct key_order order);

/* Writes positions [begin, end) of the sorted output. */
void value_table_write(const struct value_table *table, unsigned width, struct key_order order,
                       void *keys, size_t begin, size_t end);

#endif
