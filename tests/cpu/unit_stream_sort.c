/* SPDX-License-Identifier: Apache-2.0 */
/* unit_stream_sort.c - the bucket model of a stream of keys (cpu/stream/stream_sort.h), and keys
 * that are counted, against qsort.
 */
#include "core/key_types.h"
#include "cpu/partition/bucket_model.h"
#include "cpu/stream/stream_sort.h"
#include "tests/random_next.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int compare_keys(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* ---- The model ---- */

/* Returns a key of `bits` bits; the greater `crowding` is, the more keys are small. */
static uint64_t crowded_key(unsigned bits, unsigned crowding, uint64_t *random)
{
    const uint64_t key = random_next(random) >> (64 - bits);
    return crowding == 0 ? key : key >> random_next(random) % crowding;
}

static void check_key(const struct bucket_model *model, const struct fine_table *fine, uint64_t key)
{
    const size_t bucket = bucket_model_find(model, key);
    uint64_t lowest, highest;
    bucket_model_range(model, bucket, &lowest, &highest);
    assert_true(bucket < model->buckets);
    assert_true(lowest <= key && key <= highest);
    assert_int_equal(bucket_model_find(model, lowest), bucket);
    if (fine)
        assert_int_equal(fine->buckets[fine_table_cell(fine, key)], bucket);
}

/* Checks the model of a sample. Returns whether it has fine cells. */
static bool check_model(unsigned bits, unsigned crowding, unsigned wanted)
{
    enum { SAMPLES = 4096, OUTLIERS = 5 };
    static uint64_t sample[SAMPLES];
    static uint16_t buckets[FINE_TABLE_CELLS_MAX];
    struct bucket_model model;
    struct fine_table fine = {.buckets = buckets};
    uint64_t random = bits + wanted;
    for (size_t i = 0; i < SAMPLES; i++)
        sample[i] = crowded_key(bits, crowding, &random);
    qsort(sample, SAMPLES, sizeof *sample, compare_keys);
    const struct model_input input = {.sample = sample,
                                      .count = SAMPLES,
                                      .buckets_wanted = wanted,
                                      .buckets_max = BUCKET_MODEL_BUCKETS_MAX,
                                      .lowest = sample[OUTLIERS],
                                      .highest = sample[SAMPLES - 1 - OUTLIERS],
                                      .are_even = true};
    bucket_model_learn(&model, &input);
    const bool has_fine = fine_table_build(&fine, &model);
    for (size_t i = 0; i < SAMPLES; i++)
        check_key(&model, has_fine ? &fine : NULL, sample[i]);
    for (size_t i = 0; i < 20000; i++)
        check_key(&model, has_fine ? &fine : NULL, crowded_key(bits, crowding, &random));
    check_key(&model, has_fine ? &fine : NULL, 0);
    check_key(&model, has_fine ? &fine : NULL, UINT64_MAX >> (64 - bits));
    check_key(&model, has_fine ? &fine : NULL, model.lowest - 1);
    check_key(&model, has_fine ? &fine : NULL, model.highest + 1);
    return has_fine;
}

static void buckets_have_the_keys_of_their_range(void **state)
{
    (void)state;
    static const unsigned widths[] = {8, 16, 31, 32, 63, 64};
    size_t fine = 0, coarse = 0;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (unsigned crowding = 0; crowding <= widths[w]; crowding += 4)
            for (unsigned wanted = 16; wanted <= 4096; wanted *= 4)
                ++*(check_model(widths[w], crowding, wanted) ? &fine : &coarse);
    assert_true(fine > 10);
    assert_true(coarse > 10);
}

/* ---- Dense keys ---- */

static const struct {
    const char *type;
    enum key_endian endian;
    bool descending;
} dense_orders[] = {{"u32", ENDIAN_LITTLE, false}, {"i32", ENDIAN_LITTLE, true},
                    {"f32", ENDIAN_LITTLE, false}, {"f32", ENDIAN_BIG, true},
                    {"i64", ENDIAN_BIG, false},    {"f64", ENDIAN_LITTLE, true}};

/* Checks that the stream gives the expected keys, in order. */
static void compare_given(struct stream_sort *stream, const unsigned char *expected, size_t bytes,
                          unsigned width)
{
    for (size_t done = 0, count; done < bytes; done += count * width) {
        void *keys;
        stream_sort_give(stream, &keys, &count);
        assert_true(count > 0 && count * width <= bytes - done);
        assert_memory_equal(keys, expected + done, count * width);
        stream_sort_take_back(stream, count);
    }
}

