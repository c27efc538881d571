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
#include "cpu/array_sort.h"
#include "tests/random_next.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline double next_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* ---- Shapes: the i-th of n keys, as ordered bits before they are cut to the width ---- */

typedef uint64_t shape_key(size_t i, size_t n, unsigned bits, uint64_t *random);

static uint64_t random_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n, (void)bits;
    return random_next(random);
}

/* n keys over the whole range of the width, ascending. */
static uint64_t sorted_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)random;
    const uint64_t step = key_bits_mask(bits) / n;
    return step ? i * step : i * key_bits_mask(bits) / n;
}

static uint64_t reversed_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    return sorted_key(n - 1 - i, n, bits, random);
}

/* Descending in steps of three equal keys: reversing it would reverse the indices of equal keys. */
static uint64_t stairs_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    return sorted_key((n - 1 - i) / 3, n, bits, random);
}

static uint64_t equal_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n, (void)bits, (void)random;
    return 0x8123456789abcdefu;
}

static uint64_t two_keys(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n;
    return random_next(random) & 1 ? key_bits_mask(bits) : 5;
}

static uint64_t few_keys(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n, (void)bits;
    return random_next(random) % 17 * 0x9e3779b97f4a7c15u;
}

/* More values than are compared one by one, and few enough to be counted in a table. */
static uint64_t thousand_keys(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n, (void)bits;
    return random_next(random) % 1000 * 0x9e3779b97f4a7c15u;
}

/* Like thousand_keys(), except for the last tenth. */
static uint64_t thousand_at_first(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    return i < n / 10 * 9 ? thousand_keys(i, n, bits, random) : random_next(random);
}

static uint64_t organ_pipe_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    return sorted_key(i < n / 2 ? i : n - 1 - i, n, bits, random);
}

static uint64_t zipf_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)bits;
    return (uint64_t)exp(next_unit(random) * log((double)n + 1));
}

static uint64_t misplaced_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    return i == n - 1 ? 0 : sorted_key(i, n, bits, random) + 1;
}

/* Doubles over all exponents. Narrower keys are cut from the top of their bits. */
static uint64_t exponent_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n;
    const double number = ldexp(next_unit(random) - 0.5, (int)(random_next(random) % 2000) - 1000);
    uint64_t key;
    memcpy(&key, &number, sizeof key);
    return key >> (64 - bits);
}

/* One in 16 keys differs in the highest 8 bits, one in 16 of the others in the next 8, and so on:
 * one bucket has nearly all keys, whatever the digit. */
static uint64_t skewed_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n;
    unsigned zeros = 0;
    while (zeros + 8 < bits && random_next(random) % 16 != 0)
        zeros += 8;
    return (random_next(random) & key_bits_mask(bits)) >> zeros;
}

/* Keys other than the heavy one are so few that a sample hardly has any. */
static uint64_t outlier_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n, (void)bits;
    return random_next(random) % 5000 == 0 ? random_next(random) : 0x1234;
}

/* Nearly all keys are in the low half of the bits. Outliers over the whole width are frequent
 * enough for a sample to take its range from them. One bucket gets the rest, and must be
 * partitioned by its own range. */
static uint64_t clustered_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    (void)i, (void)n;
    const uint64_t key = random_next(random) & key_bits_mask(bits);
    return random_next(random) % 20 == 0 ? key : key >> bits / 2;
}

/* The last third is far from the other keys, which are the only ones that a model can have learned
 * from. */
static uint64_t late_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    const uint64_t key = (random_next(random) & key_bits_mask(bits)) >> 2;
    return i < n / 3 * 2 ? key : key | key_bits_mask(bits) / 4 * 3;
}

/* About one in ten keys is the same, but none of the first quarter. */
static uint64_t frequent_key(size_t i, size_t n, unsigned bits, uint64_t *random)
{
    const uint64_t key = random_next(random) & key_bits_mask(bits);
    return i > n / 4 && key % 8 == 0 ? 0x77 : key;
}

static const struct shape {
    const char *name;
    shape_key *key;
} shapes[] = {
    {"random", random_key},
    {"late", late_key},
    {"frequent", frequent_key},
    {"sorted", sorted_key},
    {"reversed", reversed_key},
    {"all equal", equal_key},
    {"two values", two_keys},
    {"few distinct", few_keys},
    {"a thousand values", thousand_keys},
    {"a thousand at first", thousand_at_first},
    {"organ pipe", organ_pipe_key},
    {"zipf", zipf_key},
    {"one out of place", misplaced_key},
    {"exponents", exponent_key},
    {"skewed", skewed_key},
    {"outliers", outlier_key},
    {"stairs", stairs_key},
    {"clustered", clustered_key},
};
#define SHAPE_COUNT (sizeof shapes / sizeof *shapes)

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
#define ORDER_COUNT (sizeof orders / sizeof *orders)

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

/* ---- The reference ---- */

/* Sorts by one byte after the other, the lowest first. qsort took three quarters of the time of
 * unit_cpu_sort. */
