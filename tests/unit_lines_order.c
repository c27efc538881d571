/* SPDX-License-Identifier: Apache-2.0 */
/* unit_lines_order.c - lines in any order of sort(1), against sort(1) itself: numbers in all
 * spellings, fields, and the characters of numbers.
 *
 * Results that differ between versions of sort(1) (several NaNs, R and Q), and those of orders for
 * which it has no option, are written out below.
 */
#include "tests/unit_lines_order.h"

static const char *const orders[] = {
    "-g",          "-gr",        "-gs",         "-grs",          "-gu",           "-gru",
    "-n",          "-nr",        "-ns",         "-nrs",          "-nu",           "-nru",
    "-h",          "-hr",        "-hs",         "-hrs",          "-hu",           "-hru",
    "-k1",         "-k1r",       "-r -k1",      "-u -k1",        "-s -k1,1",      "-b -k1",
    "-k2,2",       "-k2,2n",     "-k2n",        "-k2,2g",        "-k2,2h",        "-k2,2nr",
    "-r -k2,2n",   "-r -k2n -s", "-u -k2,2n",   "-k2b,2",        "-b -k2,2",      "-k2,2b -k1",
    "-t: -k2,2",   "-t: -k2,2n", "-t: -k3,3gr", "-t: -u -k2,2h", "-t: -k1,1 -u",  "-t. -k2n",
    "-n -k2 -k1r", "-g -k2r -u", "-k1.2,1.3",   "-k1.2b,1.3b",   "-s -k1.3,2.1n", "-k2,1 -k1.2",
};

static const char *const many_keys[] = {
    "-k1,1 -k2,2n -k3,3g",       "-k2,2n -k1,1r",         "-t: -k1,1n -k2,2h -k3,3",
    "-k2,2g -k1,1n -u",          "-k3,3r -k2,2nr -s",     "-t: -k3,3h -k2,2g -k1,1 -r",
    "-k1,1g -k1,1 -k2,2h -u -r", "-k2,2n -k2,2g -k3 -s",  "-n -k1,1 -k2,2 -k3,3",
    "-rn -k1,1 -k2,2 -k3,3",     "-k1.1,1.1 -k2,2nr -k1", "-k1,1h -k2,2h -k3,3h",
};

/* ---- lines like numbers ---- */

static const char *const spellings[] = {
    "",
    "0",
    "-0",
    "+0",
    "0.0",
    "-0.00",
    "00",
    "1",
    "01",
    "1.0",
    "1e0",
    "1.",
    "+1",
    "-1",
    "--1",
    "- 1",
    "-.5",
    ".5",
    "0.5",
    "-0.50",
    ".",
    "-",
    "-.",
    "5.5.5",
    "1,000",
    "1x",
    "0x",
    "0x1p4",
    "0x.8",
    "0x.",
    "0x1p",
    "16",
    "1.6e1",
    "1e",
    "1e+",
    "1e5 x",
    "e5",
    "inf",
    "-inf",
    "infinityx",
    "infin",
    "Infinity",
    "in",
    "1e4000",
    "1e4001",
    "-1e4000",
    "1e5000",
    "2e-4951",
    "1e-4950",
    "0K",
    "-0K",
    "0M",
    "1K",
    "1k",
    "1023K",
    "1M",
    "-5K",
    "-5M",
    "5K",
    "5 K",
    "1.K",
    "1.5G",
    ".5T",
    "1Ki",
    "1m",
    "1P",
    "1E",
    "1Z",
    "2Y",
    "999Y",
    "0.000K",
    "1e5K",
    "\t7",
    " 7",
    "  7",
    "\v7",
    "\r7",
    "7\r",
    "7 ",
    "7\t3",
    "\3777",
    "7\377",
    "7\001",
    "\x80"
    "7",
    "7\x80"
    "0",
    "-\x80"
    "5",
    "\x80-5",
    "\x80\x80",
    "0\x80"
    "5K",
    "1\x80"
    "000K",
    "7.\x80"
    "5",
    "7.5\x80K",
    "6\x80K",
    "-0\x80"
    "5M",
    "\x80.5",
    "12345678901234\x80"
    "5678",
    "1\x80"
    "2345678901234567",
    "one",
    "123456789012345678",
    "123456789012345679",
    "1234567890123456789",
    "12345678901234567",
    "12345678901234567.0",
    "12345678901234567.1",
    "1234567890123456.25K",
    "1234567890123456.26K",
    "9999999999999999K",
    "1234567890123456789012345678901234567890",
    "1234567890123456789012345678901234567891",
    "0.12345678901234567",
    "0.123456789012345678",
    "-0.12345678901234567",
    "-0.123456789012345678",
    "0.00000000000000000000000001",
    "0.000000000000000000000000011",
    "-0.00000000000000000000000001",
    "18446744073709551616",
    "18446744073709551617",
    "9223372036854775807.5",
    "36893488147419103233",
    "36893488147419103232",
    "-36893488147419103233",
};

