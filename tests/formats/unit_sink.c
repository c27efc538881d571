/* SPDX-License-Identifier: Apache-2.0 */
/* unit_sink.c - a sink replaces its target completely or not at all, and leaves no other file. */
#include "tests/formats/unit_sink.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zstd.h>

static void write_sink(const char *path, const char *text)
{
    struct error error = {0};
    struct sink *sink = open_sink(path);
    assert_true(sink_write(sink, text, strlen(text), &error));
    assert_true(sink_commit(sink, &error));
}

static void assert_not_opened(const char *path, const char *message)
{
    struct error error = {0};
    struct sink *sink;
    assert_false(
        sink_open(&(struct sink_spec){path, &codecs[0], 0, 1, false, NULL}, &sink, &error));
    assert_null(sink);
    assert_string_equal(error.message, message);
}

static mode_t mode_of(const char *name)
{
    struct stat status;
    assert_int_equal(stat(name, &status), 0);
    return status.st_mode & 07777;
}

static void test_new_file_has_the_umask(void **state)
{
    (void)state;
    const mode_t old = umask(027);
    write_sink("out", "new\n");
    umask(old);
    assert_file_holds("out", "new\n", 4);
    assert_int_equal(mode_of("out"), 0640);
    assert_int_equal(count_temporaries(), 0);
    unlink("out");
}

static void test_replaced_file_keeps_its_mode(void **state)
{
    (void)state;
    static const mode_t modes[] = {0600, 0664, 0755, 0444};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (modes[i] == 0444 && geteuid() != 0)
            continue; /* not writable: refused */
        put_file("out", "old and longer\n", 15);
        assert_int_equal(chmod("out", modes[i]), 0);
        write_sink("out", "new\n");
        assert_file_holds("out", "new\n", 4);
        assert_int_equal(mode_of("out"), modes[i]);
        unlink("out");
    }
}

static void test_setuid_is_as_a_write_leaves_it(void **state)
{
    (void)state;
    static const char *const names[] = {"written", "out"};
    for (size_t i = 0; i < 2; i++) {
        put_file(names[i], "old", 3);
        assert_int_equal(chmod(names[i], 06755), 0);
    }
    FILE *const written = fopen("written", "r+b");
    assert_non_null(written);
    assert_int_equal(fwrite("new", 1, 3, written), 3);
    assert_int_equal(fclose(written), 0);
    write_sink("out", "new");
    assert_int_equal(mode_of("out"), mode_of("written"));
    unlink("out");
    unlink("written");
}

static void test_target_is_old_until_commit(void **state)
{
    (void)state;
    struct error error = {0};
    put_file("out", "old", 3);
    struct sink *sink = open_sink("out");
    assert_string_equal(sink_name(sink), "out");
    assert_false(sink_is_terminal(sink));
    assert_int_equal(count_temporaries(), 1);
    assert_true(sink_write(sink, "new", 3, &error));
    assert_file_holds("out", "old", 3);
    sink_discard(sink);
    assert_file_holds("out", "old", 3);
    assert_int_equal(count_temporaries(), 0);
    sink_discard(NULL);
    unlink("out");
}

/* Another process may change the size of a temporary. That is an error, unless only the announced
 * space after the written bytes changed. */
static void test_size_is_that_of_what_was_written(void **state)
{
    (void)state;
    static const struct {
        uint64_t expected;
        off_t size;
        const char *message;
    } cases[] = {
        {0, 1, "out: 3 bytes were written, but the temporary file has 1"},
        {0, 4, "out: 3 bytes were written, but the temporary file has 4"},
        {3, 1, "out: 3 bytes were written, but the temporary file has 1"},
        {9, 0, "out: 3 bytes were written, but the temporary file has 0"},
        {9, 7, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error = {0};
        put_file("out", "old", 3);
        struct sink *sink = open_sink("out");
        if (cases[i].expected)
            sink_expect(sink, cases[i].expected);
        assert_true(sink_write(sink, "new", 3, &error));
        char *const temporary = find_unnamed_temporary();
        assert_non_null(temporary);
        assert_int_equal(truncate(temporary, cases[i].size), 0);
        assert_int_equal(sink_commit(sink, &error), !*cases[i].message);
        assert_string_equal(error.message, cases[i].message);
        assert_file_holds("out", *cases[i].message ? "old" : "new", 3);
        assert_int_equal(count_temporaries(), 0);
        free(temporary);
        unlink("out");
    }
}

static void test_symbolic_links_are_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir("d", 0700), 0);
    assert_int_equal(symlink("../middle", "d/link"), 0);
    assert_int_equal(symlink("d/target", "middle"), 0);
    for (int round = 0; round < 2; round++) { /* dangling first, then not */
        struct stat status;
        write_sink("d/link", round == 0 ? "1" : "2");
        assert_file_holds("d/target", round == 0 ? "1" : "2", 1);
        assert_int_equal(lstat("d/link", &status), 0);
        assert_true(S_ISLNK(status.st_mode));
        assert_int_equal(lstat("middle", &status), 0);
        assert_true(S_ISLNK(status.st_mode));
    }
    assert_int_equal(symlink("circle", "circle"), 0);
    assert_not_opened("circle", "circle: Too many levels of symbolic links");
    unlink("circle");
    unlink("middle");
    unlink("d/link");
    unlink("d/target");
    rmdir("d");
}

