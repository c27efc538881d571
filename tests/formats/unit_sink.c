/* SPDX-License-Identifier: Apache-2.0 */
/* unit_sink.c - a sink replaces its target completely or not at all, and leaves no other file: by
 * write(2) and through a mapping, on a disk and in memory, after any signal, and when another
 * process changes the file. Full disks are in output.sh.
 */
#include "formats/codec/codec.h"
#include "formats/io/mapped_file.h"
#include "formats/io/sink.h"
#include "tests/unit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define MIB ((size_t)1 << 20)

/* Sinks of so many threads map their files where the file system is one on which files are mapped,
 * even if the machine has fewer processors. */
#define MAPPING_THREADS 8

static struct sink *open_sink(const char *path)
{
    struct error error = {0};
    struct sink *sink;
    const struct sink_spec spec = {path, &codecs[0], 0, MAPPING_THREADS, false, NULL};
    const bool opened = sink_open(&spec, &sink, &error);
    assert_string_equal(error.message, "");
    assert_true(opened);
    return sink;
}

/* ---- The temporaries in the working directory ---- */

/* Returns the number of temporaries with a name. */
static size_t count_named_temporaries(void)
{
    glob_t found;
    const int result = glob(".gpusort-*", 0, NULL, &found);
    const size_t count = result == 0 ? found.gl_pathc : 0;
    if (result == 0)
        globfree(&found);
    return count;
}

/* Returns the path in /proc of an open file of the working directory that has no name, malloc'd;
 * NULL if there is none. */
static char *find_unnamed_temporary(void)
{
    char here[4096], target[8192];
    assert_non_null(getcwd(here, sizeof here));
    for (int file = 0; file < 64; file++) {
        char *path;
        struct stat status;
        assert_true(asprintf(&path, "/proc/self/fd/%d", file) > 0);
        const ssize_t length = readlink(path, target, sizeof target);
        if (length > (ssize_t)strlen(here) && memcmp(target, here, strlen(here)) == 0 &&
            fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0)
            return path;
        free(path);
    }
    return NULL;
}

/* There is no temporary, with a name or without. */
static void assert_no_temporary(void)
{
    assert_int_equal(count_named_temporaries(), 0);
    assert_null(find_unnamed_temporary());
}

static bool is_mapped_here(void)
{
    struct statfs status;
    assert_int_equal(statfs(".", &status), 0);
    return status.f_type == TMPFS_MAGIC || status.f_type == EXT4_SUPER_MAGIC ||
           status.f_type == XFS_SUPER_MAGIC;
}

/* Repeats the test in a directory in memory. Returns false if there is none. */
static bool repeat_in_memory(void (*test)(void **))
{
    static bool is_repeated;
    char directory[] = "/dev/shm/gpusort-unit-XXXXXX", back[4096];
    if (is_repeated || !mkdtemp(directory))
        return false;
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(directory), 0);
    is_repeated = true;
    test(NULL);
    is_repeated = false;
    assert_int_equal(chdir(back), 0);
    assert_int_equal(rmdir(directory), 0);
    return true;
}

/* Another process may change the size of a temporary. That is an error, unless only the announced
 * space after the written bytes changed. */
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
        char *const temporary = find_unnamed_temporary();
        assert_non_null(temporary);
        assert_int_equal(truncate(temporary, cases[i].size), 0);
        assert_int_equal(sink_commit(sink, &error), !*cases[i].message);
        assert_string_equal(error.message, cases[i].message);
        assert_file_holds("out", *cases[i].message ? "old" : "new", 3);
        assert_no_temporary();
        free(temporary);
        unlink("out");
    }
}

static void *map_page(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    return page;
}

/* Another process truncates the temporary. That is an error if the kernel can report it before the
 * access. */
