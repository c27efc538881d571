/* decimal_key.cc - see decimal_key.h.
 *
 * Word 0, from the top: one bit, 1 unless the number is negative; 62 bits of body; one bit that
 * says that further digits follow, which are not all 0. The words of a negative number are
 * complemented. The body grows with the suffix first, then with the number of digits before the
 * point, then with the first digits themselves:
 *
 *   suffix * 33 U + one of   W U + the first D digits                  W < 31
 *                            31 U + (W - 31) U / 1000 + the first D - 3      W < 1031
 *                            32 U + W                                  W >= 1031
 *
 * where W digits stand before the point, U = 10^D, and D = 17, or 16 if there are suffixes, of
 * which the greatest is 10: 11 * 33 * 10^16 < 2^62, and 33 * 10^17 too. No text is as long as U.
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

constexpr unsigned DIGITS = 17, SUFFIX_DIGITS = 16;
constexpr size_t WHOLE_SHORT = 31, WHOLE_LONG = 1031;
constexpr unsigned LONG_LESS = 3; /* digits fewer from WHOLE_SHORT on */
constexpr unsigned WORD_DIGITS = 18;
constexpr uint64_t SUFFIX_UNITS = 33;

static_assert(11 * SUFFIX_UNITS * powers[SUFFIX_DIGITS] < (uint64_t)1 << 62);
static_assert(SUFFIX_UNITS * powers[DIGITS] < (uint64_t)1 << 62);
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

/* What GNU sort takes for the separator of thousands. */
constexpr char SEPARATOR = (char)0x80;

inline unsigned suffix_at(const char *p, const char *end)
{
    if (p == end)
        return 0;
    switch (*p) {
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

/* Reads the digits before the point from p on; returns where they end. */
const char *scan_whole(const char *p, const char *end, struct decimal_text *decimal)
{
    for (; p < end && (*p == '0' || *p == SEPARATOR); ++p)
        decimal->is_parted |= *p == SEPARATOR;
    decimal->whole = p;
    for (; p < end && (is_digit(*p) || *p == SEPARATOR); ++p) {
        if (*p == SEPARATOR) {
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
            left -= *decimal->next != SEPARATOR;
        while (*decimal->next == SEPARATOR)
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
    const unsigned most = decimal->has_suffix ? SUFFIX_DIGITS : DIGITS;
    if (decimal->whole_digits < WHOLE_SHORT)
        return most;
    return decimal->whole_digits < WHOLE_LONG ? most - LONG_LESS : 0;
}

inline uint64_t make_first_word(uint64_t body, bool more, bool negative)
{
    const uint64_t word = (uint64_t)1 << 63 | body << 1 | more;
    return negative ? ~word : word;
}

uint64_t first_word(struct decimal_text *decimal)
{
    const unsigned kept = first_word_digits(decimal);
    const uint64_t unit = powers[decimal->has_suffix ? SUFFIX_DIGITS : DIGITS];
    const uint64_t whole = decimal->whole_digits;
    uint64_t body = decimal->suffix * SUFFIX_UNITS * unit + digits_value(decimal, 0, kept);
    if (whole < WHOLE_SHORT)
        body += whole * unit;
    else if (whole < WHOLE_LONG)
        body += WHOLE_SHORT * unit + (whole - WHOLE_SHORT) * (unit / powers[LONG_LESS]);
    else
        body += (WHOLE_SHORT + 1) * unit + whole;
    return make_first_word(body, decimal->digits > kept, decimal->negative);
}

/* Word 0 of a number whose digits it holds all, eight digits at a time; any other the careful way.
 */
template <bool has_suffix>
inline uint64_t key_of(const char *text, size_t length)
{
    constexpr ptrdiff_t most = has_suffix ? SUFFIX_DIGITS : DIGITS;
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
    if (digits > most || (p < end && *p == SEPARATOR)) {
        struct decimal_text decimal;
        decimal_scan(text, length, has_suffix, &decimal);
        return first_word(&decimal);
    }
    uint64_t body = (uint64_t)whole_digits * powers[most] + value * powers[most - digits];
    if (has_suffix && value != 0)
        body += suffix_at(p, end) * SUFFIX_UNITS * powers[most];
    return make_first_word(body, false, negative && value != 0);
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
