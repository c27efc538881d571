/* SPDX-License-Identifier: Apache-2.0 */
/* quote.h - text of others, such as names and lines, as messages show it: nothing in it does more
 * to a terminal than to be shown.
 */
#ifndef CLI_QUOTE_H
#define CLI_QUOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct quoted {
    char text[1024]; /* a longer word is cut */
};

/* Fills *quoted with the word in single quotes, where backslashes, quotes and what cannot be
 * printed are escaped as in C, as sort(1) does in the C locale; returns its text. */
const char *quote_word(const char *word, struct quoted *quoted);

/* Not the code of a character. */
#define QUOTE_NO_CODE UINT32_MAX

/* Sets *code to that of the character of UTF-8 that text[0..bytes) begins with, and returns its
 * bytes; bytes > 0. If it begins with none, returns 1 with QUOTE_NO_CODE. */
size_t quote_decode(const char *text, size_t bytes, uint32_t *code);

/* False for controls, C1 too, for QUOTE_NO_CODE, and for what is not seen itself but changes how
 * other characters are shown, such as their direction. */
bool quote_is_shown(uint32_t code);

/* Copies text[0..bytes) to shown, which may be the text itself, with a '?' for each character that
 * is not shown. Returns the bytes it has then: `bytes` or fewer. */
size_t quote_filter(const char *text, size_t bytes, char *shown);

/* Writes the text so. */
void quote_print(FILE *stream, const char *text);

/* Holds back what is written to stderr until it is released. For messages that the C library makes
 * of the command line, after which it may end the process: the caller has them released then. */
void quote_hold_stderr(void);
/* Writes it, filtered line by line. Does nothing if nothing is held back. */
void quote_release_stderr(void);

#endif
