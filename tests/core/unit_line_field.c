/* SPDX-License-Identifier: Apache-2.0 */
/* unit_line_field.c - the position of a key in its line.
 *
 * `sort --debug` of GNU coreutils underlines the expected spans. Each line is in memory of exactly
 * its size, so that a sanitizer detects a read outside of it.
 */
#include "core/line/line_field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NONE LINE_SEPARATOR_BLANKS
#define TO_END .end_kind = LINE_END_OF_LINE
#define TO_FIELD(f) .end_kind = LINE_END_OF_FIELD, .end = {.field = (f)}
#define TO_PLACE(f, c, b) .end_kind = LINE_END_AT_PLACE, .end = {(f), (c), (b)}

struct span_case {
    const char *line;
    int separator;
    struct line_key key;
    size_t offset;
    const char *expected;
};

/* Positions are counted from 0, so -k2.3 begins at {1, 2, false}. An end is exclusive, so -k1,2.3
 * ends at {1, 3, false}. */
static const struct span_case span_cases[] = {
    /* The whole line, and -k1. */
    {"a b", NONE, {TO_END}, 0, "a b"},
    {"", NONE, {TO_END}, 0, ""},
    {"  a b ", NONE, {.begin = {0, 0, true}, TO_END}, 2, "a b "},
    {"  ", NONE, {.begin = {0, 0, true}, TO_END}, 2, ""},
    /* Fields by blanks: -k2, -k2,2, -k2b,2. */
    {"aa  bb cc", NONE, {.begin = {1, 0, false}, TO_END}, 2, "  bb cc"},
    {"aa  bb cc", NONE, {.begin = {1, 0, false}, TO_FIELD(1)}, 2, "  bb"},
    {"aa  bb cc", NONE, {.begin = {1, 0, true}, TO_FIELD(1)}, 4, "bb"},
    {"aa\t\nbb\vcc", NONE, {.begin = {1, 0, true}, TO_FIELD(1)}, 4, "bb\vcc"},
    {" aa bb", NONE, {.begin = {0, 0, false}, TO_FIELD(0)}, 0, " aa"},
    {"aa ", NONE, {.begin = {1, 0, false}, TO_FIELD(1)}, 2, " "},
    {"aa ", NONE, {.begin = {1, 0, true}, TO_FIELD(1)}, 3, ""},
    {"aa", NONE, {.begin = {1, 0, false}, TO_FIELD(1)}, 2, ""},
    /* Bytes of a field: -k2.3, -k2.3b, -k2.2,2.4, -k2.2b,2.3b. */
    {"aa  bbbb c", NONE, {.begin = {1, 2, false}, TO_END}, 4, "bbbb c"},
    {"aa  bbbb c", NONE, {.begin = {1, 2, true}, TO_END}, 6, "bb c"},
    {"aa  bbbb c", NONE, {.begin = {1, 1, false}, TO_PLACE(1, 4, false)}, 3, " bb"},
    {"aa  bbbb c", NONE, {.begin = {1, 1, true}, TO_PLACE(1, 3, true)}, 5, "bb"},
    {"aa  bbbb c", NONE, {.begin = {1, 1, false}, TO_PLACE(1, 3, true)}, 3, " bbb"},
    /* A position after its field is in the next field; a position after the line is its end. */
    {"ab cd", NONE, {.begin = {0, 3, false}, TO_END}, 3, "cd"},
    {"ab cd", NONE, {.begin = {0, 9, false}, TO_END}, 5, ""},
    {"ab cd", NONE, {.begin = {0, SIZE_MAX, true}, TO_PLACE(0, SIZE_MAX, true)}, 5, ""},
    {"ab cd", NONE, {.begin = {SIZE_MAX, 0, false}, TO_FIELD(SIZE_MAX)}, 5, ""},
    {"ab cd", NONE, {.begin = {0, 0, false}, TO_PLACE(0, 4, false)}, 0, "ab c"},
    {"ab cd", NONE, {.begin = {0, 0, false}, TO_PLACE(7, 1, false)}, 0, "ab cd"},
    /* Keys that end before they begin: -k2,1, -k1.3,1.2, -k2.5,2. */
    {"ab cd", NONE, {.begin = {1, 0, false}, TO_FIELD(0)}, 2, ""},
    {"ab cd", NONE, {.begin = {0, 2, false}, TO_PLACE(0, 2, false)}, 2, ""},
    {"ab cd", NONE, {.begin = {0, 3, false}, TO_PLACE(0, 1, false)}, 3, ""},
    {"ab cd efgh", NONE, {.begin = {1, 4, false}, TO_FIELD(1)}, 6, ""},
    {"ab cd efgh", NONE, {.begin = {2, 0, false}, TO_PLACE(0, 1, false)}, 5, ""},
    /* A separator: -t: and the like. */
    {"a:b:c", ':', {.begin = {1, 0, false}, TO_FIELD(1)}, 2, "b"},
    {"a:b:c", ':', {.begin = {1, 0, false}, TO_END}, 2, "b:c"},
    {"a::c", ':', {.begin = {1, 0, false}, TO_FIELD(1)}, 2, ""},
    {"a::c", ':', {.begin = {1, 0, false}, TO_FIELD(2)}, 2, ":c"},
    {":", ':', {.begin = {0, 0, false}, TO_FIELD(0)}, 0, ""},
    {":", ':', {.begin = {1, 0, false}, TO_FIELD(1)}, 1, ""},
    {"a:", ':', {.begin = {1, 0, false}, TO_FIELD(9)}, 2, ""},
    {"a:  b:c", ':', {.begin = {1, 0, true}, TO_FIELD(1)}, 4, "b"},
    {"a:  bb:c", ':', {.begin = {1, 1, true}, TO_PLACE(1, 1, true)}, 5, ""},
    {"a:bb:c", ':', {.begin = {0, 0, false}, TO_PLACE(1, 1, false)}, 0, "a:b"},
    {"a:bb:c", ':', {.begin = {1, 0, false}, TO_PLACE(1, 4, false)}, 2, "bb:c"},
    {"a:bb", ':', {.begin = {2, 0, false}, TO_PLACE(3, 4, false)}, 4, ""},
    {"a: :c", ':', {.begin = {1, 0, true}, TO_FIELD(1)}, 3, ""},
    {"a  c", ' ', {.begin = {1, 0, false}, TO_FIELD(1)}, 2, ""},
    {"a\377b", 0xff, {.begin = {1, 0, false}, TO_FIELD(1)}, 2, "b"},
    {"a b", 0, {.begin = {0, 0, false}, TO_FIELD(0)}, 0, "a b"},
};

