/* SPDX-License-Identifier: Apache-2.0 */
/* word_list.h - a word that is one of a list, and may be shortened, as sort(1) takes it. */
#ifndef CLI_WORD_LIST_H
#define CLI_WORD_LIST_H

#include "core/error.h"

#include <stddef.h>

struct word_choice {
    const char *word;
    int value;      /* words of one value are one and the same: they are never ambiguous */
    bool is_hidden; /* known, but not proposed; such words stand last */
};

/* Finds the word, or the one choice that it is the beginning of. `option` is for the message. */
bool word_list_find(const char *option, const char *word, const struct word_choice *choices,
                    size_t count, int *value, struct error *error);

#endif
