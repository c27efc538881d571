/* SPDX-License-Identifier: Apache-2.0 */
/* unit_vector_sort.c - the vector sort alone, against qsort: counts around those of a network and
 * of bins, each place of the output, keys for which every sample has the least ones, and the memory
 * after the items. Also teams, which cut the items first.
 */
#include "core/backend.h"
#include "core/vector_units.h"
#include "cpu/array_sort.h"
#include "cpu/vector/vector_sort.h"
#include "tests/random_next.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_MAX ((size_t)200003)

/* Items after an array, which must not change. */
#define GUARD_COUNT ((size_t)64)

/* Room for COUNT_MAX of the largest items with a guard, and for the other needs of a sort. */
#define ROOM_BYTES ((COUNT_MAX + GUARD_COUNT) * 16 / 64 * 64 + ((size_t)64 << 20))

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* ---- Shapes: keys of 64 bits; narrower keys are their upper half ---- */

typedef void fill_keys(uint64_t *keys, size_t count, uint64_t *random);

static void fill_random(uint64_t *keys, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++)
        keys[i] = random_next(random);
}

static void fill_few(uint64_t *keys, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++)
        keys[i] = random_next(random) % 17 * 0x0f0f0f0f0f0f0f0fu;
}

/* Half of the keys have the greatest value, and a quarter the least. */
static void fill_ends(uint64_t *keys, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t x = random_next(random);
        keys[i] = x % 2 ? UINT64_MAX : x % 4 ? 0 : x;
    }
}

/* As many keys with 1, 2, 3... leading zeros as uniform doubles have. */
static void fill_uneven(uint64_t *keys, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned zeros = (unsigned)__builtin_ctzll(random_next(random) | 1ull << 40);
        keys[i] = random_next(random) >> zeros;
    }
}

static void fill_pipe(uint64_t *keys, size_t count, uint64_t *random)
{
    (void)random;
    for (size_t i = 0; i < count; i++)
        keys[i] = (i < count / 2 ? i : count - 1 - i) * (UINT64_MAX / count);
}

/* Up to some thousand keys, the sort samples the 8 keys in the middle of each half. Here 9 of these
 * are the least of the remaining keys, so that a cut by their median removes only 8 keys. */
static void fill_misleading(uint64_t *keys, size_t count, uint64_t *random)
{
    const uint64_t large = 1ull << 63;
    size_t *const left = malloc((count + 1) * sizeof *left);
    uint64_t next = 0;
    assert_non_null(left);
    for (size_t i = 0; i < count; i++) {
        keys[i] = random_next(random) | large;
        left[i] = i;
    }
    for (size_t rest = count, cut = 0; rest > 100 && cut < 50; cut++) {
        uint64_t look[16];
        size_t kept = 0;
        for (size_t i = 0; i < 16; i++) {
            const size_t place = left[i / 8 * (rest / 2) + (rest / 2 - 8) / 2 + i % 8];
            if (i < 9 && keys[place] >= large)
                keys[place] = ++next << 32;
            look[i] = keys[place];
        }
        qsort(look, 16, sizeof *look, compare_u64);
        for (size_t i = 0; i < rest; i++)
            if (keys[left[i]] >= look[8])
                left[kept++] = left[i];
        rest = kept;
    }
    free(left);
}

/* Some hundreds of values. */
static void fill_hundreds(uint64_t *keys, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++)
        keys[i] = random_next(random) % 700 * 0x0123456789abcdefu;
}

/* All keys are equal except one in a thousand: most samples have only the equal ones. */
static void fill_nearly_equal(uint64_t *keys, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t x = random_next(random);
        keys[i] = x % 1000 ? 1ull << 62 : x;
    }
}

static const struct shape {
    const char *name;
    fill_keys *fill;
} shapes[] = {{"random", fill_random},     {"few", fill_few},
              {"ends", fill_ends},         {"uneven", fill_uneven},
              {"pipe", fill_pipe},         {"misleading", fill_misleading},
              {"hundreds", fill_hundreds}, {"nearly equal", fill_nearly_equal}};
