/* SPDX-License-Identifier: Apache-2.0 */
/* unit_files.c - what shell tests cannot do to files: a pipe that is read ahead, and one that is
 * closed in the middle of a frame; a run that the kernel reads before it is needed; lines that are
 * keyed in batches, as for a GPU; and outputs whose size another process changes after they are
 * written, or just before a page is stored to.
 */
#include "formats/codec/codec.h"
#include "formats/io/mapped_file.h"
#include "formats/io/sink.h"
#include "formats/io/spill.h"
#include "formats/lines/lines.h"
#include "tests/random_next.h"
#include "tests/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Group set-up: makes a working directory; *state is its name. */
static int enter_scratch(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *directory;
    if (asprintf(&directory, "%s/gpusort-unit-XXXXXX", parent ? parent : "/tmp") < 0)
        return -1;
    *state = directory;
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

/* Group tear-down: the directory must be empty, so no test may leave a file. */
static int leave_scratch(void **state)
{
    const bool is_gone = chdir("/") == 0 && rmdir(*state) == 0;
    if (!is_gone)
        print_error("%s is not empty\n", (char *)*state);
    free(*state);
    return is_gone ? 0 : -1;
}

/* Makes a new file, and returns it open. Filling a file again that was truncated to 0 would wait
 * for the disk on ext4. */
static int put_file(const char *name, const void *data, size_t bytes)
{
    unlink(name);
    const int file = open(name, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(file, data, bytes), bytes);
    return file;
}

/* Returns bytes that compress only partly and are the same in every run. */
static unsigned char *make_bytes(size_t bytes)
{
    unsigned char *data = malloc(bytes + 1);
    assert_non_null(data);
    uint64_t state = 1;
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(random_next(&state) & 0x3f);
    return data;
}

/* ---- A pipe that is read ahead: what has arrived, and whether that is all ---- */

/* Creates a pipe, and opens it as a source that reads ahead after the first bytes are written. */
static struct source *open_pipe(int ends[2], const void *first, size_t bytes)
{
    struct error error = {0};
    struct source *source;
    char path[40];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], first, bytes), bytes);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_true(source_open_as(&(struct source_spec){.path = path, .threads = 2}, &source, &error));
    source_read_ahead(source, (size_t)1 << 20);
    return source;
}

static void a_pipe_ends_when_its_writer_does(void **state)
{
    enum { FIRST = 50000, ALL = 60000 }; /* a pipe takes as much before anyone reads it */
    struct error error = {0};
    int ends[2];
    bool ended = true;
    size_t got;
    const unsigned char *peeked;
    unsigned char *const content = make_bytes(ALL), *const found = malloc(ALL + 1);
    content[0] = 'x'; /* no codec's magic */
    struct source *const source = open_pipe(ends, content, FIRST);
    assert_int_equal(source_await(source, FIRST, &ended), FIRST);
    assert_false(ended);
    assert_int_equal(write(ends[1], content + FIRST, ALL - FIRST), ALL - FIRST);
    close(ends[1]);
    assert_int_equal(source_await(source, UINT64_MAX, &ended), ALL);
    assert_true(ended);
    assert_true(source_peek(source, FIRST, &peeked, &got, &error));
    assert_int_equal(source_await(source, UINT64_MAX, &ended), ALL); /* peeked bytes count once */
    assert_int_equal(source_stop_and_get_left(source), ALL);
    assert_true(source_read(source, found, ALL + 1, &got, &error));
    assert_int_equal(got, ALL);
    assert_memory_equal(found, content, ALL);
    source_close(source);
    close(ends[0]);
    free(found);
    free(content);
}