static void test_targets_that_are_refused(void **state)
{
    (void)state;
    assert_not_opened(".", ".: Is a directory");
    assert_not_opened("new/", "new/: Is a directory");
    assert_not_opened("missing/out", "missing/out: No such file or directory");
    assert_not_opened("", "'': No such file or directory");
    put_file("file", "", 0);
    assert_not_opened("file/out", "file/out: Not a directory");
    unlink("file");
}

static void test_read_only_target_is_refused(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* everything is writable to root */
    put_file("out", "old", 3);
    assert_int_equal(chmod("out", 0444), 0);
    assert_not_opened("out", "out: Permission denied");
    assert_file_holds("out", "old", 3);
    unlink("out");
}

static void test_longest_name(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    write_sink(name, "x");
    assert_file_holds(name, "x", 1);
    unlink(name);
}

static void test_full_device(void **state)
{
    (void)state;
    struct error error = {0};
    char byte = 'x';
    struct sink *sink = open_sink("/dev/full");
    assert_false(sink_write(sink, &byte, 1, &error));
    assert_string_equal(error.message, "/dev/full: No space left on device");
    sink_discard(sink);

    unsigned char *buffer;
    error.is_set = false;
    sink = open_sink("/dev/full");
    assert_true(sink_lend(sink, &buffer, &error));
    buffer[0] = 'x';
    if (sink_put(sink, buffer, 1, &error))
        assert_false(sink_commit(sink, &error));
    else
        sink_discard(sink);
    assert_string_equal(error.message, "/dev/full: No space left on device");

    error.is_set = false;
    assert_true(
        sink_open(&(struct sink_spec){"/dev/full", &codecs[1], 0, 1, false, NULL}, &sink, &error));
    assert_true(sink_write(sink, &byte, 1, &error));
    assert_false(sink_commit(sink, &error));
    assert_string_equal(error.message, "/dev/full: No space left on device");
}

/* The writer thread's failure reaches the caller, which may go on to lend without waiting
 * forever. */
static void test_full_device_ends_a_long_output(void **state)
{
    (void)state;
    struct error error = {0};
    struct sink *sink = open_sink("/dev/full");
    bool ok = true;
    for (int i = 0; ok && i < 1000; i++) {
        unsigned char *buffer;
        ok = sink_lend(sink, &buffer, &error);
        if (ok) {
            buffer[0] = 'x';
            ok = sink_put(sink, buffer, 1, &error);
        }
    }
    assert_false(ok);
    assert_false(sink_commit(sink, &error));
    assert_string_equal(error.message, "/dev/full: No space left on device");
}

/* A limit on the file's size simulates a disk that fills up during a write. */
static void test_file_that_cannot_grow(void **state)
{
    (void)state;
    struct error error = {0};
    struct rlimit old, small;
    unsigned char *data = make_bytes(8 << 20);
    put_file("out", "old", 3);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){1 << 20, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct sink *sink = open_sink("out");
    sink_expect(sink, 8 << 20);
    const bool ok = sink_write(sink, data, 8 << 20, &error);
    sink_discard(sink);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_false(ok);
    assert_string_equal(error.message, "out: File too large");
    assert_file_holds("out", "old", 3);
    assert_int_equal(count_temporaries(), 0);
    free(data);
    unlink("out");
}

static void test_expectation_is_a_hint(void **state)
{
    (void)state;
    static const uint64_t expected[] = {0, 1, 5 << 20, 20 << 20, UINT64_MAX};
    const size_t bytes = 5 << 20;
    unsigned char *data = make_bytes(bytes);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct error error = {0};
        struct stat status;
        struct sink *sink = open_sink("out");
        sink_expect(sink, expected[i]);
        assert_true(sink_write(sink, data, bytes, &error));
        assert_true(sink_commit(sink, &error));
        assert_file_holds("out", data, bytes);
        assert_int_equal(stat("out", &status), 0);
        assert_true((size_t)status.st_blocks * 512 < bytes + (1 << 20)); /* no unused space */
        unlink("out");
    }
    free(data);
}

/* Buffers and direct writes are mixed, with several buffers lent at once: the order is that of the
 * calls. */
static void write_mixed(struct sink *sink, const unsigned char *data, size_t rounds, size_t piece)
{
    struct error error = {0};
    for (size_t i = 0; i < rounds; i++, data += 3 * piece) {
        unsigned char *first, *second;
        assert_true(sink_lend(sink, &first, &error));
        assert_true(sink_lend(sink, &second, &error));
        memcpy(second, data + piece, piece);
        memcpy(first, data, piece);
        assert_true(sink_put(sink, first, piece, &error));
        assert_true(sink_put(sink, second, piece, &error));
        assert_true(sink_write(sink, data + 2 * piece, piece, &error));
    }
    assert_true(sink_commit(sink, &error));
}

