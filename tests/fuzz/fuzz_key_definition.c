/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_key_definition.c - the argument of -k, and the position of such a key in a line.
 *
 * The reference is a second parser of the grammar here, and model.h, which finds the key.
 */
#include "cli/options/options.h"
#include "core/line/line_key.h"
#include "tests/fuzz/model.h"

#include <ctype.h>

/* Parses a number as strtoumax(3) does, without a minus. Too large a number is SIZE_MAX. */
static bool model_number(const char **p, size_t *number)
{
    while (isspace((unsigned char)**p))
        ++*p;
    *p += **p == '+';
    if (!isdigit((unsigned char)**p))
        return false;
    unsigned __int128 value = 0;
    for (; isdigit((unsigned char)**p); ++*p) {
        value = value * 10 + (unsigned)(**p - '0');
        value = value < SIZE_MAX ? value : SIZE_MAX;
    }
    *number = (size_t)value;
    return true;
}

/* Parses F[.C][LETTERS]. The numbers still count from 1. */
static bool model_place(const char **p, size_t *field, size_t *character,
                        struct order_letters *letters, bool *skips_blanks)
{
    if (!model_number(p, field) || *field == 0)
        return false;
    if (**p == '.') {
        ++*p;
        if (!model_number(p, character))
            return false;
    }
    for (; **p != '\0' && strchr("bghnr", **p); ++*p) {
        *skips_blanks |= **p == 'b';
        letters->general |= **p == 'g';
        letters->human |= **p == 'h';
        letters->numeric |= **p == 'n';
        letters->reverse |= **p == 'r';
    }
    return true;
}

static bool model_definition(const char *p, struct key_definition *definition)
{
    struct line_key *const key = &definition->key;
    struct order_letters *const letters = &definition->letters;
    key->begin.character = 1;
    if (!model_place(&p, &key->begin.field, &key->begin.character, letters,
                     &letters->skip_begin_blanks) ||
        key->begin.character == 0)
        return false;
    key->begin.field--;
    key->begin.character--;
    if (*p == ',') {
        p++;
        if (!model_place(&p, &key->end.field, &key->end.character, letters,
                         &letters->skip_end_blanks))
            return false;
        key->end.field--;
        key->end_kind = key->end.character > 0 ? LINE_END_AT_PLACE : LINE_END_OF_FIELD;
    }
    return *p == '\0';
}

static bool same_place(const struct line_place *a, const struct line_place *b)
{
    return a->field == b->field && a->character == b->character;
}

static bool same_letters(const struct order_letters *a, const struct order_letters *b)
{
    return a->general == b->general && a->human == b->human && a->numeric == b->numeric &&
           a->reverse == b->reverse && a->skip_begin_blanks == b->skip_begin_blanks &&
           a->skip_end_blanks == b->skip_end_blanks;
}

/* Parses the definition by both parsers. Returns false if it is invalid. */
static bool check_definition(const char *text, struct key_definition *found)
{
    static struct error error;
    struct key_definition expected = {.key.end_kind = LINE_END_OF_LINE};
    error.is_set = false;
    const bool is_definition = model_definition(text, &expected);
    if (key_definition_parse(text, found, &error) != is_definition)
        fuzz_fail("-k '%s': %s", text, error.is_set ? error.message : "taken");
    if (error.is_set == is_definition || (error.is_set && strchr(error.message, '\n')))
        fuzz_fail("-k '%s' and its message '%s'", text, error.message);
    if (is_definition && (!same_place(&found->key.begin, &expected.key.begin) ||
                          !same_place(&found->key.end, &expected.key.end) ||
                          found->key.end_kind != expected.key.end_kind ||
                          !same_letters(&found->letters, &expected.letters)))
        fuzz_fail("-k '%s' is read as another key", text);
    return is_definition;
}

static void check_place(int separator, const struct line_key *key, struct fuzz_text line)
{
    const struct line_span found = line_key_find(separator, key, line.data, line.length);
    const struct model_span expected =
        model_find_key(separator, key, (struct model_span){line.data, line.length});
    if (found.length != expected.length || (found.length > 0 && found.text != expected.text))
        fuzz_fail("separator %d, '%.*s': the key is '%.*s', expected '%.*s'", separator,
                  (int)line.length, line.data, (int)found.length, found.text, (int)expected.length,
                  expected.text);
}

/* Input: the definition up to a NUL, the separator, the line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input input = {data, bytes};
    const struct fuzz_text word = fuzz_take_text(&input, '\0', 1500);
    char *const text = model_terminated((struct model_span){word.data, word.length});
    const int separator = (int)fuzz_take(&input);
    const struct fuzz_text line = fuzz_take_text(&input, -1, 100);
    struct key_definition definition;
    if (check_definition(text, &definition)) {
        struct line_key *const key = &definition.key;
        key->begin.skip_blanks = definition.letters.skip_begin_blanks;
        key->end.skip_blanks =
            definition.letters.skip_end_blanks && key->end_kind == LINE_END_AT_PLACE;
        check_place(separator, key, line);
        check_place(LINE_SEPARATOR_BLANKS, key, line);
    }
    free(text);
    free(word.data);
    free(line.data);
    return 0;
}
