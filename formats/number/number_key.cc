/* SPDX-License-Identifier: Apache-2.0 */
/* number_key.cc - see number_key.h. First the numbers of `sort -g`, then those of `sort -n` and -h.
 *
 * For -g, the image by which a line is sorted, and the value from which it is made:
 *
 *   text -> value: the long double that strtold(3) returns -> the double nearest to it -> ordered
 *   bits
 *
 * `sort -g` compares long doubles. The image is a monotone function of the long double alone. So
 * equal values have equal images, in all spellings, and the order of images never contradicts the
 * order of values. (The double nearest to the text itself would not do: two texts on either side of
 * the middle between two doubles can have the same long double, and would get different images.)
 *
 * Three methods find the value, from the fastest and most frequent to the slowest and rarest:
 *
 *   1. up to 19 digits, |exponent| <= 27: one multiplication or division of two exact long doubles,
 *      which is correctly rounded (Clinger, "How to read floating point numbers accurately", 1990);
 *   2. a decimal of a double's range: a product with a small bounded error; if both ends of the
 *      error interval have the same nearest double, this is it;
 *   3. strtold(3) on a bounded spelling of the number.
 *
 * Exact images. `exact` is set for decimals of at most 15 significant digits, not counting zeros at
 * their end (and for hexadecimal integers that have such a decimal), well inside a double's range.
 * It depends on the decimal and the image alone, not on the method. Two different such numbers, a <
 * b, never share an image d. Both are multiples of the last of a's 15 places, so b - a > a *
 * 10^-15. Numbers that share an image differ by at most (1 + 2^-10) units in the last place of d
 * (the nearest double of the nearest long double is at most 1/2 + 2^-12 units away), and such a
 * unit is at most d * 2^-52 < a * 2.3e-16. Zero and the infinities are exact too; numbers that get
 * their images by underflow or overflow are not. NaNs are equal except for their sign, as in the
 * newest sort(1); a payload is compared only as text.
 */
#include "formats/number/number_key.h"

#include "core/byte_words.h"
#include "core/line/line_key.h"
#include "formats/number/number_scan.h"

#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <cstring>

static_assert(LDBL_MANT_DIG >= 64 && LDBL_MAX_EXP >= 16384,
              "long double must be wider than double: x87's, or IEEE 754's of 128 bits");

