/* SPDX-License-Identifier: Apache-2.0 */
/* unit_numbers.c - numbers in text, against the C library: grammar, values, keys of lines, and
 * floats of 2 bytes, as they are read and written. tests/fuzz/fuzz_numbers.c compares all types
 * with a model; conversion.sh has floats of 4 and 8 bytes, as they are written.
 */
#include "core/key_types.h"
#include "formats/number/number_key.h"
#include "formats/number/number_text.h"
#include "tests/random_next.h"
#include "tests/test_size.h"
#include "tests/unit_test.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

union double_bits {
    double value;
    uint64_t bits;
};

static double double_of_bits(uint64_t bits)
{
    return (union double_bits){.bits = bits}.value;
}

/* ---- Reading ---- */

/* Makes a decimal with random length, point and exponent. */
static void random_decimal(uint64_t *seed, char *text, size_t digits_max, int exponent_max)
{
    const size_t digits = 1 + random_next(seed) % digits_max;
    const size_t point = random_next(seed) % (digits + 1);
    char *out = text;
    if (random_next(seed) % 2)
        *out++ = '-';
    for (size_t i = 0; i < digits; ++i) {
        if (i == point)
            *out++ = '.';
        *out++ = (char)('0' + random_next(seed) % 10);
    }
    *out = 0;
    if (random_next(seed) % 2)
        sprintf(out, "e%d",
                (int)(random_next(seed) % (2 * (unsigned)exponent_max + 1)) - exponent_max);
}

/* Numbers near each other, or at the ends of the ranges of float, double and long double. */
static const char *const edges[] = {
    "nan",      "-nan",     "inf",        "-inf",           "infinity",
    "0",        "-0",       "0.0",        "1e4000",         "-1e4000",
    "1e5000",   "2e-4951",  "-2e-4951",   "1e-5000",        "1e308",
    "1.8e308",  "1e309",    "5e-324",     "2e-324",         "3e-324",
    "0x10",     "16",       "1.6e1",      "16.0",           "0x1p4",
    "0.1",      "1e-1",     "100e-3",     "1e290",          "1e291",
    "1e-291",   "1e27",     "1e28",       "0x1p-1074",      "0x1p-1075",
    "1.4e-45",  "3.4e38",   "3.5e38",     "0x1p-16445",     "0x1p-16446",
    "16777217", "16777216", "0x1.8p-150", "0x1.fffffffp38", "9007199254740993"};
static const char *const long_edges[] = {
    "1.7976931348623158e308",
    "9007199254740992",
    "0x1.00000000000008p0",
    "0x1.999999999999ap-4",
    "1.00000000000000011102230246251565",
    "1.000000000000000111022302462515654042363166809082031250000000000001",
    "1.0000000000000001110223024625156540423631668090820312499999999999",
    "0.1000000000000000055511151231257827021181583404541015625"};

/* Draws characters that numbers consist of, or a number that is hard to read. */
static void draw_text(uint64_t *seed, char *text)
{
    static const char alphabet[] = "0011239.eExXpP+-+- \tinfatyNA()_b";
    const uint64_t kind = random_next(seed) % 16, which = random_next(seed);
    if (kind < 8) {
        const size_t length = which % 10;
        for (size_t i = 0; i < length; ++i)
            text[i] = alphabet[random_next(seed) % (sizeof alphabet - 1)];
        text[length] = 0;
    } else if (kind == 8) {
        strcpy(text, which % 8 ? edges[which % LENGTH(edges)]
                               : long_edges[which / 8 % LENGTH(long_edges)]);
    } else if (kind < 11) { /* near the middle between two doubles */
        const double value =
            double_of_bits(UINT64_C(0x3ff0000000000000) + which % 4 + (which / 4 % 3 << 52));
        const long double middle = ((long double)value + nextafter(value, 10)) / 2 +
                                   ((int)(which / 12 % 5) - 2) * (LDBL_EPSILON / 4) * value;
        sprintf(text, "%.*Lg", 17 + (int)(which / 60 % 30), middle);
    } else if (kind == 11) {
        sprintf(text, "%a", double_of_bits(which));
    } else if (kind == 12) {
        sprintf(text, "12345678901234567%03u%u", 500 + (unsigned)(which % 3),
                (unsigned)(which / 3 % 3));
    } else {
        random_decimal(seed, text, kind == 13 ? 4 : 40, kind == 13 ? 2 : kind == 14 ? 30 : 400);
    }
}

