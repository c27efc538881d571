/* numeric_text.h - a number as sort -n and sort -h read it: taken apart where it stands.
 *
 *   [blanks] [-] [digits] [. digits] [suffix]
 *
 * The value is exact at any length; what is no number is 0. Of white space, only blanks (space, tab
 * and newline) may stand before the number, and no '+'. A NUL byte is a byte like any other that
 * ends the number.
 *
 * Among the digits before the point, bytes 0x80 are passed over. That is what sort(1) does: the C
 * locale has no separator of thousands, for which it takes CHAR_MAX + 1, and then meets that as an
 * unsigned char (coreutils, lib/strnumcmp-in.h). Its search for the suffix ends at them.
 */
#ifndef FORMATS_NUMERIC_TEXT_H
#define FORMATS_NUMERIC_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A number whose value is not 0 has a digit left that is not '0'. Borrows the text. */
struct numeric_text {
    bool is_negative; /* false for 0 */
    bool is_grouped;  /* there are separators */
    char suffix;      /* the byte behind the number; 0 where there is none, or none counts */
    const char *whole;
    size_t whole_digits; /* without zeros in front, and separators */
    const char *fraction;
    size_t fraction_digits; /* without zeros at the end */
};

static inline bool numeric_is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

static inline bool numeric_is_separator(char c)
{
    return c == (char)0x80;
}

/* Reads what stands before the point, from p on; returns where that ends. */
static inline const char *numeric_whole_read(struct numeric_text *number, const char *p,
                                             const char *end)
{
    while (p < end && (*p == '0' || numeric_is_separator(*p))) {
        number->is_grouped |= *p != '0';
        p++;
    }
    number->whole = p;
    while (p < end && numeric_is_digit(*p))
        p++;
    number->whole_digits = (size_t)(p - number->whole);
    for (; p < end && (numeric_is_digit(*p) || numeric_is_separator(*p)); p++) {
        number->is_grouped = true;
        number->whole_digits += numeric_is_digit(*p);
    }
    return p;
}

static inline struct numeric_text numeric_text_read(const char *text, size_t length)
{
    const char *p = text, *const end = text + length;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n'))
        p++;
    struct numeric_text number = {.is_negative = p < end && *p == '-'};
    p = numeric_whole_read(&number, p + number.is_negative, end);
    number.fraction = p;
    if (p < end && *p == '.') {
        number.fraction = ++p;
        while (p < end && numeric_is_digit(*p))
            p++;
        const char *fraction_end = p;
        while (fraction_end > number.fraction && fraction_end[-1] == '0')
            fraction_end--;
        number.fraction_digits = (size_t)(fraction_end - number.fraction);
    }
    if (number.whole_digits + number.fraction_digits == 0)
        number.is_negative = false;
    else if (!number.is_grouped && p < end)
        number.suffix = *p;
    return number;
}

/* The order of a suffix: 0 for none, 1 for K and k, up to 10 for Q. */
static inline int numeric_suffix_order(char suffix)
{
    switch (suffix) {
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

#endif
