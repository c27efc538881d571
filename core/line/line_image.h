/* SPDX-License-Identifier: Apache-2.0 */
/* line_image.h - the image of a line's key, for host and device: the 64-bit number by which lines
 * are compared first; and the item of 16 bytes that represents the line.
 *
 * An image is monotone: a < b in the order of the key implies image(a) <= image(b).
 *
 *   LINE_STRICT, LINE_GENERAL   the long double that strtold(3) makes of the text, rounded to a
 *                               double, as ordered bits; see formats/number/number_key.cc
 *   LINE_NUMERIC, LINE_HUMAN    word 0 of the decimal, as below
 *   LINE_BYTES                  the first 7 bytes, the first one on top, zeros after the end; below
 *                               them the number of bytes, 8 for more than 7
 *
 * The order of NaNs among the numbers of lines is decided by NUMBER_IMAGE_* below; that of binary
 * numbers in key_order.c.
 */
#ifndef CORE_LINE_IMAGE_H
#define CORE_LINE_IMAGE_H

#include "core/backend.h"
#include "core/host_device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Images of numbers of -g ---- */

/* The order of text that is not a number, of NaNs and of numbers: it is decided here, for the host,
 * the GPU and exact comparisons alike. The image of -inf is 0x000fffffffffffff. */
#define NUMBER_IMAGE_NONE ((uint64_t)0) /* text that is not a number */
#define NUMBER_IMAGE_NEGATIVE_NAN ((uint64_t)1)
#define NUMBER_IMAGE_POSITIVE_NAN ((uint64_t)2)
#define NUMBER_IMAGE_LEAST ((uint64_t)3) /* all numbers but NaNs have images from here on */

/* The bits of the doubles 2^-960, 2^960 and inf. Between the first two, far inside the normal
 * doubles, rounding errors are relative. */
#define NUMBER_BITS_LEAST ((uint64_t)63 << 52)
#define NUMBER_BITS_GREATEST ((uint64_t)1983 << 52)
#define NUMBER_BITS_INFINITY ((uint64_t)2047 << 52)

#define NUMBER_EXACT_LIMIT ((uint64_t)1000000000000000) /* 10^15 */

/* Returns the image of the double with these bits, which have no sign. -0 has the image of 0. */
HOST_DEVICE static inline uint64_t number_image(uint64_t bits, bool negative)
{
    const uint64_t sign = (uint64_t)1 << 63;
    return negative && bits != 0 ? ~(bits | sign) : bits | sign;
}

/* Returns true if the image of mantissa * 10^n, for any n, is exact. bits: the bits of the nearest
 * double. */
HOST_DEVICE static inline bool number_image_is_exact(uint64_t mantissa, uint64_t bits)
{
    while (mantissa >= NUMBER_EXACT_LIMIT && mantissa % 10 == 0)
        mantissa /= 10;
    return mantissa == 0 || (mantissa < NUMBER_EXACT_LIMIT && bits >= NUMBER_BITS_LEAST &&
                             bits < NUMBER_BITS_GREATEST);
}

/* ---- Images of decimals of -n and -h ----
 *
 * Word 0, from the top: one bit, 1 unless the number is negative; 62 bits of body; one bit that is
 * set if more digits follow that are not all 0. For a negative number it is complemented.
 * The body grows with the suffix first, then with the number of digits before the point, then with
 * the first digits:
 *
 *   suffix * 33 U + one of   W U + the first D digits                       W < 31
 *                            31 U + (W - 31) U / 1000 + the first D - 3      W < 1031
 *                            32 U + W                                        W >= 1031
 *
 * W is the number of digits before the point, U = 10^D, and D = 17, or 16 if there are suffixes.
 * The greatest suffix is 10: 11 * 33 * 10^16 < 2^62, and 33 * 10^17 < 2^62. No text is as long as
 * U.
 */