static void add_number(struct text *text, uint64_t *seed)
{
    char number[64];
    const size_t kind = random_below(seed, 5);
    if (kind == 0) {
        const char *const spelling = spellings[random_below(seed, COUNT_OF(spellings))];
        text_add(text, spelling, strlen(spelling));
        return;
    }
    if (kind == 1)
        snprintf(number, sizeof number, "%d", (int)random_below(seed, 30) - 10);
    else if (kind == 2)
        snprintf(number, sizeof number, "%s%zu.%zu%.*s", random_below(seed, 3) ? "" : "-",
                 random_below(seed, 3), random_below(seed, 3), (int)random_below(seed, 2),
                 &"KMGk"[random_below(seed, 4)]);
    else if (kind == 3)
        snprintf(number, sizeof number, "%s%s%zue%d", random_below(seed, 4) ? "" : " ",
                 random_below(seed, 2) ? "" : "0", random_below(seed, 12),
                 (int)random_below(seed, 4) - 2);
    else
        snprintf(number, sizeof number, "%.17g", (double)random_next(seed) / 1e18);
    text_add(text, number, strlen(number));
}

/* Adds fields of numbers and words, of few different ones, separated by blanks and colons. */
static void add_fields(struct text *text, uint64_t *seed)
{
    static const char *const words[] = {"a", "ab", "abc", "abcdefg", "abcdefgh", "b", "B", "\xff"};
    static const char *const gaps[] = {" ", "  ", "\t", ":", ": ", " :"};
    const size_t fields = random_below(seed, 5);
    for (size_t i = 0; i < fields; ++i) {
        const char *const gap = gaps[random_below(seed, COUNT_OF(gaps))];
        const char *const word = words[random_below(seed, COUNT_OF(words))];
        if (i > 0 || random_below(seed, 8) == 0)
            text_add(text, gap, strlen(gap));
        if (random_below(seed, 2))
            text_add(text, word, strlen(word));
        else
            add_number(text, seed);
    }
}

/* Adds characters of numbers, in any order. There is no "a", and so no "nan". */
static void add_noise(struct text *text, uint64_t *seed)
{
    static const char alphabet[] = "0012579..--+eExXpinftyKMG \t\v:\x80";
    for (size_t left = random_below(seed, 9); left > 0; --left)
        text_add(text, &alphabet[random_below(seed, sizeof alphabet - 1)], 1);
}

static void few_lines_are_in_any_order(void **state)
{
    (void)state;
    check_orders(orders, COUNT_OF(orders), add_number, 2, 80);
    check_orders(orders, COUNT_OF(orders), add_fields, 2, 80);
    check_orders(orders, COUNT_OF(orders), add_noise, 2, 200);
    check_orders(many_keys, COUNT_OF(many_keys), add_fields, 3, 100);
}

static void many_lines_are_in_any_order(void **state)
{
    (void)state;
    check_orders(orders, COUNT_OF(orders), add_number, 1, 12000);
    check_orders(many_keys, COUNT_OF(many_keys), add_fields, 1, 40000);
}

/* Enough lines for several threads to search runs of equal keys, with long runs and short ones. */
static void repeated_lines_are_left_out(void **state)
{
    (void)state;
    static const char *const options[] = {"-nu", "-gru", "-u -k1", "-hsu", "-u -k1,1n -k2", "-n"};
    static const size_t values[] = {5, 1000, 100000};
    uint64_t seed = 7;
    for (size_t i = 0; i < COUNT_OF(options) * COUNT_OF(values); ++i) {
        struct text input = {0};
        for (size_t line = 0; line < 200000; ++line) {
            char number[32];
            const size_t value = random_below(&seed, values[i / COUNT_OF(options)]);
            snprintf(number, sizeof number, "%zu%s\n", value, random_below(&seed, 2) ? "" : ".0");
            text_add(&input, number, strlen(number));
        }
        check_order(options[i % COUNT_OF(options)], &input, 3);
        free(input.data);
    }
}

