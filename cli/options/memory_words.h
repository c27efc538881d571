/* SPDX-License-Identifier: Apache-2.0 */
/* memory_words.h - the arguments of -S, --device-memory and -T: limits of memory, and directories
 * for data beyond them. -S and -T are as in sort(1).
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
    const char **directories;  /* from -T */
    size_t directory_count;
};

/* Parses a size: a number with one of the units b % K M G T P E Z Y, or in KiB without a unit.
 * Keeps the greatest of several sizes. Syntax and errors are as in sort(1). option: its name for
 * messages. */
bool memory_words_set_size(struct memory_size *size, const char *option, const char *word,
                           struct error *error);

/* Returns the power of 1024 (or of 1000) for the letter of a unit: 1 for K, 2 for M, and so on; 0
 * for other letters. */
unsigned memory_words_unit_power(char letter);

bool memory_words_add_directory(struct memory_words *words, const char *directory,
                                struct error *error);

void memory_words_free(struct memory_words *words);

#endif
