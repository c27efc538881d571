/* SPDX-License-Identifier: Apache-2.0 */
/* unit_lines_merge.c - sorted inputs, merged in any number of rounds and parts.
 *
 * Memory and parts are so small that every border between blocks, parts and rounds occurs. The
 * output must be that of `sort -m` for the same files, whether they are sorted or not.
 */
#include "formats/merge/lines_merge.h"

#include "formats/codec/codec.h"
#include "tests/unit_files.h"

#define FILES_MAX 9

/* Writes numbers of which many are equal, in several spellings; sometimes a long line, an empty
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

/* are_sources: writes the numbers of the files instead of their lines. */
static void merge_files(const struct line_order *order, const struct limits *limit, size_t files,
                        bool are_sources)
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
                                .are_sorted = are_sources,
                                .writes_sources = are_sources,
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

/* Replaces the numbers of files in "found" by the next lines of these files, without those that
 * were left out. */
static void replace_sources(size_t files)
{
    FILE *inputs[FILES_MAX], *const numbers = fopen("found", "r"), *const out = fopen("lines", "w");
    char name[] = "0", *line = NULL;
    size_t room = 0;
    uint32_t number;
    for (size_t i = 0; i < files; i++, name[0]++)
        assert_non_null(inputs[i] = fopen(name, "r"));
    while (fread(&number, sizeof number, 1, numbers) == 1) {
        const uint32_t file = number & ~LINES_MERGE_LEFT_OUT;
        assert_true(file < files);
        const ssize_t length = getline(&line, &room, inputs[file]);
        assert_true(length > 0);
        if (number == file)
            fprintf(out, "%s%s", line, line[length - 1] == '\n' ? "" : "\n");
    }
    for (size_t i = 0; i < files; i++) {
        assert_int_equal(fgetc(inputs[i]), EOF);
        fclose(inputs[i]);
    }
    free(line);
    fclose(numbers);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(rename("lines", "found"), 0);
}

/* Merges the files with each set of limits. */
static void check_merges(const struct merge_case *c, size_t files, bool are_sources)
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
        merge_files(&order, &limits[i], files, are_sources);
        if (are_sources)
            replace_sources(files);
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
    IN_A_ROW,     /* sorted, and each file after the one before it */
    SORTED_TWICE, /* sorted lines, and the same lines again: out of order in one place */
    UNSORTED
};

static void arrange_file(const char *options, const char *name, enum arrangement arrangement)
{
    char command[200];
    if (arrangement == UNSORTED)
        return;
    run_shell(options, name, "sorted");
    snprintf(command, sizeof command, "rm %s && cat sorted %s >%s && rm sorted", name,
             arrangement == SORTED_TWICE ? "sorted" : "", name);
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

static void merge_all_cases(enum arrangement arrangement)
{
    const size_t counts[] = {1, 2, 3, FILES_MAX};
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof merge_cases / sizeof *merge_cases; i++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            char name[] = "0";
            for (size_t file = 0; file < counts[k]; file++, name[0]++) {
                make_file(name, random_next(&seed) % 4 ? random_next(&seed) % 80 : 0, &seed);
                arrange_file(merge_cases[i].options, name, arrangement);
            }
            if (arrangement == IN_A_ROW)
                put_in_a_row(merge_cases[i].options, counts[k]);
            check_merges(&merge_cases[i], counts[k], false);
            if (arrangement == SORTED || arrangement == IN_A_ROW)
                check_merges(&merge_cases[i], counts[k], true);
            for (size_t file = 0; file < counts[k]; file++)
                remove((char[]){(char)('0' + file), 0});
        }
    }
}

static void test_sorted_files(void **state)
{
    (void)state;
    merge_all_cases(SORTED);
}

static void test_files_in_a_row(void **state)
{
    (void)state;
    merge_all_cases(IN_A_ROW);
}

static void test_files_sorted_twice(void **state)
{
    (void)state;
    merge_all_cases(SORTED_TWICE);
}

static void test_unsorted_files(void **state)
{
    (void)state;
    merge_all_cases(UNSORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorted_files),
        cmocka_unit_test(test_files_in_a_row),
        cmocka_unit_test(test_files_sorted_twice),
        cmocka_unit_test(test_unsorted_files),
    };
    return cmocka_run_group_tests_name("lines_merge", tests, enter_scratch, leave_scratch);
}
