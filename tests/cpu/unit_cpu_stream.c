/* SPDX-License-Identifier: Apache-2.0 */
/* unit_cpu_stream.c - keys that are partitioned as they arrive (cpu/stream/), and the
 * selection of the first items (cpu/top_select.c), against simple sorts: every shape in every order
 * (tests/cpu/cpu_cases.h). Some shapes are unsuitable for a stream and are undone.
 */
#include "core/backend.h"
#include "cpu/cpu_sorts.h"
#include "tests/cpu/cpu_cases.h"

/* ---- Streams ---- */

/* GIVEN_KEPT: the ring has room for all keys, and none are taken back. */
enum use { GIVEN_ONCE, GIVEN_TWICE, GIVEN_KEPT };

static void give(struct stream_sort *stream, void **keys, size_t *count)
{
    struct error error = {0};
    assert_true(stream_sort_give(stream, keys, count, &error));
}

/* Compares all keys that the stream gives. Two pieces are held before the first is returned, and it
 * is compared again then. */
static void check_given(struct stream_sort *stream, const struct test_case *c, unsigned threads)
{
    size_t done = 0, held = 0, count;
    for (void *keys = NULL, *before = NULL;; held = count, before = keys) {
        give(stream, &keys, &count);
        if (held > 0) {
            assert_sorted(c, before, done - held, held, "as a stream", threads);
            stream_sort_take_back(stream, held);
        }
        if (count == 0)
            break;
        assert_sorted(c, keys, done, count, "as a stream", threads);
        done += count;
    }
    assert_int_equal(done, c->count);
}

/* Compares the stream's check of the sorted keys with a sum of the input. */
static void check_checked(const struct key_check *check, const struct test_case *c)
{
    struct key_check input;
    key_check_start(&input, c->wanted->bytes);
    tap_observe(&input.tap, c->input, c->count * c->wanted->bytes);
    assert_true(check_sum_equal(check->sum, input.sum));
    assert_int_equal(check->disorder, 0);
}

/* A file in memory, to which a stream writes. */
struct written {
    unsigned char *keys;
    size_t left; /* bytes until a write fails */
};

enum { FILE_BEGIN = 128 }; /* position of the first key */

static bool write_to_memory(void *context, uint64_t position, const void *keys, size_t bytes,
                            unsigned threads, struct tap *tap, struct error *error)
{
    struct written *const written = context;
    bool has_room;
    (void)threads;
#pragma omp critical
    {
        has_room = written->left >= bytes;
        written->left -= has_room ? bytes : 0;
    }
    if (!has_room)
        return error_set(error, "full");
    tap_observe(tap, keys, bytes);
    memcpy(written->keys + (position - FILE_BEGIN), keys, bytes);
    return true;
}

/* Compares all keys that the stream writes, and its check of them. Then a write fails. */
static void check_written(struct stream_sort *stream, const struct test_case *c, unsigned threads)
{
    const size_t bytes = c->count * c->wanted->bytes;
    struct written file = {allocate(bytes), bytes};
    const struct item_writer writer = {write_to_memory, &file, FILE_BEGIN};
    struct error error = {0};
    struct key_check check;
    assert_true(stream_sort_write(stream, &writer, &check, &error));
    check_checked(&check, c);
    assert_sorted(c, file.keys, 0, c->count, "written", threads);
    file.left = bytes / 2;
    assert_false(stream_sort_write(stream, &writer, &check, &error));
    assert_string_equal(error.message, "full");
    free(file.keys);
}

/* Lets the stream's tap observe the keys, by more threads than the stream has. */
static void show(struct tap *tap, const unsigned char *keys, size_t bytes, unsigned threads)
{
    const size_t piece = 1024 * tap->unit_bytes;
#pragma omp parallel for num_threads(threads + 1) schedule(dynamic)
    for (size_t begin = 0; begin < bytes; begin += piece)
        tap_observe(tap, keys + begin, bytes - begin < piece ? bytes - begin : piece);
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
    const struct stream_example example = {keys, count, is_of_all_keys, 0};
    const struct stream_example first = {c->input, piece, false, 0};
    if (!stream_sort_open(task, &example, &stream, &error))
        assert_true(is_of_all_keys && stream_sort_open(task, &first, &stream, &error));
    assert_false(error.is_set);
    free(keys);
    return stream;
}

/* Compares all keys after the stream has given all of them, one after another in the ring. */
static void check_kept(struct stream_sort *stream, const struct test_case *c, const void *ring,
                       unsigned threads)
{
    size_t done = 0, count;
    for (void *keys = NULL;; done += count) {
        give(stream, &keys, &count);
        if (count == 0)
            break;
        assert_ptr_equal(keys, (const char *)ring + done * c->wanted->bytes);
    }
    assert_int_equal(done, c->count);
    assert_sorted(c, ring, 0, done, "as a stream", threads);
}

/* Returns whether the keys were sorted as a stream. Otherwise the undone keys are sorted as an
 * array. */
