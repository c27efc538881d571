/* SPDX-License-Identifier: Apache-2.0 */
/* unit_keys.c - the list of key types, the first NaN of an array, items that carry an index, and
 * merges of items. tests/formats/types.sh compares the order of each type with NumPy's. Merges are
 * compared with qsort(3).
 */
#include "core/argsort.h"
#include "core/item_merge.h"
#include "core/key_order.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- NaNs ---- */

static void first_nan_is_found(void **state)
{
    (void)state;
    double numbers[] = {0, (double)INFINITY, -1, -(double)NAN, (double)NAN};
    const struct key_type *f64 = &key_types[KEY_TYPE_f64];
    assert_int_equal(key_order_find_nan(f64, ENDIAN_LITTLE, numbers, 5), 3);
    assert_int_equal(key_order_find_nan(f64, ENDIAN_LITTLE, numbers, 3), 3);
    assert_int_equal(key_order_find_nan(f64, ENDIAN_LITTLE, numbers, 0), 0);
    const unsigned char big_half[] = {0x7c, 0x00, 0x00, 0x7e, 0x7e, 0x00};
    assert_int_equal(key_order_find_nan(&key_types[KEY_TYPE_f16], ENDIAN_BIG, big_half, 3), 2);
    assert_int_equal(key_order_find_nan(&key_types[KEY_TYPE_u64], ENDIAN_LITTLE, numbers, 5), 5);
    const int64_t times[] = {-1, INT64_MAX, 0, INT64_MIN, INT64_MIN};
    const unsigned char big_times[16] = {0x80, 0, 0, 0, 0, 0, 0, 1, 0x80};
    const struct key_type *datetime = &key_types[KEY_TYPE_datetime64];
    assert_int_equal(key_order_find_nan(datetime, ENDIAN_LITTLE, times, 5), 3);
    assert_int_equal(key_order_find_nan(datetime, ENDIAN_LITTLE, times, 3), 3);
    assert_int_equal(key_order_find_nan(datetime, ENDIAN_BIG, big_times, 2), 1);
}

/* ---- The list ---- */

static void every_row_is_found_by_its_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++) {
        const struct key_type *type = &key_types[i];
        enum key_endian endian = ENDIAN_BIG;
        assert_int_equal(type->id, i);
        assert_ptr_equal(key_type_find(type->name, strlen(type->name), &endian), type);
        assert_int_equal(endian, ENDIAN_BIG);
        char dtype[5];
        key_type_numpy_dtype(type, ENDIAN_LITTLE, dtype);
        assert_ptr_equal(key_type_find(type->numpy_name, strlen(type->numpy_name), &endian), type);
        assert_int_equal(endian, ENDIAN_BIG);
        assert_ptr_equal(key_type_find(dtype, strlen(dtype), &endian), type);
        assert_int_equal(endian, type->bytes > 1 ? ENDIAN_LITTLE : ENDIAN_BIG);
    }
}