namespace
{

constexpr int FINE_POWERS = 28;

/* 10^0 to 10^27 are exact in 64 bits of significand: 5^27 < 2^63. */
constexpr long double fine_powers[FINE_POWERS] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                                  1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                                  1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                                  1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

/* 10^(28 i), i from -11 to 11, rounded. */
constexpr int COARSE_ZERO = 11;
constexpr long double coarse_powers[] = {1e-308L, 1e-280L, 1e-252L, 1e-224L, 1e-196L, 1e-168L,
                                         1e-140L, 1e-112L, 1e-84L,  1e-56L,  1e-28L,  1e0L,
                                         1e28L,   1e56L,   1e84L,   1e112L,  1e140L,  1e168L,
                                         1e196L,  1e224L,  1e252L,  1e280L,  1e308L};

/* Far inside the normal doubles, so that rounding errors are relative. */
constexpr long double SAFE_LEAST = 1e-290L, SAFE_GREATEST = 1e290L;

/* A decimal of up to 19 digits: mantissa * 10^exponent. Further digits (is_cut) add less than one
 * unit of the mantissa. */
struct decimal {
    uint64_t mantissa;
    int exponent;
    bool negative;
    bool is_cut;
};

/* Adds the exponent [e [+-] digits] from p to the end, of up to 4 digits, to *exponent. Adds
 * nothing if p is the end. Returns false for any other text. */
inline bool read_exponent(const char *begin, const char *p, const char *end, int *exponent)
{
    if (p == end)
        return true;
    if ((*p | 0x20) != 'e' || ++p == end)
        return false;
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        ++p;
    uint64_t magnitude = 0;
    const char *const digits = p;
    p = digits_read(begin, p, end, &magnitude);
    if (p != end || p == digits || p - digits > 4)
        return false;
    *exponent += negative ? -(int)magnitude : (int)magnitude;
    return true;
}

/* Whether a text must be one number and nothing else, or only begin with one. */
enum class reading { whole, prefix };

/* Returns where read_decimal() stops looking for digits from p on: after more than the 19 digits
 * that it accepts. */
inline const char *digits_limit(const char *p, const char *end)
{
    return end - p > 24 ? p + 24 : end;
}

/* Reads the common spellings, of at most 19 digits. Returns false for all others, which may be
 * numbers or not. */
template <reading mode>
inline bool read_decimal(const char *text, size_t length, struct decimal *decimal)
{
    const char *p = text, *end = text + length;
    if (mode == reading::whole)
        number_trim(&p, &end);
    else
        p = number_skip_blanks(p, end);
    if (p == end)
        return false;
    const char *const begin = p;
    decimal->negative = *p == '-';
    p += (*p == '-') | (*p == '+');
    uint64_t mantissa = 0;
    const char *const whole = p;
    p = digits_read(begin, p, digits_limit(p, end), &mantissa);
    ptrdiff_t digits = p - whole, places = 0;
    if (p < end && *p == '.') {
        const char *const fraction = ++p;
        p = digits_read(begin, p, digits_limit(p, end), &mantissa);
        places = p - fraction;
        digits += places;
    }
    if (digits == 0 || digits > 19)
        return false;
    decimal->mantissa = mantissa;
    decimal->exponent = (int)-places;
    decimal->is_cut = false;
    /* Anything may follow a prefix, except characters that may make the number longer. */
    if (mode == reading::prefix && p < end && (*p | 0x20) != 'e' && (*p | 0x20) != 'x')
        return true;
    return read_exponent(begin, p, end, &decimal->exponent);
}

/* Sets *decimal to a scanned decimal, cut to its first 19 digits. Returns false if it has more than
 * 1,000,000 digits, or an exponent beyond 1,000,000 in either direction. */
bool cut_decimal(const struct number_scan *scan, struct decimal *decimal)
{
    if (scan->exponent < -1000000 || scan->exponent > 1000000 || scan->digits > 1000000)
        return false;
    const size_t kept = scan->digits < 19 ? scan->digits : 19;
    decimal->mantissa = number_scan_integer(scan, kept);
    decimal->exponent = (int)scan->exponent + (int)(scan->digits - kept);
    decimal->negative = scan->negative;
    decimal->is_cut = kept < scan->digits;
    return true;
}

/* Method 1, for a decimal that is not cut. */
inline bool exact_decimal(const struct decimal *decimal, long double *magnitude)
{
    const int exponent = decimal->exponent;
    if (exponent <= -FINE_POWERS || exponent >= FINE_POWERS)
        return false;
    const long double mantissa = decimal->mantissa;
    *magnitude =
        exponent < 0 ? mantissa / fine_powers[-exponent] : mantissa * fine_powers[exponent];
    return true;
}

/* Method 2. The rounded coarse power and two products have an error of less than 4 * 2^-64 in all,
 * and strtold rounds once more. Digits cut off a mantissa of 19 digits add up to 10^-18 < 2^-59.
 * The margins are several times as wide. */
bool bounded_decimal(const struct decimal *decimal, double *magnitude)
{
    const int exponent = decimal->exponent;
    if (decimal->mantissa == 0 || exponent < -308 || exponent > 308)
        return false;
    const int coarse = (exponent + COARSE_ZERO * FINE_POWERS) / FINE_POWERS;
    const int fine = exponent + COARSE_ZERO * FINE_POWERS - coarse * FINE_POWERS;
    const long double product =
        (long double)decimal->mantissa * fine_powers[fine] * coarse_powers[coarse];
    if (!(product > SAFE_LEAST && product < SAFE_GREATEST))
        return false;
    const long double margin = product * (decimal->is_cut ? 0x1p-57L : 0x1p-60L);
    const double low = (double)(product - margin), high = (double)(product + margin);
    *magnitude = low;
    return low == high;
}

/* Method 3. */
long double spelled_value(const struct number_scan *scan)
{
    char spelling[NUMBER_SPELLING_MAX];
    number_scan_spell(scan, spelling);
    return strtold(spelling, nullptr);
}

inline uint64_t bits_of(double magnitude)
{
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    return bits;
}

/* Makes the image of any number that fast_image() refuses: hexadecimal numbers, words, many digits,
 * great exponents. */
void careful_image(const struct number_scan *scan, uint64_t *image, bool *exact)
{
    *exact = true;
    if (scan->form == FORM_NAN) {
        *image = scan->negative ? NUMBER_IMAGE_NEGATIVE_NAN : NUMBER_IMAGE_POSITIVE_NAN;
        return;
    }
    if (scan->form == FORM_INFINITY) {
        *image = number_image(NUMBER_BITS_INFINITY, scan->negative);
        return;
    }
    if (scan->first == nullptr) {
        *image = number_image(0, false);
        return;
    }
    struct decimal decimal;
    double magnitude;
    const bool is_short = scan->form == FORM_DECIMAL && cut_decimal(scan, &decimal);
    if (!is_short || !bounded_decimal(&decimal, &magnitude)) {
        const long double wide = fabsl(spelled_value(scan));
        magnitude = (double)wide;
        *exact = scan->form == FORM_HEX && scan->digits <= 16 && wide >= 1 &&
                 wide < NUMBER_EXACT_LIMIT && wide == floorl(wide);
    }
    if (is_short)
        *exact = !decimal.is_cut && number_image_is_exact(decimal.mantissa, bits_of(magnitude));
    *image = number_image(bits_of(magnitude), scan->negative);
}

/* Makes the image of a common spelling; returns false for all others. */
template <reading mode>
inline bool fast_image(const char *text, size_t length, uint64_t *image, bool *exact)
{
    struct decimal decimal;
    long double wide;
    double magnitude;
    if (!read_decimal<mode>(text, length, &decimal))
        return false;
    if (exact_decimal(&decimal, &wide))
        magnitude = (double)wide;
    else if (!bounded_decimal(&decimal, &magnitude))
        return false;
    const uint64_t bits = bits_of(magnitude);
    *image = number_image(bits, decimal.negative);
    *exact = number_image_is_exact(decimal.mantissa, bits);
    return true;
}

} // namespace

