/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_cases.h - arrays for the unit tests of the CPU's sort: every shape in every order, and the
 * results of a simple sort.
 *
 * Shapes are made of ordered bits, which are decoded to stored bits. So each shape is true to its
 * name in every order: "sorted" is also sorted as descending big-endian floats.
 */
#ifndef TESTS_CPU_CASES_H
#define TESTS_CPU_CASES_H

#include "core/backend.h"
#include "cpu/cpu_sorts.h"
#include "tests/random_next.h"
#include "tests/unit_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number for the size of this run: TEST_SIZE=small is for slow builds (tests/run.sh).
 */
static inline size_t full_or_small(size_t full, size_t small)
{
    const char *const size = getenv("TEST_SIZE");
    return size && strcmp(size, "small") == 0 ? small : full;
}

/* ---- Shapes ---- */

/* A key to make: number i of n, of `bits` bits. Higher bits of a result are cut off. */
struct draw {
    size_t i, n;
    unsigned bits;
    uint64_t values; /* the parameter of the shape */
    uint64_t random; /* the state of random_next() */
};

static inline uint64_t random_key(struct draw *d)
{
    return random_next(&d->random) & key_bits_mask(d->bits);
}

static inline double random_unit(struct draw *d)
{
    return (double)(random_next(&d->random) >> 11) * 0x1p-53;
}

/* Keys over the whole range of the width, ascending. */
static inline uint64_t rising_key(const struct draw *d, size_t i)
{
    const uint64_t step = key_bits_mask(d->bits) / d->n;
    return step ? i * step : i * key_bits_mask(d->bits) / d->n;
}

static uint64_t sorted_key(struct draw *d)
{
    return rising_key(d, d->i);
}

static uint64_t reversed_key(struct draw *d)
{
    return rising_key(d, d->n - 1 - d->i);
}

/* Descending in steps of three equal keys: reversing it would reverse the indices of equal keys. */
static uint64_t stairs_key(struct draw *d)
{
    return rising_key(d, (d->n - 1 - d->i) / 3);
}

static uint64_t organ_pipe_key(struct draw *d)
{
    return rising_key(d, d->i < d->n / 2 ? d->i : d->n - 1 - d->i);
}

static uint64_t misplaced_key(struct draw *d)
{
    return d->i == d->n - 1 ? 0 : rising_key(d, d->i) + 1;
}

/* `values` values, all equally frequent. */
static uint64_t value_key(struct draw *d)
{
    return (random_next(&d->random) % d->values + 1) * 0x9e3779b97f4a7c15u;
}

/* `values` values that come so slowly that no part of the keys has many new ones. */
static uint64_t slow_value_key(struct draw *d)
{
    const uint64_t reached = 1 + 2 * d->i * d->values / d->n;
    const uint64_t known = reached < d->values ? reached : d->values;
    return (random_next(&d->random) % known + 1) * 0x9e3779b97f4a7c15u;
}

static uint64_t value_at_first(struct draw *d)
{
    return d->i < d->n / 10 * 9 ? value_key(d) : random_key(d);
}

/* Multiples of the inverse of the factor by which counting_sort.c hashes values: they hash to 0. */
static uint64_t alike_key(struct draw *d)
{
    return random_next(&d->random) % d->values * 0xf1de83e19937733du;
}

/* Half of the keys have the greatest value, and a quarter the least. */
static uint64_t end_key(struct draw *d)
{
    const uint64_t key = random_next(&d->random);
    return key % 2 ? UINT64_MAX : key % 4 ? 0 : key;
}

/* Most keys have one of `values` adjacent values; one key in a thousand has any value. */
static uint64_t dense_key(struct draw *d)
{
    const uint64_t key = random_next(&d->random);
    return key % 1000 == 0 ? key : key_bits_mask(d->bits) / 2 - 4096 + key % d->values;
}

static uint64_t zipf_key(struct draw *d)
{
    return (uint64_t)exp(random_unit(d) * log((double)d->n + 1));
}

/* Doubles over all exponents. Narrower keys are cut from the top of their bits. */
static uint64_t exponent_key(struct draw *d)
{
    const double unit = random_unit(d) - 0.5;
    const double number = ldexp(unit, (int)(random_next(&d->random) % 2000) - 1000);
    uint64_t key;
    memcpy(&key, &number, sizeof key);
    return key >> (64 - d->bits);
}

/* One in 16 keys differs in the highest 8 bits, one in 16 of the others in the next 8, and so on:
 * one bucket has nearly all keys, whatever the digit. */
static uint64_t skewed_key(struct draw *d)
{
    unsigned zeros = 0;
    while (zeros + 8 < d->bits && random_next(&d->random) % 16 != 0)
        zeros += 8;
    return random_key(d) >> zeros;
}

