/* SPDX-License-Identifier: Apache-2.0 */
/* unit_line_compare.c - which of two lines comes first.
 *
 * There are three references: a table; strtold(3), for whether a line is a number and for its
 * value; and sort(1), which must put files of odd lines in the order of line_compare. In all of
 * them, ranks of lines must compare like the lines themselves.
 */
#include "formats/lines/line_compare.h"

#include "tests/unit_files.h"

#include <math.h>

#define WHOLE(kind_)                                                                               \
    {                                                                                              \
        .kind = (kind_)                                                                            \
    }

/* Compares by all keys, then by the last resort. */
static int line_compare(const struct line_order *order, const char *a, size_t a_length,
                        const char *b, size_t b_length)
{
    const int found = line_compare_keys(order, 0, a, a_length, b, b_length);
    return found != 0 ? found : line_compare_last(order, a, a_length, b, b_length);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

/* Compares both ways round, by text and by rank. All results must agree. */
static int compare(const struct line_order *order, const char *a, size_t a_length, const char *b,
                   size_t b_length)
{
    const int found = sign(line_compare(order, a, a_length, b, b_length));
    assert_int_equal(sign(line_compare(order, b, b_length, a, a_length)), -found);
    struct ranked_line x, y;
    if (line_rank(order, a, a_length, &x) && line_rank(order, b, b_length, &y)) {
        assert_int_equal(sign(line_rank_compare(order, &x, &y)), found);
        assert_int_equal(sign(line_rank_compare(order, &y, &x)), -found);
    }
    return found;
}

/* ---- The table ---- */

struct pair {
    enum line_kind kind;
    const char *a, *relation, *b; /* the relation of the keys: "<" or "=" */
};

#define DIGITS_40 "1234567890123456789012345678901234567890"

#define ZEROS_20 "00000000000000000000"
#define ZEROS_80 ZEROS_20 ZEROS_20 ZEROS_20 ZEROS_20

static const struct pair pairs[] = {
    {LINE_NUMERIC, "9", "<", "10"},
    {LINE_NUMERIC, "-10", "<", "-9"},
    {LINE_NUMERIC, "-1", "<", "0"},
    {LINE_NUMERIC, "-0.001", "<", "0"},
    {LINE_NUMERIC, "0", "<", ".001"},
    {LINE_NUMERIC, "1.5", "<", "1.50001"},
    {LINE_NUMERIC, "1.09", "<", "1.1"},
    {LINE_NUMERIC, "-1.1", "<", "-1.09"},
    {LINE_NUMERIC, DIGITS_40 "0", "<", DIGITS_40 "1"},
    {LINE_NUMERIC, DIGITS_40 ".1", "<", DIGITS_40 ".11"},
    {LINE_NUMERIC, "0." ZEROS_80 "1", "<", "0." ZEROS_80 "10" ZEROS_80 "1"},
    {LINE_NUMERIC, "0." ZEROS_80 "1" ZEROS_80, "=", "0." ZEROS_80 "1"},
    {LINE_NUMERIC, "5." ZEROS_80 "2", "<", "5." ZEROS_80 "3"},
    {LINE_NUMERIC, "-5." ZEROS_80 "3", "<", "-5." ZEROS_80 "2"},
    {LINE_NUMERIC, "-5." ZEROS_80 "2" ZEROS_80 "1", "<", "-5." ZEROS_80 "2"},
    {LINE_NUMERIC, "5" ZEROS_80 "7.5", "<", "5" ZEROS_80 "7.51"},
    {LINE_NUMERIC, "5" ZEROS_80 "7.5", "=",
     "\x80"
     "5" ZEROS_80 "\x80"
     "7.5"},
    {LINE_HUMAN, "1." DIGITS_40 DIGITS_40 "8K", "<", "1." DIGITS_40 DIGITS_40 "80001K"},
    {LINE_NUMERIC, "9" DIGITS_40, "<", "1" DIGITS_40 "0"},
    {LINE_NUMERIC, "12345678901234567", "<", "12345678901234567.0000000000000001"},
    {LINE_NUMERIC, ".00000000000000000001", "<", ".00000000000000000002"},
    {LINE_NUMERIC, "x", "=", ""},
    {LINE_NUMERIC, "+5", "=", "0"},
    {LINE_NUMERIC, "-0", "=", "0"},
    {LINE_NUMERIC, "-", "=", "-.0"},
    {LINE_NUMERIC, "--5", "=", "0"},
    {LINE_NUMERIC, "- 5", "=", "0"},
    {LINE_NUMERIC, "\v5", "=", "0"},
    {LINE_NUMERIC, " \t\n5", "=", "5"},
    {LINE_NUMERIC, "007.500", "=", "7.5"},
    {LINE_NUMERIC, "5.", "=", "5"},
    {LINE_NUMERIC, "5e9", "=", "5"},
    {LINE_NUMERIC, "1.2.3", "=", "1.2"},
    {LINE_NUMERIC, "1,000", "=", "1"},
    {LINE_NUMERIC, "0x10", "=", "0"},
    {LINE_NUMERIC,
     "\200"
     "1\200"
     "0\200",
     "=", "10"},
    {LINE_NUMERIC, "-\2000\2001\200.5", "=", "-1.5"},
    {LINE_NUMERIC, "1\2003", "<", "14"},
    {LINE_NUMERIC, "1.\2005", "=", "1"},
    {LINE_NUMERIC, "\200-5", "=", "0"},
    {LINE_HUMAN, "0\2005K", "<", "6"},
    {LINE_HUMAN, "5\200K", "=", "5"},
    {LINE_HUMAN, "1023", "<", "1K"},
    {LINE_HUMAN, "1K", "=", "1k"},
    {LINE_HUMAN, "9K", "<", "1M"},
    {LINE_HUMAN, "1M", "<", "1G"},
    {LINE_HUMAN, "1G", "<", "1T"},
    {LINE_HUMAN, "1T", "<", "1P"},
    {LINE_HUMAN, "1P", "<", "1E"},
    {LINE_HUMAN, "1E", "<", "1Z"},
    {LINE_HUMAN, "1Z", "<", "1Y"},
    {LINE_HUMAN, "1Y", "<", "1R"},
    {LINE_HUMAN, "1R", "<", "1Q"},
    {LINE_HUMAN, "-1M", "<", "-9K"},
    {LINE_HUMAN, "-1K", "<", "-9999"},
    {LINE_HUMAN, "-1", "<", "0Q"},
    {LINE_HUMAN, "0Q", "=", "0"},
    {LINE_HUMAN, "-0.0M", "=", "x"},
    {LINE_HUMAN, "0M", "<", ".1"},
    {LINE_HUMAN, "9", "<", ".1K"},
    {LINE_HUMAN, "1.5K", "<", "1.6K"},
    {LINE_HUMAN, "9", "<", "5.K"},
    {LINE_HUMAN, "5m", "=", "5"},
    {LINE_HUMAN, "5 K", "=", "5"},
    {LINE_HUMAN, "5KB", "=", "5K"},
    {LINE_HUMAN, DIGITS_40, "<", "1k"},
    {LINE_HUMAN, "1234567890123456K", "<", "1234567890123457K"},
    {LINE_GENERAL, "x", "=", ""},
    {LINE_GENERAL, "+", "=", "."},
    {LINE_GENERAL, "e5", "=", "x"},
    {LINE_GENERAL, "x", "<", "-nan"},
    {LINE_GENERAL, "-nan", "<", "nan"},
    {LINE_GENERAL, "nan(12)", "=", "NaN"},
    {LINE_GENERAL, "nan(x", "=", "nan"},
    {LINE_GENERAL, "nan", "<", "-inf"},
    {LINE_GENERAL, "-inf", "<", "-1e4931"},
    {LINE_GENERAL, "1e4931", "<", "inf"},
    {LINE_GENERAL, "1e9999", "=", "infinity"},
    {LINE_GENERAL, "infinit", "=", "+INF"},
    {LINE_GENERAL, "-0", "=", "0"},
    {LINE_GENERAL, "1x", "=", "1"},
    {LINE_GENERAL, "0x", "=", "0"},
    {LINE_GENERAL, "0x.", "=", "0"},
    {LINE_GENERAL, "0x1p", "=", "1"},
    {LINE_GENERAL, "0x1p4", "=", "16"},
    {LINE_GENERAL, "0x.8", "=", "0.5"},
    {LINE_GENERAL, "1e", "=", "1e+"},
    {LINE_GENERAL, "1e-", "=", "1.0000"},
    {LINE_GENERAL, "1.5.5", "=", "1.5"},
    {LINE_GENERAL, "\v\f\r\n\t 7", "=", "7"},
    {LINE_GENERAL, "1e-4950", "<", "2e-4950"},
    {LINE_GENERAL, "0.1", "<", "0.10000000000000000001"},
    {LINE_GENERAL, "9223372036854775807", "<", "9223372036854775808"},
    {LINE_GENERAL, "1 2", "=", "1"},
    {LINE_BYTES, "", "<", "a"},
    {LINE_BYTES, "a", "<", "ab"},
    {LINE_BYTES, "a", "<", "\377"},
    {LINE_BYTES, "abcdefg", "<", "abcdefgh"},
    {LINE_BYTES, "abcdefgh", "<", "abcdefgi"},
    {LINE_BYTES, "10", "<", "9"},
};

/* The relation holds for the keys, and reversed for -r. Lines with equal keys are compared by
 * bytes. */
static void test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct pair *const p = &pairs[i];
        const size_t a = strlen(p->a), b = strlen(p->b);
        const int expected = *p->relation == '<' ? -1 : 0;
        struct line_key key = WHOLE(p->kind);
        struct line_order order = {&key, 1, LINE_SEPARATOR_BLANKS, '\n', false, true, false};
        const int found = compare(&order, p->a, a, p->b, b);
        if (found != expected)
            fail_msg("'%s' %s '%s': %d", p->a, p->relation, p->b, found);
        key.reverse = true;
        assert_int_equal(compare(&order, p->a, a, p->b, b), -expected);
        order.stable = false;
        const int bytes = sign(strcmp(p->a, p->b));
        assert_int_equal(compare(&order, p->a, a, p->b, b), expected ? -expected : bytes);
        order.reverse = true;
        assert_int_equal(compare(&order, p->a, a, p->b, b), expected ? -expected : -bytes);
        order.unique = true;
        assert_int_equal(compare(&order, p->a, a, p->b, b), -expected);
    }
}

