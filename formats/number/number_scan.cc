/* SPDX-License-Identifier: Apache-2.0 */
/* number_scan.cc - see number_scan.h. */
#include "formats/number/number_scan.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace
{

/* Greater exponents are read as this one: no text has enough digits, even counted in bits, to make
 * up for it. */
constexpr int64_t EXPONENT_LIMIT = (int64_t)1 << 60;

/* With an exponent beyond it, in either direction, every value of NUMBER_DIGITS_MAX digits is out
 * of any type's range. */
constexpr int64_t SPELLED_EXPONENT_LIMIT = 1000000;

unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    const char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a') + 10 : 255;
}

bool is_word(char c)
{
    return digit_value(c) < 10 || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

/* Returns whether [begin, end) starts with the word, in upper or lower case. The word itself is in
 * lower case. */
bool starts_with(const char *begin, const char *end, const char *word)
{
    for (; *word != 0; ++word, ++begin)
        if (begin == end || (*begin | 0x20) != *word)
            return false;
    return true;
}

/* Scans inf, infinity, nan and nan(n-char-sequence). */
bool scan_word(struct number_scan *scan)
{
    const char *const begin = scan->begin, *const end = scan->end;
    if (starts_with(begin, end, "inf")) {
        scan->form = FORM_INFINITY;
        scan->end = begin + (starts_with(begin, end, "infinity") ? 8 : 3);
        return true;
    }
    if (!starts_with(begin, end, "nan"))
        return false;
    scan->form = FORM_NAN;
    scan->end = begin + 3;
    if (scan->end < end && *scan->end == '(') {
        const char *const close = std::find_if_not(scan->end + 1, end, is_word);
        scan->end = close < end && *close == ')' ? close + 1 : scan->end;
    }
    return true;
}

/* Returns the position of a digit, counted from the units: 0 for the units, negative after the
 * point. */
int64_t digit_place(const char *digit, const char *point)
{
    return digit < point ? point - digit - 1 : point - digit;
}

/* Moves scan->last, and scan->first if it is not set, to digits of [run, end) that are not 0, if
 * there are any. */
void note_digits(struct number_scan *scan, const char *run, const char *end)
{
    const char *const first = std::find_if(run, end, [](char c) { return c != '0'; });
    if (first == end)
        return;
    while (end[-1] == '0')
        --end;
    scan->first = scan->first == nullptr ? first : scan->first;
    scan->last = end - 1;
}

/* Reads the digits and the point from *position on; returns false if there is no digit. Sets the
 * exponent, in digits, of the last digit that is not 0. */
bool scan_digits(struct number_scan *scan, unsigned base, const char **position)
{
    const char *const begin = *position;
    const char *p = begin, *point = nullptr;
    bool any = false;
    scan->first = scan->last = nullptr;
    for (;;) {
        const char *const run = p;
        p = base == 10 ? digits_end(begin, p, scan->end)
                       : std::find_if(p, scan->end, [](char c) { return digit_value(c) >= 16; });
        any |= p > run;
        note_digits(scan, run, p);
        if (p == scan->end || *p != '.' || point != nullptr)
            break;
        point = p++;
    }
    *position = p;
    point = point == nullptr ? p : point;
    scan->exponent = 0;
    scan->digits = 0;
    if (scan->first != nullptr) {
        scan->exponent = digit_place(scan->last, point);
        scan->digits = (size_t)(digit_place(scan->first, point) - scan->exponent) + 1;
    }
    return any;
}

/* Reads [letter [+-] digits] at the end of the number, if it is there. */
void scan_exponent(struct number_scan *scan, char letter, const char *text_end)
{
    const char *p = scan->end;
    if (p == text_end || (*p | 0x20) != letter)
        return;
    ++p;
    const bool negative = p < text_end && *p == '-';
    if (p < text_end && (*p == '-' || *p == '+'))
        ++p;
    if (p == text_end || digit_value(*p) > 9)
        return;
    int64_t exponent = 0;
    for (; p < text_end && digit_value(*p) <= 9; ++p)
        exponent =
            exponent < EXPONENT_LIMIT / 10 ? exponent * 10 + digit_value(*p) : EXPONENT_LIMIT;
    scan->exponent += negative ? -exponent : exponent;
    scan->end = p;
}

/* Reads a hexadecimal number from after its 0x on; returns false if there is no digit. */
bool scan_hex(struct number_scan *scan, const char *digits)
{
    const char *const text_end = scan->end;
    if (!scan_digits(scan, 16, &digits))
        return false;
    scan->form = FORM_HEX;
    scan->exponent *= 4;
    scan->end = digits;
    scan_exponent(scan, 'p', text_end);
    return true;
}

} // namespace