/* Keys other than the heavy one are so few that a sample rarely has any. */
static uint64_t outlier_key(struct draw *d)
{
    return random_next(&d->random) % 5000 == 0 ? random_key(d) : 0x1234;
}

/* Nearly all keys are in the low half of the bits. Outliers over the whole width are frequent
 * enough for a sample to take its range from them. One bucket gets the rest, and must be
 * partitioned by its own range. */
static uint64_t clustered_key(struct draw *d)
{
    const uint64_t key = random_key(d);
    return random_next(&d->random) % 20 == 0 ? key : key >> d->bits / 2;
}

/* The last third is far from the other keys. A model that is made of the first keys has not learned
 * from the last ones. */
static uint64_t late_key(struct draw *d)
{
    const uint64_t key = random_key(d) >> 2;
    return d->i < d->n / 3 * 2 ? key : key | key_bits_mask(d->bits) / 4 * 3;
}

/* Almost one in five keys is the same, but none of the first quarter. */
static uint64_t frequent_key(struct draw *d)
{
    const uint64_t key = random_key(d);
    return d->i > d->n / 4 && key % 4 == 0 ? 0x77 : key;
}

static const struct shape {
    const char *name;
    uint64_t (*key)(struct draw *d);
    uint64_t values;
} shapes[] = {
    {"random", random_key, 0},
    {"late", late_key, 0},
    {"frequent", frequent_key, 0},
    {"sorted", sorted_key, 0},
    {"reversed", reversed_key, 0},
    {"all equal", value_key, 1},
    {"two values", value_key, 2},
    {"eight values", value_key, 8},
    {"few distinct", value_key, 17},
    {"a thousand values", value_key, 1000},
    {"as many values as are counted", slow_value_key, 2048},
    {"one value more", slow_value_key, 2049},
    {"a thousand at first", value_at_first, 1000},
    {"hashed alike", alike_key, 16},
    {"ends", end_key, 0},
    {"organ pipe", organ_pipe_key, 0},
    {"zipf", zipf_key, 0},
    {"one out of place", misplaced_key, 0},
    {"exponents", exponent_key, 0},
    {"skewed", skewed_key, 0},
    {"outliers", outlier_key, 0},
    {"stairs", stairs_key, 0},
    {"clustered", clustered_key, 0},
    {"dense, 20,001 values", dense_key, 20001},
    {"dense, 299,000 values", dense_key, 299000},
    {"dense, 1,000,000 values", dense_key, 1000000},
};
#define SHAPE_COUNT LENGTH(shapes)

/* ---- Orders ---- */

/* A type of each width in an order; "" is the identity. */
static const struct wanted_order {
    const char *type;
    unsigned bytes;
    enum key_endian endian;
    bool descending;
} orders[] = {
    {"u8", 1, ENDIAN_LITTLE, false},  {"i8", 1, ENDIAN_LITTLE, true},
    {"u16", 2, ENDIAN_LITTLE, false}, {"i16", 2, ENDIAN_BIG, false},
    {"f16", 2, ENDIAN_LITTLE, true},  {"u32", 4, ENDIAN_LITTLE, false},
    {"i32", 4, ENDIAN_LITTLE, false}, {"f32", 4, ENDIAN_LITTLE, true},
    {"f32", 4, ENDIAN_BIG, false},    {"u64", 8, ENDIAN_LITTLE, true},
    {"i64", 8, ENDIAN_LITTLE, true},  {"f64", 8, ENDIAN_LITTLE, false},
    {"f64", 8, ENDIAN_BIG, true},     {"", 16, ENDIAN_LITTLE, false},
};
#define ORDER_COUNT LENGTH(orders)
#define ORDER_f64 11

static inline struct key_order make_order(const struct wanted_order *wanted)
{
    if (wanted->type[0] == '\0')
        return key_order_identity();
    enum key_endian endian;
    const struct key_type *type = key_type_find(wanted->type, strlen(wanted->type), &endian);
    assert_non_null(type);
    assert_int_equal(type->bytes, wanted->bytes);
    return key_order_make(type, wanted->endian, NAN_GREATEST, wanted->descending);
}

/* ---- Cases ---- */

struct test_case {
    const struct wanted_order *wanted;
    struct key_order order;
    const char *shape;
    size_t count;
    unsigned char *input, *expected;
};

static inline void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, bytes / 64 * 64 + 64);
    assert_non_null(memory);
    return memory;
}

static inline void store_item(const struct test_case *c, unsigned char *items, size_t i,
                              struct key_index item)
{
    const unsigned width = c->wanted->bytes;
    const uint64_t stored = width < 16 ? key_order_decode(c->order, 8 * width, item.key) : 0;
    memcpy(items + i * width, width < 16 ? (const void *)&stored : (const void *)&item, width);
}

