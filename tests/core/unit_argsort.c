/* SPDX-License-Identifier: Apache-2.0 */
/* unit_argsort.c - items that carry their index: which items are equal, their form, and the keys
 * and indices that are decoded from them. Compared with the comparisons of the C language.
 */
#include "core/argsort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

static struct argsort make(enum key_type_id id, enum key_endian endian, bool descending,
                           size_t count)
{
    const struct key_type *type = &key_types[id];
    struct argsort argsort = {.index_type = &key_types[KEY_TYPE_u64]};
    argsort_set_keys(&argsort, type, key_order_make(type, endian, NAN_GREATEST, descending), count);
    return argsort;
}

/* The ordered key of an item. */
static uint64_t key_of(const struct argsort *argsort, const void *items, size_t place)
{
    if (argsort->item_bytes == sizeof(uint64_t))
        return ((const uint64_t *)items)[place] >> argsort->index_bits;
    return ((const struct key_index *)items)[place].key;
}

static void an_item_is_packed_where_it_fits(void **state)
{
    (void)state;
    const size_t most = (size_t)1 << 32;
    static const enum key_type_id narrow[] = {KEY_TYPE_i8, KEY_TYPE_u16, KEY_TYPE_bf16};
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        assert_int_equal(make(narrow[i], ENDIAN_LITTLE, false, COUNT_UNKNOWN).item_bytes, 8);
    assert_int_equal(make(KEY_TYPE_f32, ENDIAN_LITTLE, false, 0).item_bytes, 8);
    assert_int_equal(make(KEY_TYPE_f32, ENDIAN_LITTLE, false, most).item_bytes, 8);
    assert_int_equal(make(KEY_TYPE_f32, ENDIAN_LITTLE, false, most + 1).item_bytes, 16);
    assert_int_equal(make(KEY_TYPE_f32, ENDIAN_LITTLE, false, COUNT_UNKNOWN).item_bytes, 16);
    assert_int_equal(make(KEY_TYPE_u64, ENDIAN_LITTLE, false, 0).item_bytes, 16);
    assert_int_equal(make(KEY_TYPE_u64, ENDIAN_LITTLE, false, 1).item_bytes, 16);
}

static void narrow_indices_count_up_to_their_greatest(void **state)
{
    (void)state;
    struct argsort argsort = make(KEY_TYPE_f64, ENDIAN_LITTLE, false, COUNT_UNKNOWN);
    struct error error = {0};
    argsort.index_type = &key_types[KEY_TYPE_u32];
    assert_true(argsort_check_count(&argsort, 0, &error));
    assert_true(argsort_check_count(&argsort, UINT32_MAX, &error));
    assert_false(argsort_check_count(&argsort, (size_t)UINT32_MAX + 1, &error));
    assert_true(error.is_set);
    argsort.index_type = &key_types[KEY_TYPE_u64];
    assert_true(argsort_check_count(&argsort, SIZE_MAX, &error));
    argsort.index_type = &key_types[KEY_TYPE_i64];
    assert_true(argsort_check_count(&argsort, SIZE_MAX, &error));
    argsort.index_type = &key_types[KEY_TYPE_i32];
    assert_true(argsort_check_count(&argsort, INT32_MAX, &error));
    error = (struct error){0};
    assert_false(argsort_check_count(&argsort, (size_t)INT32_MAX + 1, &error));
    assert_string_equal(error.message,
                        "--argsort=i32 counts up to 2147483647 numbers, and there are "
                        "more: say --argsort=i64");
}

static void an_item_counts_up_to_its_spare_bits(void **state)
{
    (void)state;
    const struct argsort argsort = make(KEY_TYPE_u16, ENDIAN_LITTLE, false, COUNT_UNKNOWN);
    struct error error = {0};
    assert_true(argsort_check_count(&argsort, (size_t)1 << 48, &error));
    assert_false(argsort_check_count(&argsort, ((size_t)1 << 48) + 1, &error));
}

/* Returns -1, 0 or 1: which of two comes first. A NaN is greater than every number and equal to
 * every NaN. */
static int compare(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    return (a > b) - (a < b);
}

/* Checks that every pair of the values has the order of its comparison, or is equal. */
static void check_pairs(const struct argsort *argsort, const double *values, const void *keys,
                        size_t count, bool descending)
{
    struct key_index items[16];
    const struct chunk chunk = {.items = items, .capacity = count, .count = count};
    argsort_fill(argsort, keys, 0, &chunk, 2, &(struct argsort_taps){NULL, NULL});
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            const uint64_t a = key_of(argsort, items, i), b = key_of(argsort, items, j);
            const int wanted =
                descending ? compare(values[j], values[i]) : compare(values[i], values[j]);
            assert_int_equal((a > b) - (a < b), wanted);
        }
}

static void equal_is_what_compares_equal(void **state)
{
    (void)state;
    const double values[] = {-INFINITY, -1.5, -0.0, 0.0, 0x1p-149, 2, INFINITY, NAN, -NAN, NAN};
    enum { COUNT = sizeof values / sizeof *values };
    float singles[COUNT];
    uint64_t swapped[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t bits;
        singles[i] = (float)values[i];
        memcpy(&bits, &values[i], sizeof bits);
        swapped[i] = __builtin_bswap64(i + 1 == COUNT ? bits + 7 : bits); /* another NaN */
    }
    for (int descending = 0; descending < 2; descending++) {
        struct argsort argsort = make(KEY_TYPE_f64, ENDIAN_LITTLE, descending, COUNT);
        check_pairs(&argsort, values, values, COUNT, descending);
        argsort = make(KEY_TYPE_f64, ENDIAN_BIG, descending, COUNT);
        check_pairs(&argsort, values, swapped, COUNT, descending);
        argsort = make(KEY_TYPE_f32, ENDIAN_LITTLE, descending, COUNT);
        check_pairs(&argsort, values, singles, COUNT, descending);
        argsort = make(KEY_TYPE_f32, ENDIAN_LITTLE, descending, COUNT_UNKNOWN);
        check_pairs(&argsort, values, singles, COUNT, descending);
    }
}

/* Large enough for several threads, with a first index in which all bits are set that can be. */
static void an_index_comes_back(void **state)
{
    (void)state;
    static const enum key_type_id ids[] = {KEY_TYPE_u8, KEY_TYPE_i16, KEY_TYPE_f32, KEY_TYPE_f64};
    const size_t count = 300007;
    unsigned char *keys = malloc(count * 8);
    struct key_index *items = malloc(count * sizeof *items);
    assert_non_null(keys);
    assert_non_null(items);
    memset(keys, 0xa5, count * 8);
    for (size_t k = 0; k < sizeof ids / sizeof *ids; k++) {
        const struct argsort argsort = make(ids[k], ENDIAN_LITTLE, true, (size_t)1 << 32);
        const uint64_t first = ((uint64_t)1 << 32) - count;
        const struct chunk chunk = {.items = items, .capacity = count, .count = count};
        argsort_fill(&argsort, keys, first, &chunk, 3, &(struct argsort_taps){NULL, NULL});
        for (size_t i = 0; i < count; i++) {
            assert_true(argsort_index(&argsort, items, i) == first + i);
            assert_true(key_of(&argsort, items, i) == key_of(&argsort, items, 0));
        }
    }
    free(items);
    free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_is_packed_where_it_fits),
        cmocka_unit_test(narrow_indices_count_up_to_their_greatest),
        cmocka_unit_test(an_item_counts_up_to_its_spare_bits),
        cmocka_unit_test(equal_is_what_compares_equal),
        cmocka_unit_test(an_index_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
