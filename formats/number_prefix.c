/* number_prefix.c - see number_prefix.h. The grammar is that of ISO C11, 7.22.1.3: "1x" is 1,
 * "0x" is 0, "1e+" is 1, "infinit" is inf, "nan(x" is nan.
 */
#include "formats/number_prefix.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_decimal(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter_up_to(char c, char last)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= last;
}

static bool is_digit(char c, bool is_hex)
{
    return is_decimal(c) || (is_hex && is_letter_up_to(c, 'f'));
}

static bool starts_with(const char *p, const char *end, const char *word)
{
    const size_t length = strlen(word);
    return (size_t)(end - p) >= length && strncasecmp(p, word, length) == 0;
}

/* inf, infinity, nan, nan(n-char-sequence); p if there is none. */
static const char *skip_word(const char *p, const char *end)
{
    if (starts_with(p, end, "infinity"))
        return p + 8;
    if (starts_with(p, end, "inf"))
        return p + 3;
    if (!starts_with(p, end, "nan"))
        return p;
    p += 3;
    const char *q = p;
    if (q == end || *q != '(')
        return p;
    do
        q++;
    while (q < end && (is_decimal(*q) || is_letter_up_to(*q, 'z') || *q == '_'));
    return q < end && *q == ')' ? q + 1 : p;
}

/* Digits, with a point before, between or behind them; p if there are none. */
static const char *skip_digits(const char *p, const char *end, bool is_hex)
{
    const char *q = p;
    size_t digits = 0;
    for (bool has_point = false; q < end; q++) {
        if (is_digit(*q, is_hex))
            digits++;
        else if (*q == '.' && !has_point)
            has_point = true;
        else
            break;
    }
    return digits > 0 ? q : p;
}

/* The letter, maybe a sign, and digits; p if that is not what stands there. */
static const char *skip_exponent(const char *p, const char *end, char letter)
{
    if (p == end || (*p | 0x20) != letter)
        return p;
    const char *q = p + 1;
    if (q < end && (*q == '+' || *q == '-'))
        q++;
    const char *const digits = q;
    while (q < end && is_decimal(*q))
        q++;
    return q > digits ? q : p;
}

struct line_span number_prefix_find(const char *text, size_t length)
{
    const char *begin = text, *const end = text + length;
    while (begin < end && is_space(*begin))
        begin++;
    const char *const number = begin < end && (*begin == '-' || *begin == '+') ? begin + 1 : begin;
    const char *p = number;
    if (end - number > 2 && number[0] == '0' && (number[1] | 0x20) == 'x') {
        p = skip_digits(number + 2, end, true);
        if (p > number + 2)
            p = skip_exponent(p, end, 'p');
        else
            p = number + 1;
    } else {
        p = skip_digits(number, end, false);
        p = p > number ? skip_exponent(p, end, 'e') : skip_word(number, end);
    }
    return (struct line_span){begin, p > number ? (size_t)(p - begin) : 0};
}
