/* SPDX-License-Identifier: Apache-2.0 */
/* number_key.h - the number that a line of text is ordered by: a key of 64 bits, and the value
 * where the key does not tell.
 */
#ifndef FORMATS_NUMBER_KEY_H
#define FORMATS_NUMBER_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A monotone image (core/line_image.h) of the value of text[0..length): a < b in the order of
 * `sort -g` implies key(a) <= key(b). False when the text is not one number. *exact: two lines with
 * equal keys, both exact, have equal values. */
bool number_line_key(const char *text, size_t length, uint64_t *key, bool *exact);

/* The same of the number that the text starts with; the least key of all if there is none. */
void number_prefix_key(const char *text, size_t length, uint64_t *key, bool *exact);

/* What strtold(3) makes of the start of text[0..length); false if that is no number. */
bool number_prefix_value(const char *text, size_t length, long double *value);

#ifdef __cplusplus
}
#endif
#endif
