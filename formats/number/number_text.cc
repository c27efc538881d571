/* SPDX-License-Identifier: Apache-2.0 */
/* number_text.cc - see number_text.h.
 *
 * Reading. std::from_chars, which is correctly rounded, reads a plain decimal as a float in one
 * pass. Floats that it does not read to the end, or cannot represent, are read by number_scan, and
 * by strtod(3) or strtof(3) from a bounded spelling that rounds to the same value: hexadecimal
 * numbers, infinities, NaNs, and the edges of the range, where from_chars does not distinguish
 * overflow from underflow. An integer is read from its digits, without a float. f16 and bf16 are
 * rounded from a double. To round twice is wrong only if the double is halfway between two values
 * of the type, but the number is not. Then the double is rounded to odd instead, which keeps it on
 * the number's side (Boldo, Melquiond, "Emulation of FMA and Correctly Rounded Sums: Proved
 * Algorithms Using Rounding to Odd", 2008).
 *
 * Writing. std::to_chars gives the shortest digits of f32 and f64 (Adams, "Ryu: fast
 * float-to-string conversion", PLDI 2018). f16 and bf16 have at most 5 and 4 digits, which are
 * found by trying.
 */
#include "formats/number/number_text.h"

#include "core/key_order.h"
#include "formats/number/number_scan.h"

#include <cfenv>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <strings.h>

namespace
{

/* Reads a float or double by the C library, which is correct for every number of the grammar. */
template <typename value_type>
enum number_status parse_float_carefully(const char *text, size_t length, uint64_t *bits)
{
    struct number_scan scan;
    if (!number_scan_text(text, length, &scan))
        return NUMBER_MALFORMED;
    char spelling[NUMBER_SPELLING_MAX];
    number_scan_spell(&scan, spelling);
    value_type value;
    if constexpr (sizeof value == sizeof(float))
        value = strtof(spelling, nullptr);
    else
        value = strtod(spelling, nullptr);
    if (std::isinf(value) && scan.form != FORM_INFINITY)
        return NUMBER_OUT_OF_RANGE;
    *bits = 0;
    memcpy(bits, &value, sizeof value);
    return NUMBER_OK;
}

template <typename value_type>
enum number_status parse_float(const char *text, size_t length, uint64_t *bits)
{
    const char *begin = text, *end = text + length;
    number_trim(&begin, &end);
    const bool negative = begin < end && *begin == '-';
    if (begin < end && (*begin == '-' || *begin == '+'))
        ++begin;
    if (begin == end || *begin == '-')
        return NUMBER_MALFORMED;
    value_type value;
    const std::from_chars_result result = std::from_chars(begin, end, value);
    if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value))
        return parse_float_carefully<value_type>(text, length, bits);
    value = negative ? -value : value;
    *bits = 0;
    memcpy(bits, &value, sizeof value);
    return NUMBER_OK;
}

/* ---- Small floats, of 1 or 2 bytes, such as f16 and bf16: sign, exponent, significand ---- */

int significand_bits_of(const struct key_type *type)
{
    return 8 * (int)type->bytes - 1 - (int)type->exponent_bits;
}

int bias_of(const struct key_type *type)
{
    return (1 << (type->exponent_bits - 1)) - 1;
}

/* Returns a positive value, in units of the last place that small floats near it have. Sets
 * *exponent: a unit is 2^(*exponent - significand bits). */
double units_of_small_float(const struct key_type *type, double value, int *exponent)
{
    const int least = 1 - bias_of(type);
    frexp(value, exponent);
    *exponent = *exponent - 1 < least ? least : *exponent - 1;
    return ldexp(value, significand_bits_of(type) - *exponent);
}

/* Returns the bits of the small float nearest to a positive value, ties to even. For a value out of
 * range these are the bits of infinity, or more. */
uint64_t round_to_small_float(const struct key_type *type, double value)
{
    int exponent;
    const double units = nearbyint(units_of_small_float(type, value, &exponent));
    /* The hidden bit, if there is one, adds 1 to the exponent field; so does a carry. */
    return ((uint64_t)(exponent + bias_of(type) - 1) << significand_bits_of(type)) +
           (uint64_t)units;
}

/* Returns whether the positive value is halfway between two small floats. */
bool is_halfway(const struct key_type *type, double value)
{
    int exponent;
    const double units = units_of_small_float(type, value, &exponent);
    return units - floor(units) == 0.5;
}

