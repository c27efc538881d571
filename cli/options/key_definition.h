/* SPDX-License-Identifier: Apache-2.0 */
/* key_definition.h - KEYDEF, the argument of -k: F[.C][LETTERS][,F[.C][LETTERS]].
 *
 * Syntax and messages are as in sort(1). Letters of orders that gpusort does not have are refused,
 * with their names.
 */
#ifndef CLI_KEY_DEFINITION_H
#define CLI_KEY_DEFINITION_H

#include "core/error.h"
#include "core/line/line_order.h"

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

/* Returns true if no letter is set, so that a key uses the options. */
bool order_letters_are_none(const struct order_letters *letters);

/* For a letter that sort(1) has and gpusort does not, sets the error and returns true. `where`:
 * where it was found, for the message. Returns false for all other letters. */
bool order_letter_refuse(char letter, const char *where, struct error *error);

struct key_definition {
    struct line_key key; /* only its positions; letters give the rest */
    struct order_letters letters;
};

bool key_definition_parse(const char *definition, struct key_definition *key, struct error *error);

#endif