static void test_spans(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof span_cases / sizeof *span_cases; i++) {
        const struct span_case *c = &span_cases[i];
        const size_t length = strlen(c->line), expected = strlen(c->expected);
        char *const line = malloc(length + !length);
        assert_non_null(line);
        memcpy(line, c->line, length);
        const struct line_span span = line_key_find(c->separator, &c->key, line, length);
        if (span.text != line + c->offset || span.length != expected)
            fail_msg("case %zu, '%s': %zu bytes at %td", i, c->line, span.length, span.text - line);
        assert_memory_equal(span.text, c->expected, expected);
        free(line);
    }
}

/* -t '\0', and NUL bytes in fields by blanks. */
static void test_nul_bytes(void **state)
{
    (void)state;
    const char line[] = "a\0bc d";
    const size_t length = sizeof line - 1;
    const struct line_key key = {.begin = {1, 0, false}, TO_FIELD(1)};
    struct line_span span = line_key_find('\0', &key, line, length);
    assert_ptr_equal(span.text, line + 2);
    assert_int_equal(span.length, 4);
    span = line_key_find(LINE_SEPARATOR_BLANKS, &key, line, length);
    assert_ptr_equal(span.text, line + 4);
    assert_int_equal(span.length, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_nul_bytes),
    };
    return cmocka_run_group_tests_name("line_field", tests, NULL, NULL);
}