uint64_t number_scan_integer(const struct number_scan *scan, size_t count)
{
    const uint64_t base = scan->form == FORM_HEX ? 16 : 10;
    uint64_t value = 0;
    for (const char *p = scan->first; count > 0; ++p) {
        if (*p == '.')
            continue;
        value = value * base + digit_value(*p);
        --count;
    }
    return value;
}

bool number_scan_prefix(const char *text, size_t length, struct number_scan *scan)
{
    const char *const end = text + length;
    const char *p = number_skip_blanks(text, end);
    *scan = number_scan{};
    if (p < end && (*p == '-' || *p == '+'))
        scan->negative = *p++ == '-';
    scan->begin = p;
    scan->end = end;
    if (p == end)
        return false;
    if (digit_value(*p) > 9 && *p != '.')
        return scan_word(scan);
    if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x' && scan_hex(scan, p + 2))
        return true;
    scan->form = FORM_DECIMAL;
    if (!scan_digits(scan, 10, &p))
        return false;
    scan->end = p;
    scan_exponent(scan, 'e', end);
    return true;
}

bool number_scan_text(const char *text, size_t length, struct number_scan *scan)
{
    const char *begin = text, *end = text + length;
    number_trim(&begin, &end);
    return number_scan_prefix(begin, (size_t)(end - begin), scan) && scan->end == end;
}

/* Writes up to NUMBER_DIGITS_MAX significant digits, a 1 in place of all others, and the exponent
 * that fits the written digits. */
static void spell_digits(const struct number_scan *scan, char *out)
{
    const bool is_hex = scan->form == FORM_HEX;
    const size_t kept = std::min(scan->digits, NUMBER_DIGITS_MAX);
    out = is_hex ? stpcpy(out, "0x") : out;
    size_t left = kept;
    for (const char *p = scan->first; left > 0; ++p) {
        if (*p != '.') {
            *out++ = *p;
            --left;
        }
    }
    size_t dropped = scan->digits - kept;
    if (dropped > 0) {
        *out++ = '1';
        --dropped;
    }
    int64_t exponent = scan->exponent + (int64_t)dropped * (is_hex ? 4 : 1);
    exponent = std::clamp(exponent, -SPELLED_EXPONENT_LIMIT, SPELLED_EXPONENT_LIMIT);
    snprintf(out, 16, "%c%d", is_hex ? 'p' : 'e', (int)exponent);
}

void number_scan_spell(const struct number_scan *scan, char spelling[NUMBER_SPELLING_MAX])
{
    char *out = spelling;
    if (scan->negative)
        *out++ = '-';
    const size_t length = (size_t)(scan->end - scan->begin);
    if (scan->form == FORM_INFINITY) {
        strcpy(out, "inf");
    } else if (scan->form == FORM_NAN) {
        const bool fits = length < NUMBER_SPELLING_MAX - 1;
        memcpy(out, fits ? scan->begin : "nan", fits ? length : 3);
        out[fits ? length : 3] = 0;
    } else if (scan->first == nullptr) {
        strcpy(out, "0");
    } else {
        spell_digits(scan, out);
    }
}
