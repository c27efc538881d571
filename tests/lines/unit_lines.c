/* SPDX-License-Identifier: Apache-2.0 */
/* unit_lines.c - lines in memory, keyed in steps, checked while they are written; and merged files,
 * in any number of rounds and parts. The program is compared with sort(1) by the shell tests here.
 */
#include "formats/codec/codec.h"
#include "formats/lines/lines.h"
#include "formats/merge/lines_merge.h"
#include "tests/unit_files.h"

/* ---- Lines in memory ---- */

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
    assert_true(source_open(name, 2, &source, &error));
    assert_true(lines_begin_input(lines, source, 0, &error));
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

/* The items are the same whatever the number of lines that are keyed at a time. */
static void lines_are_keyed_in_steps(void **state)
{
    static const size_t steps[] = {100, 777, 65536};
    (void)state;
    FILE *const file = fopen("in", "w");
    for (int i = 0; i < 50000; i++)
        fprintf(file, "%d%s%0*d\n", i * 7919 % 10007, i % 3 ? "" : ".5", i % 1000 ? 0 : 5000, 0);
    assert_int_equal(fclose(file), 0);
    struct lines *lines = read_lines("in");
    struct key_index *const expected = key_all(lines, SIZE_MAX);
    const size_t count = lines_count(lines);
    assert_int_equal(count, 50000);
    lines_free(lines);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        lines = read_lines("in");
        struct key_index *const items = key_all(lines, steps[i]);
        assert_memory_equal(items, expected, count * sizeof *items);
        free(items);
        lines_free(lines);
    }
    free(expected);
    unlink("in");
}

/* Writes the lines to "out". Returns the number of the first line out of order, from 1; 0: none. */
static uint64_t write_items(const struct lines *lines, const struct key_index *items, size_t count)
{
    const struct sink_spec spec = {"out", &codecs[0], 0, 1, false, NULL};
    struct error error = {0};
    struct lines_written written = {0};
    struct sink *sink;
    assert_true(sink_open(&spec, &sink, &error));
    assert_true(lines_write(lines, items, count, sink, &written, &error));
    assert_true(sink_commit(sink, &error));
    unlink("out");
    return written.disorder;
}

/* Lines of equal value that are written in another order than that of their bytes. */
static void disorder_of_equal_values_is_seen(void **state)
{
    (void)state;
    static const char up[] =
        "+1\n01\n1\n1.0\n1.00\n1.000000\n1.0000000\n1.00000000\n"
        "1.00000000000000000000\n1.00000000000000000000e0\n1e0\n1e00\n2\n2.0\n";
    static const char down[] =
        "2.0\n2\n1e00\n1e0\n1.00000000000000000000e0\n1.00000000000000000000\n"
        "1.00000000\n1.0000000\n1.000000\n1.00\n1.0\n1\n01\n+1\n";
    for (int descending = 0; descending < 2; descending++) {
        strict_order.reverse = strict_key.reverse = descending;
        put_file("in", descending ? down : up, sizeof up - 1);
        struct lines *const lines = read_lines("in");
        struct key_index *const items = key_all(lines, SIZE_MAX);
        const size_t count = lines_count(lines);
        assert_int_equal(count, 14);
        assert_int_equal(write_items(lines, items, count), 0);
        for (size_t i = 0; i + 1 < count; i++) {
            const struct key_index item = items[i];
            items[i] = items[i + 1];
            items[i + 1] = item;
            assert_int_equal(write_items(lines, items, count), i + 2);
            items[i + 1] = items[i];
            items[i] = item;
        }
        free(items);
        lines_free(lines);
    }
    strict_order.reverse = strict_key.reverse = false;
    unlink("in");
}

