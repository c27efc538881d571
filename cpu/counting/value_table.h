/* SPDX-License-Identifier: Apache-2.0 */
/* value_table.h - keys of some thousand distinct values: they are counted in a table, not moved.
 *
 *   keys --each part in its own table, until there are too many values--> counts of values
 *        --merged and put in order--> ends --an equal share of the cursors each--> keys
 *
 * What few_values.h does by comparing each key, for more values. Functions are single-threaded, and
 * own and allocate nothing. width: of a key in bytes, 4 or 8.
 */
#ifndef CPU_VALUE_TABLE_H
#define CPU_VALUE_TABLE_H

#include "core/backend.h"
#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUE_TABLE_BITS 11
#define VALUE_TABLE_VALUES_MAX ((size_t)2048)

/* By what it hashes to a value has a line, or one of the next if that is full. */
struct value_table {
    struct value_line {
        uint64_t stored[4], counts[4]; /* a count of 0: no value */
    } lines[1 << VALUE_TABLE_BITS];    /* aligned to cache lines */
    size_t values;
    size_t strays; /* keys that are counted in another line than their own */
    struct key_index room[2][VALUE_TABLE_VALUES_MAX];
    const struct key_index
        *ends; /* after value_table_sort: the values in order, as .key their
                  ordered bits, as .index the keys up to the last of this value */
};

/* Looks at 128 keys all over, of 128 at least: true if some of them are equal. */
bool value_table_suits(unsigned width, const void *keys, size_t count);

void value_table_clear(struct value_table *table);

/* Adds keys[begin..end). False, and the table is of no use, if they have too many values, or it
 * seems that they will. */
bool value_table_count(struct value_table *table, unsigned width, const void *keys, size_t begin,
                       size_t end);

/* Adds what is in the other one; false as above. */
bool value_table_merge(struct value_table *table, const struct value_table *other);

/* Sets table->ends. */
void value_table_sort(struct value_table *table, unsigned width, struct key_order order);

/* keys[begin..end) = what is there when all are sorted. */
void value_table_write(const struct value_table *table, unsigned width, struct key_order order,
                       void *keys, size_t begin, size_t end);

#endif
