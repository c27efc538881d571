/* SPDX-License-Identifier: Apache-2.0 */
/* order_words.h - the options for the order of lines, -g -n -h -r -b -k -t -z -s -u, and the struct
 * line_order that they make.
 */
#ifndef CLI_ORDER_WORDS_H
#define CLI_ORDER_WORDS_H

#include "core/error.h"
#include "core/line/line_order.h"

/* ---- KEYDEF, the argument of -k: F[.C][LETTERS][,F[.C][LETTERS]] ----
 *
 * Syntax and messages are as in sort(1). Letters of orders that gpusort does not have are refused,
 * with their names.
 */

/* The letters of an order: after a position in KEYDEF for one key, or as options for all keys
 * without letters. */
struct order_letters {
    bool general;                            /* g */
    bool human;                              /* h */
    bool numeric;                            /* n */
    bool reverse;                            /* r */
    bool skip_begin_blanks, skip_end_blanks; /* b */
};

/* The positions that a `b` applies to: in KEYDEF the one before it. */
enum blank_places { BLANKS_AT_BEGIN, BLANKS_AT_END, BLANKS_AT_BOTH };

/* Sets the letter. Returns false, without a change, if it is not a letter of an order in
 * gpusort. */
bool order_letters_set(struct order_letters *letters, char letter, enum blank_places places);

/* For a letter that sort(1) has and gpusort does not, sets the error and returns true. `where`:
 * where it was found, for the message. Returns false for all other letters. */
bool order_letter_refuse(char letter, const char *where, struct error *error);

struct key_definition {
    struct line_key key; /* only its positions; letters give the rest */
    struct order_letters letters;
};

bool key_definition_parse(const char *definition, struct key_definition *key, struct error *error);

/* ---- All options ---- */

struct order_words {
    struct order_letters letters; /* given as options */
    struct key_definition *keys;  /* of -k, in order */
    size_t key_count;
    bool separator_said;
    unsigned char separator; /* if separator_said */
    bool zero_terminated;    /* -z */
    bool stable;             /* -s */
    bool unique;             /* -u */
};

/* -k KEYDEF */
bool order_words_add_key(struct order_words *words, const char *definition, struct error *error);

/* -t SEP: one byte, or \0 */
bool order_words_set_separator(struct order_words *words, const char *word, struct error *error);

/* Makes the order of the options. Fails if letters exclude each other. A key without letters uses
 * the letters of the options. Without keys, the whole line is the key, and must be a number unless
 * -g, -n or -h is given. The caller frees order->keys, also after a failure. */
bool order_words_resolve(const struct order_words *words, struct line_order *order,
                         struct error *error);

/* Frees the keys. `words` stays usable, without keys. */
void order_words_free(struct order_words *words);

#endif
