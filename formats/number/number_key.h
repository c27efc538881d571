/* SPDX-License-Identifier: Apache-2.0 */
/* number_key.h - the number that orders a line of text: a 64-bit key, and the value if the key does
 * not decide.
 */
#ifndef FORMATS_NUMBER_KEY_H
#define FORMATS_NUMBER_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets a monotone image (core/line/line_key.h) of the value of text[0..length): a < b in the
 * order of `sort -g` implies key(a) <= key(b). Returns false if the text is not a number. *exact:
 * two lines with equal keys, both exact, have equal values. */
bool number_line_key(const char *text, size_t length, uint64_t *key, bool *exact);

/* As number_line_key(), for the number that the text begins with; the least of all keys if there is
 * none. */
void number_prefix_key(const char *text, size_t length, uint64_t *key, bool *exact);

/* Sets the value that strtold(3) reads at the start of text[0..length). Returns false if there is
 * no number. */
bool number_prefix_value(const char *text, size_t length, long double *value);

#ifdef __cplusplus
}
#endif
#endif