/* A NUL byte ends a number and nothing else. */
static void test_nul(void **state)
{
    (void)state;
    struct line_key key = WHOLE(LINE_NUMERIC);
    struct line_order order = {&key, 1, LINE_SEPARATOR_BLANKS, '\n', false, true, false};
    const enum line_kind kinds[] = {LINE_NUMERIC, LINE_HUMAN, LINE_GENERAL};
    for (size_t i = 0; i < 3; i++) {
        key.kind = kinds[i];
        assert_int_equal(compare(&order, "1\0002", 3, "1", 1), 0);
        assert_int_equal(compare(&order, "\0001", 2, "0", 1), i == 2 ? -1 : 0);
    }
    order.stable = false;
    assert_int_equal(compare(&order, "1\0002", 3, "1\0003", 3), -1);
    key.kind = LINE_BYTES;
    assert_int_equal(compare(&order, "a\0", 2, "a", 1), 1);
    assert_int_equal(compare(&order, "a\0b", 3, "a\0c", 3), -1);
}

static void test_keys(void **state)
{
    (void)state;
    struct line_key keys[] = {
        {LINE_BYTES, false, {0, 0, false}, LINE_END_OF_FIELD, {0, 0, false}},
        {LINE_NUMERIC, true, {1, 0, false}, LINE_END_OF_FIELD, {1, 0, false}},
    };
    struct line_order order = {keys, 2, ',', '\n', false, false, false};
    assert_int_equal(compare(&order, "a,1", 3, "b,2", 3), -1);
    assert_int_equal(compare(&order, "a,1", 3, "a,2", 3), 1);
    assert_int_equal(compare(&order, "a,1,y", 5, "a,01,x", 6), 1);
    assert_int_equal(line_compare_keys(&order, 0, "a,1,y", 5, "a,01,x", 6), 0);
    assert_int_equal(line_compare_keys(&order, 1, "a,1", 3, "b,2", 3), 1);
    order.reverse = true;
    assert_int_equal(compare(&order, "a,1,y", 5, "a,01,x", 6), -1);
}

