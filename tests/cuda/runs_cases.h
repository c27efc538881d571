/* SPDX-License-Identifier: Apache-2.0 */
/* runs_cases.h - orders of lines, and texts with lines whose keys are equal for various reasons.
 * For the test of the code that orders such lines on the device.
 */
#ifndef TESTS_RUNS_CASES_H
#define TESTS_RUNS_CASES_H

#include "core/line/line_order.h"
#include "tests/key_shapes.h"

#include <algorithm>
#include <stdio.h>
#include <string>

/* ---- orders ---- */

/* Options of sort(1), and the order that they mean. */
struct order_case {
    const char *options;
    struct line_key keys[2];
    size_t key_count;
    bool reverse, stable, unique;
    char terminator;
};

#define WHOLE(kind, reverse)                                                                       \
    {                                                                                              \
        kind, reverse, {0, 0, false}, LINE_END_OF_LINE,                                            \
        {                                                                                          \
            0, 0, false                                                                            \
        }                                                                                          \
    }
#define FIELD(kind, reverse, field)                                                                \
    {                                                                                              \
        kind, reverse, {field, 0, false}, LINE_END_OF_FIELD,                                       \
        {                                                                                          \
            field, 0, false                                                                        \
        }                                                                                          \
    }
static const struct order_case orders[] = {
    {"-g", {WHOLE(LINE_GENERAL, false)}, 1, false, false, false, '\n'},
    {"-gr", {WHOLE(LINE_GENERAL, true)}, 1, true, false, false, '\n'},
    {"-gs", {WHOLE(LINE_GENERAL, false)}, 1, false, true, false, '\n'},
    {"-gu", {WHOLE(LINE_GENERAL, false)}, 1, false, false, true, '\n'},
    {"-gru", {WHOLE(LINE_GENERAL, true)}, 1, true, false, true, '\n'},
    {"-gz", {WHOLE(LINE_GENERAL, false)}, 1, false, false, false, '\0'},
    {"-n", {WHOLE(LINE_NUMERIC, false)}, 1, false, false, false, '\n'},
    {"-nr", {WHOLE(LINE_NUMERIC, true)}, 1, true, false, false, '\n'},
    {"-nrs", {WHOLE(LINE_NUMERIC, true)}, 1, true, true, false, '\n'},
    {"-nu", {WHOLE(LINE_NUMERIC, false)}, 1, false, false, true, '\n'},
    {"-h", {WHOLE(LINE_HUMAN, false)}, 1, false, false, false, '\n'},
    {"-hru", {WHOLE(LINE_HUMAN, true)}, 1, true, false, true, '\n'},
    {"-k1", {WHOLE(LINE_BYTES, false)}, 1, false, false, false, '\n'},
    {"-k1 -u", {WHOLE(LINE_BYTES, false)}, 1, false, false, true, '\n'},
    {"-k1r -s", {WHOLE(LINE_BYTES, true)}, 1, false, true, false, '\n'},
    {"-r -z", {WHOLE(LINE_BYTES, true)}, 1, true, false, false, '\0'},
    {"-k1,1g", {FIELD(LINE_GENERAL, false, 0)}, 1, false, false, false, '\n'},
    {"-k1,1gr", {FIELD(LINE_GENERAL, true, 0)}, 1, false, false, false, '\n'},
    {"-r -k2,2n", {FIELD(LINE_NUMERIC, false, 1)}, 1, true, false, false, '\n'},
    {"-u -k2,2n", {FIELD(LINE_NUMERIC, false, 1)}, 1, false, false, true, '\n'},
    {"-k1,1n -k2,2g",
     {FIELD(LINE_NUMERIC, false, 0), FIELD(LINE_GENERAL, false, 1)},
     2,
     false,
     false,
     false,
     '\n'},
    {"-s -k1,1n -k2,2r",
     {FIELD(LINE_NUMERIC, false, 0), FIELD(LINE_BYTES, true, 1)},
     2,
     false,
     true,
     false,
     '\n'},
    {"-u -k2,2n -k1,1",
     {FIELD(LINE_NUMERIC, false, 1), FIELD(LINE_BYTES, false, 0)},
     2,
     false,
     false,
     true,
     '\n'},
};
#undef WHOLE
#undef FIELD

static struct line_order line_order_of(struct order_case *order)
{
    return {order->keys,    order->key_count, LINE_SEPARATOR_BLANKS, order->terminator,
            order->reverse, order->stable,    order->unique};
}

/* ---- texts ---- */