/* Lines longer than the blocks in which lines are found and the buffers in which they are
 * written. */
static void very_long_lines_are_in_order(void **state)
{
    (void)state;
    static const char *const options[] = {"-n", "-k1", "-k2,2n -u", "-h", "-k2"};
    struct text input = {0};
    uint64_t seed = 5;
    char *const zeros = malloc(10000000);
    assert_non_null(zeros);
    memset(zeros, '0', 10000000);
    for (size_t i = 0; i < 18; ++i) {
        text_add(&input, "2", i % 2);
        text_add(&input, zeros, i < 4 ? 10000000 - i / 2 : random_below(&seed, 100000));
        text_add(&input, " 7 ", random_below(&seed, 4));
        text_add(&input, "1\n", 2);
        for (size_t k = 0; k < 500; ++k) {
            add_fields(&input, &seed);
            text_add(&input, "\n", 1);
        }
    }
    free(zeros);
    for (size_t i = 0; i < COUNT_OF(options); ++i)
        check_order(options[i], &input, 2);
    free(input.data);
}

/* ---- results that are written out ---- */

struct written_case {
    const char *options;
    const char *input;
    const char *expected;
};

static const struct written_case written_cases[] = {
    /* Lines without a number, NaNs by sign and then by bytes, infinities. */
    {"-g", "nan(2)\n-inf\nx\nnan\n-nan(1)\n\n-nan\ninf\nnan(\n0\n",
     "\nx\n-nan\n-nan(1)\nnan\nnan(\nnan(2)\n-inf\n0\ninf\n"},
    {"-gs", "nan(2)\nx\nnan\n-nan(1)\na\n-nan\n", "x\na\n-nan(1)\n-nan\nnan(2)\nnan\n"},
    {"-gu", "nan(2)\nx\nnan\n-nan(1)\na\n-nan\n", "x\n-nan(1)\nnan(2)\n"},
    {"-k2,2g", "a nan(2)\nb x\nc -nan\nd nan\ne -inf\n", "b x\nc -nan\na nan(2)\nd nan\ne -inf\n"},
    {"-k1,1 -k2,2g", "a nan\na x\na -nan\na nan(7)\na -inf\n",
     "a x\na -nan\na nan\na nan(7)\na -inf\n"},
    /* All suffixes. */
    {"-h", "1Q\n1R\n1Y\n1Z\n1E\n1P\n1T\n1G\n1M\n1K\n1\n-1\n-1K\n-1Q\n-1R\n",
     "-1Q\n-1R\n-1K\n-1\n1\n1K\n1M\n1G\n1T\n1P\n1E\n1Z\n1Y\n1R\n1Q\n"},
    /* -u keeps the first line of the input. */
    {"-nu", "3\n1.0\n1\n03\n1.00\n", "1.0\n3\n"},
    {"-nru", "3\n1.0\n1\n03\n1.00\n", "3\n1.0\n"},
    {"-hu", "1K\n1k\n-0\n0M\n", "-0\n1K\n"},
    {"-u -k1,1", "b 1\na 2\nb 2\na 1\n", "a 2\nb 1\n"},
};

static void written_orders_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(written_cases); ++i) {
        const struct written_case *const c = &written_cases[i];
        struct text input = {0}, expected = {0};
        text_add(&input, c->input, strlen(c->input));
        text_add(&expected, c->expected, strlen(c->expected));
        put_file("in", input.data, input.bytes);
        check_output(c->options, &input, 2, &expected);
        free(input.data);
        free(expected.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_orders_hold),
        cmocka_unit_test(few_lines_are_in_any_order),
        cmocka_unit_test(many_lines_are_in_any_order),
        cmocka_unit_test(repeated_lines_are_left_out),
        cmocka_unit_test(very_long_lines_are_in_order),
    };
    return cmocka_run_group_tests(tests, enter_scratch, remove_files);
}
