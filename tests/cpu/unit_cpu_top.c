/* SPDX-License-Identifier: Apache-2.0 */
/* unit_cpu_top.c - the CPU's selection, chunk by chunk, against a stable sort of all items. Items
 * that are kept stay in the order of the input. So a stable sort of them begins with the items with
 * which a stable sort of all items begins, including indices.
 */
#include "core/backend.h"
#include "cpu/top_select.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_MAX ((size_t)150001)

static uint64_t random_bits(uint64_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* ---- Shapes: the i-th of n keys as 64 ordered bits ---- */

static uint64_t random_key(size_t i, size_t n)
{
    (void)n;
    return random_bits(i);
}

static uint64_t sorted_key(size_t i, size_t n)
{
    return UINT64_MAX / n * i;
}

static uint64_t reversed_key(size_t i, size_t n)
{
    return UINT64_MAX / n * (n - 1 - i);
}

static uint64_t equal_key(size_t i, size_t n)
{
    (void)i, (void)n;
    return 0x8123456789abcdefu;
}

static uint64_t two_keys(size_t i, size_t n)
{
    (void)n;
    return random_bits(i) & 1 ? UINT64_MAX : 0;
}

static uint64_t few_keys(size_t i, size_t n)
{
    (void)n;
    return random_bits(random_bits(i) % 17);
}

static uint64_t exponent_key(size_t i, size_t n)
{
    (void)n;
    return random_bits(i) >> random_bits(i + n) % 64;
}

static uint64_t (*const shapes[])(size_t i, size_t n) = {
    random_key, sorted_key, reversed_key, equal_key, two_keys, few_keys, exponent_key,
};

/* ---- Items ---- */

struct test_case {
    unsigned width;
    struct key_order order;
    uint64_t (*shape)(size_t i, size_t n);
    size_t count, top, chunk;
    unsigned threads;
};

static void make_item(const struct test_case *c, size_t i, unsigned char *item)
{
    const uint64_t ordered = c->shape(i, c->count);
    if (c->width == sizeof(struct key_index)) {
        const struct key_index pair = {i, ordered};
        memcpy(item, &pair, sizeof pair);
    } else {
        const uint64_t stored =
            key_order_decode(c->order, 8 * c->width, ordered >> (64 - 8 * c->width));
        memcpy(item, &stored, c->width);
    }
}

static uint64_t ordered_key(const struct test_case *c, const unsigned char *item)
{
    uint64_t stored = 0;
    if (c->width == sizeof(struct key_index))
        return ((const struct key_index *)(const void *)item)->key;
    memcpy(&stored, item, c->width);
    return key_order_encode(c->order, 8 * c->width, stored);
}

/* A key, its position in the input, and the item. */
struct placed {
    uint64_t key;
    size_t place;
    unsigned char item[sizeof(struct key_index)];
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static struct placed *sort_stably(const struct test_case *c, const unsigned char *items,
                                  size_t count)
{
    struct placed *sorted = calloc(count + 1, sizeof *sorted);
    assert_non_null(sorted);
    for (size_t i = 0; i < count; i++) {
        sorted[i].key = ordered_key(c, items + i * c->width);
        sorted[i].place = i;
        memcpy(sorted[i].item, items + i * c->width, c->width);
    }
    qsort(sorted, count, sizeof *sorted, compare_placed);
    return sorted;
}

/* ---- The selection ---- */

/* Adds all items chunk by chunk. Returns the number of items that are kept at the start of
 * `room`. */
static size_t select_items(const struct test_case *c, const unsigned char *items,
                           unsigned char *room)
{
    const struct top_task task = {c->width, c->order, c->top, c->threads};
    struct top_select *select;
    struct error error = {0};
    size_t kept = 0;
    assert_true(top_select_create(&task, &select, &error));
    for (size_t sent = 0; sent < c->count;) {
        const size_t left = c->count - sent, added = left < c->chunk ? left : c->chunk;
        memcpy(room + kept * c->width, items + sent * c->width, added * c->width);
        kept = top_select_add(select, room, kept, added);
        assert_true(kept <= top_select_limit(c->top));
        sent += added;
    }
    kept = top_select_finish(select, room, kept);
    assert_true(kept <= c->top + c->top / 8 || kept == c->count);
    top_select_free(select);
    return kept;
}

static void check_case(const struct test_case *c, const unsigned char *items,
                       const struct placed *expected)
{
    unsigned char *room = malloc(2 * c->count * c->width + 1);
    assert_non_null(room);
    const size_t kept = select_items(c, items, room);
    const size_t wanted = c->top < c->count ? c->top : c->count;
    if (kept < wanted)
        fail_msg("%zu kept, of %zu wanted", kept, wanted);
    struct placed *got = sort_stably(c, room, kept);
    for (size_t i = 0; i < wanted; i++)
        if (memcmp(expected[i].item, got[i].item, c->width) != 0)
            fail_msg("width %u, %zu items, chunks of %zu, %u threads: item %zu of the first %zu",
                     c->width, c->count, c->chunk, c->threads, i, c->top);
    free(got);
    free(room);
}

static void check_tops(struct test_case c, size_t shape)
{
    static const size_t tops[] = {0, 1, 2, 1000, 33000, COUNT_MAX / 2, COUNT_MAX, SIZE_MAX};
    unsigned char *items = malloc(c.count * c.width + 1);
    assert_non_null(items);
    for (size_t i = 0; i < c.count; i++)
        make_item(&c, i, items + i * c.width);
    struct placed *expected = sort_stably(&c, items, c.count);
    for (size_t k = 0; k < sizeof tops / sizeof *tops; k++) {
        c.top = tops[k];
        c.chunk = k % 2 ? 5003 : 70000;
        c.threads = 1 + (unsigned)(shape + k) % 3;
        check_case(&c, items, expected);
    }
    free(expected);
    free(items);
}

static void check_width(unsigned width, struct key_order order)
{
    static const size_t counts[] = {0, 1, 2, 20011, COUNT_MAX};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
            check_tops(
                (struct test_case){
                    .width = width, .order = order, .shape = shapes[s], .count = counts[n]},
                s);
}

static void check_type(enum key_type_id type, enum key_endian endian, bool descending)
{
    check_width(key_types[type].bytes,
                key_order_make(&key_types[type], endian, NAN_GREATEST, descending));
}

static void test_1_byte(void **state)
{
    (void)state;
    check_type(KEY_TYPE_i8, ENDIAN_LITTLE, true);
}

static void test_2_bytes(void **state)
{
    (void)state;
    check_type(KEY_TYPE_bf16, ENDIAN_LITTLE, false);
}

static void test_4_bytes(void **state)
{
    (void)state;
    check_type(KEY_TYPE_f32, ENDIAN_BIG, true);
}

static void test_8_bytes(void **state)
{
    (void)state;
    check_type(KEY_TYPE_u64, ENDIAN_LITTLE, false);
    check_type(KEY_TYPE_f64, ENDIAN_LITTLE, false);
}

static void test_pairs(void **state)
{
    (void)state;
    check_width(sizeof(struct key_index), key_order_identity());
}

static void test_limit(void **state)
{
    (void)state;
    assert_int_equal(top_select_limit(SIZE_MAX / 2 + 1), SIZE_MAX);
    assert_int_equal(top_select_limit(SIZE_MAX / 2), SIZE_MAX);
    assert_true(top_select_limit(10) >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1_byte),  cmocka_unit_test(test_2_bytes),
        cmocka_unit_test(test_4_bytes), cmocka_unit_test(test_8_bytes),
        cmocka_unit_test(test_pairs),   cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
