/* SPDX-License-Identifier: Apache-2.0 */
/* unit_lines.c - keying lines in batches of any size makes the same items. A GPU gets batches of
 * millions, which are too many for the shell tests.
 */
#include "formats/lines/lines.h"
#include "tests/unit_files.h"

static struct line_key strict_key = {.kind = LINE_STRICT};
static struct line_order strict_order = {
    .keys = &strict_key, .key_count = 1, .separator = LINE_SEPARATOR_BLANKS, .terminator = '\n'};

/* Reads the file. */
static struct lines *read_lines(const char *name)
{
    struct error error = {0};
    struct source *source;
    struct lines *const lines = lines_create(2, &strict_order);
    assert_non_null(lines);
    assert_true(source_open_as(&(struct source_spec){.path = name, .threads = 2}, &source, &error));
    assert_true(lines_begin_input(lines, source_name(source), 0, &error));
    for (bool ended = false; !ended;)
        assert_true(lines_read_input(lines, source, SIZE_MAX, SIZE_MAX, &ended, &error));
    source_close(source);
    assert_true(lines_index(lines, &error));
    return lines;
}

/* Keys all lines, at most `step` a call. */
static struct key_index *key_all(struct lines *lines, size_t step)
{
    struct error error = {0};
    const size_t all = lines_count(lines);
    struct key_index *const items = calloc(all + 1, sizeof *items);
    size_t done = 0, count;
    do {
        const size_t room = all - done < step ? all - done : step;
        assert_true(lines_key(lines, items + done, room, &count, &error));
        done += count;
    } while (count > 0);
    assert_int_equal(done, all);
    return items;
}

/* Batches of every size make the same items. */
static void lines_are_keyed_in_steps(void **state)
{
    static const size_t steps[] = {100, 777, 65536};
    FILE *const file = fopen("in", "w");
    for (int i = 0; i < 50000; i++)
        fprintf(file, "%d%s%0*d\n", i * 7919 % 10007, i % 3 ? "" : ".5", i % 1000 ? 0 : 5000, 0);
    assert_int_equal(fclose(file), 0);
    struct lines *lines = read_lines("in");
    struct key_index *const expected = key_all(lines, SIZE_MAX);
    const size_t count = lines_count(lines);
    assert_int_equal(count, 50000);
    lines_free(lines);
    for (size_t i = 0; i < LENGTH(steps); i++) {
        lines = read_lines("in");
        struct key_index *const items = key_all(lines, steps[i]);
        assert_memory_equal(items, expected, count * sizeof *items);
        free(items);
        lines_free(lines);
    }
    free(expected);
    unlink("in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_keyed_in_steps),
    };
    return cmocka_run_group_tests_name("lines", tests, enter_scratch, leave_scratch);
}
