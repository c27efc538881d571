/* SPDX-License-Identifier: Apache-2.0 */
/* order_words.c - see options.h. */
#include "cli/options/options.h"

#include "cli/options/quote.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- KEYDEF ---- */

bool order_letters_set(struct order_letters *letters, char letter, enum blank_places places)
{
    bool *const flag = letter == 'g'   ? &letters->general
                       : letter == 'h' ? &letters->human
                       : letter == 'n' ? &letters->numeric
                       : letter == 'r' ? &letters->reverse
                                       : NULL;
    if (flag)
        return *flag = true;
    letters->skip_begin_blanks |= letter == 'b' && places != BLANKS_AT_END;
    letters->skip_end_blanks |= letter == 'b' && places != BLANKS_AT_BEGIN;
    return letter == 'b';
}

/* Returns true if no letter is set, so that a key uses the options. */
static bool order_letters_are_none(const struct order_letters *letters)
{
    return !letters->general && !letters->human && !letters->numeric && !letters->reverse &&
           !letters->skip_begin_blanks && !letters->skip_end_blanks;
}

bool order_letter_refuse(char letter, const char *where, struct error *error)
{
    static const struct {
        char letter;
        const char *name;
    } others[] = {{'d', "dictionary-order"}, {'f', "ignore-case"}, {'i', "ignore-nonprinting"},
                  {'M', "month-sort"},       {'R', "random-sort"}, {'V', "version-sort"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (letter == others[i].letter) {
            error_set(error, "%s: gpusort has no order '%c' (--%s of sort(1))", where, letter,
                      others[i].name);
            return true;
        }
    return false;
}

static bool refuse_field(const char *definition, const char *what, struct error *error)
{
    struct quoted quoted;
    return error_set(error, "%s: invalid field specification %s", what,
                     quote_word(definition, &quoted));
}

/* Reads a number from *text and advances *text past it. A number too large for a size_t becomes
 * SIZE_MAX, which is also past the end of every line. */
static bool parse_number(const char **text, size_t *number, const char *what, struct error *error)
{
    const char *const begin = *text;
    const char *first = begin;
    char *end = (char *)begin;
    while (isspace((unsigned char)*first))
        first++;
    const uintmax_t value = *first == '-' ? 0 : strtoumax(begin, &end, 10);
    if (end == begin) {
        struct quoted quoted;
        return error_set(error, "%s: invalid count at start of %s", what,
                         quote_word(begin, &quoted));
    }
    *number = value < SIZE_MAX ? (size_t)value : SIZE_MAX;
    *text = end;
    return true;
}

/* Reads F, which is counted from 1. */
static bool parse_field(const char **text, const char *definition, size_t *field, const char *what,
                        struct error *error)
{
    if (!parse_number(text, field, what, error))
        return false;
    return (*field)-- > 0 || refuse_field(definition, "field number is zero", error);
}

/* Reads .C if it is present; otherwise keeps *character. */
static bool parse_character(const char **text, size_t *character, struct error *error)
{
    if (**text != '.')
        return true;
    ++*text;
    return parse_number(text, character, "invalid number after '.'", error);
}

static bool parse_letters(const char **text, const char *definition, enum blank_places places,
                          struct order_letters *letters, struct error *error)
{
    struct quoted quoted;
    char where[sizeof "-k " + sizeof quoted.text];
    while (order_letters_set(letters, **text, places))
        ++*text;
    snprintf(where, sizeof where, "-k %s", quote_word(definition, &quoted));
    return !order_letter_refuse(**text, where, error);
}

static bool key_definition_parse(const char *definition, struct key_definition *key,
                                 struct error *error)
{
    const char *text = definition;
    struct line_place *const begin = &key->key.begin, *const end = &key->key.end;
    *key = (struct key_definition){.key = {.end_kind = LINE_END_OF_LINE}};
    begin->character = 1;
    if (!parse_field(&text, definition, &begin->field, "invalid number at field start", error) ||
        !parse_character(&text, &begin->character, error))
        return false;
    if (begin->character-- == 0)
        return refuse_field(definition, "character offset is zero", error);
    if (!parse_letters(&text, definition, BLANKS_AT_BEGIN, &key->letters, error))
        return false;
    if (*text == ',') {
        text++;
        if (!parse_field(&text, definition, &end->field, "invalid number after ','", error) ||
            !parse_character(&text, &end->character, error) ||
            !parse_letters(&text, definition, BLANKS_AT_END, &key->letters, error))
            return false;
        key->key.end_kind = end->character > 0 ? LINE_END_AT_PLACE : LINE_END_OF_FIELD;
    }
    return *text == '\0' || refuse_field(definition, "stray character in field spec", error);
}

/* ---- The order that the options give ---- */

bool order_words_add_key(struct order_words *words, const char *definition, struct error *error)
{
    struct key_definition key;
    if (!key_definition_parse(definition, &key, error))
        return false;
    struct key_definition *keys =
        reallocarray(words->keys, words->key_count + 1, sizeof *words->keys);
    if (!keys)
        return error_set(error, "out of memory");
    words->keys = keys;
    words->keys[words->key_count++] = key;
    return true;
}

bool order_words_set_separator(struct order_words *words, const char *word, struct error *error)
{
    const bool is_nul = strcmp(word, "\\0") == 0;
    const unsigned char separator = is_nul ? '\0' : (unsigned char)word[0];
    struct quoted quoted;
    if (word[0] == '\0')
        return error_set(error, "empty tab");
    if (word[1] != '\0' && !is_nul)
        return error_set(error, "multi-character tab %s%s", quote_word(word, &quoted),
                         strcmp(word, "\\t") == 0 ? ": a tab is -t $'\\t' in bash" : "");
    if (words->separator_said && words->separator != separator)
        return error_set(error, "incompatible tabs");
    words->separator_said = true;
    words->separator = separator;
    return true;
}

static bool resolve_key(struct line_key *key, const struct order_letters *letters,
                        enum line_kind otherwise, struct error *error)
{
    if (letters->general + letters->human + letters->numeric > 1)
        return error_set(error, "options '-%s%s%s' are incompatible", letters->general ? "g" : "",
                         letters->human ? "h" : "", letters->numeric ? "n" : "");
    key->kind = letters->general   ? LINE_GENERAL
                : letters->human   ? LINE_HUMAN
                : letters->numeric ? LINE_NUMERIC
                                   : otherwise;
    key->reverse = letters->reverse;
    /* A number begins after its blanks anyway, so -b is not needed, and the key can stay the whole
     * line. */
    key->begin.skip_blanks =
        letters->skip_begin_blanks && (!line_kind_is_number(key->kind) || key->begin.character > 0);
    key->end.skip_blanks = letters->skip_end_blanks && key->end_kind == LINE_END_AT_PLACE;
    return true;
}

static bool resolve_keys(const struct order_words *words, struct line_order *order,
                         struct error *error)
{
    for (size_t i = 0; i < words->key_count; i++) {
        const struct key_definition *const key = &words->keys[i];
        order->keys[i] = key->key;
        if (!resolve_key(&order->keys[i],
                         order_letters_are_none(&key->letters) ? &words->letters : &key->letters,
                         LINE_BYTES, error))
            return false;
    }
    return words->key_count > 0 ||
           resolve_key(&order->keys[0], &words->letters, LINE_STRICT, error);
}

bool order_words_resolve(const struct order_words *words, struct line_order *order,
                         struct error *error)
{
    const size_t key_count = words->key_count > 0 ? words->key_count : 1;
    *order = (struct line_order){
        .keys = calloc(key_count, sizeof *order->keys),
        .key_count = key_count,
        .separator = words->separator_said ? words->separator : LINE_SEPARATOR_BLANKS,
        .terminator = words->zero_terminated ? '\0' : '\n',
        .reverse = words->letters.reverse,
        .stable = words->stable,
        .unique = words->unique,
    };
    if (!order->keys)
        return error_set(error, "out of memory");
    return resolve_keys(words, order, error);
}

void order_words_free(struct order_words *words)
{
    free(words->keys);
    words->keys = NULL;
    words->key_count = 0;
}