/* Returns the positive decimal or hexadecimal number as a double that is rounded to odd: if the
 * number is not a double, the one of the two doubles around it whose last bit is set. strtod(3)
 * respects the rounding mode. */
double round_to_odd(const char *spelling)
{
    const int mode = fegetround();
    fesetround(FE_DOWNWARD);
    const double below = strtod(spelling, nullptr);
    fesetround(FE_UPWARD);
    const double above = strtod(spelling, nullptr);
    fesetround(mode);
    uint64_t bits;
    memcpy(&bits, &below, sizeof bits);
    return bits & 1 ? below : above;
}

enum number_status parse_small_float(const struct key_type *type, const char *text, size_t length,
                                     uint64_t *bits)
{
    const uint64_t sign = (uint64_t)1 << (8 * type->bytes - 1);
    const uint64_t infinity = key_type_infinity(type);
    uint64_t wide;
    double value;
    const enum number_status status = parse_float<double>(text, length, &wide);
    if (status != NUMBER_OK)
        return status;
    const bool is_negative = wide >> 63 != 0;
    wide &= UINT64_MAX >> 1;
    memcpy(&value, &wide, sizeof value);
    uint64_t magnitude;
    if (std::isnan(value)) {
        magnitude = infinity | (uint64_t)1 << (significand_bits_of(type) - 1); /* quiet */
    } else if (std::isinf(value)) {
        magnitude = infinity;
    } else {
        struct number_scan scan;
        char spelling[NUMBER_SPELLING_MAX];
        if (is_halfway(type, value) && number_scan_text(text, length, &scan)) {
            scan.negative = false;
            number_scan_spell(&scan, spelling);
            value = round_to_odd(spelling);
        }
        magnitude = value > 0 ? round_to_small_float(type, value) : 0;
        if (magnitude >= infinity)
            return NUMBER_OUT_OF_RANGE;
    }
    *bits = magnitude | (is_negative ? sign : 0);
    return NUMBER_OK;
}

/* ---- Integers ---- */

/* Sets the magnitude of D * 10^exponent. */
enum number_status decimal_magnitude(const struct number_scan *scan, uint64_t *magnitude)
{
    /* The last digit of D is not 0, so only a fraction has a negative exponent. */
    if (scan->exponent < 0)
        return NUMBER_FRACTION;
    if (scan->digits > 20 || scan->exponent > 20 - (int64_t)scan->digits)
        return NUMBER_OUT_OF_RANGE;
    const size_t head = scan->digits < 19 ? scan->digits : 19;
    uint64_t value = number_scan_integer(scan, head);
    if (scan->digits > head &&
        (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
         __builtin_add_overflow(value, (uint64_t)(*scan->last - '0'), &value)))
        return NUMBER_OUT_OF_RANGE;
    for (int64_t i = 0; i < scan->exponent; ++i)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value))
            return NUMBER_OUT_OF_RANGE;
    *magnitude = value;
    return NUMBER_OK;
}

/* Sets the magnitude of D * 2^exponent. */
enum number_status hex_magnitude(const struct number_scan *scan, uint64_t *magnitude)
{
    /* The last digit alone decides whether there is a bit after the point, as it is not 0. */
    struct number_scan tail = *scan;
    tail.first = scan->last;
    const int zeros = __builtin_ctzll(number_scan_integer(&tail, 1));
    if (scan->exponent + zeros < 0)
        return NUMBER_FRACTION;
    if (scan->digits > 17 || scan->exponent > 63)
        return NUMBER_OUT_OF_RANGE;
    /* 17 digits have up to 68 bits, of which the fraction, up to 3 zeros, is shifted out. */
    const unsigned __int128 head = number_scan_integer(scan, scan->digits - 1);
    unsigned __int128 value = head << 4 | number_scan_integer(&tail, 1);
    value = scan->exponent < 0 ? value >> -scan->exponent : value << scan->exponent;
    if (value >> 64 != 0 || (scan->exponent > 0 && head >> (124 - scan->exponent) != 0))
        return NUMBER_OUT_OF_RANGE;
    *magnitude = (uint64_t)value;
    return NUMBER_OK;
}

/* Stores the number -magnitude or magnitude if the type holds it. */
enum number_status store_integer(const struct key_type *type, bool negative, uint64_t magnitude,
                                 uint64_t *bits)
{
    const uint64_t mask = UINT64_MAX >> (64 - type->bytes * 8);
    uint64_t greatest = type->id == KEY_TYPE_bool ? 1 : mask, least_magnitude = 0;
    if (type->kind != KEY_UNSIGNED) {
        greatest = mask >> 1;
        least_magnitude = greatest + 1;
    }
    if (magnitude > (negative ? least_magnitude : greatest))
        return NUMBER_OUT_OF_RANGE;
    *bits = (negative ? 0 - magnitude : magnitude) & mask;
    return NUMBER_OK;
}

