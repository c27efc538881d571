/* SPDX-License-Identifier: Apache-2.0 */
/* order_words.c - see order_words.h. */
#include "cli/options/order_words.h"

#include "cli/options/quote.h"
#include "cli/options/word_list.h"

#include <stdlib.h>
#include <string.h>

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
        return error_set(error, "multi-character tab %s", quote_word(word, &quoted));
    if (words->separator_said && words->separator != separator)
        return error_set(error, "incompatible tabs");
    words->separator_said = true;
    words->separator = separator;
    return true;
}

bool order_words_set_sort(struct order_words *words, const char *word, struct error *error)
{
    static const struct word_choice choices[] = {
        {"general-numeric", 'g', false}, {"human-numeric", 'h', false},
        {"numeric", 'n', false},         {"month", 'M', true},
        {"random", 'R', true},           {"version", 'V', true},
    };
    int letter;
    if (!word_list_find("--sort", word, choices, sizeof choices / sizeof *choices, &letter, error))
        return false;
    return !order_letter_refuse((char)letter, "--sort", error) &&
           order_letters_set(&words->letters, (char)letter, BLANKS_AT_BOTH);
}

static bool check_letters(const struct order_letters *letters, struct error *error)
{
    if (letters->general + letters->human + letters->numeric <= 1)
        return true;
    return error_set(error, "options '-%s%s%s' are incompatible", letters->general ? "g" : "",
                     letters->human ? "h" : "", letters->numeric ? "n" : "");
}

static enum line_kind kind_of(const struct order_letters *letters, enum line_kind otherwise)
{
    return letters->general   ? LINE_GENERAL
           : letters->human   ? LINE_HUMAN
           : letters->numeric ? LINE_NUMERIC
                              : otherwise;
}

/* Sets the key's order from the letters. Its positions are set. */
static bool resolve_key(struct line_key *key, const struct order_letters *letters,
                        enum line_kind otherwise, struct error *error)
{
    if (!check_letters(letters, error))
        return false;
    key->kind = kind_of(letters, otherwise);
    key->reverse = letters->reverse;
    /* A number begins after its blanks anyway, so -b is not needed, and the key can stay the whole
     * line. */
    key->begin.skip_blanks =
        letters->skip_begin_blanks && (key->kind == LINE_BYTES || key->begin.character > 0);
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