bool number_line_image(const char *text, size_t length, uint64_t *image, bool *exact)
{
    struct number_scan scan;
    if (fast_image<reading::whole>(text, length, image, exact))
        return true;
    if (!number_scan_text(text, length, &scan))
        return false;
    careful_image(&scan, image, exact);
    return true;
}

bool number_prefix_image(const char *text, size_t length, uint64_t *image, bool *exact)
{
    struct number_scan scan;
    if (fast_image<reading::prefix>(text, length, image, exact))
        return true;
    if (number_scan_prefix(text, length, &scan)) {
        careful_image(&scan, image, exact);
    } else {
        *image = NUMBER_IMAGE_NONE;
        *exact = true;
    }
    return true;
}

uint64_t number_prefix_class(const char *text, size_t length, long double *value)
{
    struct decimal decimal;
    struct number_scan scan;
    if (read_decimal<reading::prefix>(text, length, &decimal) && exact_decimal(&decimal, value)) {
        *value = decimal.negative ? -*value : *value;
        return NUMBER_IMAGE_LEAST;
    }
    if (!number_scan_prefix(text, length, &scan))
        return NUMBER_IMAGE_NONE;
    *value = spelled_value(&scan);
    if (!std::isnan(*value))
        return NUMBER_IMAGE_LEAST;
    return std::signbit(*value) ? NUMBER_IMAGE_NEGATIVE_NAN : NUMBER_IMAGE_POSITIVE_NAN;
}

/* ---- -n and -h ----
 *
 * core/line/line_image.h has the layout of word 0. Word 1 and all later words have 18 digits each,
 * then two bits: 1 if no digits follow; otherwise 2, or 0 for a negative number, whose digits are
 * subtracted from 10^18 - 1. A word has room for this, as 4 * 10^18 < 2^64. */

