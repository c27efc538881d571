/* SPDX-License-Identifier: Apache-2.0 */
/* decimal_key.cc - see number_key.h.
 *
 * core/line/line_key.h has the layout of word 0. Word 1 and all later words have 18 digits each,
 * then two bits: 1 if no digits follow; otherwise 2, or 0 for a negative number. They fit, as 4 *
 * 10^18 < 2^64.
 */
#include "formats/number/number_key.h"

#include "core/byte_words.h"
#include "formats/number/number_scan.h"

namespace
{

constexpr uint64_t powers[] = {1,
                               10,
                               100,
                               1000,
                               10000,
                               100000,
                               1000000,
                               10000000,
                               100000000,
                               1000000000,
                               10000000000,
                               100000000000,
                               1000000000000,
                               10000000000000,
                               100000000000000,
                               1000000000000000,
                               10000000000000000,
                               100000000000000000,
                               1000000000000000000};

constexpr unsigned WORD_DIGITS = 18;

static_assert(DECIMAL_UNIT == powers[DECIMAL_DIGITS]);
static_assert(DECIMAL_SUFFIX_UNIT == powers[DECIMAL_SUFFIX_DIGITS]);
static_assert(DECIMAL_LONG_PART == powers[DECIMAL_LONG_LESS]);
static_assert(11 * DECIMAL_SUFFIX_UNITS * DECIMAL_SUFFIX_UNIT < (uint64_t)1 << 62);
static_assert(DECIMAL_SUFFIX_UNITS * DECIMAL_UNIT < (uint64_t)1 << 62);
static_assert(4 * (unsigned __int128)powers[WORD_DIGITS] <= UINT64_MAX);

/* Skips the blanks that -b skips. */
inline const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n'))
        ++p;
    return p;
}

inline const char *skip_zeros(const char *p, const char *end)
{
    while (p < end && *p == '0')
        ++p;
    return p;
}

inline unsigned suffix_at(const char *p, const char *end)
{
    return p == end ? 0 : decimal_suffix_of(*p);
}

/* Counts the digits [p, end), which have no separator between them, after `before` digits that were
 * read before. Zeros at the end are not counted. */
void count_digits(const char *p, const char *end, size_t before, struct decimal_text *decimal)
{
    const char *last = end;
    while (last - p >= 8 && memcmp(last - 8, "00000000", 8) == 0)
        last -= 8;
    while (last > p && last[-1] == '0')
        --last;
    if (last > p)
        decimal->digits = before + (size_t)(last - p);
}

/* Reads the digits before the point, from p on. Returns where they end. */
const char *scan_whole(const char *begin, const char *p, const char *end,
                       struct decimal_text *decimal)
{
    for (; p < end && (*p == '0' || *p == DECIMAL_SEPARATOR); ++p)
        decimal->is_parted |= *p == DECIMAL_SEPARATOR;
    decimal->whole = p;
    for (;; ++p) {
        const char *const piece = p;
        p = digits_end(begin, p, end);
        count_digits(piece, p, decimal->whole_digits, decimal);
        decimal->whole_digits += (size_t)(p - piece);
        if (p == end || *p != DECIMAL_SEPARATOR)
            return p;
        decimal->is_parted = true;
    }
}

/* Reads the digits after the point. Returns where they end. */
const char *scan_fraction(const char *begin, const char *p, const char *end,
                          struct decimal_text *decimal)
{
    decimal->fraction = p;
    p = digits_end(begin, p, end);
    count_digits(decimal->fraction, p, decimal->whole_digits, decimal);
    return p;
}

/* Moves to a digit of a number with separators, from the last digit that was read if that is before
 * it. */
void seek_digit(struct decimal_text *decimal, size_t digit)
{
    if (digit >= decimal->whole_digits) {
        decimal->next = decimal->fraction + (digit - decimal->whole_digits);
    } else {
        if (digit < decimal->next_digit || decimal->next == nullptr) {
            decimal->next = decimal->whole;
            decimal->next_digit = 0;
        }
        for (size_t left = digit - decimal->next_digit; left > 0; ++decimal->next)
            left -= *decimal->next != DECIMAL_SEPARATOR;
        while (*decimal->next == DECIMAL_SEPARATOR)
            ++decimal->next;
    }
    decimal->next_digit = digit;
}

/* Returns the digits [first, end) of a number with separators as an integer. */
uint64_t parted_digits_value(struct decimal_text *decimal, size_t first, size_t end)
{
    uint64_t value = 0;
    for (size_t i = first; i < end; ++i) {
        seek_digit(decimal, i);
        value = value * 10 + (uint64_t)(*decimal->next++ - '0');
        ++decimal->next_digit;
    }
    return value;
}

/* Appends `count` digits to the value. */
uint64_t append_digits(uint64_t value, const char *digits, size_t count)
{
    for (; count >= 8; digits += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, digits, 8);
        value = value * powers[8] + digits_value_of_eight(word ^ DIGITS_ZERO);
    }
    if (count == 0)
        return value;
    const uint64_t word = (digits_load_short(digits, count) ^ DIGITS_ZERO) << 8 * (8 - count);
    return value * powers[count] + digits_value_of_eight(word);
}