/* A file that has grown since it was opened is read to its new end, in large pieces. */
static void a_file_that_grows_is_read_on(void **state)
{
    (void)state;
    struct error error = {0};
    struct lines *const lines = lines_create(2, &strict_order);
    struct source *source;
    size_t reads = 0;
    char text[20000];
    memset(text, '1', sizeof text);
    for (size_t i = 9; i < sizeof text; i += 10)
        text[i] = '\n';
    put_file("in", text, 10000);
    assert_true(source_open("in", 2, &source, &error));
    FILE *const growing = fopen("in", "ab");
    assert_int_equal(fwrite(text + 10000, 1, 10000, growing), 10000);
    assert_int_equal(fclose(growing), 0);
    assert_true(lines_begin_input(lines, source, 0, &error));
    for (bool ended = false; !ended; reads++)
        assert_true(lines_read_input(lines, source, SIZE_MAX, SIZE_MAX, &ended, &error));
    assert_int_equal(lines_bytes(lines), sizeof text);
    assert_memory_equal(lines_whole_text(lines), text, sizeof text);
    assert_in_range(reads, 1, 2);
    source_close(source);
    lines_free(lines);
    unlink("in");
}

/* ---- Merged files ---- */

#define FILES_MAX 9

/* Memory and parts are so small that every border between blocks, parts and rounds occurs. The
 * output must be that of `sort -m` for the same files, whether they are sorted or not.
 *
 * Writes numbers of which many are equal, in several spellings; sometimes a long line, an empty
 * line, or no newline after the last line. */
static void make_file(const char *name, size_t lines, uint64_t *seed)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    for (size_t i = 0; i < lines; i++) {
        const uint64_t random = random_next(seed);
        const int value = (int)(random >> 32) % 40;
        if (random % 50 == 0)
            fprintf(file, "%d%0*d\n", value, (int)(random >> 8 & 4095), 0);
        else if (random % 50 == 1)
            fputc('\n', file);
        else
            fprintf(file, "%*d%s %s%s", (int)(random % 3), value, random & 64 ? ".0" : "",
                    random & 128 ? "x" : "yy", i + 1 == lines && random & 256 ? "" : "\n");
    }
    assert_int_equal(fclose(file), 0);
}

/* Options of sort(1), and the same order for lines_merge_run(). */
struct merge_case {
    const char *options;
    struct line_key keys[2];
    struct line_order order; /* its keys are set when it is used */
};

#define FIRST_FIELD                                                                                \
    LINE_END_OF_FIELD,                                                                             \
    {                                                                                              \
        0, 0, false                                                                                \
    }
#define SECOND_FIELD                                                                               \
    LINE_END_OF_FIELD,                                                                             \
    {                                                                                              \
        1, 0, false                                                                                \
    }

static const struct merge_case merge_cases[] = {
    {"-n", {{.kind = LINE_NUMERIC}}, {NULL, 1, -1, '\n', false, false, false}},
    {"-n -s", {{.kind = LINE_NUMERIC}}, {NULL, 1, -1, '\n', false, true, false}},
    {"-n -u", {{.kind = LINE_NUMERIC}}, {NULL, 1, -1, '\n', false, false, true}},
    {"-g -r", {{.kind = LINE_GENERAL, .reverse = true}}, {NULL, 1, -1, '\n', true, false, false}},
    {"-k1", {{.kind = LINE_BYTES}}, {NULL, 1, -1, '\n', false, false, false}},
    {"-k1 -u", {{.kind = LINE_BYTES}}, {NULL, 1, -1, '\n', false, false, true}},
    {"-k2,2 -k1,1n -s",
     {{LINE_BYTES, false, {1, 0, false}, SECOND_FIELD},
      {LINE_NUMERIC, false, {0, 0, false}, FIRST_FIELD}},
     {NULL, 2, -1, '\n', false, true, false}},
    {"-k1,1nr -u",
     {{LINE_NUMERIC, true, {0, 0, false}, FIRST_FIELD}},
     {NULL, 1, -1, '\n', false, false, true}},
};

struct limits {
    unsigned threads;
    size_t memory_bytes, part_bytes;
};

static const struct limits limits[] = {
    {1, 1, 100}, {3, 900, 1}, {2, 9000, 500}, {2, 0, 0}, {3, 0, 64},
};

