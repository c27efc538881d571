/* SPDX-License-Identifier: Apache-2.0 */
/* unit_source.c - data that a tap hands to a direct consumer is complete, once, and in whole units,
 * although the buffer is reused; source_look_at() finds in a file what is read later.
 */
#include "formats/io/input_file.h"
#include "formats/io/source.h"
#include "tests/unit_files.h"

/* Bytes before the units, so that the units are not aligned in the file. */
#define HEADER_BYTES ((size_t)13)

/* The room for reading that source.h requires. */
#define ROOM_BYTES (SOURCE_PEEK_MAX + 4 * TAP_PIECE_BYTES)

/* A tap that counts the units that it observes, and adds them up. */
struct counter {
    struct tap tap;
    uint64_t count, sum;
};

static void see_units(struct tap *tap, const void *data, size_t bytes)
{
    struct counter *const counter = (struct counter *)tap;
    uint64_t sum = 0;
    assert_int_equal(bytes % sizeof(uint64_t), 0);
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t unit;
        memcpy(&unit, (const unsigned char *)data + at, sizeof unit);
        sum += unit;
    }
    __atomic_fetch_add(&counter->count, bytes / sizeof(uint64_t), __ATOMIC_RELAXED);
    __atomic_fetch_add(&counter->sum, sum, __ATOMIC_RELAXED);
}

/* Writes squares after a header to `in`; *sum is the sum of the `count` squares. */
static void put_squares(size_t count, uint64_t *sum)
{
    const size_t bytes = HEADER_BYTES + count * sizeof(uint64_t);
    unsigned char *const content = calloc(1, bytes);
    assert_non_null(content);
    *sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t square = (i + 1) * (i + 1);
        memcpy(content + HEADER_BYTES + i * sizeof square, &square, sizeof square);
        *sum += square;
    }
    put_file("in", content, bytes);
    free(content);
}

static struct source *open_behind_header(unsigned threads)
{
    struct source *source;
    struct error error = {0};
    unsigned char header[HEADER_BYTES];
    size_t got;
    assert_true(source_open("in", threads, &source, &error));
    assert_true(source_read(source, header, sizeof header, &got, &error));
    assert_int_equal(got, sizeof header);
    assert_true(source_has_places(source));
    return source;
}

static void handed_on(void **state)
{
    (void)state;
    static const size_t counts[] = {3000, 40000, PARALLEL_TAKE_MIN / 8 + 5,
                                    PARALLEL_READ_MIN / 8 + 77777};
    unsigned char *const room = malloc(ROOM_BYTES);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (unsigned threads = 1; threads <= 4; threads++) {
            struct counter taker = {.tap = {.see = see_units, .unit_bytes = sizeof(uint64_t)}};
            struct counter first = {.tap = taker.tap};
            struct error error = {0};
            uint64_t sum;
            size_t got;
            put_squares(counts[c], &sum);
            struct source *const source = open_behind_header(threads);
            first.tap.taker = &taker.tap;
            assert_true(source_read_seen(source, room, counts[c] * sizeof(uint64_t), &first.tap,
                                         &got, &error));
            assert_int_equal(got, counts[c] * sizeof(uint64_t));
            assert_int_equal(first.count, counts[c]);
            assert_int_equal(taker.count, counts[c]);
            assert_true(first.sum == sum && taker.sum == sum);
            source_close(source);
        }
    free(room);
    unlink("in");
}

static void looked_at(void **state)
{
    (void)state;
    const size_t count = 100000;
    struct error error = {0};
    const unsigned char *data;
    uint64_t sum, square;
    size_t bytes;
    put_squares(count, &sum);
    struct source *const source = open_behind_header(1);
    const bool can_look = source_look_at(source, 0, &square, sizeof square);
    for (size_t i = 0; i < count && can_look; i += 997) {
        assert_true(source_look_at(source, i * sizeof square, &square, sizeof square));
        assert_true(square == (i + 1) * (i + 1));
    }
    assert_false(source_look_at(source, count * sizeof square - 1, &square, sizeof square));
    assert_true(source_peek(source, 1, &data, &bytes, &error)); /* nothing was consumed */
    memcpy(&square, data, sizeof square);
    assert_int_equal(square, 1);
    source_close(source);
    unlink("in");
    if (!can_look)
        skip(); /* the file system does not report what is in memory */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handed_on),
        cmocka_unit_test(looked_at),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
