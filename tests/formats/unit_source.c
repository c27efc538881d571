/* SPDX-License-Identifier: Apache-2.0 */
/* unit_source.c - a source returns the bytes of its input: of a file or a pipe, read ahead or not,
 * for any size of reads, and any calls in between. Data that a tap hands to a direct consumer is
 * complete, once, and in whole units.
 */
#include "core/backend.h"
#include "formats/array/format.h"
#include "formats/io/input_file.h"
#include "formats/io/source.h"
#include "tests/unit_files.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#define CONTENT_BYTES ((size_t)3 << 20)

static unsigned char content[CONTENT_BYTES];

/* Writes the content to a pipe, piece by piece, and closes the pipe. Waits at pause_at for a
 * byte. */
struct writer {
    pthread_t thread;
    int file, go_on;
    size_t bytes, piece, pause_at;
};

static void *writer_main(void *opaque)
{
    const struct writer *const writer = opaque;
    char told;
    for (size_t at = 0; at < writer->bytes;) {
        size_t piece = writer->bytes - at < writer->piece ? writer->bytes - at : writer->piece;
        if (at == writer->pause_at)
            (void)!read(writer->go_on, &told, 1);
        else if (at < writer->pause_at && writer->pause_at - at < piece)
            piece = writer->pause_at - at;
        const ssize_t wrote = write(writer->file, content + at, piece);
        if (wrote <= 0)
            break;
        at += (size_t)wrote;
    }
    close(writer->file);
    return NULL;
}

/* Returns a source on a pipe with the first `bytes` bytes of the content. With pause_at, only so
 * many bytes are written until a byte is written to *tell. */
static struct source *open_pipe(struct writer *writer, size_t bytes, size_t piece, size_t pause_at,
                                int *tell)
{
    int data[2], signal[2];
    struct error error = {0};
    struct source *source;
    char path[40];
    assert_int_equal(pipe(data), 0);
    assert_int_equal(pipe(signal), 0);
    *writer = (struct writer){
        .file = data[1], .go_on = signal[0], .bytes = bytes, .piece = piece, .pause_at = pause_at};
    *tell = signal[1];
    assert_int_equal(pthread_create(&writer->thread, NULL, writer_main, writer), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", data[0]);
    assert_true(source_open(path, 2, &source, &error));
    close(data[0]);
    return source;
}

static void end_pipe(struct writer *writer, int tell)
{
    close(tell); /* a waiting writer continues */
    pthread_join(writer->thread, NULL);
    close(writer->go_on);
}

/* Reads the rest in reads of `piece` bytes; it must be content[from..to). */
static void check_rest(struct source *source, size_t from, size_t to, size_t piece)
{
    struct error error = {0};
    unsigned char *const data = malloc(piece);
    size_t at = from, got;
    do {
        assert_true(source_read(source, data, piece, &got, &error));
        assert_true(got <= to - at);
        assert_memory_equal(data, content + at, got);
        at += got;
    } while (got == piece);
    assert_int_equal(at, to);
    free(data);
}

static void test_pipes_of_all_sizes(void **state)
{
    (void)state;
    static const size_t most[] = {1, 4096, 100000, (size_t)1 << 20, (size_t)8 << 20};
    static const size_t sizes[] = {0,     1,      16383,   16384,        16385,
                                   99999, 100000, 1048577, CONTENT_BYTES};
    for (size_t m = 0; m < sizeof most / sizeof *most; m++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct writer writer;
            int tell;
            bool ended = false;
            struct source *const source = open_pipe(&writer, sizes[i], 50001, SIZE_MAX, &tell);
            source_read_ahead(source, most[m]);
            const uint64_t there = source_await(source, UINT64_MAX, &ended);
            assert_true(there <= sizes[i]);
            assert_true(ended ? there == sizes[i] : there >= most[m]);
            const uint64_t left = source_bytes_left(source);
            assert_true(ended ? left == sizes[i] : left == SIZE_UNKNOWN);
            check_rest(source, 0, sizes[i], i % 2 ? 70000 : (size_t)4 << 20);
            source_close(source);
            end_pipe(&writer, tell);
        }
}

/* source_await() reports the bytes that have arrived, and reads wait for later bytes. */
static void test_slow_writer(void **state)
{
    (void)state;
    const size_t pause_at = 200000;
    for (int peeks = 0; peeks < 2; peeks++) {
        struct writer writer;
        struct error error = {0};
        int tell;
        bool ended = true;
        struct source *const source = open_pipe(&writer, CONTENT_BYTES, 65536, pause_at, &tell);
        source_read_ahead(source, CONTENT_BYTES);
        assert_int_equal(source_await(source, pause_at, &ended), pause_at);
        assert_false(ended);
        if (peeks) { /* ends the reading ahead, without waiting for more */
            const unsigned char *data;
            size_t bytes;
            assert_true(source_peek(source, 150000, &data, &bytes, &error));
            assert_true(bytes >= 150000);
            assert_memory_equal(data, content, bytes);
        }
        assert_int_equal(write(tell, "x", 1), 1);
        check_rest(source, 0, CONTENT_BYTES, 100000);
        source_close(source);
        end_pipe(&writer, tell);
    }
}

/* No data arrives, and closing does not wait for it. */
static void test_close_while_nothing_comes(void **state)
{
    (void)state;
    for (int knows = 0; knows < 2; knows++) {
        struct writer writer;
        int tell;
        struct source *const source = open_pipe(&writer, CONTENT_BYTES, 65536, 65536, &tell);
        alarm(20); /* ends a test that hangs */
        source_read_ahead(source, CONTENT_BYTES);
        if (knows)
            assert_true(source_bytes_left(source) == SIZE_UNKNOWN);
        source_close(source);
        alarm(0);
        signal(SIGPIPE, SIG_IGN);
        end_pipe(&writer, tell);
    }
}

static void test_files(void **state)
{
    (void)state;
    static const size_t most[] = {1, 20000, CONTENT_BYTES, 2 * CONTENT_BYTES};
    put_file("x", content, CONTENT_BYTES);
    for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
        struct error error = {0};
        struct source *source;
        const unsigned char *data;
        size_t bytes;
        bool ended;
        assert_true(source_open("x", 2, &source, &error));
        assert_true(source_peek(source, 30000, &data, &bytes, &error));
        source_read_ahead(source, most[m]);
        (void)source_await(source, CONTENT_BYTES, &ended);
        assert_true(source_bytes_left(source) == CONTENT_BYTES);
        check_rest(source, 0, CONTENT_BYTES, 70001);
        source_close(source);
    }
    unlink("x");
}