static void merge_files(const struct line_order *order, const struct limits *limit, size_t files)
{
    struct error error = {0};
    struct source *sources[FILES_MAX];
    char name[] = "0";
    for (size_t i = 0; i < files; i++, name[0]++)
        assert_true(source_open(name, 1, &sources[i], &error));
    const struct sink_spec spec = {.path = "found", .codec = &codecs[0], .threads = 1};
    struct sink *sink;
    assert_true(sink_open(&spec, &sink, &error));
    struct lines_merge merge = {.order = order,
                                .sources = sources,
                                .count = files,
                                .threads = limit->threads,
                                .memory_bytes = limit->memory_bytes,
                                .part_bytes = limit->part_bytes};
    const bool ok = lines_merge_run(&merge, sink, &error);
    if (!ok)
        fail_msg("%s", error.message);
    assert_true(sink_commit(sink, &error));
    for (size_t i = 0; i < files; i++)
        source_close(sources[i]);
}

static void run_shell(const char *options, const char *files, const char *output)
{
    char command[200];
    snprintf(command, sizeof command, "LC_ALL=C sort %s %s -o %s", options, files, output);
    assert_int_equal(system(command), 0);
}

/* Merges the files with each set of limits. */
static void check_merges(const struct merge_case *c, size_t files)
{
    struct line_order order = c->order;
    struct line_key keys[2] = {c->keys[0], c->keys[1]};
    char options[100], names[100] = "";
    order.keys = keys;
    for (size_t i = 0; i < files; i++)
        sprintf(names + strlen(names), " %zu", i);
    snprintf(options, sizeof options, "-m %s", c->options);
    run_shell(options, names, "expected");
    size_t expected_bytes;
    unsigned char *const expected = get_file("expected", &expected_bytes);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        merge_files(&order, &limits[i], files);
        size_t bytes;
        unsigned char *const found = get_file("found", &bytes);
        if (bytes != expected_bytes || memcmp(found, expected, bytes) != 0)
            fail_msg("sort %s of %zu files, limits %zu", options, files, i);
        free(found);
        remove("found"); /* ext4 would wait for its disk to fill it again */
    }
    free(expected);
    remove("expected");
}

/* Arrangements of the lines of a file. */
enum arrangement {
    SORTED,
    IN_A_ROW, /* sorted, and each file after the one before it */
    UNSORTED
};

static void arrange_file(const char *options, const char *name, enum arrangement arrangement)
{
    char command[200];
    if (arrangement == UNSORTED)
        return;
    run_shell(options, name, "sorted");
    snprintf(command, sizeof command, "mv sorted %s", name);
    assert_int_equal(system(command), 0);
}

/* Distributes the sorted lines of all files to the files, in sequence. */
static void put_in_a_row(const char *options, size_t files)
{
    char command[200];
    snprintf(command, sizeof command,
             "LC_ALL=C sort %s [0-9] -o all && rm [0-9] && split -n l/%zu -d -a 1 all '' && rm all",
             options, files);
    assert_int_equal(system(command), 0);
}

/* Each order meets all arrangements, with other numbers of files. */
static void files_are_merged(void **state)
{
    static const size_t counts[] = {2, FILES_MAX, 1, 3};
    uint64_t seed = 1;
    (void)state;
    for (size_t i = 0; i < 3 * sizeof merge_cases / sizeof *merge_cases; i++) {
        const struct merge_case *const merge_case = &merge_cases[i / 3];
        const enum arrangement arrangement = (enum arrangement)(i % 3);
        const size_t files = counts[i % 4];
        char name[] = "0";
        for (size_t file = 0; file < files; file++, name[0]++) {
            make_file(name, random_next(&seed) % 4 ? random_next(&seed) % 80 : 0, &seed);
            arrange_file(merge_case->options, name, arrangement);
        }
        if (arrangement == IN_A_ROW)
            put_in_a_row(merge_case->options, files);
        check_merges(merge_case, files);
        while (name[0]-- > '0')
            remove(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_keyed_in_steps),
        cmocka_unit_test(disorder_of_equal_values_is_seen),
        cmocka_unit_test(a_file_that_grows_is_read_on),
        cmocka_unit_test(files_are_merged),
    };
    return cmocka_run_group_tests_name("lines", tests, enter_scratch, leave_scratch);
}