static bool check_stream(const struct test_case *c, bool is_known, enum use use, unsigned threads)
{
    const size_t width = c->wanted->bytes, chunk = stream_sort_chunk(threads);
    const struct sort_task task = {c->wanted->bytes, c->order, is_known ? c->count : SIZE_MAX,
                                   threads};
    size_t put, piece = c->count / 7 + 1;
    struct stream_sort *const stream = open_stream(&task, c, piece, is_known && threads > 1);
    unsigned char *const undone = allocate(c->count * width);
    const size_t room_bytes =
        use == GIVEN_KEPT && c->count * width > chunk ? c->count * width : chunk;
    void *const room = allocate(room_bytes);
    struct key_check check;
    bool suits = put_all(stream, c, piece, threads, &put);
    if (suits)
        stream_sort_start(stream, room, room_bytes, use == GIVEN_TWICE ? &check : NULL, &suits);
    if (suits && use == GIVEN_KEPT) {
        check_kept(stream, c, room, threads);
    } else if (suits) {
        if (use == GIVEN_TWICE) {
            void *keys;
            size_t count;
            check_checked(&check, c);
            stream_sort_rewind(stream);
            check_written(stream, c, threads);
            stream_sort_rewind(stream);
            check_given(stream, c, threads);
            stream_sort_rewind(stream);
            give(stream, &keys, &count); /* while others are being copied */
            stream_sort_rewind(stream);
        }
        check_given(stream, c, threads);
    } else {
        stream_sort_undo(stream, undone);
        memcpy(undone + put * width, c->input + put * width, (c->count - put) * width);
        check_array(c, undone, 2);
    }
    stream_sort_close(stream);
    free(undone);
    free(room);
    return suits;
}

static void streams_of_every_shape(void **state)
{
    static const unsigned threads[] = {1, 2, 3, 7};
    size_t sorted = 0, undone = 0;
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t o = 0; o < ORDER_COUNT; o++) {
            if ((orders[o].bytes != 4 && orders[o].bytes != 8) ||
                (o + s) % full_or_small(2, 10) != 0)
                continue;
            struct test_case c = make_case(&orders[o], &shapes[s], 300007);
            ++*(check_stream(&c, (o / 2 + s) % 2 == 0, (enum use)((o + s) % 3),
                             threads[(o + s) / 2 % 4])
                    ? &sorted
                    : &undone);
            free_case(&c);
        }
    assert_true(sorted > full_or_small(30, 5));
    assert_true(undone > full_or_small(10, 1));
}

/* An output larger than a chunk is given twice, or kept. Some keys are equal, which makes a bucket
 * that is sorted in an array of its own. */
static void large_streams(void **state)
{
    static const struct shape shape = {"frequent", frequent_key, 0};
    struct test_case c = make_case(&orders[ORDER_f64], &shape, 3000017);
    for (unsigned threads = (unsigned)full_or_small(1, 3); threads <= 3; threads++) {
        assert_true(check_stream(&c, threads != 2, GIVEN_TWICE, threads));
        assert_true(check_stream(&c, threads != 2, GIVEN_KEPT, threads));
    }
    free_case(&c);
}

/* ---- The first items ---- */

/* Adds all items chunk by chunk. What is kept stays in the order of the input, so a stable sort of
 * it begins with the items with which a stable sort of all items begins, including indices. */
static void check_top(const struct test_case *c, size_t top, size_t chunk, unsigned threads)
{
    const size_t width = c->wanted->bytes, wanted = top < c->count ? top : c->count;
    const struct top_task task = {c->wanted->bytes, c->order, top, threads};
    unsigned char *const room = allocate(2 * c->count * width);
    struct top_select *select;
    struct error error = {0};
    size_t kept = 0;
    assert_true(top_select_create(&task, &select, &error));
    for (size_t sent = 0, added; sent < c->count; sent += added) {
        added = c->count - sent < chunk ? c->count - sent : chunk;
        memcpy(room + kept * width, c->input + sent * width, added * width);
        kept = top_select_add(select, room, kept, added);
        assert_true(kept <= top_select_limit(top));
    }
    kept = top_select_finish(select, room, kept);
    assert_true(kept <= top + top / 8 || kept == c->count);
    assert_true(kept >= wanted);
    top_select_free(select);
    sort_simply(c, room, kept);
    assert_sorted(c, room, 0, wanted, "the first items", threads);
    free(room);
}

static void the_first_items(void **state)
{
    enum { MOST = 150001 };
    static const size_t counts[] = {0, 1, 2, 20011, MOST};
    static const size_t tops[] = {0, 1, 2, 1000, 33000, MOST / 2, MOST, SIZE_MAX};
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t o = 0; o < ORDER_COUNT; o++)
            for (size_t n = 0; n < 5; n++) {
                if (o % 6 != s % 6 && (orders[o].bytes != 16 || s % 2 != 0))
                    continue;
                if ((s + n) % full_or_small(2, 6) != 0)
                    continue;
                struct test_case c = make_case(&orders[o], &shapes[s], counts[n]);
                for (size_t k = (s + o) % 2; k < 8; k += 2)
                    check_top(&c, tops[k], (s + k / 2) % 2 ? 5003 : 70000,
                              1 + (unsigned)(s + k) % 3);
                free_case(&c);
            }
    assert_int_equal(top_select_limit(SIZE_MAX / 2 + 1), SIZE_MAX);
    assert_int_equal(top_select_limit(SIZE_MAX / 2), SIZE_MAX);
    assert_true(top_select_limit(10) >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_of_every_shape),
        cmocka_unit_test(large_streams),
        cmocka_unit_test(the_first_items),
    };
    return cmocka_run_group_tests_name("cpu stream", tests, NULL, NULL);
}
