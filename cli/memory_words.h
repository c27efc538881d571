/* SPDX-License-Identifier: Apache-2.0 */
/* memory_words.h - -S, --device-memory and -T: how much memory may be taken, and where to go when
 * that is not enough. As sort(1) has -S and -T.
 */
#ifndef CLI_MEMORY_WORDS_H
#define CLI_MEMORY_WORDS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct memory_size {
    bool is_said;
    size_t bytes;
};

struct memory_words {
    struct memory_size host;   /* -S */
    struct memory_size device; /* --device-memory */
    const char **directories;  /* of -T */
    size_t directory_count;
};

/* Takes a size: a number and, of b % K M G T P E Z Y, what it counts; without that, KiB. Of several
 * the greatest is kept, as by sort(1), whose errors it has. option: as messages name it. */
bool memory_words_set_size(struct memory_size *size, const char *option, const char *word,
                           struct error *error);

/* The power of 1024 (or of 1000) that the letter of a unit stands for: 1 for K, 2 for M, and so on.
 * 0 if the letter is no unit. */
unsigned memory_words_unit_power(char letter);

bool memory_words_add_directory(struct memory_words *words, const char *directory,
                                struct error *error);

void memory_words_free(struct memory_words *words);

#endif
