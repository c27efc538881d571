/* SPDX-License-Identifier: Apache-2.0 */
/* unit_lines.c - text sorted as text, against strtold, qsort and strcmp. */
#include "formats/codec/codec.h"
#include "formats/lines/lines.h"
#include "tests/lines/append_lines.h"
#include "tests/lines/unit_text_file.h"

#include <math.h>

static void text_add_line(struct text *text, const char *line)
{
    text_add(text, line, strlen(line));
    text_add(text, "\n", 1);
}

static void append_file(struct lines *lines, const char *name)
{
    struct error error = {0};
    struct source *source;
    if (!source_open(name, 2, &source, &error) || !append_lines(lines, source, &error))
        fail_msg("%s", error.message);
    source_close(source);
}

/* The number of lines in a call of lines_key(), unless a test needs another. */
#define KEYED_COUNT ((size_t)1 << 18)

/* Keys all lines, at most `step` a call; NULL on error. */
static struct key_index *key_all(struct lines *lines, size_t step, struct error *error)
{
    const size_t all = lines_count(lines);
    struct key_index *items = malloc((all + 1) * sizeof *items);
    size_t done = 0, count;
    assert_non_null(items);
    do {
        const size_t room = all - done < step ? all - done : step;
        if (!lines_key(lines, items + done, room, &count, error)) {
            free(items);
            return NULL;
        }
        for (size_t i = done > 0 ? done : 1; i < done + count; ++i)
            assert_true(items[i].index > items[i - 1].index);
        done += count;
    } while (count > 0);
    assert_int_equal(done, all);
    return items;
}

static struct line_order strict_order(struct line_key *key, bool descending)
{
    *key = (struct line_key){.kind = LINE_STRICT, .reverse = descending};
    return (struct line_order){.keys = key,
                               .key_count = 1,
                               .separator = LINE_SEPARATOR_BLANKS,
                               .terminator = '\n',
                               .reverse = descending};
}

/* Writes the lines to "out". */
static struct lines_written write_items(const struct lines *lines, const struct key_index *items,
                                        size_t count, unsigned threads)
{
    const struct sink_spec spec = {"out", &codecs[0], 0, threads, false, NULL};
    struct error error = {0};
    struct lines_written written = {0};
    struct sink *sink;
    if (!sink_open(&spec, &sink, &error) ||
        !lines_write(lines, items, count, sink, &written, &error) || !sink_commit(sink, &error))
        fail_msg("%s", error.message);
    return written;
}

/* Sorts the files "in0".."in<inputs - 1>" to "out", from reading to writing. */
static void sort_files(size_t inputs, bool descending, unsigned threads, size_t step)
{
    struct error error = {0};
    struct line_key key;
    const struct line_order order = strict_order(&key, descending);
    struct lines *lines = lines_create(threads, &order);
    assert_non_null(lines);
    for (size_t i = 0; i < inputs; ++i) {
        char name[32];
        snprintf(name, sizeof name, "in%zu", i);
        append_file(lines, name);
    }
    assert_true(lines_index(lines, &error));
    size_t count = lines_count(lines);
    struct key_index *items = key_all(lines, step, &error);
    if (items == NULL)
        fail_msg("%s", error.message);
    qsort(items, count, sizeof *items, compare_items);
    assert_true(lines_refine(lines, items, &count, &error));
    for (size_t i = 1; i < count; ++i)
        assert_true(items[i - 1].key <= items[i].key);
    const struct lines_written written = write_items(lines, items, count, threads);
    assert_int_equal(written.disorder, 0);
    assert_true(check_sum_equal(written.text, lines_sum(lines)));
    free(items);
    lines_free(lines);
}

/* Lines of equal value that are written in another order than that of their bytes. */
static void disorder_of_equal_values_is_seen(void **state)
{
    (void)state;
    static const char *const spellings[] = {"+1",
                                            "01",
                                            "1",
                                            "1.0",
                                            "1.00",
                                            "1.000000",
                                            "1.0000000",
                                            "1.00000000",
                                            "1.00000000000000000000",
                                            "1.00000000000000000000e0",
                                            "1e0",
                                            "1e00",
                                            "2",
                                            "2.0"};
    const size_t count = sizeof spellings / sizeof *spellings;
    for (size_t descending = 0; descending < 2; ++descending) {
        struct error error = {0};
        struct line_key key;
        const struct line_order order = strict_order(&key, descending);
        struct lines *const lines = lines_create(1, &order);
        struct text input = {0};
        assert_non_null(lines);
        for (size_t i = 0; i < count; ++i)
            text_add_line(&input, spellings[descending ? count - 1 - i : i]);
        put_file("in0", input.data, input.bytes);
        append_file(lines, "in0");
        assert_true(lines_index(lines, &error));
        struct key_index *const items = key_all(lines, KEYED_COUNT, &error);
        assert_int_equal(write_items(lines, items, count, 1).disorder, 0);
        for (size_t i = 0; i + 1 < count; ++i) {
            const struct key_index item = items[i];
            items[i] = items[i + 1];
            items[i + 1] = item;
            assert_int_equal(write_items(lines, items, count, 1).disorder, i + 2);
            items[i + 1] = items[i];
            items[i] = item;
        }
        free(items);
        free(input.data);
        lines_free(lines);
    }
}

