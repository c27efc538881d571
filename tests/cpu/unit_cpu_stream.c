/* SPDX-License-Identifier: Apache-2.0 */
/* unit_cpu_stream.c - keys that are partitioned as they arrive (cpu/stream/stream_sort.h), against
 * simple sorts: every shape in every order (tests/cpu/cpu_cases.h). Some shapes are unsuitable and
 * are undone.
 */
#include "cpu/stream/stream_sort.h"
#include "tests/cpu/cpu_cases.h"

/* Sorts the keys of an undone stream, which are in an array. */
static void check_undone(const struct test_case *c, unsigned char *items)
{
    const struct test_case again = {c->wanted, c->order, c->shape, c->count, items, c->expected};
    check_team(&again, 2);
}

/* Compares all keys that the stream gives. Two pieces are held before the first is returned.
 * Returns the number of keys. */
static size_t compare_given(struct stream_sort *stream, const struct test_case *c)
{
    const size_t width = c->wanted->bytes;
    size_t done = 0, held = 0, count;
    void *keys = NULL;
    for (;;) {
        stream_sort_give(stream, &keys, &count);
        if (count == 0)
            return done;
        assert_true(count <= c->count - done);
        if (memcmp(keys, c->expected + done * width, count * width) != 0)
            fail_msg("%zu keys of %s, %s, as a stream: not in order", c->count, c->wanted->type,
                     c->shape->name);
        done += count;
        if (held > 0)
            stream_sort_take_back(stream, held);
        held = count;
    }
}

/* Lets the stream's tap observe the keys, by more threads than the stream has. */
static void show(struct tap *tap, const unsigned char *keys, size_t bytes, unsigned threads)
{
    const size_t piece = 1024 * tap->unit_bytes;
#pragma omp parallel for num_threads(threads + 1) schedule(dynamic)
    for (size_t begin = 0; begin < bytes; begin += piece)
        tap_see(tap, keys + begin, bytes - begin < piece ? bytes - begin : piece);
}

/* Puts the keys piece by piece, every second piece through the tap if there is one. Returns false
 * if the keys are unsuitable. */
static bool put_all(struct stream_sort *stream, const struct test_case *c, size_t piece,
                    unsigned threads, size_t *put)
{
    const size_t width = c->wanted->bytes;
    struct tap *const tap = stream_sort_tap(stream);
    struct error error = {0};
    bool suits = true;
    for (*put = 0; suits && *put < c->count;) {
        const size_t left = c->count - *put, count = left < piece ? left : piece;
        const unsigned char *const keys = c->input + *put * width;
        if (tap && *put / piece % 2 == 1) {
            show(tap, keys, count * width, threads);
            suits = stream_sort_suits(stream);
        } else {
            assert_true(stream_sort_put(stream, keys, count, &suits, &error));
        }
        *put += count;
        assert_int_equal(stream_sort_count(stream), *put);
    }
    return suits;
}

/* Opens a stream that learns from the first keys, or from every hundredth. */
static struct stream_sort *open_stream(const struct sort_task *task, const struct test_case *c,
                                       size_t piece, bool is_of_all_keys)
{
    const size_t width = c->wanted->bytes, count = is_of_all_keys ? c->count / 100 : piece;
    struct stream_sort *stream = NULL;
    struct error error = {0};
    unsigned char *const keys = allocate(count * width);
    for (size_t i = 0; i < count; i++)
        memcpy(keys + i * width, c->input + (is_of_all_keys ? 100 * i : i) * width, width);
    const struct stream_example example = {keys, count, is_of_all_keys};
    const struct stream_example first = {c->input, piece, false};
    if (!stream_sort_open(task, &example, &stream, &error))
        assert_true(is_of_all_keys && stream_sort_open(task, &first, &stream, &error));
    assert_false(error.is_set);
    free(keys);
    return stream;
}

/* Returns whether the keys were sorted as a stream. Otherwise the undone keys are sorted as an
 * array. */
static bool check_stream(const struct test_case *c, bool known, unsigned threads)
{
    const size_t width = c->wanted->bytes;
    const struct sort_task task = {.item_bytes = c->wanted->bytes,
                                   .order = c->order,
                                   .count = known ? c->count : SIZE_MAX,
                                   .threads = threads};
    size_t put, piece = c->count / 7 + 1;
    struct stream_sort *const stream = open_stream(&task, c, piece, known && threads > 1);
    unsigned char *const undone = allocate(c->count * width);
    void *const ring = allocate(stream_sort_chunk(threads));
    bool suits = put_all(stream, c, piece, threads, &put);
    if (suits)
        stream_sort_start(stream, ring, false, &suits);
    if (suits) {
        assert_int_equal(compare_given(stream, c), c->count);
    } else {
        stream_sort_undo(stream, undone);
        memcpy(undone + put * width, c->input + put * width, (c->count - put) * width);
        check_undone(c, undone);
    }
    stream_sort_close(stream);
    free(undone);
    free(ring);
    return suits;
}

static void streams(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 7};
    size_t sorted = 0, undone = 0;
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t o = 0; o < ORDER_COUNT; o++) {
            if (orders[o].bytes != 4 && orders[o].bytes != 8)
                continue;
            struct test_case c = make_case(&orders[o], &shapes[s], 300007);
            for (size_t t = (o + s) % 2; t < 4; t += 2)
                ++*(check_stream(&c, (o / 2 + s / 2 + t / 2) % 2 == 0, threads[t]) ? &sorted
                                                                                   : &undone);
            free_case(&c);
        }
    assert_true(sorted > 50);
    assert_true(undone > 50);
}

/* A stream is closed before it has given all its keys. */
static void a_stream_that_is_dropped(void **state)
{
    (void)state;
    struct test_case c = make_case(&orders[11], &shapes[0], 300007);
    const struct sort_task task = {
        .item_bytes = c.wanted->bytes, .order = c.order, .count = c.count, .threads = 3};
    void *const ring = allocate(stream_sort_chunk(3)), *keys;
    for (int given = 0; given < 3; given++) {
        struct stream_sort *const stream = open_stream(&task, &c, c.count, false);
        struct error error = {0};
        bool suits;
        size_t count;
        assert_true(stream_sort_put(stream, c.input, c.count, &suits, &error));
        assert_true(suits);
        if (given > 0)
            stream_sort_start(stream, ring, false, &suits);
        if (given > 1)
            stream_sort_give(stream, &keys, &count);
        stream_sort_close(stream);
    }
    stream_sort_close(NULL);
    free(ring);
    free_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams),
        cmocka_unit_test(a_stream_that_is_dropped),
    };
    return cmocka_run_group_tests_name("cpu stream", tests, NULL, NULL);
}