/* A file that is cut off is an error for any function that reads to its end. Data that was read
 * before is returned. */
static void test_file_that_is_cut_off(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct error error = {0};
        struct source *source;
        const unsigned char *peeked;
        unsigned char *const data = malloc(CONTENT_BYTES);
        size_t bytes;
        bool ended, ok;
        put_file("x", content, CONTENT_BYTES);
        assert_true(source_open("x", 1, &source, &error));
        assert_int_equal(truncate("x", 30000), 0);
        if (way == 0)
            source_read_ahead(source, CONTENT_BYTES);
        if (way == 0)
            (void)source_await(source, CONTENT_BYTES, &ended);
        if (way == 1)
            ok = source_peek(source, 64 << 10, &peeked, &bytes, &error);
        else
            ok = source_read(source, data, CONTENT_BYTES, &bytes, &error);
        assert_false(ok);
        assert_string_equal(error.message,
                            "x: the file was cut off while it was read, at 30000 bytes");
        source_close(source);
        free(data);
        unlink("x");
    }
}

/* A large read is divided among threads. */
static void test_large_reads(void **state)
{
    (void)state;
    const size_t bytes = PARALLEL_READ_MIN + 777777;
    unsigned char *const data = make_bytes(bytes), *const found = malloc(bytes);
    put_file("x", data, bytes);
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct error error = {0};
        struct source *source;
        size_t got;
        assert_true(source_open("x", threads, &source, &error));
        assert_true(source_read(source, found, bytes, &got, &error));
        assert_int_equal(got, bytes);
        assert_true(memcmp(found, data, bytes) == 0);
        source_close(source);
    }
    free(found);
    free(data);
    unlink("x");
}

/* Numbers whose file changes its size after it was opened. */
static void test_raw_file_that_changes(void **state)
{
    (void)state;
    static const char *const messages[] = {
        "x.u32: the file was cut off while it was read, at 2097152 bytes",
        "x.u32: the file grew while it was read"};
    unsigned char *const items = malloc(4 << 20);
    for (int i = 0; i < 2; i++) {
        struct error error = {0};
        size_t count;
        struct reader reader = {.layout = {.type = &key_types[KEY_TYPE_u32]}};
        put_file("x.u32", content, CONTENT_BYTES);
        assert_true(source_open("x.u32", 1, &reader.source, &error));
        assert_true(format_raw.read_header(&reader, &error));
        assert_int_equal(reader.layout.count, CONTENT_BYTES / 4);
        assert_int_equal(truncate("x.u32", i == 0 ? 2 << 20 : 4 << 20), 0);
        bool ok = true;
        do
            ok = format_raw.read_keys(&reader, items, CONTENT_BYTES / 4, &count, &error);
        while (ok && count > 0);
        assert_false(ok);
        assert_string_equal(error.message, messages[i]);
        source_close(reader.source);
    }
    free(items);
    unlink("x.u32");
}

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
    unsigned char *const squares = calloc(1, bytes);
    assert_non_null(squares);
    *sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t square = (i + 1) * (i + 1);
        memcpy(squares + HEADER_BYTES + i * sizeof square, &square, sizeof square);
        *sum += square;
    }
    put_file("in", squares, bytes);
    free(squares);
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

static void test_taps(void **state)
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

static void test_look_at(void **state)
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
    uint64_t random = 1;
    for (size_t i = 0; i < CONTENT_BYTES; i++)
        content[i] = (unsigned char)(1 + random_next(&random) % 200); /* no codec's magic */
    content[0] = 'x';
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipes_of_all_sizes),
        cmocka_unit_test(test_slow_writer),
        cmocka_unit_test(test_close_while_nothing_comes),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_file_that_is_cut_off),
        cmocka_unit_test(test_large_reads),
        cmocka_unit_test(test_raw_file_that_changes),
        cmocka_unit_test(test_taps),
        cmocka_unit_test(test_look_at),
    };
    return cmocka_run_group_tests_name("source", tests, enter_scratch, leave_scratch);
}