/* Sorts like `sort -g`, in a few lines. */
struct reference {
    const char *line;
    long double value;
};

static int compare_references(const void *a, const void *b)
{
    const struct reference *const x = a, *const y = b;
    const int rank_x = isnan(x->value) ? signbit(x->value) ? 0 : 1 : 2;
    const int rank_y = isnan(y->value) ? signbit(y->value) ? 0 : 1 : 2;
    if (rank_x != rank_y)
        return rank_x - rank_y;
    if (x->value != y->value && rank_x == 2)
        return x->value < y->value ? -1 : 1;
    return strcmp(x->line, y->line);
}

static struct text sort_reference(const struct text *input, bool descending)
{
    struct text copy = {0}, output = {0};
    size_t count = 0, room = 0;
    struct reference *references = NULL;
    text_add(&copy, input->data, input->bytes);
    for (char *p = copy.data; p < copy.data + copy.bytes; p += strlen(p) + 1) {
        *strchr(p, '\n') = 0;
        if (count == room) {
            room = room * 2 + 16;
            references = realloc(references, room * sizeof *references);
            assert_non_null(references);
        }
        references[count++] = (struct reference){p, strtold(p, NULL)};
    }
    if (count > 0)
        qsort(references, count, sizeof *references, compare_references);
    for (size_t i = 0; i < count; ++i)
        text_add_line(&output, references[descending ? count - 1 - i : i].line);
    free(references);
    free(copy.data);
    return output;
}

static void check_sort(struct text *input, bool descending, unsigned threads, size_t step)
{
    text_add(input, "", 0); /* allocates the data if there is none */
    put_file("in0", input->data, input->bytes);
    sort_files(1, descending, threads, step);
    struct text expected = sort_reference(input, descending), found = read_text("out");
    text_add(&expected, "", 0);
    if (expected.bytes != found.bytes || memcmp(expected.data, found.data, found.bytes) != 0) {
        size_t i = 0;
        while (i < found.bytes && i < expected.bytes && expected.data[i] == found.data[i])
            ++i;
        while (i > 0 && expected.data[i - 1] != '\n')
            --i;
        fail_msg("%zu bytes, %zu expected; at %zu '%.60s', expected '%.60s'", found.bytes,
                 expected.bytes, i, found.data + i, expected.data + i);
    }
    free(expected.data);
    free(found.data);
}

/* Spellings of a few values, and values that differ in late digits. */
static void adversarial_line(uint64_t *seed, char *line)
{
    static const char *const edges[] = {
        "nan",
        "NaN",
        "-nan",
        "inf",
        "-inf",
        "Infinity",
        "0",
        "-0",
        "0.0",
        "+0",
        "-0e5",
        "1e4000",
        "1e4001",
        "-1e4000",
        "1e5000",
        "1e6000",
        "2e-4951",
        "-2e-4951",
        "1e-5000",
        "1e308",
        "1e309",
        "5e-324",
        "2e-324",
        "0x1p-1074",
        "0x1p-1075",
        "0x10",
        "16",
        "1.6e1",
        "16.0",
        " 16",
        "\t16",
        "16 ",
        "0x1p4",
        "9007199254740993",
        "9007199254740992",
        "9007199254740994",
        "0.1",
        "1e-1",
        "0.10",
        ".1",
        "+.1",
        "0.1000000000000000055511151231257827",
        "100e-3",
        "16.000000000000000",
        "1.0000000000000000000000000000001",
        "1.0000000000000000000000000000002",
        "1",
        "1.0",
        "01",
    };
    const uint64_t kind = random_next(seed) % 4;
    if (kind == 0)
        strcpy(line, edges[random_next(seed) % (sizeof edges / sizeof *edges)]);
    else if (kind == 1)
        sprintf(line, "1.2345678901234567%03u%u", 498 + (unsigned)(random_next(seed) % 4),
                (unsigned)(random_next(seed) % 4));
    else if (kind == 2)
        sprintf(line, "%s%s%u%s", random_next(seed) % 2 ? " " : "",
                random_next(seed) % 2 ? "-" : "", (unsigned)(random_next(seed) % 20),
                random_next(seed) % 2 ? ".0" : "e0");
    else
        sprintf(line, "%.*g", (int)(random_next(seed) % 20) + 1,
                ((double)random_next(seed) / 1e18 - 9) * pow(10, (int)(random_next(seed) % 5)));
}

