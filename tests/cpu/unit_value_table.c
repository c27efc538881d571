/* SPDX-License-Identifier: Apache-2.0 */
/* unit_value_table.c - counts of keys that have some thousand values, against the number of each
 * value in the input; with vectors, or without if the processor has none.
 */
#include "cpu/few_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The inverse of the factor of hash_value: small multiples of it hash to 0. */
#define INVERSE 0xf1de83e19937733du

static struct value_table *new_table(void)
{
    struct value_table *const table = aligned_alloc(64, (sizeof *table + 63) / 64 * 64);
    assert_non_null(table);
    value_table_clear(table);
    return table;
}

/* The values ascend with v, unless they hash alike. */
typedef uint64_t make_value(size_t v);

static uint64_t small_value(size_t v)
{
    return v;
}

static uint64_t great_value(size_t v)
{
    return UINT32_MAX - 5000 + v;
}

static uint64_t alike_value(size_t v)
{
    return v * INVERSE;
}

static void *allocate(size_t bytes)
{
    void *const memory = malloc(bytes);
    assert_non_null(memory);
    return memory;
}

/* Makes keys with each value equally often, in turns. */
static void *make_keys(unsigned width, make_value *value, size_t values, size_t repeats)
{
    unsigned char *const keys = allocate(values * repeats * width);
    for (size_t i = 0; i < values * repeats; i++) {
        const uint64_t stored = value(i % values);
        memcpy(keys + i * width, &stored, width);
    }
    return keys;
}

/* The last value comes first. The keys are counted in two tables that are merged, and written in
 * three parts. */
static void check_values(unsigned width, make_value *value, size_t values)
{
    const size_t repeats = 40, count = values * repeats, third = count / 3;
    unsigned char *const keys = allocate(count * width);
    for (size_t i = 0; i < count; i++) {
        const uint64_t stored = value(values - 1 - i / repeats);
        memcpy(keys + i * width, &stored, width);
    }
    struct value_table *const table = new_table(), *const other = new_table();
    const struct key_order order = key_order_identity();
    assert_true(value_table_count(table, width, keys, 0, third));
    assert_true(value_table_count(other, width, keys, third, count));
    assert_true(value_table_merge(table, other));
    value_table_sort(table, width, order);
    memset(keys, 0xaa, count * width);
    value_table_write(table, width, order, keys, third, 2 * third + 1);
    value_table_write(table, width, order, keys, 2 * third + 1, count);
    value_table_write(table, width, order, keys, 0, third);
    for (size_t i = 0; i < count; i++) {
        const uint64_t expected = value(i / repeats);
        assert_memory_equal(keys + i * width, &expected, width);
    }
    free(table);
    free(other);
    free(keys);
}

static void values_are_counted_and_written(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 3, 17, 300, 1000, VALUE_TABLE_VALUES_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        check_values(4, small_value, counts[i]);
        check_values(4, great_value, counts[i]);
        check_values(8, small_value, counts[i]);
        check_values(8, great_value, counts[i]);
    }
}

static bool count_all(unsigned width, make_value *value, size_t values, size_t repeats)
{
    void *const keys = make_keys(width, value, values, repeats);
    struct value_table *const table = new_table();
    const bool counted = value_table_count(table, width, keys, 0, values * repeats);
    free(table);
    free(keys);
    return counted;
}

/* The first block may have only new values. A second block of new values shows that there are too
 * many. */
static void too_many_values_are_given_up(void **state)
{
    (void)state;
    assert_true(count_all(8, small_value, 512, 3));
    assert_false(count_all(8, small_value, 1024, 3));
    assert_false(count_all(4, small_value, 100000, 1));
}

/* The maximum number of values, and one more. They come so slowly that no block has many new
 * values. */
static void the_most_values(void **state)
{
    (void)state;
    for (size_t values = VALUE_TABLE_VALUES_MAX; values <= VALUE_TABLE_VALUES_MAX + 1; values++) {
        const size_t repeats = 4, count = values * repeats;
        uint32_t *const keys = allocate(count * sizeof *keys);
        for (size_t i = 0; i < count; i++)
            keys[i] = (uint32_t)(i / repeats);
        struct value_table *const table = new_table();
        assert_int_equal(value_table_count(table, 4, keys, 0, count),
                         values == VALUE_TABLE_VALUES_MAX);
        free(table);
        free(keys);
    }
}

static void values_that_hash_alike(void **state)
{
    (void)state;
    assert_true(count_all(8, alike_value, 16, 30)); /* no second block of displaced keys */
    assert_false(count_all(8, alike_value, 17, 30));
    assert_true(count_all(8, alike_value, 4, 1000));
    assert_false(count_all(8, alike_value, 16, 1000));
}

static void a_merge_of_too_many(void **state)
{
    (void)state;
    struct value_table *const table = new_table(), *const other = new_table();
    for (uint64_t v = 0; v < 2 * VALUE_TABLE_VALUES_MAX; v += 2) {
        const uint64_t next = v + 1;
        assert_true(value_table_count(table, 8, &v, 0, 1));
        assert_true(value_table_count(other, 8, &next, 0, 1));
    }
    assert_false(value_table_merge(table, other));
    free(table);
    free(other);
}

static void what_suits(void **state)
{
    (void)state;
    const size_t count = 100000;
    uint64_t *const keys = make_keys(8, small_value, count, 1);
    for (size_t i = 0; i < count; i++)
        keys[i] = i * i * i;
    assert_false(value_table_suits(8, keys, count));
    for (size_t i = 0; i < count; i++)
        keys[i] = i * i % 1009 << 40;
    assert_true(value_table_suits(8, keys, count));
    free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_counted_and_written),
        cmocka_unit_test(too_many_values_are_given_up),
        cmocka_unit_test(the_most_values),
        cmocka_unit_test(values_that_hash_alike),
        cmocka_unit_test(a_merge_of_too_many),
        cmocka_unit_test(what_suits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