#define DECIMAL_DIGITS 17u
#define DECIMAL_UNIT ((uint64_t)100000000000000000)
#define DECIMAL_SUFFIX_DIGITS 16u
#define DECIMAL_SUFFIX_UNIT ((uint64_t)10000000000000000)
#define DECIMAL_SUFFIX_UNITS ((uint64_t)33)
#define DECIMAL_WHOLE_SHORT ((uint64_t)31)
#define DECIMAL_WHOLE_LONG ((uint64_t)1031)
#define DECIMAL_LONG_LESS 3u /* fewer digits from DECIMAL_WHOLE_SHORT on */
#define DECIMAL_LONG_PART ((uint64_t)1000)

/* Returns how many digits word 0 holds of a number with `whole_digits` digits before the point. */
HOST_DEVICE static inline unsigned decimal_first_digits(bool has_suffix, uint64_t whole_digits)
{
    const unsigned most = has_suffix ? DECIMAL_SUFFIX_DIGITS : DECIMAL_DIGITS;
    if (whole_digits < DECIMAL_WHOLE_SHORT)
        return most;
    return whole_digits < DECIMAL_WHOLE_LONG ? most - DECIMAL_LONG_LESS : 0;
}

/* Returns word 0. first_digits: the digits that it holds, as an integer. more: the digits after
 * them are not all 0. */
HOST_DEVICE static inline uint64_t decimal_first_word(bool has_suffix, unsigned suffix,
                                                      uint64_t whole_digits, uint64_t first_digits,
                                                      bool more, bool negative)
{
    const uint64_t unit = has_suffix ? DECIMAL_SUFFIX_UNIT : DECIMAL_UNIT;
    uint64_t body = suffix * DECIMAL_SUFFIX_UNITS * unit + first_digits;
    if (whole_digits < DECIMAL_WHOLE_SHORT)
        body += whole_digits * unit;
    else if (whole_digits < DECIMAL_WHOLE_LONG)
        body += DECIMAL_WHOLE_SHORT * unit +
                (whole_digits - DECIMAL_WHOLE_SHORT) * (unit / DECIMAL_LONG_PART);
    else
        body += (DECIMAL_WHOLE_SHORT + 1) * unit + whole_digits;
    const uint64_t word = (uint64_t)1 << 63 | body << 1 | more;
    return negative ? ~word : word;
}

/* Returns true if the word is the last one of a number, which is a row of words (number_key.h).
 * index: its index in the row. */
HOST_DEVICE static inline bool decimal_word_is_last(uint64_t word, uint64_t index)
{
    /* The first word of a negative number is complemented, including its lowest bit. */
    return index == 0 ? (word & 1) == !(word >> 63) : (word & 3) == 1;
}

/* Returns 1 for K or k, 2 for M, and so on; 0 for other bytes. */
HOST_DEVICE static inline unsigned decimal_suffix_of(char c)
{
    switch (c) {
    case 'k':
    case 'K':
        return 1;
    case 'M':
        return 2;
    case 'G':
        return 3;
    case 'T':
        return 4;
    case 'P':
        return 5;
    case 'E':
        return 6;
    case 'Z':
        return 7;
    case 'Y':
        return 8;
    case 'R':
        return 9;
    case 'Q':
        return 10;
    default:
        return 0;
    }
}

/* ---- Items: a struct key_index that represents a line of a text ----
 *
 * The index is the offset of the line's first byte, above a bit that is 0 if the key is exact:
 * lines with equal keys that are all exact are equal in the first key of the order. The key is the
 * image of that first key, complemented if the key is reversed.
 */

HOST_DEVICE static inline uint64_t line_index(size_t offset, bool exact)
{
    return (uint64_t)offset << 1 | !exact;
}

HOST_DEVICE static inline size_t line_offset(struct key_index item)
{
    return (size_t)(item.index >> 1);
}

HOST_DEVICE static inline bool line_is_exact(struct key_index item)
{
    return (item.index & 1) == 0;
}

/* Returns an item for a line that has no key yet. No other item equals it: an inexact image is not
 * 0, nor is its complement. */
HOST_DEVICE static inline struct key_index line_item_flagged(size_t offset)
{
    const struct key_index item = {line_index(offset, false), 0};
    return item;
}

HOST_DEVICE static inline bool line_item_is_flagged(struct key_index item)
{
    return !line_is_exact(item) && item.key == 0;
}

#endif
