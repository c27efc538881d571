/* SPDX-License-Identifier: Apache-2.0 */
/* key_definition.h - KEYDEF, the word that -k takes: F[.C][LETTERS][,F[.C][LETTERS]].
 *
 * As sort(1) reads it, with the same messages. The letters that gpusort has no order for are
 * refused by their names.
 */
#ifndef CLI_KEY_DEFINITION_H
#define CLI_KEY_DEFINITION_H

#include "core/error.h"
#include "core/line_order.h"

/* What letters say of an order: behind a place in KEYDEF for one key, or as options for all keys
 * that have none themselves. */
struct order_letters {
    bool general;                            /* g */
    bool human;                              /* h */
    bool numeric;                            /* n */
    bool reverse;                            /* r */
    bool skip_begin_blanks, skip_end_blanks; /* b */
};

/* The places that a `b` is for: it tells of the place in KEYDEF that it stands behind. */
enum blank_places { BLANKS_AT_BEGIN, BLANKS_AT_END, BLANKS_AT_BOTH };

/* Sets what the letter says. False, with nothing set, for what is no letter of an order here. */
bool order_letters_set(struct order_letters *letters, char letter, enum blank_places places);

/* Whether nothing was set, so that a key takes the options'. */
bool order_letters_are_none(const struct order_letters *letters);

/* Sets the error for a letter that sort(1) has and gpusort has not, and returns true; `where` is
 * what it was found in. False for all others. */
bool order_letter_refuse(char letter, const char *where, struct error *error);

struct key_definition {
    struct line_key key; /* its places; the rest follows from letters, its own or the options' */
    struct order_letters letters;
};

bool key_definition_parse(const char *definition, struct key_definition *key, struct error *error);

#endif
