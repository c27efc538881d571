/* SPDX-License-Identifier: Apache-2.0 */
/* unit_cpu_sort.c - the CPU's sort, called through struct backend like in the pipeline, against
 * simple sorts: every shape in every order, by any number of threads (tests/cpu/cpu_cases.h).
 */
#include "tests/cpu/cpu_cases.h"

#include <stdio.h>

/* Fills the engine in chunks of about a third of the items. */
static void fill(struct engine *engine, const struct test_case *c)
{
    const size_t width = c->wanted->bytes;
    struct error error = {0};
    for (size_t done = 0; done < c->count;) {
        struct chunk chunk;
        const size_t left = c->count - done, third = c->count / 3 + 1;
        if (!backends[0]->keys->lend(engine, left < third ? left : third, &chunk, &error))
            fail_msg("%s", error.message);
        assert_in_range(chunk.capacity, 1, third);
        chunk.count = chunk.capacity < left ? chunk.capacity : left;
        memcpy(chunk.items, c->input + done * width, chunk.count * width);
        assert_true(backends[0]->keys->take(engine, chunk, &error));
        done += chunk.count;
    }
}

static void compare_output(struct engine *engine, const struct test_case *c, const char *how)
{
    const size_t width = c->wanted->bytes;
    struct error error = {0};
    struct chunk chunk;
    size_t done = 0;
    for (;;) {
        assert_true(backends[0]->keys->give(engine, &chunk, &error));
        if (chunk.count == 0)
            break;
        assert_true(chunk.count <= c->count - done);
        if (memcmp(chunk.items, c->expected + done * width, chunk.count * width) != 0)
            fail_msg("%zu items of %s, %s, %s: not in order", c->count, c->wanted->type,
                     c->shape->name, how);
        done += chunk.count;
        assert_true(backends[0]->keys->take_back(engine, chunk, &error));
    }
    assert_int_equal(done, c->count);
}

static void check_sort(const struct test_case *c, bool known, unsigned threads)
{
    const struct sort_spec spec = make_spec(c, known, threads);
    struct engine *engine = NULL;
    struct error error = {0};
    char how[64];
    snprintf(how, sizeof how, "%s count, %u threads", known ? "known" : "unknown", threads);
    if (!backends[0]->keys->open(&spec, &engine, &error))
        fail_msg("%s", error.message);
    fill(engine, c);
    if (!backends[0]->keys->sort(engine, &error))
        fail_msg("%s", error.message);
    compare_output(engine, c, how);
    backends[0]->keys->close(engine);
}

static void check_sort_by(const struct test_case *c, bool known, unsigned threads)
{
    if (threads <= 2)
        check_sort(c, known, threads);
    else
        check_team(c, threads);
}

/* ---- Tests ---- */

static const unsigned thread_counts[] = {1, 2, 3, 7, 16};
#define THREAD_COUNTS (sizeof thread_counts / sizeof *thread_counts)

static void small_counts(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 255, 256, 257, 4095, 4096, 4097};
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
            for (size_t o = 0; o < ORDER_COUNT; o++) {
                struct test_case c = make_case(&orders[o], &shapes[s], counts[n]);
                for (size_t t = 0; t < THREAD_COUNTS; t++)
                    check_sort(&c, (s + n + t) % 2 == 0, thread_counts[t]);
                free_case(&c);
            }
}

/* Each shape is tested with every second order: with one half of the orders for one count, and the
 * other half for the next count. */
static void counts_around_the_first_partition(void **state)
{
    (void)state;
    static const size_t counts[] = {65535, 65536, 65537};
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
            for (size_t o = 0; o < ORDER_COUNT; o++) {
                if (orders[o].bytes != 16 && (s + n + o) % 2 != 0)
                    continue;
                struct test_case c = make_case(&orders[o], &shapes[s], counts[n]);
                for (size_t t = (o / 2 + s) % 2; t < THREAD_COUNTS; t += 2)
                    check_sort_by(&c, (o / 4 + s / 2 + n / 2) % 2 == 0, thread_counts[t]);
                free_case(&c);
            }
}

/* The maximum count at which keys of two bytes are sorted, and one more key, for which they are
 * counted. */
static void words_around_those_that_are_counted(void **state)
{
    (void)state;
    for (size_t o = 0; o < ORDER_COUNT; o++)
        for (size_t s = 0; s < SHAPE_COUNT && orders[o].bytes == 2; s++) {
            struct test_case c = make_case(&orders[o], &shapes[s], ((size_t)128 << 10) + s % 2);
            check_sort_by(&c, s % 4 < 2, thread_counts[s % THREAD_COUNTS]);
            free_case(&c);
        }
}

/* Each thread writes a MiB, and the next piece starts when that piece has been written. */
static void pieces_of_keys_that_are_counted(void **state)
{
    (void)state;
    const unsigned threads = 2;
    for (size_t o = 0; o < ORDER_COUNT; o++)
        for (size_t more = 0; more < 3 && orders[o].bytes <= 2; more++) {
            const size_t piece = ((size_t)1 << 20) * threads / orders[o].bytes;
            struct test_case c = make_case(&orders[o], &shapes[(o + more) % SHAPE_COUNT],
                                           (more == 2 ? 2 * piece : piece - 1 + more) + more);
            check_sort_by(&c, more == 1, threads);
            free_case(&c);
        }
}

/* Widths of 4 and 8 bytes have four orders each, so that all shapes are tested with each width.
 * Keys of 8 bytes and pairs are larger than a cache. */
static void large_counts(void **state)
{
    (void)state;
    for (size_t o = 0; o < ORDER_COUNT; o++)
        for (size_t s = 0; s < SHAPE_COUNT; s++) {
            if (orders[o].bytes != 16 && o % 4 != s % 4)
                continue;
            const size_t count = orders[o].bytes < 8 ? 1000003 : 600011;
            struct test_case c = make_case(&orders[o], &shapes[s], count);
            for (size_t t = s % 3; t < THREAD_COUNTS; t += 3)
                check_sort_by(&c, s / 3 % 2 == 0, thread_counts[t]);
            free_case(&c);
        }
}

/* Enough keys for the engine to take them as a stream, and for its ring to wrap around. */
static void streams_of_the_engine(void **state)
{
    (void)state;
    for (size_t o = 0; o < ORDER_COUNT; o++) {
        if ((orders[o].bytes != 4 && orders[o].bytes != 8) || o % 2 == 0)
            continue;
        const size_t count = ((size_t)36 << 20) / orders[o].bytes + 5;
        struct test_case c = make_case(&orders[o], &shapes[orders[o].bytes == 8], count);
        check_sort(&c, o % 4 == 1, 2);
        free_case(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_counts),
        cmocka_unit_test(counts_around_the_first_partition),
        cmocka_unit_test(words_around_those_that_are_counted),
        cmocka_unit_test(pieces_of_keys_that_are_counted),
        cmocka_unit_test(large_counts),
        cmocka_unit_test(streams_of_the_engine),
    };
    return cmocka_run_group_tests_name("cpu sort", tests, NULL, NULL);
}
