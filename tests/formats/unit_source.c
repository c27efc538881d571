/* SPDX-License-Identifier: Apache-2.0 */
/* unit_source.c - a pipe that is read ahead: what has arrived, and whether that is all. pipes.sh
 * reads pipes of all kinds.
 */
#include "formats/io/source.h"
#include "tests/unit_files.h"

static void a_pipe_ends_when_its_writer_does(void **state)
{
    enum { FIRST = 50000, ALL = 60000 }; /* a pipe takes as much before anyone reads it */
    struct error error = {0};
    struct source *source;
    int ends[2];
    bool ended = true;
    char path[40];
    size_t got;
    unsigned char *const content = make_bytes(ALL), *const found = malloc(ALL + 1);
    content[0] = 'x'; /* no codec's magic */
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], content, FIRST), FIRST);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_true(source_open_as(&(struct source_spec){.path = path, .threads = 2}, &source, &error));
    source_read_ahead(source, (size_t)1 << 20);
    assert_int_equal(source_await(source, FIRST, &ended), FIRST);
    assert_false(ended);
    assert_int_equal(write(ends[1], content + FIRST, ALL - FIRST), ALL - FIRST);
    close(ends[1]);
    assert_int_equal(source_await(source, UINT64_MAX, &ended), ALL);
    assert_true(ended);
    assert_int_equal(source_bytes_left(source), ALL);
    assert_true(source_read(source, found, ALL + 1, &got, &error));
    assert_int_equal(got, ALL);
    assert_memory_equal(found, content, ALL);
    source_close(source);
    close(ends[0]);
    free(found);
    free(content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_pipe_ends_when_its_writer_does)};
    return cmocka_run_group_tests_name("source", tests, enter_scratch, leave_scratch);
}