/* --type=i8 has one byte, and NumPy's i8 has eight. */
static void names_of_types(void **state)
{
    (void)state;
    enum { NONE = KEY_TYPE_COUNT };
    static const struct {
        const char *text;
        int of_type, of_dtype; /* what --type and a dtype of NumPy mean by it */
        enum key_endian endian;
    } names[] = {{"i8", KEY_TYPE_i8, KEY_TYPE_i64, ENDIAN_LITTLE},
                 {"|i8", KEY_TYPE_i64, KEY_TYPE_i64, ENDIAN_LITTLE},
                 {">i4", KEY_TYPE_i32, KEY_TYPE_i32, ENDIAN_BIG},
                 {"=f4", KEY_TYPE_f32, KEY_TYPE_f32, ENDIAN_LITTLE},
                 {"<f2", KEY_TYPE_f16, KEY_TYPE_f16, ENDIAN_LITTLE},
                 {"|f8", KEY_TYPE_f64, KEY_TYPE_f64, ENDIAN_LITTLE},
                 {"d", -1, KEY_TYPE_f64, ENDIAN_LITTLE},
                 {"=e", -1, KEY_TYPE_f16, ENDIAN_LITTLE},
                 {"float", -1, KEY_TYPE_f64, ENDIAN_LITTLE},
                 {"?", -1, KEY_TYPE_bool, ENDIAN_LITTLE},
                 {"|b1", -1, KEY_TYPE_bool, ENDIAN_LITTLE},
                 {"uint16", KEY_TYPE_u16, KEY_TYPE_u16, ENDIAN_LITTLE},
                 {"M8", -1, KEY_TYPE_datetime64, ENDIAN_LITTLE},
                 {"<m8[ns]", NONE, KEY_TYPE_timedelta64, ENDIAN_LITTLE},
                 {"<M8[ns]", NONE, KEY_TYPE_datetime64, ENDIAN_LITTLE},
                 {"datetime64[25s]", -1, KEY_TYPE_datetime64, ENDIAN_LITTLE},
                 {"datetime64[s]", NONE, KEY_TYPE_datetime64, ENDIAN_LITTLE},
                 {"m", -1, KEY_TYPE_timedelta64, ENDIAN_LITTLE},
                 {"=timedelta64[generic]", -1, KEY_TYPE_timedelta64, ENDIAN_LITTLE},
                 {"V2", -1, KEY_TYPE_bf16, ENDIAN_LITTLE},
                 {"M8[2147483647as]", -1, KEY_TYPE_datetime64, ENDIAN_LITTLE}};
    static const char *const strangers[] = {
        "",       "<",    "<float", "<float64", "f128",   "g",
        "V1",     "<f1",  "f9",     "<c8",      "c8",     "<f16",
        "<i3",    "i64 ", "F64",    "M8[]",     "M8[ns",  "M8[ns]]",
        "M8[10]", "M[s]", "f8[s]",  "M8[B]",    "M8[ s]", "M8[D/24]",
        "M8[-s]", "i4 ",  "<<f8",   "m8[S]",    "<f8[",   "M8[2147483648s]"};
    enum key_endian endian = ENDIAN_LITTLE;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const text = names[i].text;
        const struct key_type *const type = key_type_find(text, strlen(text), &endian);
        if (names[i].of_type >= 0 &&
            type != (names[i].of_type == NONE ? NULL : &key_types[names[i].of_type]))
            fail_msg("--type=%s is another type", text);
        endian = ENDIAN_LITTLE;
        assert_ptr_equal(key_type_find_dtype(text, strlen(text), &endian),
                         &key_types[names[i].of_dtype]);
        assert_int_equal(endian, names[i].endian);
        endian = ENDIAN_LITTLE;
    }
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (key_type_find(strangers[i], strlen(strangers[i]), &endian) ||
            key_type_find_dtype(strangers[i], strlen(strangers[i]), &endian))
            fail_msg("\"%s\" is taken for a type", strangers[i]);
    assert_null(key_type_find_dtype("f16", 3, &endian)); /* f16 of --type is f2 there */
    assert_ptr_equal(key_type_find("<f2-and-more", 3, &endian), &key_types[KEY_TYPE_f16]);
    endian = ENDIAN_BIG; /* as it was, without a mark of its own */
    assert_ptr_equal(key_type_find("=f4", 3, &endian), &key_types[KEY_TYPE_f32]);
    assert_int_equal(endian, ENDIAN_BIG);
    char dtype[5];
    key_type_numpy_dtype(&key_types[KEY_TYPE_u8], ENDIAN_BIG, dtype);
    assert_string_equal(dtype, "|u1");
    key_type_numpy_dtype(&key_types[KEY_TYPE_f64], ENDIAN_BIG, dtype);
    assert_string_equal(dtype, ">f8");
}

/* ---- Items that carry an index ---- */

static struct argsort make_argsort(enum key_type_id id, size_t count)
{
    struct argsort argsort = {.index_type = &key_types[KEY_TYPE_u64]};
    const struct key_type *const type = &key_types[id];
    argsort_set_keys(&argsort, type, key_order_make(type, ENDIAN_LITTLE, NAN_GREATEST, true),
                     count);
    return argsort;
}