static inline void sort_by_bytes(uint64_t *keys, uint64_t *spare, size_t count)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t begins[257] = {0};
        for (size_t i = 0; i < count; i++)
            begins[(keys[i] >> shift & 255) + 1]++;
        for (size_t byte = 1; byte < 257; byte++)
            begins[byte] += begins[byte - 1];
        for (size_t i = 0; i < count; i++)
            spare[begins[keys[i] >> shift & 255]++] = keys[i];
        uint64_t *const sorted = spare;
        spare = keys;
        keys = sorted;
    }
}

static inline int compare_key_index(const void *a, const void *b)
{
    const struct key_index *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

struct test_case {
    const struct wanted_order *wanted;
    struct key_order order;
    const struct shape *shape;
    size_t count;
    unsigned char *input;
    unsigned char *expected;
};

/* Stores keys (ordered bits) in the case's order. */
static inline void store_keys(const struct test_case *c, const uint64_t *keys, unsigned char *items)
{
    for (size_t i = 0; i < c->count; i++) {
        const uint64_t stored = key_order_decode(c->order, 8 * c->wanted->bytes, keys[i]);
        memcpy(items + i * c->wanted->bytes, &stored, c->wanted->bytes);
    }
}

static inline void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    assert_non_null(memory);
    return memory;
}

/* Ordered bits, unsorted and, once they were requested, sorted. */
struct case_keys {
    const struct shape *shape;
    size_t count;
    unsigned bits;
    uint64_t *keys, *sorted;
};

/* Returns the keys of the last case again if only the order differs. */
static inline struct case_keys *make_keys(const struct shape *shape, size_t count, unsigned bits)
{
    static struct case_keys last;
    if (last.shape == shape && last.count == count && last.bits == bits)
        return &last;
    uint64_t random = count;
    free(last.keys);
    free(last.sorted);
    last = (struct case_keys){shape, count, bits, allocate(count * sizeof(uint64_t)), NULL};
    for (size_t i = 0; i < count; i++)
        last.keys[i] = shape->key(i, count, bits, &random) & key_bits_mask(bits);
    return &last;
}

static inline const uint64_t *sort_keys(struct case_keys *keys)
{
    const size_t bytes = keys->count * sizeof(uint64_t);
    if (!keys->sorted) {
        keys->sorted = memcpy(allocate(bytes), keys->keys, bytes);
        uint64_t *const spare = allocate(bytes);
        sort_by_bytes(keys->sorted, spare, keys->count);
        free(spare);
    }
    return keys->sorted;
}

static inline struct test_case make_case(const struct wanted_order *wanted,
                                         const struct shape *shape, size_t count)
{
    struct test_case c = {.wanted = wanted,
                          .order = make_order(wanted),
                          .shape = shape,
                          .count = count,
                          .input = allocate(count * wanted->bytes),
                          .expected = allocate(count * wanted->bytes)};
    const unsigned bits = wanted->bytes == 16 ? 64 : 8 * wanted->bytes;
    struct case_keys *const keys = make_keys(shape, count, bits);
    if (wanted->bytes == 16) {
        struct key_index *items = (struct key_index *)(void *)c.input;
        for (size_t i = 0; i < count; i++)
            items[i] = (struct key_index){i, keys->keys[i]};
        memcpy(c.expected, c.input, count * sizeof *items);
        qsort(c.expected, count, sizeof *items, compare_key_index);
    } else {
        store_keys(&c, keys->keys, c.input);
        store_keys(&c, sort_keys(keys), c.expected);
    }
    return c;
}

static inline void free_case(struct test_case *c)
{
    free(c->input);
    free(c->expected);
}

/* ---- Sorting the cases ---- */

static inline struct sort_spec make_spec(const struct test_case *c, bool known, unsigned threads)
{
    return (struct sort_spec){.item_bytes = c->wanted->bytes,
                              .order = c->order,
                              .count = known ? c->count : COUNT_UNKNOWN,
                              .algorithm = backend_find_algorithm(backends[0], "radix"),
                              .threads = threads};
}

/* An engine has at most one thread for each processor; the sort that it calls has as many threads
 * as are requested. */
static inline void check_team(const struct test_case *c, unsigned threads)
{
    const struct sort_task task = {
        .item_bytes = c->wanted->bytes, .order = c->order, .count = c->count, .threads = threads};
    const size_t width = c->wanted->bytes, bytes = c->count * width;
    size_t scratch_bytes;
    assert_true(array_sort_scratch_bytes(&task, &scratch_bytes));
    void *scratch = aligned_alloc(64, (scratch_bytes + 63) / 64 * 64);
    unsigned char *items = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(scratch);
    assert_non_null(items);
    memcpy(items, c->input, bytes);
    struct array_sort *const sorting = array_sort_begin(&task, items, scratch);
    for (size_t sorted = 0, known = 0; sorted < c->count; known = sorted) {
        sorted = array_sort_await(sorting, known);
        assert_in_range(sorted, known + 1, c->count);
        if (memcmp(items + known * width, c->expected + known * width, (sorted - known) * width))
            fail_msg("%zu items of %s, %s, by a team of %u: not in order", c->count,
                     c->wanted->type, c->shape->name, threads);
    }
    array_sort_end(sorting);
    free(items);
    free(scratch);
}

#endif