static void test_strict_rank(void **state)
{
    (void)state;
    struct line_key key = WHOLE(LINE_STRICT);
    struct line_order order = {&key, 1, LINE_SEPARATOR_BLANKS, '\n', false, false, false};
    struct ranked_line line;
    assert_true(line_rank(&order, " 0x1p3 ", 7, &line));
    assert_false(line_rank(&order, "1x", 2, &line));
    assert_false(line_rank(&order, "", 0, &line));
}

/* ---- Random lines ---- */

/* Makes a line of bytes that occur in odd numbers, and of parts of words, so that some words are
 * complete. */
static size_t make_line(uint64_t *seed, char line[64])
{
    static const char *const parts[] = {"0",  "1", "9", "5",   ".",  "-",   "+",      "e",   "E",
                                        "0x", "p", "K", "M",   "G",  "inf", "inity",  "nan", "(",
                                        ")",  " ", ":", "\t",  "\v", "00",  "123",    "f",   "x",
                                        "_",  "k", ",", "999", "\r", "e-3", "e+4000", "\200"};
    const size_t count = random_next(seed) % 6;
    line[0] = '\0';
    for (size_t i = 0; i < count; i++)
        strcat(line, parts[random_next(seed) % (sizeof parts / sizeof *parts)]);
    return strlen(line);
}

/* Compares the values that strtold reads from a and b, in the order of -g. */
static int compare_by_strtold(const char *a, const char *b)
{
    char *a_end, *b_end;
    const long double x = strtold(a, &a_end), y = strtold(b, &b_end);
    if (a_end == a || b_end == b)
        return (a_end != a) - (b_end != b);
    if (isnan(x) && isnan(y))
        return !signbit(x) - !signbit(y);
    if (isnan(x) || isnan(y))
        return !isnan(x) - !isnan(y);
    return (x > y) - (x < y);
}

