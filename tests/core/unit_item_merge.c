/* SPDX-License-Identifier: Apache-2.0 */
/* unit_item_merge.c - merges of sorted arrays of items, against qsort(3); positions in them,
 * against a count; and numbers that are mapped to ordered bits and back.
 */
#include "core/item_merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 3000
#define ARRAYS_MAX 40

static const unsigned widths[] = {4, 8, 16};
#define WIDTHS (sizeof widths / sizeof widths[0])

static unsigned width_now; /* static, as qsort(3) has no argument for it */

/* Compares the highest byte first: items are little-endian integers. */
static int compare_items(const void *a, const void *b)
{
    const unsigned char *const x = a, *const y = b;
    for (unsigned i = width_now; i-- > 0;)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Items of random bits, or of few values. */
static void make_items(unsigned char *items, size_t count, unsigned width, bool are_few)
{
    for (size_t i = 0; i < count * width; i++)
        items[i] = are_few ? (i % width == 0) * (rand() % 3) : rand() & 0xff;
}

/* Cuts the items into arrays, some of which are empty, and sorts each. */
static void make_arrays(unsigned char *items, size_t count, unsigned width,
                        struct item_array *arrays, size_t array_count)
{
    size_t begin = 0;
    width_now = width;
    for (size_t i = 0; i < array_count; i++) {
        size_t size = i + 1 == array_count ? count - begin : (size_t)rand() % (count + 1 - begin);
        size = rand() % 4 == 0 && i + 1 < array_count ? 0 : size;
        arrays[i] = (struct item_array){items + begin * width, size};
        qsort(items + begin * width, size, width, compare_items);
        begin += size;
    }
}

/* Merges `array_count` arrays in every way. */
static void check_merge(unsigned width, size_t count, size_t array_count, bool are_few)
{
    static _Alignas(16) unsigned char items[COUNT_MAX * 16], expected[COUNT_MAX * 16],
        out[COUNT_MAX * 16 + 16], scratch[COUNT_MAX * 16];
    struct item_array arrays[ARRAYS_MAX], copies[ARRAYS_MAX];
    make_items(items, count, width, are_few);
    make_arrays(items, count, width, arrays, array_count);
    memcpy(copies, arrays, sizeof arrays);
    memcpy(expected, items, count * width);
    qsort(expected, count, width, compare_items);
    memset(out + count * width, 0x5a, 16);
    item_merge(width, arrays, array_count, out, scratch);
    assert_memory_equal(out, expected, count * width);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(out[count * width + i], 0x5a);
    const void *const merged = item_merge_within(width, copies, array_count, items, out);
    assert_true(merged == items || merged == out);
    assert_memory_equal(merged, expected, count * width);
}

static void test_merge(void **state)
{
    static const size_t array_counts[] = {1, 2, 3, 4, 5, 8, 9, 16, 17, 33, ARRAYS_MAX};
    (void)state;
    srand(1);
    for (size_t w = 0; w < WIDTHS; w++)
        for (size_t a = 0; a < sizeof array_counts / sizeof array_counts[0]; a++)
            for (unsigned round = 0; round < 20; round++) {
                const size_t count = round < 8 ? round * 5 : (size_t)rand() % COUNT_MAX;
                check_merge(widths[w], count, array_counts[a], round % 2 == 1);
            }
}

static void test_count_before(void **state)
{
    _Alignas(16) unsigned char items[100 * 16], item[16];
    (void)state;
    for (size_t w = 0; w < WIDTHS; w++)
        for (unsigned round = 0; round < 400; round++) {
            const unsigned width = widths[w];
            const size_t count = (size_t)rand() % 100;
            struct item_array array;
            size_t less = 0, equal = 0;
            make_items(items, count, width, round % 2 == 1);
            make_items(item, 1, width, round % 2 == 1);
            make_arrays(items, count, width, &array, 1);
            for (size_t i = 0; i < count; i++) {
                const int found = compare_items(items + i * width, item);
                less += found < 0;
                equal += found == 0;
            }
            assert_int_equal(item_count_before(width, array, item, false), less);
            assert_int_equal(item_count_before(width, array, item, true), less + equal);
        }
}

/* unit_key_order.c tests the map itself; this tests that each item is mapped. */
static void test_encode(void **state)
{
    _Alignas(16) unsigned char items[67 * 8], stored[67 * 8];
    (void)state;
    for (size_t t = 0; t < KEY_TYPE_COUNT; t++)
        for (unsigned variant = 0; variant < 4; variant++) {
            const struct key_type *const type = &key_types[t];
            const struct key_order order = key_order_make(
                type, variant % 2 ? ENDIAN_BIG : ENDIAN_LITTLE, NAN_GREATEST, variant / 2 == 1);
            if (type->bytes < 4)
                continue;
            make_items(items, 67, type->bytes, false);
            memcpy(stored, items, sizeof items);
            item_encode(type->bytes, order, items, 67);
            for (size_t i = 0; i < 67; i++) {
                uint64_t x = 0, y = 0;
                memcpy(&x, stored + i * type->bytes, type->bytes);
                memcpy(&y, items + i * type->bytes, type->bytes);
                assert_true(y == key_order_encode(order, 8 * type->bytes, x));
            }
            item_decode(type->bytes, order, items, 67);
            assert_memory_equal(items, stored, (size_t)67 * type->bytes);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_count_before),
        cmocka_unit_test(test_encode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
