/* SPDX-License-Identifier: Apache-2.0 */
/* order_words.h - the words that say in which order lines are wanted, -g -n -h -r -b -k -t -z -s
 * -u, as they come on the command line, and the one struct line_order that they make.
 */
#ifndef CLI_ORDER_WORDS_H
#define CLI_ORDER_WORDS_H

#include "cli/key_definition.h"

struct order_words {
    struct order_letters letters; /* of the options */
    struct key_definition *keys;  /* of -k, in order */
    size_t key_count;
    bool separator_said;
    unsigned char separator; /* if said */
    bool zero_terminated;    /* -z */
    bool stable;             /* -s */
    bool unique;             /* -u */
};

/* -k KEYDEF */
bool order_words_add_key(struct order_words *words, const char *definition, struct error *error);

/* -t SEP: one byte, or \0 */
bool order_words_set_separator(struct order_words *words, const char *word, struct error *error);

/* --sort=WORD; it may be shortened as long as it stays unambiguous. */
bool order_words_set_sort(struct order_words *words, const char *word, struct error *error);

/* The order that the words make; letters that exclude each other are an error. A key without
 * letters has those of the options. Without keys the whole line is the key, and without -g -n -h it
 * must then be one number. The caller frees order->keys. */
bool order_words_resolve(const struct order_words *words, struct line_order *order,
                         struct error *error);

/* words stay usable, with no keys. */
void order_words_free(struct order_words *words);

#endif
