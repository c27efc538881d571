/* SPDX-License-Identifier: Apache-2.0 */
/* number_digits.h - runs of decimal digits, 8 bytes per step, for number_key.cc and decimal_key.cc.
 */
#ifndef FORMATS_NUMBER_DIGITS_H
#define FORMATS_NUMBER_DIGITS_H

#include <cstddef>
#include <cstdint>
#include <cstring>

/* The digit 0 in each byte. */
constexpr uint64_t DIGITS_ZERO = 0x3030303030303030u;

/* Returns a text of fewer than 8 bytes, in the low bytes of a word. */
inline uint64_t digits_load_short(const char *text, size_t length)
{
    if (length >= 4) {
        uint32_t low, high;
        memcpy(&low, text, 4);
        memcpy(&high, text + length - 4, 4);
        return low | (uint64_t)high << 8 * (length - 4);
    }
    uint64_t word = 0;
    for (size_t i = 0; i < length; ++i)
        word |= (uint64_t)(unsigned char)text[i] << 8 * i;
    return word;
}

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
    return digits_load_short(p, (size_t)left);
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

/* Appends the digits from p on to *value, modulo 2^64, and returns their end. It handles a word per
 * step, without a branch on the number of digits: lengths vary from line to line, so that such
 * branches would be mispredicted. */
inline const char *digits_read(const char *begin, const char *p, const char *end, uint64_t *value)
{
    constexpr uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
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
