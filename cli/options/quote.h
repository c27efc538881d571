/* SPDX-License-Identifier: Apache-2.0 */
/* quote.h - makes foreign text in messages, such as names and lines, safe to show on a terminal. */
#ifndef CLI_QUOTE_H
#define CLI_QUOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct quoted {
    char text[1024]; /* longer words are cut */
};

/* Fills *quoted with the word in single quotes. Backslashes, single quotes and bytes that are not
 * printable ASCII are escaped as in C, as sort(1) does in the C locale. Returns quoted->text. */
const char *quote_word(const char *word, struct quoted *quoted);

/* Code of no character. */
#define QUOTE_NO_CODE UINT32_MAX

/* Sets *code to that of the UTF-8 character at the start of text[0..bytes), bytes > 0, and returns
 * the character's bytes. For invalid text, sets QUOTE_NO_CODE and returns 1. */
size_t quote_decode(const char *text, size_t bytes, uint32_t *code);

/* Returns false for control characters, including C1, for QUOTE_NO_CODE, and for invisible
 * characters that change how others are shown, such as their direction. */
bool quote_is_shown(uint32_t code);

/* Copies text[0..bytes) to `shown`, which may be `text`, with '?' for each character that is not
 * shown. Returns the bytes of the result, at most `bytes`. */
size_t quote_filter(const char *text, size_t bytes, char *shown);

/* Writes the text, filtered as by quote_filter(). */
void quote_print(FILE *stream, const char *text);

/* Captures stderr until it is released. For messages of the C library on the command line, after
 * which it may end the process: an exit handler must then call quote_release_stderr(). */
void quote_hold_stderr(void);

/* Returns true if stderr is captured, and something was written to it. */
bool quote_holds_text(void);

/* Ends the capture, and writes the captured text, filtered line by line. Has no effect without a
 * capture. */
void quote_release_stderr(void);

#endif