static void adversarial_lines_are_in_order(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (size_t round = 0; round < 60; ++round) {
        struct text input = {0};
        const size_t count = round < 40 ? random_next(&seed) % 40 : 20000 + round * 500;
        for (size_t i = 0; i < count; ++i) {
            char line[64];
            adversarial_line(&seed, line);
            text_add_line(&input, line);
        }
        check_sort(&input, round % 2, 1 + round % 3, round % 5 ? KEYED_COUNT : 777);
        free(input.data);
    }
}

static void few_values_spelled_many_ways_are_in_order(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        "%u",  "%u.0", "%ue0", "0x%x",
        "+%u", " %u",  "%u.",  "%u.00000000000000000000000000000000000001"};
    uint64_t seed = 2;
    for (size_t round = 0; round < 6; ++round) {
        struct text input = {0};
        const size_t ways = round < 3 ? 1 : 8;
        for (size_t i = 0; i < 150000; ++i) {
            char line[64];
            snprintf(line, sizeof line, spellings[random_next(&seed) % ways],
                     (unsigned)(random_next(&seed) % (round % 3 == 0 ? 1 : 5)));
            text_add_line(&input, line);
        }
        check_sort(&input, round % 2, 3, KEYED_COUNT);
        free(input.data);
    }
}

/* Common beginnings of all lengths: zeros before the number, or after the point. */
static void long_common_beginnings_are_in_order(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct text input = {0};
    char line[2200];
    for (size_t i = 0; i < 20000; ++i) {
        const size_t zeros = random_next(&seed) % (i % 50 == 0 ? 2000 : 40);
        char *out = line;
        memset(out, '0', sizeof line);
        out += random_next(&seed) % 2 ? zeros : 0;
        *out++ = '7';
        *out++ = '.';
        out += random_next(&seed) % 40;
        *out = 0;
        text_add_line(&input, line);
    }
    check_sort(&input, false, 3, KEYED_COUNT);
    check_sort(&input, true, 2, KEYED_COUNT);
    free(input.data);
}

/* Lines longer than the blocks in which lines are found and the buffers in which they are
 * written. */
static void very_long_lines_are_kept(void **state)
{
    (void)state;
    static const size_t zeros[] = {10, 5000000, 3, 1048575, 1048576, 4194303, 4194304, 9000000, 0};
    struct text input = {0};
    char *line = malloc(10000000);
    assert_non_null(line);
    for (size_t round = 0; round < 18; ++round) {
        const size_t count = zeros[round % 9];
        memset(line, '0', count);
        snprintf(line + count, 8, "%u", (unsigned)(round * 7 % 5));
        text_add_line(&input, line);
        for (size_t i = 0; i < 5000; ++i) {
            snprintf(line, 32, "%zu.%zu", i % 5, round);
            text_add_line(&input, line);
        }
    }
    free(line);
    check_sort(&input, false, 3, 1000);
    check_sort(&input, true, 2, KEYED_COUNT);
    free(input.data);
}

static void edges_of_inputs(void **state)
{
    (void)state;
    struct text input = {0};
    check_sort(&input, false, 2, KEYED_COUNT); /* nothing */
    free(input.data);

    put_file("in0", "3\n1", 3);
    put_file("in1", "", 0);
    put_file("in2", "2", 1);
    put_file("in3", "\t0\r\n", 4);
    sort_files(4, false, 2, KEYED_COUNT);
    struct text found = read_text("out");
    assert_int_equal(found.bytes, 10);
    assert_memory_equal(found.data, "\t0\r\n1\n2\n3\n", 10);
    free(found.data);
}

/* NaNs by sign, then as text. */
static void nans_are_in_order(void **state)
{
    (void)state;
    static const char given[] = "nan(2)\n1\nnan(1)\n-nan(1)\nnan\n-inf\n-nan\nNAN(0x1)\n-nan(2)\n";
    static const char expected[] =
        "-nan\n-nan(1)\n-nan(2)\nNAN(0x1)\nnan\nnan(1)\nnan(2)\n-inf\n1\n";
    put_file("in0", given, sizeof given - 1);
    sort_files(1, false, 1, KEYED_COUNT);
    struct text found = read_text("out");
    assert_int_equal(found.bytes, sizeof expected - 1);
    assert_memory_equal(found.data, expected, found.bytes);
    free(found.data);
}