namespace
{

constexpr unsigned WORD_DIGITS = 18;

static_assert(DECIMAL_UNIT == powers[DECIMAL_DIGITS]);
static_assert(DECIMAL_SUFFIX_UNIT == powers[DECIMAL_SUFFIX_DIGITS]);
static_assert(DECIMAL_LONG_PART == powers[DECIMAL_LONG_LESS]);
static_assert(11 * DECIMAL_SUFFIX_UNITS * DECIMAL_SUFFIX_UNIT < (uint64_t)1 << 62);
static_assert(DECIMAL_SUFFIX_UNITS * DECIMAL_UNIT < (uint64_t)1 << 62);
static_assert(4 * (unsigned __int128)powers[WORD_DIGITS] <= UINT64_MAX);

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

/* Sets decimal->digits to `before` plus the digits [p, end) without zeros at the end. Keeps it if
 * all of these are 0. */
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
    decimal->whole = skip_zeros(p, end);
    p = digits_end(begin, decimal->whole, end);
    count_digits(decimal->whole, p, 0, decimal);
    decimal->whole_digits = (size_t)(p - decimal->whole);
    return p;
}

const char *scan_fraction(const char *begin, const char *p, const char *end,
                          struct decimal_text *decimal)
{
    decimal->fraction = p;
    p = digits_end(begin, p, end);
    count_digits(decimal->fraction, p, decimal->whole_digits, decimal);
    return p;
}

uint64_t append_digits(uint64_t value, const char *digits, size_t count)
{
    for (; count >= 8; digits += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, digits, 8);
        value = value * powers[8] + digits_value_of_eight(word ^ DIGITS_ZERO);
    }
    if (count == 0)
        return value;
    const uint64_t word = (bytes_load_short(digits, count) ^ DIGITS_ZERO) << 8 * (8 - count);
    return value * powers[count] + digits_value_of_eight(word);
}

/* Returns the digits [first, first + count) as an integer; digits after the last one are 0. */
uint64_t digits_value(const struct decimal_text *decimal, size_t first, unsigned count)
{
    const size_t end = first + count < decimal->digits ? first + count : decimal->digits;
    if (end <= first)
        return 0;
    const size_t whole_end = end < decimal->whole_digits ? end : decimal->whole_digits;
    uint64_t value = 0;
    size_t at = first;
    if (at < whole_end) {
        value = append_digits(value, decimal->whole + at, whole_end - at);
        at = whole_end;
    }
    if (at < end)
        value = append_digits(value, decimal->fraction + (at - decimal->whole_digits), end - at);
    return value * powers[first + count - end];
}

unsigned first_word_digits(const struct decimal_text *decimal)
{
    return decimal_first_digits(decimal->has_suffix, decimal->whole_digits);
}

uint64_t first_word(const struct decimal_text *decimal)
{
    const unsigned kept = first_word_digits(decimal);
    return decimal_first_word(decimal->has_suffix, decimal->suffix, decimal->whole_digits,
                              digits_value(decimal, 0, kept), decimal->digits > kept,
                              decimal->negative);
}

/* Returns word 0. If it holds all digits, they are read eight at once; other numbers are read by
 * decimal_scan(). */
template <bool has_suffix>
inline uint64_t image_of(const char *text, size_t length)
{
    constexpr ptrdiff_t most = has_suffix ? DECIMAL_SUFFIX_DIGITS : DECIMAL_DIGITS;
    const char *const end = text + length;
    const char *const begin = line_skip_blanks(text, end);
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
    if (digits > most) {
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
    const char *p = line_skip_blanks(text, end);
    const bool negative = p < end && *p == '-';
    *decimal = decimal_text{};
    decimal->has_suffix = has_suffix;
    p = scan_whole(text, p + negative, end, decimal);
    if (p < end && *p == '.')
        p = scan_fraction(text, p + 1, end, decimal);
    decimal->negative = negative && decimal->digits > 0;
    if (has_suffix && decimal->digits > 0)
        decimal->suffix = suffix_at(p, end);
}

uint64_t decimal_word(const struct decimal_text *decimal, size_t index)
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
    if (a->whole_digits != b->whole_digits)
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