/* Stores the keys of ordered[0..count). */
static void decode(const struct sort_task *task, const uint64_t *ordered, unsigned char *stored)
{
    for (size_t i = 0; i < task->count; i++) {
        const uint64_t key = key_order_decode(task->order, 8 * task->item_bytes, ordered[i]);
        memcpy(stored + i * task->item_bytes, &key, task->item_bytes);
    }
}

static void check_stream(const struct sort_task *task, const unsigned char *keys,
                         const unsigned char *expected, bool is_given_twice)
{
    const size_t bytes = task->count * task->item_bytes, chunk = stream_sort_chunk(task->threads);
    const struct stream_example example = {keys, task->count, false};
    struct stream_sort *stream;
    struct error error = {0};
    bool suits;
    void *const room = malloc(is_given_twice && bytes > chunk ? bytes : chunk);
    assert_non_null(room);
    assert_true(stream_sort_open(task, &example, &stream, &error));
    assert_true(stream_sort_put(stream, keys, task->count, &suits, &error) && suits);
    stream_sort_start(stream, room, is_given_twice, &suits);
    assert_true(suits);
    compare_given(stream, expected, bytes, task->item_bytes);
    if (is_given_twice) {
        stream_sort_rewind(stream);
        compare_given(stream, expected, bytes, task->item_bytes);
    }
    stream_sort_close(stream);
    free(room);
}

/* Most keys have one of `values` values; one key in a thousand has any value. */
static void check_dense(size_t number, size_t values, unsigned threads)
{
    enum { COUNT = 300007 };
    static uint64_t ordered[COUNT];
    static unsigned char keys[COUNT * sizeof(uint64_t)], expected[COUNT * sizeof(uint64_t)];
    enum key_endian endian;
    const char *const name = dense_orders[number].type;
    const struct key_type *const type = key_type_find(name, strlen(name), &endian);
    assert_non_null(type);
    const struct sort_task task = {.item_bytes = type->bytes,
                                   .order = key_order_make(type, dense_orders[number].endian,
                                                           NAN_GREATEST,
                                                           dense_orders[number].descending),
                                   .count = COUNT,
                                   .threads = threads};
    const uint64_t mask = key_bits_mask(8 * type->bytes);
    uint64_t random = values;
    for (size_t i = 0; i < COUNT; i++) {
        const uint64_t any = random_next(&random);
        ordered[i] = any % 1000 == 0 ? any & mask : mask / 2 - 4096 + any % values;
    }
    decode(&task, ordered, keys);
    qsort(ordered, COUNT, sizeof *ordered, compare_keys);
    decode(&task, ordered, expected);
    check_stream(&task, keys, expected, values % 2 == 1);
}

static void keys_of_few_values(void **state)
{
    (void)state;
    static const size_t values[] = {1000, 20001, 150000, 299000, 301001, 1000000};
    for (size_t o = 0; o < sizeof dense_orders / sizeof *dense_orders; o++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            check_dense(o, values[v], 1 + (unsigned)(o + v) % 3);
}

/* A fifth of the keys is equal, which makes a bucket that is sorted in an array of its own. */
static void an_output_larger_than_a_chunk_is_given_twice(void **state)
{
    (void)state;
    const size_t count = 3000017, equal = count / 5;
    uint64_t *const keys = malloc(count * sizeof *keys);
    uint64_t *const expected = malloc(count * sizeof *expected);
    assert_true(keys && expected);
    for (size_t i = 0; i < count; i++) {
        const uint64_t key = i * 7919 % count; /* a permutation: 7919 is prime */
        keys[i] = key < equal ? equal : key;
        expected[i] = i < equal ? equal : i;
    }
    for (unsigned threads = 1; threads <= 3; threads++) {
        const struct sort_task task = {.item_bytes = sizeof *keys,
                                       .order = key_order_identity(),
                                       .count = count,
                                       .threads = threads};
        check_stream(&task, (const unsigned char *)keys, (const unsigned char *)expected, true);
    }
    free(keys);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_have_the_keys_of_their_range),
        cmocka_unit_test(keys_of_few_values),
        cmocka_unit_test(an_output_larger_than_a_chunk_is_given_twice),
    };
    return cmocka_run_group_tests_name("radix stream", tests, NULL, NULL);
}
