/* SPDX-License-Identifier: Apache-2.0 */
/* counting_sort.h - counting sorts: for keys of 8 and 16 bits, for keys of a dense range, and for
 * keys of up to 8 and of up to 2048 distinct values.
 *
 * One read counts each value, then the values are written in order. All but the first sort are
 * functions for one thread that own and allocate nothing; their width is the bytes per key, 4 or 8.
 */
#ifndef CPU_COUNTING_SORT_H
#define CPU_COUNTING_SORT_H

#include "core/backend.h"
#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Keys of 8 and 16 bits ----
 *
 * The caller asks for the output in pieces, so that it can use each while it is in a cache.
 */

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

/* ---- Keys of a dense range: a bucket with no more possible values than keys ----
 *
 *   keys of a bucket, in pieces --> counts by value --in order, decoded--> keys
 *
 * Applies to 4-byte keys by the hundred million and to 8-byte integers from a small range.
 */

/* Counts keys[0..count), ordered bits from `lowest` on. counts: one for each possible value, which
 * the caller has cleared. */
void dense_keys_count(unsigned width, uint32_t *counts, uint64_t lowest, const void *keys,
                      size_t count);

/* Writes the counted keys to keys[0..count), sorted and decoded. */
void dense_keys_write(unsigned width, const uint32_t *counts, uint64_t lowest,
                      struct key_order order, void *keys, size_t count);

/* ---- Up to 8 values, compared as stored bits ----
 *
 *   sample --> values --each thread counts its range, until another value is found--> counts
 *          --in order, divided among the threads--> keys
 */

/* Each value costs one more comparison per key, in L1. */
#define FEW_VALUES_MAX 8

struct few_values {
    unsigned count;
    uint64_t stored[FEW_VALUES_MAX]; /* stored bits, in key order */
};

/* Samples 256 of keys[0..count), count >= 256; false if the sample has more than FEW_VALUES_MAX
 * values. Other keys may have more: few_values_count reports that. */
bool few_values_find(struct few_values *values, unsigned width, const void *keys, size_t count,
                     struct key_order order);

/* Sets counts[v] to the number of keys[begin..end) with value v. Returns false if a key has
 * another value. */
bool few_values_count(const struct few_values *values, unsigned width, const void *keys,
                      size_t begin, size_t end, size_t *counts);

/* Writes positions [begin, end) of the sorted output. ends[v]: number of keys up to value v. */
void few_values_write(const struct few_values *values, unsigned width, void *keys, size_t begin,
                      size_t end, const size_t *ends);

/* ---- Up to 2048 values, by a hash table ----
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

/* Samples 128 of keys[0..count), count >= 128; true if three or more seem to equal an earlier one,
 * by 16 bits of a hash. */
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