static void an_item_is_packed_where_it_fits(void **state)
{
    (void)state;
    const size_t most = (size_t)1 << 32;
    const struct {
        enum key_type_id type;
        size_t count;
        unsigned bytes;
    } items[] = {{KEY_TYPE_i8, COUNT_UNKNOWN, 8},
                 {KEY_TYPE_u16, COUNT_UNKNOWN, 8},
                 {KEY_TYPE_bf16, COUNT_UNKNOWN, 8},
                 {KEY_TYPE_f32, 0, 8},
                 {KEY_TYPE_f32, most, 8},
                 {KEY_TYPE_f32, most + 1, 16},
                 {KEY_TYPE_f32, COUNT_UNKNOWN, 16},
                 {KEY_TYPE_u64, 0, 16},
                 {KEY_TYPE_u64, 1, 16}};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        assert_int_equal(make_argsort(items[i].type, items[i].count).item_bytes, items[i].bytes);
}

static void indices_count_up_to_their_greatest(void **state)
{
    (void)state;
    const struct {
        enum key_type_id keys, indices;
        size_t most;
    } counts[] = {{KEY_TYPE_f64, KEY_TYPE_u32, UINT32_MAX},
                  {KEY_TYPE_f64, KEY_TYPE_i32, INT32_MAX},
                  {KEY_TYPE_f64, KEY_TYPE_u64, SIZE_MAX},
                  {KEY_TYPE_f64, KEY_TYPE_i64, SIZE_MAX},
                  {KEY_TYPE_u16, KEY_TYPE_u64, (size_t)1 << 48}}; /* the spare bits of an item */
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct argsort argsort = make_argsort(counts[i].keys, COUNT_UNKNOWN);
        struct error error = {0};
        argsort.index_type = &key_types[counts[i].indices];
        assert_true(argsort_check_count(&argsort, 0, &error));
        assert_true(argsort_check_count(&argsort, counts[i].most, &error));
        if (counts[i].most == SIZE_MAX)
            continue;
        assert_false(argsort_check_count(&argsort, counts[i].most + 1, &error));
        if (counts[i].indices == KEY_TYPE_i32)
            assert_string_equal(error.message,
                                "--argsort=i32 counts up to 2147483647 numbers, and there are "
                                "more: use --argsort=i64");
    }
}

/* Large enough for several threads, with a first index in which all bits are set that can be. */
static void an_index_comes_back(void **state)
{
    (void)state;
    static const enum key_type_id ids[] = {KEY_TYPE_u8, KEY_TYPE_i16, KEY_TYPE_f32, KEY_TYPE_f64};
    enum { COUNT = 300007 };
    static unsigned char keys[COUNT * 8];
    static struct key_index items[COUNT];
    memset(keys, 0xa5, sizeof keys);
    for (size_t k = 0; k < sizeof ids / sizeof *ids; k++) {
        const struct argsort argsort = make_argsort(ids[k], (size_t)1 << 32);
        const uint64_t first = ((uint64_t)1 << 32) - COUNT;
        const struct chunk chunk = {.items = items, .capacity = COUNT, .count = COUNT};
        argsort_fill(&argsort, keys, first, &chunk, 3, &(struct argsort_taps){NULL, NULL});
        const bool is_pair = argsort.item_bytes == sizeof items[0];
        const unsigned shift = is_pair ? 0 : argsort.index_bits;
        const uint64_t key = items[0].key, word = ((uint64_t *)items)[0] >> shift;
        for (size_t i = 0; i < COUNT; i++) {
            assert_true(argsort_index(&argsort, items, i) == first + i);
            assert_true(is_pair ? items[i].key == key : ((uint64_t *)items)[i] >> shift == word);
        }
    }
}

/* ---- Merges of items ---- */

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

/* Each item is mapped as key_order_encode() maps it. */
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
        cmocka_unit_test(first_nan_is_found),
        cmocka_unit_test(every_row_is_found_by_its_names),
        cmocka_unit_test(names_of_types),
        cmocka_unit_test(an_item_is_packed_where_it_fits),
        cmocka_unit_test(indices_count_up_to_their_greatest),
        cmocka_unit_test(an_index_comes_back),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_count_before),
        cmocka_unit_test(test_encode),
    };
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
