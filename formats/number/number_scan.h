/* SPDX-License-Identifier: Apache-2.0 */
/* number_scan.h - the grammar of a number in text, for number_text.cc and number_key.cc.
 *
 *   text -> number_scan_text -> sign, form, significant digits, exponent
 *        -> number_scan_spell -> a bounded spelling of the same value for strtod(3) and its kin
 *
 * The grammar is what glibc's strtold(3) consumes in the C locale (ISO C11, 7.22.1.3). A number may
 * have any length: only its digits from the first to the last nonzero one count, and they are not
 * copied.
 */
#ifndef FORMATS_NUMBER_SCAN_H
#define FORMATS_NUMBER_SCAN_H

#include <stddef.h>
#include <stdint.h>

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

/* The values halfway between two adjacent x87 long doubles have up to 11,515 digits (a 65-bit
 * integer times 2^-16446); those for double and float have fewer, and a long double of 113 bits has
 * up to 11,530. So of more digits than this, it matters only that there are more. */
constexpr size_t NUMBER_DIGITS_MAX = 11540;
constexpr size_t NUMBER_SPELLING_MAX = NUMBER_DIGITS_MAX + 64;

/* Writes a spelling that rounds to the same float, double or long double as the number, terminated
 * by NUL. The payload of a NaN is kept if it fits. */
void number_scan_spell(const struct number_scan *scan, char spelling[NUMBER_SPELLING_MAX]);

#endif