/* Compares in the order of `sort -g`. */
static int compare_values(long double a, long double b)
{
    if (isnan(a) && isnan(b))
        return (signbit(b) != 0) - (signbit(a) != 0);
    if (isnan(a) || isnan(b))
        return isnan(a) ? -1 : 1;
    return (a > b) - (a < b);
}

/* Texts are numbers if strtold(3) accepts all of them except blanks around the number; it also
 * gives their values. A key has the order of the nearest double, and equal keys of different values
 * are not exact. fuzz_numbers.c compares the values of the types. */
static void numbers_are_read_as_by_libc(void **state)
{
    uint64_t seed = 5, key, key_before = 0;
    long double value, read, value_before = 0;
    bool is_exact, was_exact = true;
    char text_before[128] = "";
    for (size_t round = 0; round < full_or_small(800000, 200000); ++round) {
        char text[128], *end;
        draw_text(&seed, text);
        const size_t length = strlen(text);
        value = strtold(text, &end);
        const bool expected = end != text && end[strspn(end, " \t\n\r\v\f")] == 0;
        if (number_line_image(text, length, &key, &is_exact) != expected)
            fail_msg("'%s' is %s", text, expected ? "a number" : "no number");
        if (!expected)
            continue;
        const double near = (double)value;
        if (!number_prefix_value(text, length, &read) || compare_values(read, value) != 0)
            fail_msg("'%s' has the value %La", text, value);
        const uint64_t near_bits = (union double_bits){near == 0 ? 0 : near}.bits;
        const uint64_t sign = UINT64_C(1) << 63;
        if (!isnan(near) && key != (near_bits & sign ? ~near_bits : near_bits | sign))
            fail_msg("'%s' has the key %016" PRIx64 ", bits %016" PRIx64, text, key, near_bits);
        const int order = compare_values(value_before, value);
        const int key_order = (key_before > key) - (key_before < key);
        if (text_before[0] != 0 &&
            ((order == 0 && key_order != 0) || (order != 0 && key_order == -order) ||
             (order != 0 && key_order == 0 && was_exact && is_exact)))
            fail_msg("'%s' and '%s': order %d, keys %016" PRIx64 " %d, %016" PRIx64 " %d",
                     text_before, text, order, key_before, was_exact, key, is_exact);
        strcpy(text_before, text);
        key_before = key, value_before = value, was_exact = is_exact;
    }
}

/* ---- Written numbers ---- */

/* Returns the number of digits from the first that is not 0 to the last that is not 0. */
static int significant_digits(const char *text)
{
    int digits = 0, zeros = 0;
    for (const char *p = text; *p != 0 && *p != 'e'; ++p) {
        if (!isdigit((unsigned char)*p) || (digits == 0 && *p == '0'))
            continue;
        digits += *p == '0' ? 0 : zeros + 1;
        zeros = *p == '0' ? zeros + 1 : 0;
    }
    return digits;
}

/* Writes the number, which must be read as the same bits. */
static void check_round_trip(enum key_type_id id, uint64_t bits, char text[NUMBER_TEXT_MAX + 1])
{
    uint64_t again = 0;
    const size_t length = number_format(&key_types[id], bits, text);
    assert_true(length <= NUMBER_TEXT_MAX);
    text[length] = 0;
    if (number_parse(&key_types[id], text, length, &again) != NUMBER_OK || again != bits)
        fail_msg("%s %016" PRIx64 " is written as %s", key_types[id].name, bits, text);
}

/* ---- f16, bf16 and other floats of 1 or 2 bytes ---- */

static unsigned sign_of(enum key_type_id id)
{
    return 1u << (8 * key_types[id].bytes - 1);
}

static unsigned infinity_of(enum key_type_id id)
{
    return sign_of(id) - (sign_of(id) >> key_types[id].exponent_bits);
}

