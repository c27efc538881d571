/* SPDX-License-Identifier: Apache-2.0 */
/* decimal_key.h - the order of `sort -n` and `sort -h`: decimals of any length, exactly.
 *
 *   text -> decimal_scan -> sign, suffix, digits where they stand -> decimal_word 0, 1, 2, ...
 *   text -> decimal_key: word 0 alone, the fast way
 *
 * What is read is [blanks][-]digits[.digits], and, for -h, the suffix behind it; text that does not
 * start so is 0. Bytes 0x80 before the point are passed over, but no suffix counts behind them:
 * GNU sort(1) takes this byte, which it thinks is none, for the separator of thousands, where the
 * locale has none. A number is a row of 64-bit words, compared as unsigned integers, the first one
 * first; two numbers are equal if all words are, up to the one that says that it is the last.
 */
#ifndef FORMATS_DECIMAL_KEY_H
#define FORMATS_DECIMAL_KEY_H

#include "core/line_image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number taken apart; it borrows the text. Its digits are counted from the first one before the
 * point that is not 0, or, if there is none, from the first one behind the point. */
struct decimal_text {
    bool negative; /* and not 0 */
    bool has_suffix;
    bool is_parted;  /* there may be bytes 0x80 among the digits before the point */
    unsigned suffix; /* 0 none, 1 K or k, 2 M, ...; 0 if the number is 0 */
    const char *whole;
    size_t whole_digits; /* before the point */
    const char *fraction;
    size_t digits; /* up to the last one that is not 0 */

    /* Where the words were read up to: the text from the digit that is so many after the first. */
    const char *next;
    size_t next_digit;
};

/* has_suffix: as -h. */
void decimal_scan(const char *text, size_t length, bool has_suffix, struct decimal_text *decimal);

/* Word `index` of the row, of which none before is the last. */
uint64_t decimal_word(struct decimal_text *decimal, size_t index);

/* How many words, from word 0 on, are the same in both rows, and the last of neither; or fewer, but
 * at least 1. Their words 0 are such ones. */
size_t decimal_common_words(const struct decimal_text *a, const struct decimal_text *b);

/* Word 0 of the text, without and with suffixes. */
uint64_t decimal_key(const char *text, size_t length);
uint64_t decimal_suffix_key(const char *text, size_t length);

#ifdef __cplusplus
}
#endif
#endif