static void test_general_is_strtold(void **state)
{
    (void)state;
    uint64_t seed = 1;
    struct line_key key = WHOLE(LINE_GENERAL);
    struct line_order order = {&key, 1, LINE_SEPARATOR_BLANKS, '\n', false, true, false};
    for (size_t i = 0; i < 300000; i++) {
        char a[64], b[64];
        const size_t a_length = make_line(&seed, a), b_length = make_line(&seed, b);
        const int found = compare(&order, a, a_length, b, b_length);
        if (found != compare_by_strtold(a, b))
            fail_msg("'%s' and '%s': %d", a, b, found);
    }
}

static void test_order_is_total(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int kind = LINE_STRICT; kind <= LINE_BYTES; kind++) {
        struct line_key key = WHOLE((enum line_kind)kind);
        struct line_order order = {&key, 1, LINE_SEPARATOR_BLANKS, '\n', false, false, false};
        for (size_t i = 0; i < 60000; i++) {
            char text[3][64];
            size_t length[3];
            order.stable = i & 1;
            for (size_t k = 0; k < 3; k++)
                length[k] = make_line(&seed, text[k]);
            const int ab = compare(&order, text[0], length[0], text[1], length[1]);
            const int bc = compare(&order, text[1], length[1], text[2], length[2]);
            const int ac = compare(&order, text[0], length[0], text[2], length[2]);
            if (ab == bc || bc == 0)
                assert_int_equal(ac, ab);
            else if (ab == 0)
                assert_int_equal(ac, bc);
        }
    }
}

/* ---- sort(1) ---- */

struct text_line {
    char text[64];
    size_t length;
};

static int compare_text_lines(const void *a, const void *b, void *order)
{
    const struct text_line *const x = a, *const y = b;
    return compare(order, x->text, x->length, y->text, y->length);
}

static void put_lines(const char *name, const struct text_line *lines, size_t count)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s\n", lines[i].text);
    assert_int_equal(fclose(file), 0);
}

#define SORTED_LINES 3000

/* Sorts lines by line_compare and by sort(1). qsort may be unstable, so there is a last resort. */
static void sort_both_ways(struct line_order *order, const char *options, uint64_t seed)
{
    static struct text_line lines[SORTED_LINES];
    for (size_t i = 0; i < SORTED_LINES; i++) {
        do /* sort(1) distinguishes NaNs that are equal here */
            lines[i].length = make_line(&seed, lines[i].text);
        while (strstr(lines[i].text, "nan"));
    }
    put_lines("input", lines, SORTED_LINES);
    char command[256];
    snprintf(command, sizeof command, "LC_ALL=C sort %s input >expected", options);
    assert_int_equal(system(command), 0);
    qsort_r(lines, SORTED_LINES, sizeof *lines, compare_text_lines, order);
    put_lines("found", lines, SORTED_LINES);
    if (system("cmp found expected") != 0)
        fail_msg("sort %s orders the lines otherwise", options);
    remove("input");
    remove("found");
    remove("expected");
}

static void test_order_is_that_of_sort(void **state)
{
    (void)state;
    struct line_key keys[] = {WHOLE(LINE_NUMERIC), WHOLE(LINE_GENERAL)};
    struct line_order order = {keys, 1, LINE_SEPARATOR_BLANKS, '\n', false, false, false};
    sort_both_ways(&order, "-n", 3);
    keys[0].kind = LINE_GENERAL;
    sort_both_ways(&order, "-g", 4);
    keys[0].kind = LINE_HUMAN;
    sort_both_ways(&order, "-h", 5);
    keys[0].reverse = order.reverse = true;
    sort_both_ways(&order, "-hr", 6);
    order.reverse = false;
    keys[0] = (struct line_key){.kind = LINE_GENERAL, .begin = {1, 0, true}, .reverse = true};
    keys[1] = (struct line_key){.kind = LINE_NUMERIC, .end_kind = LINE_END_OF_FIELD};
    order.key_count = 2;
    sort_both_ways(&order, "-k2bgr -k1,1n", 7);
    order.separator = ':';
    keys[0] = (struct line_key){.kind = LINE_HUMAN, .begin = {0, 1, false}};
    keys[1] = (struct line_key){LINE_BYTES, true, {1, 0, false}, LINE_END_AT_PLACE, {1, 2, false}};
    sort_both_ways(&order, "-t: -k1.2h -k2,2.2r", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_strict_rank),
        cmocka_unit_test(test_general_is_strtold),
        cmocka_unit_test(test_order_is_total),
        cmocka_unit_test(test_order_is_that_of_sort),
    };
    return cmocka_run_group_tests_name("line_compare", tests, enter_scratch, leave_scratch);
}
