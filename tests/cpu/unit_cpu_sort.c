/* SPDX-License-Identifier: Apache-2.0 */
/* unit_cpu_sort.c - the CPU's backend sorts every shape in every order, by any number of threads
 * (tests/cpu/cpu_cases.h), and refuses another number of items than was announced. Also the vector
 * sort alone, for which arrays are made that mislead it.
 */
#include "core/key_map.h"
#include "core/vector_units.h"
#include "cpu/vector/vector_sort.h"
#include "tests/cpu/cpu_cases.h"
#include "tests/engine_run.h"

#include <malloc.h>
#include <pthread.h>

static const struct engine_functions *functions;

static int find_functions(void **state)
{
    functions = backends[0]->keys;
    mallopt(M_MMAP_THRESHOLD, 1 << 30); /* memory is used again, as clearing it takes long */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    return 0;
}

/* ---- The engine, as the pipeline calls it ---- */

static struct sort_spec make_spec(const struct test_case *c, size_t count, unsigned threads)
{
    return (struct sort_spec){.item_bytes = c->wanted->bytes,
                              .order = c->order,
                              .count = count,
                              .algorithm = backend_find_algorithm(backends[0], "radix"),
                              .threads = threads};
}

static void check_engine(const struct test_case *c, bool is_known, unsigned threads)
{
    const struct sort_spec spec = make_spec(c, is_known ? c->count : COUNT_UNKNOWN, threads);
    unsigned char *const output = allocate(c->count * c->wanted->bytes);
    struct engine_run run = {functions, &spec, c->input, c->count, output, 0};
    struct error error = {0};
    if (!engine_run_sort(&run, &error) || run.given != c->count)
        fail_msg("%zu items of %s, %s: %zu given, %s", c->count, c->wanted->type, c->shape,
                 run.given, error.message);
    assert_sorted(c, output, 0, c->count, is_known ? "known count" : "unknown count", threads);
    free(output);
}

/* An engine has at most one thread for each processor; the sort that it calls has as many threads
 * as are requested. */
static void check_sort(const struct test_case *c, bool is_known, unsigned threads)
{
    if (threads <= 2)
        check_engine(c, is_known, threads);
    else
        check_array(c, c->input, threads);
}

static const unsigned thread_counts[] = {1, 2, 3, 7, 16};

/* Counts around those of a network, of bins, of a partition and of counters, by one of the numbers
 * of threads in turn; above 4097 in one of eight orders in turn, and every second shape as items. A
 * small test takes a sixth of them. */
static void arrays_of_any_size(void **state)
{
    static const size_t counts[] = {
        0,    1,    2,    3,    15,   16,    17,    31,    32,    33,     63,    64,   65,
        127,  128,  129,  255,  256,  257,   300,   511,   1000,  2047,   2048,  2049, 4095,
        4096, 4097, 8191, 8192, 8193, 20001, 65535, 65536, 65537, 131073, 200003};
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t n = 0; n < LENGTH(counts); n++)
            for (size_t o = 0; o < ORDER_COUNT; o++) {
                if (counts[n] > 4097 && (s + n + o) % (orders[o].bytes == 16 ? 2 : 8) != 0)
                    continue;
                if ((s + o + n / 2) % full_or_small(1, 6) != 0)
                    continue;
                struct test_case c = make_case(&orders[o], &shapes[s], counts[n]);
                check_sort(&c, (s + n) % 2 == 0, thread_counts[(s + n + o / 4) % 5]);
                free_case(&c);
            }
}

/* Some are larger than a cache of one core. All shapes as keys of 4 and 8 bytes and as items, and
 * some as shorter keys, by one of the numbers of threads in turn. A small test takes half of them,
 * of a quarter of the size. */
static void large_arrays(void **state)
{
    for (size_t o = 0; o < ORDER_COUNT; o++)
        for (size_t s = 0; s < SHAPE_COUNT; s++) {
            if ((orders[o].bytes != 16 && o % 4 != s % 4) ||
                (s / 4 + o / 4) % full_or_small(1, 2) != 0)
                continue;
            const size_t count = orders[o].bytes == 4 ? 600011 : 400003;
            struct test_case c = make_case(&orders[o], &shapes[s], count / full_or_small(1, 4));
            check_sort(&c, s / 3 % 2 == 0, thread_counts[(s + s / 4 + o) % 5]);
            free_case(&c);
        }
}

/* A fifth of the keys is in one bucket, which is too large for a cache and too small for all
 * threads. One thread partitions it again, as it does in larger arrays with more threads. */