/* The end of a message about a line in which -g reads no number. */
#define NO_NUMBER ": -g would read no number in it, and sort it below all numbers"
#define WORDS "; -k1 sorts lines by their bytes"

/* Checks that the first bad line in input order is reported, whichever thread first finds one. */
static void check_refusal(size_t inputs, const char *expected)
{
    struct error error = {0};
    struct line_key key;
    const struct line_order order = strict_order(&key, false);
    struct lines *lines = lines_create(3, &order);
    assert_non_null(lines);
    for (size_t i = 0; i < inputs; ++i) {
        char name[32];
        snprintf(name, sizeof name, "in%zu", i);
        append_file(lines, name);
    }
    assert_true(lines_index(lines, &error));
    assert_null(key_all(lines, KEYED_COUNT, &error));
    assert_string_equal(error.message, expected);
    lines_free(lines);
}

static void bad_lines_are_named(void **state)
{
    (void)state;
    struct text input = {0};
    for (size_t i = 0; i < 900000; ++i)
        text_add_line(&input, i == 300000 || i == 700000 || i == 899999 ? "one" : "12345.678");
    put_file("in0", "1\n2\n", 4);
    put_file("in1", input.data, input.bytes);
    put_file("in2", "1\n\n", 3);
    check_refusal(3,
                  "in1:300001: 'one' is not a number" NO_NUMBER "; -k1 sorts lines by their bytes");
    free(input.data);
    put_file("in1", "", 0);
    check_refusal(3, "in2:2: empty line, not a number" NO_NUMBER);
    put_file("in1", "1\n2 3\n", 6);
    check_refusal(
        3, "in1:2: '2 3' is not a number: -g would read only '2' of it; columns are for -t and -k");
    put_file("in1", "1\0002\n", 4);
    check_refusal(2, "in1:1: '1\\0002' has a NUL byte in it and is not a number: -z takes lines "
                     "that end with NUL");
    put_file("in1", "\xff\x1b[1m", 5);
    check_refusal(2, "in1:1: '\\377\\033[1m' is not a number" NO_NUMBER WORDS);
    put_file("in1", "\n\n\n", 3);
    check_refusal(2, "in1:1: empty line, not a number" NO_NUMBER);
}

/* A file that has grown since it was opened is read to its new end, in large pieces. */
static void a_file_that_grows_is_read_on(void **state)
{
    (void)state;
    struct error error = {0};
    struct line_key key;
    const struct line_order order = strict_order(&key, false);
    struct lines *lines = lines_create(2, &order);
    struct source *source;
    struct text input = {0};
    size_t reads = 0, begun = 0;
    assert_non_null(lines);
    for (size_t i = 0; i < 2000; i++) {
        text_add_line(&input, "12345.678");
        if (i == 1000) {
            begun = input.bytes;
            put_file("in0", input.data, begun);
            assert_true(source_open("in0", 2, &source, &error));
        }
    }
    FILE *const growing = fopen("in0", "ab");
    assert_non_null(growing);
    assert_int_equal(fwrite(input.data + begun, 1, input.bytes - begun, growing),
                     input.bytes - begun);
    assert_int_equal(fclose(growing), 0);
    assert_true(lines_begin_input(lines, source, 0, &error));
    for (bool ended = false; !ended; reads++)
        assert_true(lines_read_input(lines, source, SIZE_MAX, SIZE_MAX, &ended, &error));
    assert_int_equal(lines_bytes(lines), input.bytes);
    assert_memory_equal(lines_whole_text(lines), input.data, input.bytes);
    assert_in_range(reads, 1, 2);
    source_close(source);
    lines_free(lines);
    free(input.data);
}

static int remove_files(void **state)
{
    static const char *const names[] = {"in0", "in1", "in2", "in3", "out"};
    return leave_scratch_without(state, names, sizeof names / sizeof *names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adversarial_lines_are_in_order),
        cmocka_unit_test(few_values_spelled_many_ways_are_in_order),
        cmocka_unit_test(long_common_beginnings_are_in_order),
        cmocka_unit_test(disorder_of_equal_values_is_seen),
        cmocka_unit_test(very_long_lines_are_kept),
        cmocka_unit_test(edges_of_inputs),
        cmocka_unit_test(nans_are_in_order),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(a_file_that_grows_is_read_on),
    };
    return cmocka_run_group_tests(tests, enter_scratch, remove_files);
}