/* Returns the value of the bits, by the definition of the formats. */
static double small_float(enum key_type_id id, unsigned bits)
{
    const unsigned exponent_bits = key_types[id].exponent_bits;
    const unsigned fraction_bits = 8 * key_types[id].bytes - 1 - exponent_bits;
    const int field = (int)((bits & (sign_of(id) - 1)) >> fraction_bits);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double fraction = ldexp(bits & ((1u << fraction_bits) - 1), -(int)fraction_bits);
    const double value = field == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, field - bias);
    return bits & sign_of(id) ? -value : value;
}

/* The written decimal is between the middles to both neighbours. No decimal of fewer digits is. */
static void check_small_float(enum key_type_id id, unsigned bits)
{
    char text[NUMBER_TEXT_MAX + 1];
    check_round_trip(id, bits, text);
    const double value = small_float(id, bits), written = strtod(text, NULL);
    const double above = (value + small_float(id, bits + 1)) / 2;
    const double below = (value + small_float(id, bits - 1)) / 2;
    if (written < below || written > above)
        fail_msg("%s %04x, %.9g, is written as %s", key_types[id].name, bits, value, text);
    const int digits = significant_digits(text);
    const double unit = pow(10, floor(log10(value)) - (digits - 2));
    for (int step = -1; digits > 1 && step <= 2; ++step) {
        const double shorter = (floor(value / unit) + step) * unit;
        if (shorter > below * (1 + 1e-12) && shorter < above * (1 - 1e-12))
            fail_msg("%s %04x is written as %s; %.9g does", key_types[id].name, bits, text,
                     shorter);
    }
}

/* Checks that the decimal is read as the bits, and with a sign as the bits of the negative
 * number. */
static void check_small_read(enum key_type_id id, const char *sign, const char *text, unsigned bits)
{
    char number[1024];
    uint64_t read = 0;
    const enum number_status wanted = bits < infinity_of(id) ? NUMBER_OK : NUMBER_OUT_OF_RANGE;
    const int length = snprintf(number, sizeof number, "%s%s", sign, text);
    const enum number_status status = number_parse(&key_types[id], number, (size_t)length, &read);
    if (status != wanted || (wanted == NUMBER_OK && read != (*sign ? bits | sign_of(id) : bits)))
        fail_msg("%s: %s is read as %04x, status %d, not %04x", key_types[id].name, number,
                 (unsigned)read, status, bits);
}

/* Checks the decimal halfway between the number and the next one, with all its digits. The decimal
 * itself is read as the even number; with a greater last digit as the number above, with a smaller
 * one as the number below. */
static void check_middle(enum key_type_id id, unsigned bits)
{
    const double value = small_float(id, bits);
    const double halfway = (value + small_float(id, bits + 1)) / 2;
    char text[512];
    snprintf(text, sizeof text, "%a", halfway);
    check_small_read(id, "", text, bits + (bits & 1));
    int length = snprintf(text, sizeof text, "%.*f", 140, halfway);
    check_small_read(id, "-", text, bits + (bits & 1));
    snprintf(text + length, sizeof text - (size_t)length, "%060d1", 0);
    check_small_read(id, "", text, bits + 1);
    for (--length; text[length] == '0' || text[length] == '.'; --length)
        text[length] = text[length] == '0' ? '9' : '.';
    text[length]--;
    check_small_read(id, "-", text, bits);
}

static void small_floats_are_rounded_once(void **state)
{
    for (enum key_type_id id = 0; id < KEY_TYPE_COUNT; ++id) {
        if (key_types[id].kind != KEY_FLOAT || key_types[id].bytes > 2)
            continue;
        const unsigned infinity = infinity_of(id);
        for (unsigned bits = 0; bits + 1 < infinity; ++bits) {
            if (bits > 0)
                check_small_float(id, bits);
            check_middle(id, bits);
        }
        check_small_read(id, "", "1e39", infinity);
        check_small_read(id, "-", "1e-9999", 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_as_by_libc),
        cmocka_unit_test(small_floats_are_rounded_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