static void a_bucket_that_one_thread_partitions(void **state)
{
    const size_t count = 2300000;
    uint64_t *const keys = allocate(count * sizeof *keys), random = 1;
    for (size_t i = 0; i < count; i++) {
        const uint64_t key = random_next(&random);
        keys[i] = key % 5 == 0 ? key >> 32 : key;
    }
    struct test_case c = make_case_of(&orders[ORDER_COUNT - 1], "a fifth is small", keys, count);
    check_array(&c, c.input, 1);
    free_case(&c);
    free(keys);
}

/* Neither thread finds too many values for its table, but both together do. */
static void values_too_many_for_one_table(void **state)
{
    const size_t count = 150001;
    uint64_t *const keys = allocate(count * sizeof *keys), random = 1;
    for (size_t i = 0; i < count; i++) {
        const uint64_t key = random_next(&random) >> 1, first = i < count / 2 ? 0 : 1200;
        keys[i] = key % 2 == 0 ? 0 : (first + key / 2 % 1200) * 0x9e3779b97f4a7c15u;
    }
    struct test_case c = make_case_of(&orders[ORDER_f64], "2400 values", keys, count);
    check_array(&c, c.input, 2);
    free_case(&c);
    free(keys);
}

/* Keys that are counted: each thread writes a MiB, and the next piece starts when that piece has
 * been written. And enough keys for the engine to take them as a stream, whose ring wraps around.
 */
static void pieces_of_the_output(void **state)
{
    static const struct {
        size_t order, bytes, more;
    } cases[] = {{0, 2 << 20, 0}, {1, 2 << 20, 1}, {2, 2 << 20, 0},  {3, 2 << 20, 1},
                 {1, 4 << 20, 2}, {4, 4 << 20, 2}, {5, 24 << 20, 5}, {ORDER_f64, 24 << 20, 5}};
    for (size_t i = 0; i < LENGTH(cases) - full_or_small(0, 2); i++) {
        const struct wanted_order *const order = &orders[cases[i].order];
        struct test_case c =
            make_case(order, &shapes[i % 2], cases[i].bytes / order->bytes + cases[i].more);
        check_engine(&c, i % 2 == 0, 2);
        free_case(&c);
    }
}

static void assert_refused(bool done, struct error *error, const char *message)
{
    assert_false(done);
    assert_true(error->is_set);
    assert_non_null(strstr(error->message, message));
    *error = (struct error){0};
}

static void another_number_of_items_than_promised(void **state)
{
    struct test_case c = make_case(&orders[ORDER_f64], &shapes[0], 100);
    const struct sort_spec spec = make_spec(&c, c.count, 1);
    struct engine *engine = NULL;
    struct error error = {0};
    struct chunk chunk;
    assert_true(functions->open(&spec, &engine, &error));
    assert_true(functions->lend(engine, 1000, &chunk, &error));
    assert_int_equal(chunk.capacity, 100);
    memcpy(chunk.items, c.input, 100 * 8);
    chunk.count = 99;
    assert_true(functions->take(engine, chunk, &error));
    assert_refused(functions->sort(engine, &error), &error,
                   "99 items came where 100 were promised");
    assert_true(functions->lend(engine, 1, &chunk, &error));
    chunk.count = 1;
    assert_true(functions->take(engine, chunk, &error));
    assert_refused(functions->lend(engine, 1, &chunk, &error), &error,
                   "more than the promised 100 items");
    functions->close(engine);
    free_case(&c);
}

/* ---- The vector sort ---- */

/* Sorts into each of the places that are allowed, and in place. Nothing is written after the ends
 * of arrays and of the room. */
static void check_vectors(const struct test_case *c)
{
    const unsigned width = c->wanted->bytes;
    const size_t bytes = c->count * width;
    const size_t room_count = c->count < VECTOR_ROOM_COUNT ? c->count : VECTOR_ROOM_COUNT;
    unsigned char *const arrays[] = {allocate(bytes + GUARD_BYTES), allocate(bytes + GUARD_BYTES),
                                     allocate(bytes + GUARD_BYTES)};
    for (unsigned place = 0; place < 3; place++) {
        memcpy(arrays[0], c->input, bytes);
        for (size_t i = 0; i < 3; i++)
            set_guard(arrays[i] + bytes);
        key_map_encode(width, c->order, arrays[0], c->count, arrays[0]);
        vector_sort(width, arrays[0], c->count, arrays[1], c->count, arrays[place], c->order);
        assert_sorted(c, arrays[place], 0, c->count, "by vectors to a place", place);
        for (size_t i = 0; i < 3; i++)
            check_guard(arrays[i] + bytes);
    }
    if (width != 16) {
        memcpy(arrays[0], c->input, bytes);
        set_guard(arrays[1] + room_count * width);
        key_map_encode(width, c->order, arrays[0], c->count, arrays[0]);
        vector_sort(width, arrays[0], c->count, arrays[1], room_count, arrays[0], c->order);
        assert_sorted(c, arrays[0], 0, c->count, "by vectors in place", 1);
        check_guard(arrays[0] + bytes);
        check_guard(arrays[1] + room_count * width);
    }
    for (size_t i = 0; i < 3; i++)
        free(arrays[i]);
}