enum number_status parse_integer_carefully(const struct key_type *type, const char *text,
                                           size_t length, uint64_t *bits)
{
    struct number_scan scan;
    if (!number_scan_text(text, length, &scan))
        return NUMBER_MALFORMED;
    if (scan.form == FORM_INFINITY)
        return NUMBER_OUT_OF_RANGE;
    if (scan.form == FORM_NAN)
        return NUMBER_FRACTION;
    uint64_t magnitude = 0;
    if (scan.first != nullptr) {
        const enum number_status status = scan.form == FORM_HEX
                                              ? hex_magnitude(&scan, &magnitude)
                                              : decimal_magnitude(&scan, &magnitude);
        if (status != NUMBER_OK)
            return status;
    }
    return store_integer(type, scan.negative, magnitude, bits);
}

/* Reads an optional "-" and up to 19 digits, too few to overflow, directly; all other spellings
 * carefully. */
enum number_status parse_integer(const struct key_type *type, const char *text, size_t length,
                                 uint64_t *bits)
{
    const char *p = text, *end = text + length;
    const bool negative = p < end && *p == '-';
    p += negative;
    if (p == end || end - p > 19)
        return parse_integer_carefully(type, text, length, bits);
    uint64_t magnitude = 0;
    for (; p < end; ++p) {
        const unsigned digit = (unsigned char)*p - (unsigned)'0';
        if (digit > 9)
            return parse_integer_carefully(type, text, length, bits);
        magnitude = magnitude * 10 + digit;
    }
    return store_integer(type, negative, magnitude, bits);
}

/* The shortest digits of a number and the position of the point: 0.d1 d2 d3... * 10^point. */
struct decimal_digits {
    char digits[20];
    int count;
    int point;
};

void digits_from_scientific(const char *text, const char *end, struct decimal_digits *decimal)
{
    decimal->count = 0;
    for (; *text != 'e'; ++text)
        if (*text != '.')
            decimal->digits[decimal->count++] = *text;
    const char *exponent = text + (text[1] == '+' ? 2 : 1);
    std::from_chars(exponent, end, decimal->point);
    ++decimal->point;
}

template <typename value_type>
void digits_of_float(value_type value, struct decimal_digits *decimal)
{
    char text[NUMBER_TEXT_MAX];
    const std::to_chars_result result =
        std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
    digits_from_scientific(text, result.ptr, decimal);
}

/* Returns the value of the positive finite small float, which a double holds exactly. */
double small_float_value(const struct key_type *type, uint64_t bits)
{
    const int significand_bits = significand_bits_of(type);
    const int field = (int)(bits >> significand_bits);
    const uint64_t fraction = bits & ((1u << significand_bits) - 1);
    const uint64_t units = field == 0 ? fraction : fraction | 1u << significand_bits;
    return ldexp((double)units, (field == 0 ? 1 : field) - bias_of(type) - significand_bits);
}

/* Returns whether the digits, with `step` added to the last one, read back as the number. If so,
 * sets *decimal. */
bool digits_read_back(const struct key_type *type, const struct decimal_digits *nearest, int step,
                      uint64_t bits, struct decimal_digits *decimal)
{
    int units = 0;
    for (int i = 0; i < nearest->count; ++i)
        units = units * 10 + (nearest->digits[i] - '0');
    char text[NUMBER_TEXT_MAX];
    char *end = std::to_chars(text, text + 12, units + step).ptr;
    *end++ = 'e';
    end = std::to_chars(end, text + sizeof text, nearest->point - nearest->count).ptr;
    double value = 0;
    std::from_chars(text, end, value);
    if (value <= 0 || round_to_small_float(type, value) != bits)
        return false;
    digits_of_float(value, decimal);
    return true;
}

/* Finds the nearest of the shortest decimals, by trying lengths: 5 digits distinguish all f16, 4
 * all bf16. The values that round to a power of 2 reach less far below it than above it, so the
 * decimal that reads back may be the second nearest of its length. */
