/* SPDX-License-Identifier: Apache-2.0 */
/* number_key.h - the numbers that order lines of text: a 64-bit image, and the exact order if the
 * image does not decide.
 */
#ifndef FORMATS_NUMBER_KEY_H
#define FORMATS_NUMBER_KEY_H

#include "core/line/line_key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- -g: a long double ---- */

/* Sets a monotone image (core/line/line_image.h) of the value of text[0..length): a < b in the
 * order of `sort -g` implies image(a) <= image(b). Returns false if the text is not a number.
 * *exact: two lines with equal images, both exact, have equal values. */
bool number_line_image(const char *text, size_t length, uint64_t *image, bool *exact);

/* As number_line_image(), for the number that the text begins with; the least of all images if
 * there is none. Returns true. */
bool number_prefix_image(const char *text, size_t length, uint64_t *image, bool *exact);

/* For exact comparisons. Returns the image of text that begins with no number or with a NaN;
 * otherwise NUMBER_IMAGE_LEAST, and sets *value to the number that strtold(3) reads at its start.
 */
uint64_t number_prefix_class(const char *text, size_t length, long double *value);

/* ---- -n and -h: decimals of any length, exactly ----
 *
 *   text -> decimal_scan -> sign, suffix, positions of the digits -> decimal_word 0, 1, 2, ...
 *   text -> decimal_image: only word 0, in a fast path
 *
 * The syntax is [blanks][-][digits][.[digits]], and for -h a suffix. The first other byte ends the
 * number, and text without digits is 0. A number is a row of 64-bit words that are compared as
 * unsigned integers, the first word first. Two numbers are equal if all words are, up to the word
 * that is marked as the last.
 */

/* The parts of a number, in the text, which is borrowed. Digits are counted from the first one
 * before the point that is not 0, or, if there is none, from the first one after the point. */
struct decimal_text {
    bool negative;   /* and not 0 */
    bool has_suffix; /* a suffix may follow the number: -h */
    unsigned suffix; /* 0 none, 1 K or k, 2 M, ...; 0 if the number is 0 */
    const char *whole;
    size_t whole_digits; /* digits before the point, without zeros at the beginning */
    const char *fraction;
    size_t digits; /* those up to the last one that is not 0: of 100, 1 */
};

/* Finds the parts of a number. has_suffix: a suffix may follow, as for -h. */
void decimal_scan(const char *text, size_t length, bool has_suffix, struct decimal_text *decimal);

/* Returns word `index` of the row, which must not end before it. */
uint64_t decimal_word(const struct decimal_text *decimal, size_t index);

/* Returns how many words from word 0 on are equal in both rows and are the last word of neither
 * row; or a smaller number, but at least 1. Word 0 must be such a word. */
size_t decimal_common_words(const struct decimal_text *a, const struct decimal_text *b);

/* Return word 0 of a text, without and with suffixes. */
uint64_t decimal_image(const char *text, size_t length);
uint64_t decimal_suffix_image(const char *text, size_t length);

#ifdef __cplusplus
}
#endif
#endif
