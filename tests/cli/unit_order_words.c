/* SPDX-License-Identifier: Apache-2.0 */
/* unit_order_words.c - the options of an order -> struct line_order: the positions of keys, and the
 * options that keys inherit. tests/cli/sort_options.sh tests the messages.
 */
#include "cli/options/order_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* Sets the words from options as on a command line, each a word of its own. */
static void say(struct order_words *words, const char *const *said)
{
    struct error error = {0};
    *words = (struct order_words){0};
    for (; *said; said++) {
        if (strncmp(*said, "-k", 2) == 0)
            assert_true(order_words_add_key(words, *said + 2, &error));
        else if (strncmp(*said, "-t", 2) == 0)
            assert_true(order_words_set_separator(words, *said + 2, &error));
        else
            assert_true(order_letters_set(&words->letters, (*said)[1], BLANKS_AT_BOTH));
    }
}

#define SAY(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct line_order order_of(const char *const *said)
{
    struct error error = {0};
    struct order_words words;
    struct line_order order;
    say(&words, said);
    assert_true(order_words_resolve(&words, &order, &error));
    order_words_free(&words);
    return order;
}

static void assert_place(const struct line_place *place, size_t field, size_t character,
                         bool skip_blanks)
{
    assert_int_equal(place->field, field);
    assert_int_equal(place->character, character);
    assert_int_equal(place->skip_blanks, skip_blanks);
}

static void places_are_counted_from_0(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        struct line_place begin;
        enum line_end end_kind;
        struct line_place end;
    } cases[] = {
        {"-k1", {0, 0, false}, LINE_END_OF_LINE, {0}},
        {"-k3", {2, 0, false}, LINE_END_OF_LINE, {0}},
        {"-k3.4", {2, 3, false}, LINE_END_OF_LINE, {0}},
        {"-k3b", {2, 0, true}, LINE_END_OF_LINE, {0}},
        {"-k3.4b", {2, 3, true}, LINE_END_OF_LINE, {0}},
        {"-k1,1", {0, 0, false}, LINE_END_OF_FIELD, {0, 0, false}},
        {"-k2,5", {1, 0, false}, LINE_END_OF_FIELD, {4, 0, false}},
        {"-k2,5.0", {1, 0, false}, LINE_END_OF_FIELD, {4, 0, false}},
        {"-k2,5.0b", {1, 0, false}, LINE_END_OF_FIELD, {4, 0, false}},
        {"-k2,5.1", {1, 0, false}, LINE_END_AT_PLACE, {4, 1, false}},
        {"-k2,5.9b", {1, 0, false}, LINE_END_AT_PLACE, {4, 9, true}},
        {"-k2b,5.9", {1, 0, true}, LINE_END_AT_PLACE, {4, 9, false}},
        {"-k99999999999999999999999", {SIZE_MAX - 1, 0, false}, LINE_END_OF_LINE, {0}},
        {"-k18446744073709551615", {SIZE_MAX - 1, 0, false}, LINE_END_OF_LINE, {0}},
        {"-k1.99999999999999999999999", {0, SIZE_MAX - 1, false}, LINE_END_OF_LINE, {0}},
        {"-k1,99999999999999999999999.99999999999999999999999",
         {0, 0, false},
         LINE_END_AT_PLACE,
         {SIZE_MAX - 1, SIZE_MAX, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct line_order order = order_of(SAY(cases[i].key));
        assert_int_equal(order.key_count, 1);
        const struct line_key *const key = &order.keys[0];
        assert_int_equal(key->kind, LINE_BYTES);
        assert_place(&key->begin, cases[i].begin.field, cases[i].begin.character,
                     cases[i].begin.skip_blanks);
        assert_int_equal(key->end_kind, cases[i].end_kind);
        assert_place(&key->end, cases[i].end.field, cases[i].end.character,
                     cases[i].end.skip_blanks);
        free(order.keys);
    }
}

static void without_keys_the_line_is_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *letter;
        enum line_kind kind;
    } cases[] = {{"-b", LINE_STRICT},  {"-r", LINE_STRICT},  {"-t,", LINE_STRICT},
                 {"-g", LINE_GENERAL}, {"-n", LINE_NUMERIC}, {"-h", LINE_HUMAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct line_order order = order_of(SAY(cases[i].letter, "-b"));
        assert_int_equal(order.key_count, 1);
        assert_int_equal(order.keys[0].kind, cases[i].kind);
        assert_true(line_key_is_whole(&order.keys[0]));
        assert_int_equal(order.keys[0].reverse, strcmp(cases[i].letter, "-r") == 0);
        assert_int_equal(order.reverse, strcmp(cases[i].letter, "-r") == 0);
        free(order.keys);
    }
}

static void keys_without_letters_take_those_of_the_options(void **state)
{
    (void)state;
    struct line_order order =
        order_of(SAY("-k2", "-n", "-k3r", "-r", "-k4.2,5.6", "-b", "-k6g", "-k7b,8", "-k9,9.1b"));
    const struct line_key *const keys = order.keys;
    static const enum line_kind kinds[] = {LINE_NUMERIC, LINE_BYTES, LINE_NUMERIC,
                                           LINE_GENERAL, LINE_BYTES, LINE_BYTES};
    static const bool reverse[] = {true, true, true, false, false, false};
    assert_int_equal(order.key_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(keys[i].kind, kinds[i]);
        assert_int_equal(keys[i].reverse, reverse[i]);
    }
    assert_place(&keys[0].begin, 1, 0, false); /* a number skips its blanks anyway */
    assert_place(&keys[1].begin, 2, 0, false);
    assert_place(&keys[2].begin, 3, 1, true);
    assert_place(&keys[2].end, 4, 6, true);
    assert_place(&keys[4].begin, 6, 0, true);
    assert_place(&keys[5].begin, 8, 0, false);
    assert_place(&keys[5].end, 8, 1, true);
    assert_true(order.reverse);
    free(order.keys);
}

static void letters_that_exclude_each_other_matter_only_in_a_key(void **state)
{
    (void)state;
    struct error error = {0};
    struct order_words words;
    struct line_order order = order_of(SAY("-g", "-n", "-k1h", "-k2r"));
    assert_int_equal(order.keys[0].kind, LINE_HUMAN);
    free(order.keys);
    say(&words, SAY("-g", "-n", "-k1h", "-k2"));
    assert_false(order_words_resolve(&words, &order, &error));
    assert_string_equal(error.message, "options '-gn' are incompatible");
    free(order.keys);
    order_words_free(&words);
}

static void separators_and_terminators(void **state)
{
    (void)state;
    struct error error = {0};
    struct line_order order = order_of(SAY("-k1"));
    assert_int_equal(order.separator, LINE_SEPARATOR_BLANKS);
    assert_int_equal(order.terminator, '\n');
    free(order.keys);
    order = order_of(SAY("-t\\0"));
    assert_int_equal(order.separator, 0);
    free(order.keys);
    order = order_of(SAY("-t\377"));
    assert_int_equal(order.separator, 255);
    free(order.keys);
    const struct order_words words = {.zero_terminated = true, .stable = true, .unique = true};
    assert_true(order_words_resolve(&words, &order, &error));
    assert_int_equal(order.terminator, '\0');
    assert_true(order.stable && order.unique && !order.reverse);
    free(order.keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_counted_from_0),
        cmocka_unit_test(without_keys_the_line_is_the_key),
        cmocka_unit_test(keys_without_letters_take_those_of_the_options),
        cmocka_unit_test(letters_that_exclude_each_other_matter_only_in_a_key),
        cmocka_unit_test(separators_and_terminators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