void digits_of_small_float(const struct key_type *type, uint64_t bits,
                           struct decimal_digits *decimal)
{
    const double value = small_float_value(type, bits);
    const bool is_power_of_2 = (bits & ((1u << significand_bits_of(type)) - 1)) == 0;
    for (int precision = 1;; ++precision) {
        char text[NUMBER_TEXT_MAX];
        const std::to_chars_result result = std::to_chars(
            text, text + sizeof text, value, std::chars_format::scientific, precision - 1);
        struct decimal_digits nearest;
        digits_from_scientific(text, result.ptr, &nearest);
        for (const int step : {0, 1, -1})
            if ((step == 0 || is_power_of_2) &&
                digits_read_back(type, &nearest, step, bits, decimal))
                return;
    }
}

/* Writes Python's form: with an exponent below 1e-4 and from 1e16 on. */
char *lay_out(const struct decimal_digits *decimal, char *out)
{
    const char *const digits = decimal->digits;
    const int count = decimal->count, point = decimal->point;
    const bool is_plain = point > -4 && point <= 16;
    const int whole = is_plain ? point : 1; /* digits before the decimal point */
    if (whole <= 0) {
        *out++ = '0';
        *out++ = '.';
        memset(out, '0', (size_t)-whole);
        out += -whole;
    }
    for (int i = 0; i < count || i < whole; ++i) {
        if (i == whole && i > 0)
            *out++ = '.';
        *out++ = i < count ? digits[i] : '0';
    }
    if (!is_plain) {
        const int exponent = point - 1, magnitude = exponent < 0 ? -exponent : exponent;
        *out++ = 'e';
        *out++ = exponent < 0 ? '-' : '+';
        if (magnitude < 10)
            *out++ = '0';
        out = std::to_chars(out, out + 4, magnitude).ptr;
    }
    return out;
}

size_t format_float(const struct key_type *type, uint64_t bits, char text[NUMBER_TEXT_MAX])
{
    const uint64_t sign = (uint64_t)1 << (8 * type->bytes - 1);
    const uint64_t magnitude = bits & (sign - 1);
    const uint64_t infinity = key_type_infinity(type);
    char *out = text;
    if (bits & sign)
        *out++ = '-';
    if (magnitude > infinity)
        return (size_t)(stpcpy(out, "nan") - text);
    if (magnitude == infinity)
        return (size_t)(stpcpy(out, "inf") - text);
    if (magnitude == 0)
        return (size_t)(stpcpy(out, "0") - text);
    struct decimal_digits decimal;
    if (type->bytes == 8) {
        double value;
        memcpy(&value, &magnitude, sizeof value);
        digits_of_float(value, &decimal);
    } else if (type->bytes == 4) {
        const uint32_t stored = (uint32_t)magnitude;
        float value;
        memcpy(&value, &stored, sizeof value);
        digits_of_float(value, &decimal);
    } else {
        digits_of_small_float(type, magnitude, &decimal);
    }
    return (size_t)(lay_out(&decimal, out) - text);
}

const uint64_t nat_bits = (uint64_t)1 << 63;

bool is_nat(const char *text, size_t length)
{
    const char *begin = text, *end = text + length;
    number_trim(&begin, &end);
    return end - begin == 3 && strncasecmp(begin, "nat", 3) == 0;
}

} // namespace

enum number_status number_parse(const struct key_type *type, const char *text, size_t length,
                                uint64_t *bits)
{
    if (type->kind == KEY_TIME && is_nat(text, length)) {
        *bits = nat_bits;
        return NUMBER_OK;
    }
    if (type->kind != KEY_FLOAT)
        return parse_integer(type, text, length, bits);
    if (type->bytes == 8)
        return parse_float<double>(text, length, bits);
    if (type->bytes == 4)
        return parse_float<float>(text, length, bits);
    return parse_small_float(type, text, length, bits);
}

size_t number_format(const struct key_type *type, uint64_t bits, char text[NUMBER_TEXT_MAX])
{
    if (type->kind == KEY_FLOAT)
        return format_float(type, bits, text);
    if (type->kind == KEY_TIME && bits == nat_bits)
        return (size_t)(stpcpy(text, "NaT") - text);
    std::to_chars_result result;
    if (type->kind == KEY_UNSIGNED) {
        result = std::to_chars(text, text + NUMBER_TEXT_MAX, bits);
    } else {
        const unsigned unused = 64 - type->bytes * 8;
        const int64_t value = (int64_t)(bits << unused) >> unused;
        result = std::to_chars(text, text + NUMBER_TEXT_MAX, value);
    }
    return (size_t)(result.ptr - text);
}
