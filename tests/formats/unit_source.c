/* SPDX-License-Identifier: Apache-2.0 */
/* unit_source.c - a source that reads a pipe ahead reports what has arrived, returns all bytes, and
 * waits for no more of them than it is asked for. The tests of files are input.sh and in_place.sh.
 */
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
    };
    return cmocka_run_group_tests_name("source", tests, enter_scratch, leave_scratch);
}