static void test_temporary_cut_off(void **state)
{
    struct error error = {0};
    struct stat status = {0};
    void *const page = map_page();
    const bool can_ask = madvise(page, 4096, MADV_POPULATE_WRITE) == 0;
    munmap(page, 4096);
    if (!can_ask || !is_mapped_here())
        skip();
    unsigned char *const data = make_bytes(20 * MIB);
    struct sink *sink = open_sink("out");
    char *const temporary = find_unnamed_temporary();
    assert_non_null(temporary);
    sink_expect(sink, 20 * MIB);
    for (int i = 0; i < 1000 && status.st_size < (off_t)(20 * MIB); i++) {
        assert_int_equal(stat(temporary, &status), 0);
        usleep(10000);
    }
    assert_int_equal(truncate(temporary, 3 * MIB), 0);
    assert_false(sink_write(sink, data, 20 * MIB, &error));
    assert_string_equal(error.message, "out: another process truncated it while it was written");
    sink_discard(sink);
    assert_no_temporary();
    free(temporary);
    free(data);
    (void)(state && repeat_in_memory(test_temporary_cut_off));
}

/* Truncates the file "cut" just before the last of its pages are stored to. */
static void truncate_file(struct tap *tap, const void *data, size_t bytes)
{
    (void)data;
    (void)bytes;
    if (tap->unit_bytes++ > 1)
        assert_int_equal(truncate("cut", 5), 0);
}

/* A file is truncated between the check of its pages and the copy, which no call can report; in
 * place, pages are not checked. */
static void test_truncated_at_the_last_moment(void **state)
{
    const size_t bytes = 3 * TAP_PIECE_BYTES;
    unsigned char *const data = make_bytes(bytes);
    size_t done;
    for (int is_in_place = 0; is_in_place < 2; is_in_place++) {
        struct tap tap = {truncate_file, 1, NULL};
        put_file("cut", data, bytes);
        const int file = open("cut", O_RDWR);
        struct mapped_file *const mapped = mapped_file_open(file, bytes, is_in_place, false, NULL);
        assert_non_null(mapped);
        assert_false(mapped_file_is_truncated(mapped));
        errno = 0;
        assert_false(mapped_file_write(mapped, 0, data, bytes, 1, &tap, 1, &done));
        assert_int_equal(errno, EIO);
        assert_true(mapped_file_is_truncated(mapped));
        mapped_file_close(mapped);
        close(file);
        unlink("cut");
    }
    free(data);
    (void)(state && repeat_in_memory(test_truncated_at_the_last_moment));
}

/* The sink is discarded while space is allocated, before anything is written. */
static void test_discard_at_once(void **state)
{
    struct stat status;
    struct sink *sink = open_sink("out");
    sink_expect(sink, 400 * MIB);
    sink_discard(sink);
    sink = open_sink("out");
    sink_expect_least(sink, 100 * MIB);
    sink_discard(sink);
    sink = open_sink("out"); /* with buffers under way */
    for (int i = 0; i < 3; i++) {
        struct error error = {0};
        unsigned char *buffer;
        assert_true(sink_lend(sink, &buffer, &error));
        memset(buffer, 'x', SINK_BUFFER_BYTES);
        if (i < 2)
            assert_true(sink_put(sink, buffer, SINK_BUFFER_BYTES, &error));
    }
    sink_discard(sink);
    assert_no_temporary();
    assert_int_equal(access("out", F_OK), -1);

    const int seen = open("seen", O_WRONLY | O_CREAT, 0600), old = dup(STDOUT_FILENO);
    assert_true(dup2(seen, STDOUT_FILENO) >= 0);
    sink = open_sink(NULL);
    sink_expect_least(sink, 100 * MIB);
    sink_discard(sink);
    assert_true(dup2(old, STDOUT_FILENO) >= 0);
    assert_int_equal(fstat(seen, &status), 0);
    assert_int_equal(status.st_size, 0);
    assert_int_equal(status.st_blocks, 0);
    close(seen);
    close(old);
    unlink("seen");
    (void)(state && repeat_in_memory(test_discard_at_once));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size_is_that_of_what_was_written),
        cmocka_unit_test(test_temporary_cut_off),
        cmocka_unit_test(test_truncated_at_the_last_moment),
        cmocka_unit_test(test_discard_at_once),
    };
    return cmocka_run_group_tests_name("sink", tests, enter_scratch, leave_scratch);
}