/* Half a frame has come: threads wait for the other half. */
static void a_compressed_pipe_is_closed_while_threads_wait_for_it(void **state)
{
    enum { ALL = 60000, FIRST = 20000 };
    const struct timespec pause = {.tv_nsec = 100000000};
    struct error error = {0};
    int ends[2];
    unsigned char *const content = make_bytes(ALL);
    unsigned char *const frame = malloc(codec_zstd.encoded_bytes_max(ALL));
    struct byte_writer out = {frame, codec_zstd.encoded_bytes_max(ALL)};
    void *const encoder = codec_zstd.encoder_open(1);
    assert_true(codec_zstd.encode(encoder, (struct byte_reader){content, ALL}, &out, &error));
    struct source *const source = open_pipe(ends, frame, FIRST);
    nanosleep(&pause, NULL);
    alarm(60); /* ends the test if closing waits for the other half */
    source_close(source);
    alarm(0);
    close(ends[0]);
    close(ends[1]);
    codec_zstd.encoder_close(encoder);
    free(frame);
    free(content);
}

/* ---- Bytes that will be read soon: the kernel reads them meanwhile ---- */

enum { COLD_BYTES = 40 << 20, SOON_BEGIN = 20 << 20, SOON_BYTES = 19 << 20 };

/* Returns true if all pages of [SOON_BEGIN, SOON_BEGIN + SOON_BYTES) of the file are in memory. */
static bool is_in_memory(int file)
{
    static unsigned char pages[SOON_BYTES / 4096];
    const size_t count = SOON_BYTES / (size_t)sysconf(_SC_PAGESIZE);
    size_t resident = 0;
    void *const map = mmap(NULL, SOON_BYTES, PROT_READ, MAP_SHARED, file, SOON_BEGIN);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mincore(map, SOON_BYTES, pages), 0);
    munmap(map, SOON_BYTES);
    for (size_t i = 0; i < count; i++)
        resident += pages[i] & 1;
    return resident == count;
}

static void a_run_is_read_by_the_kernel_before_it_is_needed(void **state)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    const char *const directory = ".";
    struct error error = {0};
    struct spill_run run;
    struct spill *const spill = spill_create(&directory, 1);
    unsigned char *const content = make_bytes(COLD_BYTES);
    assert_non_null(spill);
    assert_true(spill_begin(spill, &run, &error));
    assert_true(spill_append(&run, content, COLD_BYTES, &error));
    assert_true(spill_end(&run, &error));
    assert_int_equal(fsync(run.file), 0);
    assert_int_equal(posix_fadvise(run.file, 0, 0, POSIX_FADV_DONTNEED), 0);
    const bool is_cold = !is_in_memory(run.file); /* false on tmpfs */
    if (is_cold) {
        spill_prefetch(&run, SOON_BEGIN, SOON_BYTES);
        for (int tries = 0; tries < 1000 && !is_in_memory(run.file); tries++)
            nanosleep(&pause, NULL);
        assert_true(is_in_memory(run.file));
    }
    spill_free(spill);
    free(content);
    if (!is_cold)
        skip();
}

/* ---- Lines ---- */

static struct line_key strict_key = {.kind = LINE_STRICT};
static struct line_order strict_order = {
    .keys = &strict_key, .key_count = 1, .separator = LINE_SEPARATOR_BLANKS, .terminator = '\n'};

/* Reads `all` lines of the file "in" and keys them, at most `step` a call. */
static struct key_index *read_and_key(size_t all, size_t step)
{
    struct error error = {0};
    struct source *source;
    struct lines *const lines = lines_create(2, &strict_order);
    struct key_index *const items = calloc(all + 1, sizeof *items);
    size_t done = 0, count;
    assert_non_null(lines);
    assert_true(source_open_as(&(struct source_spec){.path = "in", .threads = 2}, &source, &error));
    assert_true(lines_begin_input(lines, source_name(source), "", 0, &error));
    for (bool ended = false; !ended;)
        assert_true(lines_read_input(lines, source, SIZE_MAX, SIZE_MAX, &ended, &error));
    source_close(source);
    assert_true(lines_index(lines, &error));
    assert_int_equal(lines_count(lines), all);
    do {
        const size_t room = all - done < step ? all - done : step;
        assert_true(lines_key(lines, items + done, room, &count, &error));
        done += count;
    } while (count > 0);
    assert_int_equal(done, all);
    lines_free(lines);
    return items;
}

