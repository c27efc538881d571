/* SPDX-License-Identifier: Apache-2.0 */
/* unit_sink.c - another process changes the size of an output after it is written, or just before a
 * page of it is stored to. output_safety.sh and output.sh have what can be done to a sink from
 * outside.
 */
#include "formats/codec/codec.h"
#include "formats/io/mapped_file.h"
#include "formats/io/sink.h"
#include "tests/unit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static struct sink *open_sink(const char *path)
{
    struct error error = {0};
    struct sink *sink;
    const struct sink_spec spec = {.path = path, .codec = &codecs[0], .threads = 8};
    assert_true(sink_open(&spec, &sink, &error));
    return sink;
}

/* Returns the descriptor of a file that has no name, -1 if there is none. */
static int find_unnamed_temporary(void)
{
    struct stat status;
    for (int file = 3; file < 64; file++)
        if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0)
            return file;
    return -1;
}

/* That is an error, unless only the announced space after the written bytes changed. */
static void test_size_is_that_of_what_was_written(void **state)
{
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
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct error error = {0};
        put_file("out", "old", 3);
        struct sink *sink = open_sink("out");
        if (cases[i].expected)
            sink_expect(sink, cases[i].expected);
        assert_true(sink_write(sink, "new", 3, &error));
        assert_int_equal(ftruncate(find_unnamed_temporary(), cases[i].size), 0);
        assert_int_equal(sink_commit(sink, &error), !*cases[i].message);
        assert_string_equal(error.message, cases[i].message);
        assert_file_holds("out", *cases[i].message ? "old" : "new", 3);
        assert_int_equal(find_unnamed_temporary(), -1);
        unlink("out");
    }
}

static int cut_file;

/* Truncates the file just before the last of its pages are stored to. */
static void truncate_file(struct tap *tap, const void *data, size_t bytes)
{
    if (tap->unit_bytes++ > 1)
        assert_int_equal(ftruncate(cut_file, 5), 0);
}

/* A file is truncated between the check of its pages and the copy, which no call can report; in
 * place, pages are not checked. */
static void check_truncated(const char *name, bool is_in_place)
{
    const size_t bytes = 3 * TAP_PIECE_BYTES;
    unsigned char *const data = make_bytes(bytes);
    struct tap tap = {truncate_file, 1, NULL};
    size_t done;
    put_file(name, data, bytes);
    cut_file = open(name, O_RDWR);
    struct mapped_file *const mapped = mapped_file_open(cut_file, bytes, is_in_place, false, NULL);
    assert_non_null(mapped);
    assert_false(mapped_file_is_truncated(mapped));
    errno = 0;
    assert_false(mapped_file_write(mapped, 0, data, bytes, 1, &tap, 1, &done));
    assert_int_equal(errno, EIO);
    assert_true(mapped_file_is_truncated(mapped));
    mapped_file_close(mapped);
    close(cut_file);
    unlink(name);
    free(data);
}

static void test_truncated_at_the_last_moment(void **state)
{
    char in_memory[] = "/dev/shm/gpusort-unit-XXXXXX";
    const int file = mkstemp(in_memory);
    for (int is_in_place = 0; is_in_place < 2; is_in_place++) {
        check_truncated("cut", is_in_place);
        if (file >= 0)
            check_truncated(in_memory, is_in_place);
    }
    close(file);
}

/* The threads that make pages ahead of the writers find none either. */
static void test_truncated_while_pages_are_made(void **state)
{
    const size_t bytes = 3 * TAP_PIECE_BYTES;
    unsigned char *const data = make_bytes(bytes);
    size_t done;
    put_file("cut", data, 0);
    const int file = open("cut", O_RDWR);
    struct file_space *const space = file_space_open(file);
    if (!space)
        skip(); /* the file system has no fallocate(2) */
    struct mapped_file *const mapped = mapped_file_open(file, bytes, false, false, space);
    assert_non_null(mapped);
    assert_int_equal(ftruncate(file, 5), 0);
    file_space_want(space, bytes);
    assert_true(mapped_file_make_pages(mapped, 4));
    errno = 0;
    assert_false(mapped_file_write(mapped, 0, data, bytes, 1, NULL, 1, &done));
    assert_int_equal(errno, EIO);
    mapped_file_close(mapped);
    file_space_close(space);
    close(file);
    unlink("cut");
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size_is_that_of_what_was_written),
        cmocka_unit_test(test_truncated_at_the_last_moment),
        cmocka_unit_test(test_truncated_while_pages_are_made),
    };
    return cmocka_run_group_tests_name("sink", tests, enter_scratch, leave_scratch);
}