#define SHAPE_COUNT (sizeof shapes / sizeof *shapes)

/* ---- A case ---- */

static int compare_key_index(const void *a, const void *b)
{
    const struct key_index *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

struct arrays {
    uint64_t *keys;
    struct key_index *sorted;
    unsigned char *input, *expected;
    unsigned char *items, *room, *other; /* with a guard each */
};

static void store_item(unsigned char *items, unsigned width, size_t i, struct key_index item)
{
    const uint32_t narrow = (uint32_t)item.key;
    memcpy(items + i * width,
           width == 4   ? (const void *)&narrow
           : width == 8 ? (const void *)&item.key
                        : (const void *)&item,
           width);
}

/* The keys are ordered bits; the input is what `order` decodes them to. */
static void make_case(struct arrays *a, unsigned width, struct key_order order,
                      const struct shape *shape, size_t count)
{
    const unsigned bits = width == 4 ? 32 : 64;
    uint64_t random = count;
    shape->fill(a->keys, count, &random);
    for (size_t i = 0; i < count; i++)
        a->sorted[i] = (struct key_index){i, a->keys[i] >> (64 - bits)};
    for (size_t i = 0; i < count; i++)
        store_item(a->input, width, i,
                   (struct key_index){i, key_order_decode(order, bits, a->sorted[i].key)});
    qsort(a->sorted, count, sizeof *a->sorted, compare_key_index);
    for (size_t i = 0; i < count; i++)
        store_item(a->expected, width, i,
                   (struct key_index){a->sorted[i].index,
                                      key_order_decode(order, bits, a->sorted[i].key)});
}

static void fill_items(struct arrays *a, unsigned width, size_t count)
{
    memcpy(a->items, a->input, count * width);
    unsigned char *const guarded[] = {a->items, a->room, a->other};
    for (size_t i = 0; i < 3; i++)
        memset(guarded[i] + count * width, 0xa5, GUARD_COUNT * width);
}

static void check_guard(const unsigned char *items, unsigned width, size_t count)
{
    for (size_t i = count * width; i < (count + GUARD_COUNT) * width; i++)
        assert_int_equal(items[i], 0xa5);
}

static struct arrays make_arrays(void)
{
    struct arrays a = {.keys = malloc(COUNT_MAX * 8), .sorted = malloc(COUNT_MAX * 16)};
    unsigned char **const arrays[] = {&a.input, &a.expected, &a.items, &a.room, &a.other};
    assert_true(a.keys && a.sorted);
    for (size_t i = 0; i < 5; i++)
        assert_non_null(*arrays[i] = aligned_alloc(64, ROOM_BYTES));
    return a;
}

static void free_arrays(struct arrays *a)
{
    void *const arrays[] = {a->keys, a->sorted, a->input, a->expected, a->items, a->room, a->other};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

static void check_counts(unsigned width, struct key_order order, const size_t *counts)
{
    struct arrays a = make_arrays();
    for (size_t shape = 0; shape < SHAPE_COUNT; shape++)
        for (const size_t *count = counts; *count; count++) {
            make_case(&a, width, order, &shapes[shape], *count);
            for (unsigned place = 0; place < 3; place++) {
                fill_items(&a, width, *count);
                unsigned char *const to = place == 0 ? a.items : place == 1 ? a.room : a.other;
                vector_sort(width, a.items, a.room, *count, to, order, order);
                if (memcmp(to, a.expected, *count * width) != 0)
                    fail_msg("%zu items of %u bytes, %s, to place %u: not as qsort has them",
                             *count, width, shapes[shape].name, place);
                check_guard(a.items, width, *count);
                check_guard(a.room, width, *count);
                check_guard(a.other, width, *count);
            }
        }
    free_arrays(&a);
}

/* Sorts each case in place. The sort may not write beyond the room that it requires. */
static void check_in_place(unsigned width, struct key_order order, const size_t *counts)
{
    struct arrays a = make_arrays();
    for (size_t shape = 0; shape < SHAPE_COUNT; shape++)
        for (const size_t *count = counts; *count; count++) {
            const size_t room = *count < VECTOR_ROOM_COUNT ? *count : VECTOR_ROOM_COUNT;
            make_case(&a, width, order, &shapes[shape], *count);
            fill_items(&a, width, *count);
            memset(a.room, 0xa5, (VECTOR_ROOM_COUNT + GUARD_COUNT) * width);
            vector_sort_in_place(width, a.items, *count, a.room, order, order);
            if (memcmp(a.items, a.expected, *count * width) != 0)
                fail_msg("%zu keys of %u bytes, %s, in place: not as qsort has them", *count, width,
                         shapes[shape].name);
            check_guard(a.items, width, *count);
            check_guard(a.room, width, room);
        }
    free_arrays(&a);
}

/* ---- Tests ---- */

static const size_t counts[] = {1,    2,    15,   16,   17,   31,   32,   33,    63,        64,
                                65,   127,  128,  129,  255,  256,  257,  300,   511,       1000,
                                2000, 2047, 2048, 2049, 8191, 8192, 8193, 20001, COUNT_MAX, 0};

/* Around the counts with room for a copy, and around pieces of a cut in place: 64 keys at either
 * end. */
static const size_t large_counts[] = {1,     127,    128,    129,    191,       192,   193,
                                      300,   65535,  65536,  65537,  65663,     65664, 65728,
                                      65729, 100000, 131072, 131073, COUNT_MAX, 0};

static struct key_order order_of(const char *type)
{
    enum key_endian endian;
    return key_order_make(key_type_find(type, strlen(type), &endian), ENDIAN_LITTLE, NAN_GREATEST,
                          true);
}

static void sorts_keys_of_4_bytes(void **state)
{
    (void)state;
    if (!has_vector_units())
        skip();
    check_counts(4, order_of("f32"), counts);
    check_in_place(4, order_of("f32"), large_counts);
}

static void sorts_keys_of_8_bytes(void **state)
{
    (void)state;
    if (!has_vector_units())
        skip();
    check_counts(8, order_of("f64"), counts);
    check_in_place(8, order_of("f64"), large_counts);
}

static void sorts_items(void **state)
{
    (void)state;
    if (!has_vector_units())
        skip();
    check_counts(16, key_order_identity(), counts);
}

/* A third of the keys go to one part. Both parts together have all keys, and no key is in the wrong
 * part. */
static void cuts(void **state)
{
    (void)state;
    if (!has_vector_units())
        skip();
    static uint64_t keys[30001], low[30001], high[30001];
    const size_t sizes[] = {0, 1, 5, 1000, 30001};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t count = sizes[i];
        uint64_t random = count, sum = 0, greatest = 0;
        fill_random(keys, count, &random);
        for (size_t k = 0; k < count; k++)
            sum += keys[k];
        memcpy(low, keys, sizeof keys);
        const size_t below = vector_cut(8, low, count, 1, 3, low, high);
        assert_true(below <= count);
        if (count >= 1000)
            assert_in_range(below, count / 4, count * 5 / 12);
        for (size_t k = 0; k < below; k++) {
            greatest = low[k] > greatest ? low[k] : greatest;
            sum -= low[k];
        }
        for (size_t k = 0; k < count - below; k++) {
            assert_true(below == 0 || high[k] > greatest);
            sum -= high[k];
        }
        assert_int_equal(sum, 0);
    }
}

/* Teams of the requested size, whatever the machine has. With five threads and more the input goes
 * to buckets. */
static void sorts_by_teams(void **state)
{
    (void)state;
    struct arrays a = make_arrays();
    const struct key_order orders[] = {order_of("f32"), order_of("f64"), key_order_identity()};
    for (size_t shape = 0; shape < SHAPE_COUNT; shape++)
        for (unsigned i = 0; i < 3; i++) {
            make_case(&a, 4u << i, orders[i], &shapes[shape], COUNT_MAX);
            for (unsigned threads = 1; threads <= 6; threads++) {
                const struct sort_task task = {4u << i, orders[i], COUNT_MAX, threads};
                size_t bytes = 0, sorted = 0;
                fill_items(&a, task.item_bytes, task.count);
                assert_true(array_sort_scratch_bytes(&task, &bytes) && bytes <= ROOM_BYTES);
                struct array_sort *const sorting = array_sort_begin(&task, a.items, a.room);
                while (sorted < task.count)
                    sorted = array_sort_await(sorting, sorted);
                array_sort_end(sorting);
                if (memcmp(a.items, a.expected, task.count * task.item_bytes) != 0)
                    fail_msg("%u threads, items of %u bytes, %s: not as qsort has them", threads,
                             task.item_bytes, shapes[shape].name);
                check_guard(a.items, task.item_bytes, task.count);
            }
        }
    free_arrays(&a);
}

/* For many keys, the sort samples the 8 keys in the middle of each eighth. Here half of the sampled
 * keys are the greatest of the remaining keys, so that a cut by their median removes no others. The
 * remaining keys move up. */
static void fill_misleading_upwards(uint64_t *keys, size_t count)
{
    const size_t rows = 8, row = 8;
    size_t *const left = malloc(count * sizeof *left);
    uint64_t greatest = UINT64_MAX;
    assert_non_null(left);
    for (size_t i = 0; i < count; i++)
        left[i] = i;
    while (count > 2200) {
        const size_t stretch = count / rows, begin = (stretch - row) / 2;
        size_t kept = rows / 2 * stretch + begin;
        for (size_t r = rows / 2; r < rows; r++) {
            const size_t seen = r * stretch + begin, end = r + 1 < rows ? seen + stretch : count;
            for (size_t i = seen; i < seen + row; i++)
                keys[left[i]] = greatest--;
            memmove(left + kept, left + seen + row, (end - seen - row) * sizeof *left);
            kept += end - seen - row;
        }
        count = kept;
    }
    for (size_t i = 0; i < count; i++)
        keys[left[i]] = i * 2654435761u % 1000003;
    free(left);
}

#define STACK_BYTES ((size_t)256 << 10)
#define STACK_COUNT ((size_t)60000)

/* Sorts in a thread with a small stack. */
static void *sort_misleading(void *memory)
{
    struct key_index *const items = memory, *const room = items + STACK_COUNT;
    const struct key_order order = key_order_identity();
    vector_sort(sizeof *items, items, room, STACK_COUNT, items, order, order);
    return NULL;
}

static void takes_little_stack(void **state)
{
    (void)state;
    if (!has_vector_units())
        skip();
    uint64_t *const keys = malloc(STACK_COUNT * sizeof *keys);
    struct key_index *const items = malloc(2 * STACK_COUNT * sizeof *items);
    struct key_index *const expected = malloc(STACK_COUNT * sizeof *expected);
    pthread_attr_t attributes;
    pthread_t thread;
    assert_true(keys && items && expected);
    fill_misleading_upwards(keys, STACK_COUNT);
    for (size_t i = 0; i < STACK_COUNT; i++)
        items[i] = expected[i] = (struct key_index){i, keys[i]};
    qsort(expected, STACK_COUNT, sizeof *expected, compare_key_index);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, sort_misleading, items), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_memory_equal(items, expected, STACK_COUNT * sizeof *expected);
    pthread_attr_destroy(&attributes);
    free(expected);
    free(items);
    free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_keys_of_4_bytes), cmocka_unit_test(sorts_keys_of_8_bytes),
        cmocka_unit_test(sorts_items),           cmocka_unit_test(cuts),
        cmocka_unit_test(sorts_by_teams),        cmocka_unit_test(takes_little_stack),
    };
    return cmocka_run_group_tests_name("vector sort", tests, NULL, NULL);
}
