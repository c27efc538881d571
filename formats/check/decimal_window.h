/* SPDX-License-Identifier: Apache-2.0 */
/* decimal_window.h - finds plain decimals and their parts, for all lines in 64 bytes at once.
 *
 *   64 bytes, from the start of a line -> a mask of 64 bits for each kind of byte
 *     -> some operations on the masks: all lines are plain decimals, and have one shape
 *
 * So no line waits for the end of the line before it, and no branch is mispredicted when lengths
 * differ. The first byte is the lowest bit of a mask.
 */
#ifndef FORMATS_DECIMAL_WINDOW_H
#define FORMATS_DECIMAL_WINDOW_H

#include "core/byte_words.h"
#include "core/vector_units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WINDOW_BYTES ((size_t)64)

/* The longest exponent that is examined: e-999. */
#define EXPONENT_BYTES_MAX 5

/* Masks of the bytes of each kind. If all bytes are of the first four kinds, the other masks are
 * 0. */
struct window {
    uint64_t ends, digits, points, minuses, pluses, exponents;
};

/* ---- masks ----------------------------------------------------------------------------------- */

/* Returns 0x80 in each byte that is a decimal digit. */
static inline uint64_t window_digit_mask(uint64_t word)
{
    const uint64_t low = byte_in_all(0x7f), x = word ^ byte_in_all('0');
    return ~(((x & low) + byte_in_all(0x7f - 9)) | x | low);
}

static inline void window_read_by_words(const char *text, char terminator, struct window *window)
{
    *window = (struct window){0};
    for (unsigned i = 0; i < WINDOW_BYTES; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, 8);
        window->ends |= byte_mask_bits(byte_mask(word, byte_in_all(terminator))) << i;
        window->digits |= byte_mask_bits(window_digit_mask(word)) << i;
        window->points |= byte_mask_bits(byte_mask(word, byte_in_all('.'))) << i;
        window->minuses |= byte_mask_bits(byte_mask(word, byte_in_all('-'))) << i;
    }
    if (~(window->ends | window->digits | window->points | window->minuses) == 0)
        return;
    for (unsigned i = 0; i < WINDOW_BYTES; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, 8);
        window->pluses |= byte_mask_bits(byte_mask(word, byte_in_all('+'))) << i;
        word |= byte_in_all(0x20);
        window->exponents |= byte_mask_bits(byte_mask(word, byte_in_all('e'))) << i;
    }
}

#ifdef HAVE_VECTOR_CODE

/* Moves a mask to a general register. Otherwise GCC 12 adds masks in mask registers, which takes
 * three times as long. */
VECTOR_INLINE uint64_t window_bits(__mmask64 mask)
{
    uint64_t bits = mask;
    __asm__("" : "+r"(bits));
    return bits;
}

VECTOR_INLINE void window_read_by_vectors(const char *text, char terminator, struct window *window)
{
    const __m512i bytes = _mm512_loadu_si512(text);
    const __m512i digits = _mm512_sub_epi8(bytes, _mm512_set1_epi8('0'));
    const __m512i letters = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    window->ends = window_bits(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(terminator)));
    window->digits = window_bits(_mm512_cmplt_epu8_mask(digits, _mm512_set1_epi8(10)));
    window->points = window_bits(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('.')));
    window->minuses = window_bits(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('-')));
    window->pluses = window->exponents = 0;
    if (~(window->ends | window->digits | window->points | window->minuses) == 0)
        return;
    window->pluses = window_bits(_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('+')));
    window->exponents = window_bits(_mm512_cmpeq_epi8_mask(letters, _mm512_set1_epi8('e')));
}

#endif

/* ---- plain decimals -------------------------------------------------------------------------- */

/* The parts of the lines of a window, which are plain decimals: each mask has a bit per line. */
struct window_lines {
    uint64_t begins;
    uint64_t signs;
    uint64_t whole_ends; /* ends of the digits before the point */
    uint64_t exponents;
    uint64_t ends;
};