/* Returns the digits [first, first + count) as an integer; digits after the last one are 0. */
uint64_t digits_value(struct decimal_text *decimal, size_t first, unsigned count)
{
    const size_t end = first + count < decimal->digits ? first + count : decimal->digits;
    if (end <= first)
        return 0;
    uint64_t value = 0;
    if (decimal->is_parted) {
        value = parted_digits_value(decimal, first, end);
    } else {
        const size_t whole_end = end < decimal->whole_digits ? end : decimal->whole_digits;
        size_t at = first;
        if (at < whole_end) {
            value = append_digits(value, decimal->whole + at, whole_end - at);
            at = whole_end;
        }
        if (at < end)
            value =
                append_digits(value, decimal->fraction + (at - decimal->whole_digits), end - at);
    }
    return value * powers[first + count - end];
}

/* Returns the number of digits in word 0. */
unsigned first_word_digits(const struct decimal_text *decimal)
{
    return decimal_first_digits(decimal->has_suffix, decimal->whole_digits);
}

uint64_t first_word(struct decimal_text *decimal)
{
    const unsigned kept = first_word_digits(decimal);
    return decimal_first_word(decimal->has_suffix, decimal->suffix, decimal->whole_digits,
                              digits_value(decimal, 0, kept), decimal->digits > kept,
                              decimal->negative);
}

/* Returns word 0. If it holds all digits, they are read eight at once; other numbers take the
 * careful path. */
template <bool has_suffix>
inline uint64_t image_of(const char *text, size_t length)
{
    constexpr ptrdiff_t most = has_suffix ? DECIMAL_SUFFIX_DIGITS : DECIMAL_DIGITS;
    const char *const end = text + length;
    const char *const begin = skip_blanks(text, end);
    const bool negative = begin < end && *begin == '-';
    const char *p = skip_zeros(begin + negative, end);
    const char *const whole = p;
    uint64_t value = 0;
    p = digits_read(begin, p, end, &value);
    const ptrdiff_t whole_digits = p - whole;
    ptrdiff_t digits = whole_digits;
    if (p < end && *p == '.') {
        const char *const fraction = ++p;
        p = digits_read(begin, p, end, &value);
        digits += p - fraction;
    }
    if (digits > most || (p < end && *p == DECIMAL_SEPARATOR)) {
        struct decimal_text decimal;
        decimal_scan(text, length, has_suffix, &decimal);
        return first_word(&decimal);
    }
    const unsigned suffix = has_suffix && value != 0 ? suffix_at(p, end) : 0;
    return decimal_first_word(has_suffix, suffix, (uint64_t)whole_digits,
                              value * powers[most - digits], false, negative && value != 0);
}

} // namespace

void decimal_scan(const char *text, size_t length, bool has_suffix, struct decimal_text *decimal)
{
    const char *const end = text + length;
    const char *p = skip_blanks(text, end);
    const bool negative = p < end && *p == '-';
    *decimal = decimal_text{};
    decimal->has_suffix = has_suffix;
    p = scan_whole(text, p + negative, end, decimal);
    if (p < end && *p == '.')
        p = scan_fraction(text, p + 1, end, decimal);
    decimal->negative = negative && decimal->digits > 0;
    if (has_suffix && decimal->digits > 0 && !decimal->is_parted)
        decimal->suffix = suffix_at(p, end);
}

uint64_t decimal_word(struct decimal_text *decimal, size_t index)
{
    if (index == 0)
        return first_word(decimal);
    const size_t first = first_word_digits(decimal) + (index - 1) * WORD_DIGITS;
    const bool more = decimal->digits > first + WORD_DIGITS;
    const uint64_t value = digits_value(decimal, first, WORD_DIGITS);
    if (decimal->negative)
        return (powers[WORD_DIGITS] - 1 - value) << 2 | !more;
    return value << 2 | (more ? 2 : 1);
}

size_t decimal_common_words(const struct decimal_text *a, const struct decimal_text *b)
{
    if (a->is_parted || b->is_parted || a->whole_digits != b->whole_digits)
        return 1;
    const size_t limit = a->digits < b->digits ? a->digits : b->digits;
    const size_t whole = limit < a->whole_digits ? limit : a->whole_digits;
    size_t common = bytes_common(a->whole, b->whole, whole);
    if (common == a->whole_digits)
        common += bytes_common(a->fraction, b->fraction, limit - whole);
    if (common == limit && common > 0)
        --common; /* this word has further digits in both */
    const unsigned first = first_word_digits(a);
    return common > first ? 1 + (common - first) / WORD_DIGITS : 1;
}

uint64_t decimal_image(const char *text, size_t length)
{
    return image_of<false>(text, length);
}

uint64_t decimal_suffix_image(const char *text, size_t length)
{
    return image_of<true>(text, length);
}