static void lines_are_keyed_in_steps(void **state)
{
    enum { COUNT = 50000 };
    static const size_t steps[] = {100, 777, 65536};
    FILE *const file = fopen("in", "w");
    for (int i = 0; i < COUNT; i++)
        fprintf(file, "%d%s%0*d\n", i * 7919 % 10007, i % 3 ? "" : ".5", i % 1000 ? 0 : 5000, 0);
    assert_int_equal(fclose(file), 0);
    struct key_index *const expected = read_and_key(COUNT, SIZE_MAX);
    for (size_t i = 0; i < LENGTH(steps); i++) {
        struct key_index *const items = read_and_key(COUNT, steps[i]);
        assert_memory_equal(items, expected, COUNT * sizeof *items);
        free(items);
    }
    free(expected);
    unlink("in");
}

/* ---- Outputs ---- */

/* Returns the descriptor of a file that has no name, -1 if there is none. */
static int find_unnamed_temporary(void)
{
    struct stat status;
    for (int file = 3; file < 64; file++)
        if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0)
            return file;
    return -1;
}

/* A temporary whose size is not that of what was written is an error, unless only the announced
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
    const struct sink_spec spec = {.path = "out", .codec = codecs[0], .threads = 8};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct error error = {0};
        struct sink *sink;
        char found[4];
        close(put_file("out", "old", 3));
        assert_true(sink_open(&spec, &sink, &error));
        if (cases[i].expected)
            sink_expect(sink, cases[i].expected);
        assert_true(sink_write(sink, "new", 3, &error));
        assert_int_equal(ftruncate(find_unnamed_temporary(), cases[i].size), 0);
        assert_int_equal(sink_commit(sink, NULL, &error), !*cases[i].message);
        assert_string_equal(error.message, cases[i].message);
        FILE *const out = fopen("out", "rb");
        assert_int_equal(fread(found, 1, sizeof found, out), 3);
        assert_memory_equal(found, *cases[i].message ? "old" : "new", 3);
        fclose(out);
        assert_int_equal(find_unnamed_temporary(), -1);
        unlink("out");
    }
}

static int cut_file;

/* Truncates the file just before the second of its pieces is stored to. */
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
    cut_file = put_file(name, data, bytes);
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

/* The file is truncated before threads make its pages, ahead of the writers: the write fails. */
static void test_truncated_while_pages_are_made(void **state)
{
    const size_t bytes = 3 * TAP_PIECE_BYTES;
    unsigned char *const data = make_bytes(bytes);
    size_t done;
    const int file = put_file("cut", data, 0);
    unlink("cut");
    struct file_space *const space = file_space_open(file);
    if (!space || mapped_file_writers(file, true) == mapped_file_writers(file, false))
        skip(); /* no fallocate(2), or a file system whose pages are not made ahead */
    struct mapped_file *const mapped = mapped_file_open(file, bytes, false, false, space);
    assert_non_null(mapped);
    assert_int_equal(ftruncate(file, 5), 0);
    file_space_want(space, bytes);
    assert_true(mapped_file_make_pages(mapped, 4, bytes));
    errno = 0;
    assert_false(mapped_file_write(mapped, 0, data, bytes, 1, NULL, 1, &done));
    assert_int_equal(errno, EIO);
    mapped_file_close(mapped);
    file_space_close(space);
    close(file);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_ends_when_its_writer_does),
        cmocka_unit_test(a_compressed_pipe_is_closed_while_threads_wait_for_it),
        cmocka_unit_test(a_run_is_read_by_the_kernel_before_it_is_needed),
        cmocka_unit_test(lines_are_keyed_in_steps),
        cmocka_unit_test(test_size_is_that_of_what_was_written),
        cmocka_unit_test(test_truncated_at_the_last_moment),
        cmocka_unit_test(test_truncated_while_pages_are_made),
    };
    return cmocka_run_group_tests_name("files", tests, enter_scratch, leave_scratch);
}