static const size_t vector_orders[] = {7, ORDER_f64, ORDER_COUNT - 1}; /* f32, f64, items */

/* Counts above 20,000 in one of the orders in turn. */
static void vectors_sort_to_any_place(void **state)
{
    static const size_t counts[] = {1,     2,     16,    17,    31,    64,    65,     129,   191,
                                    256,   257,   300,   1000,  2047,  2049,  8191,   8193,  20001,
                                    65535, 65537, 65663, 65664, 65728, 65729, 131073, 200003};
    if (!has_vector_units())
        skip();
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t n = 0; n < LENGTH(counts); n++)
            for (size_t o = 0; o < 3; o++) {
                if ((s + n + o) % ((counts[n] > 20000 ? 3 : 1) * full_or_small(1, 6)) != 0)
                    continue;
                struct test_case c = make_case(&orders[vector_orders[o]], &shapes[s], counts[n]);
                check_vectors(&c);
                free_case(&c);
            }
}

/* The sort of keys of 8 bytes samples the 8 keys in the middle of each of `rows` parts of the
 * remaining keys: of halves up to some thousand keys, then of eighths. Here half of the sampled
 * keys are the greatest of the remaining keys, so that a cut by their median removes no others. The
 * remaining keys move up. */
static void fill_misleading(uint64_t *keys, size_t count, size_t rows)
{
    const size_t row = 8;
    size_t *const left = allocate(count * sizeof *left);
    uint64_t greatest = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        left[i] = i;
    while (count > rows * 270) {
        const size_t stretch = count / rows, begin = (stretch - row) / 2;
        size_t kept = rows / 2 * stretch + begin;
        for (size_t r = rows / 2; r < rows; r++) {
            const size_t seen = r * stretch + begin, end = r + 1 < rows ? seen + stretch : count;
            for (size_t i = seen; i < seen + row; i++, greatest -= (uint64_t)1 << 32)
                keys[left[i]] = greatest;
            memmove(left + kept, left + seen + row, (end - seen - row) * sizeof *left);
            kept += end - seen - row;
        }
        count = kept;
    }
    for (size_t i = 0; i < count; i++)
        keys[left[i]] = (i * 2654435761u % 1000003) << 32;
    free(left);
}

static void *check_vectors_of(void *c)
{
    check_vectors(c);
    return NULL;
}

/* In a thread with a small stack. */
static void samples_that_mislead_take_little_stack(void **state)
{
    static const size_t counts[] = {3000, 60000};
    pthread_attr_t attributes;
    pthread_t thread;
    if (!has_vector_units())
        skip();
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)256 << 10), 0);
    for (size_t n = 0; n < LENGTH(counts); n++)
        for (size_t o = 0; o < 3; o++) {
            uint64_t *const keys = allocate(counts[n] * sizeof *keys);
            fill_misleading(keys, counts[n], n == 0 ? 2 : 8);
            for (size_t i = 0; i < counts[n] && o == 0; i++)
                keys[i] >>= 32;
            struct test_case c =
                make_case_of(&orders[vector_orders[o]], "misleading", keys, counts[n]);
            assert_int_equal(pthread_create(&thread, &attributes, check_vectors_of, &c), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
            free_case(&c);
            free(keys);
        }
    pthread_attr_destroy(&attributes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_number_of_items_than_promised),
        cmocka_unit_test(arrays_of_any_size),
        cmocka_unit_test(large_arrays),
        cmocka_unit_test(a_bucket_that_one_thread_partitions),
        cmocka_unit_test(values_too_many_for_one_table),
        cmocka_unit_test(pieces_of_the_output),
        cmocka_unit_test(vectors_sort_to_any_place),
        cmocka_unit_test(samples_that_mislead_take_little_stack),
    };
    return cmocka_run_group_tests_name("cpu sort", tests, find_functions, NULL);
}