/* As window_find_lines(), for lines that have exponents or are not plain decimals. */
static inline bool window_find_exponents(const struct window *window, uint64_t all,
                                         struct window_lines *lines)
{
    const uint64_t digits = window->digits & all, points = window->points & all;
    const uint64_t exponents = window->exponents & all;
    const uint64_t signs = ((window->minuses & ~lines->begins) | window->pluses) & exponents << 1;
    const uint64_t powers = (exponents << 1 & ~signs) | signs << 1;
    const uint64_t power_ends = (powers + digits) & ~digits;
    lines->exponents = exponents;
    return (lines->ends | digits | points | lines->signs | exponents | signs) == all &&
           ((powers | exponents >> 1) & ~digits) == 0 && (power_ends & ~lines->ends) == 0;
}

/* Finds the lines in the bytes of the mask `all`, which end with a line. Returns false if one of
 * them is not a plain decimal. */
static inline bool window_find_lines(const struct window *window, uint64_t all, bool has_exponents,
                                     struct window_lines *lines)
{
    const uint64_t digits = window->digits & all, points = window->points & all;
    lines->ends = window->ends & all;
    lines->begins = (lines->ends << 1 | 1) & all;
    lines->signs = window->minuses & lines->begins;
    lines->exponents = 0;
    /* A digit must be first in the number and in the fraction. Then there is one before the point,
     * too. */
    const uint64_t wholes = (lines->begins & ~lines->signs) | lines->signs << 1;
    const uint64_t fractions = points << 1;
    /* Adding the first digit of a run to the run carries to the byte after the run. */
    const uint64_t fraction_ends = (fractions + digits) & ~digits;
    lines->whole_ends = (wholes + digits) & ~digits;
    if (((wholes | fractions) & ~digits) != 0 || (fraction_ends & points) != 0)
        return false;
    return (lines->ends | digits | points | lines->signs) == all ||
           (has_exponents && window_find_exponents(window, all, lines));
}

/* The properties that two numbers must share for their digits to be compared one by one. */
struct decimal_shape {
    bool is_negative;
    unsigned whole_end;      /* bytes before the point */
    unsigned exponent_bytes; /* 0: none */
    uint64_t exponent;       /* its bytes */
};

static inline uint64_t window_exponent(const char *text, unsigned bytes)
{
    uint64_t word;
    memcpy(&word, text, 8);
    return word & (((uint64_t)1 << 8 * bytes) - 1);
}

/* Sets the shape of the first of the lines. Returns false if its exponent is too long. */
static inline bool window_first_shape(const struct window_lines *lines, const char *text,
                                      struct decimal_shape *shape)
{
    const unsigned end = (unsigned)__builtin_ctzll(lines->ends);
    const unsigned mantissa_end = (unsigned)__builtin_ctzll(lines->ends | lines->exponents);
    *shape = (struct decimal_shape){.is_negative = lines->signs & 1,
                                    .whole_end = (unsigned)__builtin_ctzll(lines->whole_ends),
                                    .exponent_bytes = end - mantissa_end};
    if (shape->exponent_bytes > EXPONENT_BYTES_MAX)
        return false;
    if (shape->exponent_bytes > 0)
        shape->exponent = window_exponent(text + mantissa_end, shape->exponent_bytes);
    return true;
}

/* Returns true if all lines have the shape. */
static inline bool window_has_shape(const struct window_lines *lines, const char *text,
                                    const struct decimal_shape *shape)
{
    if (lines->signs != (shape->is_negative ? lines->begins : 0) ||
        lines->whole_ends != lines->begins << shape->whole_end)
        return false;
    if (shape->exponent_bytes == 0)
        return lines->exponents == 0;
    if (lines->exponents << shape->exponent_bytes != lines->ends)
        return false;
    for (uint64_t left = lines->exponents; left != 0; left &= left - 1)
        if (window_exponent(text + __builtin_ctzll(left), shape->exponent_bytes) != shape->exponent)
            return false;
    return true;
}

#endif
