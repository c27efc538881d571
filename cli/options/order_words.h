/* SPDX-License-Identifier: Apache-2.0 */
/* order_words.h - the options for the order of lines, -g -n -h -r -b -k -t -z -s -u, and the struct
 * line_order that they make.
 */
#ifndef CLI_ORDER_WORDS_H
#define CLI_ORDER_WORDS_H

#include "cli/options/key_definition.h"

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

/* --sort=WORD. WORD may be an unambiguous prefix. */
bool order_words_set_sort(struct order_words *words, const char *word, struct error *error);

/* Makes the order of the options. Fails if letters exclude each other. A key without letters uses
 * the letters of the options. Without keys, the whole line is the key, and must be a number unless
 * -g, -n or -h is given. The caller frees order->keys, also after a failure. */
bool order_words_resolve(const struct order_words *words, struct line_order *order,
                         struct error *error);

/* Frees the keys. `words` stays usable, without keys. */
void order_words_free(struct order_words *words);

#endif
