/* SPDX-License-Identifier: Apache-2.0 */
/* word_list.h - finds an argument in a list of words, of which it may be a prefix, as in sort(1).
 */
#ifndef CLI_WORD_LIST_H
#define CLI_WORD_LIST_H

#include "core/error.h"

#include <stddef.h>

struct word_choice {
    const char *word;
    int value;      /* words with the same value are synonyms, and never ambiguous */
    bool is_hidden; /* accepted but not suggested; such words are last */
};

/* Finds the word, or the one choice that it is a prefix of. `option` is for the message. */
bool word_list_find(const char *option, const char *word, const struct word_choice *choices,
                    size_t count, int *value, struct error *error);

#endif
