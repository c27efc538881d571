/* decimal_key.cc - see decimal_key.h.
 *
 * Word 0 is laid out in core/line_image.h.
 *
 * Word 1 and all that follow: 18 digits each, then two bits, 1 if no others follow, else 2, or 0 if
 * the number is negative: 4 * 10^18 < 2^64.
 */
#include "formats/decimal_key.h"
#include "formats/number_digits.h"

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

inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Blank is what -b skips. */
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

/* Reads the digits before the point from p on; returns where they end. */
const char *scan_whole(const char *p, const char *end, struct decimal_text *decimal)
{
    for (; p < end && (*p == '0' || *p == DECIMAL_SEPARATOR); ++p)
        decimal->is_parted |= *p == DECIMAL_SEPARATOR;
    decimal->whole = p;
    for (; p < end && (is_digit(*p) || *p == DECIMAL_SEPARATOR); ++p) {
        if (*p == DECIMAL_SEPARATOR) {
            decimal->is_parted = true;
            continue;
        }
        ++decimal->whole_digits;
        if (*p != '0')
            decimal->digits = decimal->whole_digits;
    }
    return p;
}

/* The same behind the point. */
const char *scan_fraction(const char *p, const char *end, struct decimal_text *decimal)
{
    decimal->fraction = p;
    for (; p < end && is_digit(*p); ++p)
        if (*p != '0')
            decimal->digits = decimal->whole_digits + (size_t)(p - decimal->fraction) + 1;
    return p;
}

/* Goes to a digit, from the last one that was gone to if that is before it. */
void seek_digit(struct decimal_text *decimal, size_t digit)
{
    if (digit >= decimal->whole_digits) {
        decimal->next = decimal->fraction + (digit - decimal->whole_digits);
    } else if (!decimal->is_parted) {
        decimal->next = decimal->whole + digit;
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

/* The digits [first, first + count) as an integer. */
uint64_t digits_value(struct decimal_text *decimal, size_t first, unsigned count)
{
    uint64_t value = 0;
    for (size_t i = first; i < first + count; ++i) {
        value *= 10;
        if (i >= decimal->digits)
            continue;
        if (i == first || i == decimal->whole_digits || decimal->is_parted)
            seek_digit(decimal, i);
        value += (uint64_t)(*decimal->next++ - '0');
        ++decimal->next_digit;
    }
    return value;
}

/* How many digits word 0 holds. */
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

/* Word 0 of a number whose digits it holds all, eight digits at a time; any other the careful way.
 */
template <bool has_suffix>
inline uint64_t key_of(const char *text, size_t length)
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
    p = scan_whole(p + negative, end, decimal);
    if (p < end && *p == '.')
        p = scan_fraction(p + 1, end, decimal);
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

uint64_t decimal_key(const char *text, size_t length)
{
    return key_of<false>(text, length);
}

uint64_t decimal_suffix_key(const char *text, size_t length)
{
    return key_of<true>(text, length);
}
