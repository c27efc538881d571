/* SPDX-License-Identifier: Apache-2.0 */
/* key_definition.c - see key_definition.h. */
#include "cli/options/key_definition.h"

#include "cli/options/quote.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool order_letters_set(struct order_letters *letters, char letter, enum blank_places places)
{
    switch (letter) {
    case 'g':
        letters->general = true;
        break;
    case 'h':
        letters->human = true;
        break;
    case 'n':
        letters->numeric = true;
        break;
    case 'r':
        letters->reverse = true;
        break;
    case 'b':
        letters->skip_begin_blanks |= places != BLANKS_AT_END;
        letters->skip_end_blanks |= places != BLANKS_AT_BEGIN;
        break;
    default:
        return false;
    }
    return true;
}

bool order_letters_are_none(const struct order_letters *letters)
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

bool key_definition_parse(const char *definition, struct key_definition *key, struct error *error)
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
