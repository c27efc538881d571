/* SPDX-License-Identifier: Apache-2.0 */
/* number_scan.h - the grammar of a number in text, and runs of decimal digits.
 *
 *   text -> number_scan_text -> sign, form, significant digits, exponent
 *        -> number_scan_spell -> a bounded spelling that rounds to the same value, for strtod(3)
 *
 * The grammar is what glibc's strtold(3) consumes in the C locale (ISO C11, 7.22.1.3). A number may
 * have any length: only its digits from the first to the last nonzero one count, and they are not
 * copied.
 */
#ifndef FORMATS_NUMBER_SCAN_H
#define FORMATS_NUMBER_SCAN_H

#include "core/byte_words.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

enum number_form { FORM_DECIMAL, FORM_HEX, FORM_INFINITY, FORM_NAN };

/* The parts of a number; it borrows the text. The value of a FORM_DECIMAL is D * 10^exponent, that
 * of a FORM_HEX is D * 2^exponent, where D is the integer with the digits from `first` to `last`,
 * without a point between them. */
struct number_scan {
    enum number_form form;
    bool negative;
    const char *begin; /* after the sign */
    const char *end;   /* end of the number, before any blanks */
    const char *first; /* the first nonzero digit; NULL if the value is 0 */
    const char *last;  /* the last nonzero digit */
    size_t digits;     /* number of digits from first to last */
    int64_t exponent;
};

/* Returns true for a blank that may surround a number: white space of the C locale. */
static inline bool number_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline const char *number_skip_blanks(const char *begin, const char *end)
{
    while (begin < end && number_is_blank(*begin))
        ++begin;
    return begin;
}

/* Moves *begin and *end past the blanks on both sides of the text. */
static inline void number_trim(const char **begin, const char **end)
{
    *begin = number_skip_blanks(*begin, *end);
    while (*begin < *end && number_is_blank((*end)[-1]))
        --*end;
}

/* Returns the first `count` digits, from `first` on, as an integer in the base; wraps modulo
 * 2^64. */
uint64_t number_scan_integer(const struct number_scan *scan, size_t count);

/* Scans text[0..length). Returns false if it is not a number. */
bool number_scan_text(const char *text, size_t length, struct number_scan *scan);

/* Scans the longest number that the text begins with, after blanks. Returns false if there is
 * none. */
bool number_scan_prefix(const char *text, size_t length, struct number_scan *scan);

/* The values halfway between two adjacent long doubles of 113 bits have up to 11,564 digits (a
 * 114-bit integer times 2^-16495); those for x87's long double, double and float have fewer. So a 1
 * can take the place of all digits after the first NUMBER_DIGITS_MAX. */
constexpr size_t NUMBER_DIGITS_MAX = 11570;
constexpr size_t NUMBER_SPELLING_MAX = NUMBER_DIGITS_MAX + 64;

/* Writes a spelling that rounds to the same float, double or long double as the number, terminated
 * by NUL. The payload of a NaN is kept if it fits. */
void number_scan_spell(const struct number_scan *scan, char spelling[NUMBER_SPELLING_MAX]);

/* ---- Digits, 8 bytes per step ---- */

/* powers[i] is 10^i, the greatest of which is below 2^62. */
inline constexpr std::array<uint64_t, 19> powers = [] {
    std::array<uint64_t, 19> made = {1};
    for (size_t i = 1; i < made.size(); ++i)
        made[i] = made[i - 1] * 10;
    return made;
}();

/* The digit 0 in each byte. */
constexpr uint64_t DIGITS_ZERO = 0x3030303030303030u;

/* Returns the 8 bytes at p, zeros after the end. Reads no byte outside [begin, end). */
inline uint64_t digits_load(const char *begin, const char *p, const char *end)
{
    const ptrdiff_t left = end - p;
    if (left >= 8 || end - begin >= 8) {
        uint64_t word;
        if (left == 0)
            return 0;
        memcpy(&word, left >= 8 ? p : end - 8, 8);
        return left >= 8 ? word : word >> 8 * (8 - left);
    }
    return bytes_load_short(p, (size_t)left);
}

/* Returns the value of 8 bytes from 0 to 9, the first digit in the lowest one: pairs, then fours,
 * then all (Lemire, "Quickly parsing eight digits", 2018). */
inline uint64_t digits_value_of_eight(uint64_t word)
{
    word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffu;
    word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffu;
    return (word * 10000 + (word >> 32)) & 0xffffffffu;
}

/* Returns how many bytes of the word, from the lowest on, are digits, which have the values 0 to 9.
 * Adding 0x76 carries into the top bit from 10 on. Only the lowest such byte counts, and no carry
 * from below has changed it. */
inline int digits_count(uint64_t word)
{
    const uint64_t others = (word | (word + 0x7676767676767676u)) & 0x8080808080808080u;
    return others == 0 ? 8 : __builtin_ctzll(others) / 8;
}

/* Returns the end of the digits from p on. */
inline const char *digits_end(const char *begin, const char *p, const char *end)
{
    for (;;) {
        const int digits = digits_count(digits_load(begin, p, end) ^ DIGITS_ZERO);
        p += digits;
        if (digits < 8)
            return p;
    }
}

/* Appends the digits from p on to *value, modulo 2^64, and returns their end. It handles up to 8
 * digits per step without a loop over them: lengths vary from line to line, so the end of such a
 * loop would be mispredicted. */
inline const char *digits_read(const char *begin, const char *p, const char *end, uint64_t *value)
{
    for (;;) {
        const uint64_t word = digits_load(begin, p, end) ^ DIGITS_ZERO;
        const int digits = digits_count(word);
        if (digits == 0)
            return p;
        *value = *value * powers[digits] + digits_value_of_eight(word << 8 * (8 - digits));
        p += digits;
        if (digits < 8)
            return p;
    }
}

#endif
