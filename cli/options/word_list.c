/* SPDX-License-Identifier: Apache-2.0 */
/* word_list.c - see word_list.h. */
#include "cli/options/word_list.h"

#include "cli/options/quote.h"

#include <stdio.h>
#include <string.h>

static bool refuse(const char *option, const char *word, const char *why,
                   const struct word_choice *choices, size_t count, struct error *error)
{
    struct quoted quoted;
    char words[256] = "";
    while (choices[count - 1].is_hidden)
        count--;
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(words);
        snprintf(words + length, sizeof words - length, "%s%s",
                 i == 0           ? ""
                 : i + 1 == count ? " or "
                                  : ", ",
                 choices[i].word);
    }
    return error_set(error, "%s argument %s for '%s': it is %s", why, quote_word(word, &quoted),
                     option, words);
}

bool word_list_find(const char *option, const char *word, const struct word_choice *choices,
                    size_t count, int *value, struct error *error)
{
    const struct word_choice *found = NULL;
    bool is_ambiguous = false;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(choices[i].word, word, strlen(word)) != 0)
            continue;
        *value = choices[i].value;
        if (choices[i].word[strlen(word)] == '\0')
            return true;
        is_ambiguous |= found && found->value != choices[i].value;
        found = &choices[i];
    }
    if (found && !is_ambiguous)
        return true;
    return refuse(option, word, found ? "ambiguous" : "invalid", choices, count, error);
}