static uint64_t random_below(uint64_t i, uint64_t salt, uint64_t end)
{
    return random_bits(i * 64 + salt) % end;
}

static std::string zeros(uint64_t count)
{
    return std::string((size_t)count, '0');
}

static const char *const spellings[] = {"1",   "1.0",  "01",    "+1", "1e0", "0.1e1", "2",
                                        "2.0", "+2e0", "2.00x", "0",  "-0",  "+0",    "0.00"};
constexpr size_t spelling_count = sizeof spellings / sizeof *spellings;

static std::string line_of_few_values(size_t i, size_t)
{
    return spellings[random_below(i, 0, spelling_count)];
}

static std::string line_all_the_same(size_t, size_t)
{
    return "3.25 x";
}

/* The same value in each line, and the same bytes except in one line. */
static std::string line_one_differs(size_t i, size_t n)
{
    return i == n - 1 - n / 3 ? "7.0" : "7";
}

/* As many lines of a value as a tile has items; few of them differ in their bytes. */
static std::string line_of_a_tile(size_t i, size_t)
{
    return std::to_string(i / 1024) + (random_below(i, 0, 512) == 0 ? ".0" : "");
}

static std::string line_of_nine_digits(size_t i, size_t n)
{
    char line[32];
    snprintf(line, sizeof line, "%.9g", (double)random_below(i, 0, n / 2 + 1) / 7);
    return line;
}

/* Not numbers, with more bytes in common than a key of bytes has. */
static std::string line_of_one_beginning(size_t i, size_t n)
{
    return "beginning " + std::to_string(random_below(i, 0, n / 2 + 1));
}

/* Prefixes up to the bytes that all rounds compare, and longer ones. */
static std::string line_that_is_a_prefix(size_t i, size_t)
{
    return "1." + zeros(random_below(i, 0, 40) * random_below(i, 1, 7));
}

static std::string line_of_a_long_prefix(size_t i, size_t)
{
    const uint64_t kind = random_below(i, 1, 12);
    return zeros(kind * 19) + "1." + zeros(random_below(i, 0, 9));
}

static std::string line_beyond_a_key(size_t i, size_t)
{
    return "0.1000000000000000" + std::to_string(random_below(i, 0, 30)) + zeros(i % 3);
}

static std::string line_of_fields(size_t i, size_t)
{
    return std::string(spellings[random_below(i, 0, spelling_count)]) + " " +
           spellings[random_below(i, 1, spelling_count)] + (i % 3 == 0 ? " \xff" : "");
}

static std::string line_of_any_bytes(size_t i, size_t)
{
    static const char bytes[] = {'0', '0', '1', '.', '\0', '\xff', ' ', '\x80', 'x', '-', '\t'};
    std::string line;
    for (uint64_t left = random_below(i, 0, 12), k = 1; left > 0; left--, k++)
        line += bytes[random_below(i, k, sizeof bytes)];
    return line;
}

/* Some lines that differ in the last byte; a megabyte long if there are not many others. */
static std::string line_very_long(size_t i, size_t n)
{
    if (i >= 6)
        return i % 2 == 0 ? "" : "1";
    return zeros(n < 100 ? 1000000 : 3000) + "1" + "x.x.xy"[i];
}

static const struct text_case {
    const char *name;
    std::string (*line)(size_t i, size_t n);
    bool is_ordered_here; /* sorted by the device alone, in orders of one key that are not by bytes
                             with -u */
} texts[] = {
    {"few values, spelled in many ways", line_of_few_values, true},
    {"all lines the same", line_all_the_same, true},
    {"one line that differs", line_one_differs, true},
    {"runs as long as tiles", line_of_a_tile, true},
    {"numbers of nine digits", line_of_nine_digits, true},
    {"one beginning", line_of_one_beginning, true},
    {"prefixes of each other", line_that_is_a_prefix, false},
    {"long prefixes in common", line_of_a_long_prefix, false},
    {"more digits than a key holds", line_beyond_a_key, false},
    {"fields of few values", line_of_fields, false},
    {"any bytes", line_of_any_bytes, false},
    {"very long lines", line_very_long, false},
};

/* Returns the lines with their terminators. The byte that lines may not have is replaced by the
 * other terminator. */
static std::string make_text(const struct text_case &text, size_t count, char terminator)
{
    std::string all;
    for (size_t i = 0; i < count; i++) {
        std::string line = text.line(i, count);
        std::replace(line.begin(), line.end(), terminator, terminator == '\0' ? '\n' : '\0');
        all += line + terminator;
    }
    return all;
}

#endif