static inline struct key_index load_item(const struct test_case *c, const unsigned char *items,
                                         size_t i)
{
    const unsigned width = c->wanted->bytes;
    struct key_index item = {0, 0};
    memcpy(width < 16 ? (void *)&item.key : (void *)&item, items + i * width, width);
    if (width < 16)
        item = (struct key_index){i, key_order_encode(c->order, 8 * width, item.key)};
    return item;
}

/* The reference: sorts by one byte of the keys after the other, the lowest first, so that items of
 * equal keys keep their order. Bytes that all keys share are left out. */
static inline void sort_simply(const struct test_case *c, unsigned char *items, size_t count)
{
    struct key_index *from = allocate(count * sizeof *from), *to = allocate(count * sizeof *to);
    size_t begins[8][257] = {0};
    for (size_t i = 0; i < count; i++) {
        from[i] = load_item(c, items, i);
        for (unsigned byte = 0; byte < 8; byte++)
            begins[byte][(from[i].key >> 8 * byte & 255) + 1]++;
    }
    for (unsigned byte = 0; byte < 8 && count > 0; byte++) {
        size_t *const begin = begins[byte];
        if (begin[(from[0].key >> 8 * byte & 255) + 1] == count)
            continue;
        for (size_t value = 1; value < 257; value++)
            begin[value] += begin[value - 1];
        for (size_t i = 0; i < count; i++)
            to[begin[from[i].key >> 8 * byte & 255]++] = from[i];
        struct key_index *const sorted = to;
        to = from;
        from = sorted;
    }
    for (size_t i = 0; i < count; i++)
        store_item(c, items, i, from[i]);
    free(from);
    free(to);
}

/* A case of keys (ordered bits). */
static inline struct test_case make_case_of(const struct wanted_order *wanted, const char *shape,
                                            const uint64_t *keys, size_t count)
{
    const size_t bytes = count * wanted->bytes;
    struct test_case c = {wanted, make_order(wanted), shape,
                          count,  allocate(bytes),    allocate(bytes)};
    for (size_t i = 0; i < count; i++)
        store_item(&c, c.input, i, (struct key_index){i, keys[i]});
    memcpy(c.expected, c.input, bytes);
    sort_simply(&c, c.expected, count);
    return c;
}

static inline struct test_case make_case(const struct wanted_order *wanted,
                                         const struct shape *shape, size_t count)
{
    uint64_t *const keys = allocate(count * sizeof *keys);
    struct draw draw = {.n = count,
                        .bits = wanted->bytes < 8 ? 8 * wanted->bytes : 64,
                        .values = shape->values,
                        .random = count};
    for (; draw.i < count; draw.i++)
        keys[draw.i] = shape->key(&draw) & key_bits_mask(draw.bits);
    const struct test_case c = make_case_of(wanted, shape->name, keys, count);
    free(keys);
    return c;
}

static inline void free_case(struct test_case *c)
{
    free(c->input);
    free(c->expected);
}

static inline void assert_sorted(const struct test_case *c, const unsigned char *items,
                                 size_t begin, size_t count, const char *how, unsigned threads)
{
    const size_t width = c->wanted->bytes;
    assert_true(count <= c->count - begin);
    if (count > 0 && memcmp(items, c->expected + begin * width, count * width) != 0)
        fail_msg("%zu items of %u bytes, %s, %s, %s, %u threads: not in order", c->count,
                 c->wanted->bytes, c->wanted->type, c->shape, how, threads);
}

/* ---- The sort of an array, by exactly as many threads as are requested ---- */

/* Bytes after an array, which must not change. */
#define GUARD_BYTES ((size_t)1024)

static inline void set_guard(unsigned char *end)
{
    memset(end, 0xa5, GUARD_BYTES);
}

static inline void check_guard(const unsigned char *end)
{
    for (size_t i = 0; i < GUARD_BYTES; i++)
        assert_int_equal(end[i], 0xa5);
}

static inline void check_array(const struct test_case *c, const unsigned char *input,
                               unsigned threads)
{
    const size_t width = c->wanted->bytes, bytes = c->count * width;
    const struct sort_task task = {c->wanted->bytes, c->order, c->count, threads};
    size_t scratch_bytes;
    assert_true(array_sort_scratch_bytes(&task, &scratch_bytes));
    unsigned char *const scratch = allocate(scratch_bytes);
    unsigned char *const items = allocate(bytes + GUARD_BYTES);
    memcpy(items, input, bytes);
    set_guard(items + bytes);
    struct array_sort *const sorting = array_sort_begin(&task, items, scratch);
    for (size_t sorted = 0, known = 0; sorted < c->count; known = sorted) {
        sorted = array_sort_await(sorting, known);
        assert_true(sorted > known && sorted <= c->count);
        assert_sorted(c, items + known * width, known, sorted - known, "in an array", threads);
    }
    array_sort_end(sorting);
    check_guard(items + bytes);
    free(items);
    free(scratch);
}

#endif