static void test_lent_buffers_keep_order(void **state)
{
    (void)state;
    const size_t rounds = 14, piece = SINK_BUFFER_BYTES - 123456, bytes = 3 * rounds * piece;
    unsigned char *data = make_bytes(bytes), *found = malloc(bytes);
    write_mixed(open_sink("out"), data, rounds, piece);
    assert_file_holds("out", data, bytes);

    struct error error = {0};
    struct sink *sink;
    assert_true(
        sink_open(&(struct sink_spec){"out", &codecs[1], 1, 2, false, NULL}, &sink, &error));
    write_mixed(sink, data, rounds, piece);
    size_t frame_bytes;
    unsigned char *frame = get_file("out", &frame_bytes);
    assert_int_equal(ZSTD_decompress(found, bytes, frame, frame_bytes), bytes);
    assert_memory_equal(found, data, bytes);
    free(frame);
    free(found);
    free(data);
    unlink("out");
}

static void test_discard_with_buffers_under_way(void **state)
{
    (void)state;
    struct error error = {0};
    struct sink *sink = open_sink("out");
    for (int i = 0; i < 3; i++) {
        unsigned char *buffer;
        assert_true(sink_lend(sink, &buffer, &error));
        memset(buffer, 'x', SINK_BUFFER_BYTES);
        if (i < 2)
            assert_true(sink_put(sink, buffer, SINK_BUFFER_BYTES, &error));
    }
    sink_discard(sink);
    assert_int_equal(access("out", F_OK), -1);
    assert_int_equal(count_temporaries(), 0);
}

/* Calls `write` with standard output in the file. */
static void with_output(const char *name, int flags, void (*write)(void))
{
    fflush(stdout);
    const int saved = dup(STDOUT_FILENO), file = open(name, flags, 0600);
    assert_true(saved >= 0 && file >= 0);
    dup2(file, STDOUT_FILENO);
    close(file);
    write();
    dup2(saved, STDOUT_FILENO);
    close(saved);
}

static void write_standard_output(void)
{
    write_sink(NULL, "1");
    write_sink("-", "2");
    write_sink("/dev/stdout", "3");
    write_sink("/dev/fd/1", "4");
    write_sink("/proc/self/fd/1", "5");
}

static void test_standard_output_is_shared(void **state)
{
    (void)state;
    with_output("out", O_WRONLY | O_CREAT, write_standard_output);
    assert_file_holds("out", "12345", 5);
    with_output("out", O_WRONLY | O_APPEND, write_standard_output);
    assert_file_holds("out", "1234512345", 10);
    unlink("out");
}

/* An empty output to a closed descriptor is not an error; a single byte is. */
static void assert_refuses_bytes(const char *path)
{
    struct error error = {0};
    write_sink(path, "");
    struct sink *sink = open_sink(path);
    const bool is_written = sink_write(sink, "1", 1, &error);
    if (!is_written)
        sink_discard(sink);
    assert_false(is_written && sink_commit(sink, &error));
    assert_string_equal(error.message, "standard output: Bad file descriptor");
}

static void open_standard_output(void)
{
    assert_refuses_bytes(NULL);
    assert_not_opened("/dev/stdout", "/dev/stdout: Bad file descriptor");
    close(STDOUT_FILENO);
    assert_refuses_bytes("-");
    put_file("out", "", 0);
    struct sink *sink = open_sink("out"); /* its file must not become standard output */
    assert_int_equal(fcntl(STDOUT_FILENO, F_GETFD), -1);
    sink_discard(sink);
}

static void test_closed_standard_output(void **state)
{
    (void)state;
    with_output("/dev/null", O_RDONLY, open_standard_output);
    unlink("out");
}

static void test_closed_pipe_is_an_error(void **state)
{
    (void)state;
    struct error error = {0};
    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    struct sink *sink = open_sink(path);
    close(ends[0]);
    close(ends[1]);
    signal(SIGPIPE, SIG_IGN);
    assert_false(sink_write(sink, "x", 1, &error));
    signal(SIGPIPE, SIG_DFL);
    assert_non_null(strstr(error.message, ": Broken pipe"));
    sink_discard(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_file_has_the_umask),
        cmocka_unit_test(test_replaced_file_keeps_its_mode),
        cmocka_unit_test(test_setuid_is_as_a_write_leaves_it),
        cmocka_unit_test(test_target_is_old_until_commit),
        cmocka_unit_test(test_size_is_that_of_what_was_written),
        cmocka_unit_test(test_symbolic_links_are_followed),
        cmocka_unit_test(test_targets_that_are_refused),
        cmocka_unit_test(test_read_only_target_is_refused),
        cmocka_unit_test(test_longest_name),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_full_device_ends_a_long_output),
        cmocka_unit_test(test_file_that_cannot_grow),
        cmocka_unit_test(test_expectation_is_a_hint),
        cmocka_unit_test(test_lent_buffers_keep_order),
        cmocka_unit_test(test_discard_with_buffers_under_way),
        cmocka_unit_test(test_standard_output_is_shared),
        cmocka_unit_test(test_closed_standard_output),
        cmocka_unit_test(test_closed_pipe_is_an_error),
    };
    return cmocka_run_group_tests_name("sink", tests, enter_scratch, leave_scratch);
}
