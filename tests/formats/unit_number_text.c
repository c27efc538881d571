/* SPDX-License-Identifier: Apache-2.0 */
/* unit_number_text.c - numbers as text, against the C library: grammar, values, round trips. */
#include "core/key_types.h"
#include "formats/number/number_key.h"
#include "formats/number/number_text.h"
#include "tests/formats/unit_numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct key_type *type_of(enum key_type_id id)
{
    return &key_types[id];
}

static uint64_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns whether strtold accepts all of the text except blanks around it. */
static bool is_number_to_libc(const char *text)
{
    char *end;
    strtold(text, &end);
    return end != text && end[strspn(end, " \t\n\r\v\f")] == 0;
}

static void check_grammar(const char *text)
{
    uint64_t bits = 0, key = 0;
    bool exact = false;
    const bool expected = is_number_to_libc(text);
    const enum number_status status =
        number_parse(type_of(KEY_TYPE_f64), text, strlen(text), &bits);
    const bool keyed = number_line_key(text, strlen(text), &key, &exact);
    if ((status != NUMBER_MALFORMED) != expected || keyed != expected)
        fail_msg("'%s': strtold says %d, number_parse %d, number_line_key %d", text, expected,
                 (int)status, keyed);
    if (!expected)
        return;
    const double value = strtod(text, NULL);
    if (status == NUMBER_OUT_OF_RANGE)
        assert_true(isinf(value));
    else if (bits != bits_of_double(value))
        fail_msg("'%s' is read as %a, not as %a", text, double_of_bits(bits), value);
}

/* Texts that strtold accepts, and texts that it does not. */
static const char *const grammar_texts[] = {
    /* parts of numbers, and wrong characters after them */
    "", " ", ".", "+", "-", "e", "1e", "1e+", "1e-", "0x", "0X", "0xg", "0x.", "0x.p1", "1_000",
    "1,5", "--1", "+-1", "-+1",
    /* words */
    "nan(", "nan)", "nan()", "nan(12)", "nan(0x12)", "nan(a_Z9)", "nan(-)", "nan(1) ", "nan (1)",
    "infinit", "inf", "INF", "Infinity", "-iNfInItY", "infinityy", "nan", "NaN", "-nan", "+nan",
    "nanx",
    /* points, exponents and hexadecimal digits */
    ".5", "5.", "+5", "-5", "0x.8p3", "0x1p-3", "0x1.", "0x1p", "0x1p+", "0xAp1", "0xap1", "1.5.2",
    "1e5.", "1e1e1",
    /* blanks */
    " 1", "1 ", "\t\v\f\r 1 \r", "1\n", "\n1", "1\n2", "1 2",
    /* zeros, valid letters and invalid letters */
    "0", "-0", "00", "007", "1e5", "1E5", "1e+05", "1d5", "0x1e5", "1p5", "0b1", "1f", "1l", "i",
    "in", "n", "na", "x", "1x", "0x0x0", "+.e1", "-.5e-1",
    /* long numbers, and the ends of the range */
    "1e99999", "1e-99999", "1e999999999999999999999", "1e-999999999999999999999",
    "0e999999999999999999999", "0x1p99999999999999999999", "0x0p99999999999999999999", "12345678",
    "123456789012345678901234567890", "0.00000000000000000000000000000000000000001",
    "2.4703282292062327e-324", "2.4703282292062328e-324", "4.9e-324", "1.7976931348623157e308",
    "1.7976931348623158e308", "1.7976931348623159e308", "2e308", "0x1p-1074", "0x1p-1075",
    "0x1.8p-1075", "0x1.fffffffffffff7p1023", "0x1.fffffffffffff8p1023",
    /* near the middle between two doubles */
    "1e23", "8.5e22", "9007199254740993", "9007199254740992.9999999999999999999",
    "0x20000000000001", "0x20000000000001.8", "0x1.00000000000008p0",
    "0x1.000000000000080000000000000001p0"};

static void grammar_is_that_of_strtold(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof grammar_texts / sizeof *grammar_texts; ++i)
        check_grammar(grammar_texts[i]);
}

static void grammar_holds_for_random_text(void **state)
{
    (void)state;
    static const char alphabet[] = "0011239.eExXpP+-+- \tinfatyNA()_b";
    uint64_t seed = 1;
    for (size_t round = 0; round < 3000000; ++round) {
        char text[16];
        const size_t length = random_next(&seed) % 10;
        for (size_t i = 0; i < length; ++i)
            text[i] = alphabet[random_next(&seed) % (sizeof alphabet - 1)];
        text[length] = 0;
        check_grammar(text);
    }
}

static void embedded_nul_is_malformed(void **state)
{
    (void)state;
    uint64_t bits;
    bool exact;
    assert_int_equal(number_parse(type_of(KEY_TYPE_f64), "1\0", 2, &bits), NUMBER_MALFORMED);
    assert_int_equal(number_parse(type_of(KEY_TYPE_u8), "\0001", 2, &bits), NUMBER_MALFORMED);
    assert_false(number_line_key("1\0", 2, &bits, &exact));
    assert_false(number_line_key("nan(\0)", 6, &bits, &exact));
}

static void floats_are_rounded_as_by_libc(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (size_t round = 0; round < 1000000; ++round) {
        char text[128];
        uint64_t bits = 0;
        random_decimal(&seed, text, 40, round % 2 ? 30 : 400);
        const double as_double = strtod(text, NULL);
        const float as_float = strtof(text, NULL);
        const enum number_status status =
            number_parse(type_of(KEY_TYPE_f64), text, strlen(text), &bits);
        if (isinf(as_double) ? status != NUMBER_OUT_OF_RANGE : bits != bits_of_double(as_double))
            fail_msg("'%s' as f64", text);
        const enum number_status narrow =
            number_parse(type_of(KEY_TYPE_f32), text, strlen(text), &bits);
        if (isinf(as_float) ? narrow != NUMBER_OUT_OF_RANGE : bits != bits_of_float(as_float))
            fail_msg("'%s' as f32", text);
    }
}

static void floats_read_back(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (size_t round = 0; round < 2000000; ++round) {
        char text[NUMBER_TEXT_MAX + 1];
        uint64_t bits = random_next(&seed), again = 0;
        if (round % 4 == 0)
            bits &= UINT64_C(0x800fffffffffffff); /* denormal */
        if (isnan(double_of_bits(bits)))
            continue;
        size_t length = number_format(type_of(KEY_TYPE_f64), bits, text);
        assert_true(length <= NUMBER_TEXT_MAX);
        text[length] = 0;
        if (bits_of_double(strtod(text, NULL)) != bits)
            fail_msg("f64 %016" PRIx64 " is written as %s", bits, text);
        assert_int_equal(number_parse(type_of(KEY_TYPE_f64), text, length, &again), NUMBER_OK);
        assert_true(again == bits);

        uint32_t narrow = (uint32_t)(bits >> 32);
        if (isnan(float_of_bits(narrow)))
            continue;
        length = number_format(type_of(KEY_TYPE_f32), narrow, text);
        text[length] = 0;
        if (bits_of_float(strtof(text, NULL)) != narrow)
            fail_msg("f32 %08" PRIx32 " is written as %s", narrow, text);
        assert_int_equal(number_parse(type_of(KEY_TYPE_f32), text, length, &again), NUMBER_OK);
        assert_true(again == narrow);
    }
}

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

/* No decimal of fewer digits reads back as the same number: printf writes the nearest decimal of
 * every length. */
static void floats_are_shortest(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (size_t round = 0; round < 200000; ++round) {
        char text[NUMBER_TEXT_MAX + 1], shorter[64];
        const double value = double_of_bits(random_next(&seed));
        if (!isfinite(value))
            continue;
        const size_t length = number_format(type_of(KEY_TYPE_f64), bits_of_double(value), text);
        text[length] = 0;
        const int digits = significant_digits(text);
        snprintf(shorter, sizeof shorter, "%.*e", digits < 2 ? 0 : digits - 2, value);
        if (digits >= 2 && strtod(shorter, NULL) == value)
            fail_msg("%s could be %s", text, shorter);
    }
}

static void check_format(enum key_type_id id, uint64_t bits, const char *expected)
{
    char text[NUMBER_TEXT_MAX + 1];
    text[number_format(type_of(id), bits, text)] = 0;
    assert_string_equal(text, expected);
}

static void format_is_that_of_python(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } facts[] = {
        {0.1, "0.1"},
        {100000, "100000"},
        {1e22, "1e+22"},
        {1e-5, "1e-05"},
        {0.0, "0"},
        {-0.0, "-0"},
        {1e15, "1000000000000000"},
        {1e16, "1e+16"},
        {1e-4, "0.0001"},
        {9.999999999999999e-05, "9.999999999999999e-05"},
        {9007199254740993, "9007199254740992"},
        {123456789.125, "123456789.125"},
        {5e-324, "5e-324"},
        {2.5, "2.5"},
        {-1.5e300, "-1.5e+300"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {0.30000000000000004, "0.30000000000000004"},
        {9999999999999998, "9999999999999998"},
        {1.2345678901234567e-100, "1.2345678901234567e-100"},
        {0.00012345, "0.00012345"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; ++i)
        check_format(KEY_TYPE_f64, bits_of_double(facts[i].value), facts[i].text);
    check_format(KEY_TYPE_f64, UINT64_C(0x7ff8000000000000), "nan");
    check_format(KEY_TYPE_f64, UINT64_C(0xfff8000000000000), "-nan");
    check_format(KEY_TYPE_f32, bits_of_float(0.1f), "0.1");
    check_format(KEY_TYPE_f32, bits_of_float(1e-4f), "0.0001");
    check_format(KEY_TYPE_f32, bits_of_float(16777216), "16777216");
    check_format(KEY_TYPE_f32, 1, "1e-45");
    check_format(KEY_TYPE_f32, 0xffc00000, "-nan");
    check_format(KEY_TYPE_u8, 255, "255");
    check_format(KEY_TYPE_i8, 0x80, "-128");
    check_format(KEY_TYPE_i16, 0xffff, "-1");
    check_format(KEY_TYPE_u64, UINT64_MAX, "18446744073709551615");
    check_format(KEY_TYPE_i64, UINT64_C(1) << 63, "-9223372036854775808");
}

/* Returns the value of 16 bits with `exponent_bits` exponent bits, by the definition of the
 * formats. */
static double small_float(unsigned bits, unsigned exponent_bits)
{
    const unsigned fraction_bits = 15 - exponent_bits;
    const int field = (int)((bits & 0x7fff) >> fraction_bits);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double fraction = ldexp(bits & ((1u << fraction_bits) - 1), -(int)fraction_bits);
    const double value = field == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, field - bias);
    return bits >> 15 ? -value : value;
}

/* Checks a finite f16 or bf16. The written decimal is nearer to it than to its neighbours, or in
 * the middle if its last bit is 0. No decimal of fewer digits is that near. */
static void check_small_float(enum key_type_id id, unsigned bits)
{
    const unsigned exponent_bits = type_of(id)->exponent_bits;
    char text[NUMBER_TEXT_MAX + 1];
    text[number_format(type_of(id), bits, text)] = 0;
    const double value = small_float(bits, exponent_bits), written = strtod(text, NULL);
    const double above = (value + small_float(bits + 1, exponent_bits)) / 2;
    const double below = (value + small_float(bits - 1, exponent_bits)) / 2;
    const bool is_even = bits % 2 == 0;
    if (!(written > below || (is_even && written == below)) ||
        !(written < above || (is_even && written == above)))
        fail_msg("%s %04x, %.9g, is written as %s", type_of(id)->name, bits, value, text);
    const int digits = significant_digits(text);
    if (digits < 2)
        return;
    const double unit = pow(10, floor(log10(value)) - (digits - 2));
    for (int step = -1; step <= 2; ++step) {
        const double shorter = (floor(value / unit) + step) * unit;
        if (shorter > below * (1 + 1e-12) && shorter < above * (1 - 1e-12))
            fail_msg("%s %04x is written as %s; %.9g does", type_of(id)->name, bits, text, shorter);
    }
}

static void small_floats_read_back_and_are_shortest(void **state)
{
    (void)state;
    for (unsigned bits = 1; bits < 0x7bff; ++bits)
        check_small_float(KEY_TYPE_f16, bits);
    for (unsigned bits = 1; bits < 0x7f7f; ++bits)
        check_small_float(KEY_TYPE_bf16, bits);
    check_format(KEY_TYPE_f16, 0x2e66, "0.1");
    check_format(KEY_TYPE_f16, 0x7bff, "65500");
    check_format(KEY_TYPE_f16, 0x0001, "6e-08");
    check_format(KEY_TYPE_f16, 0xfc00, "-inf");
    check_format(KEY_TYPE_f16, 0xfe00, "-nan");
    check_format(KEY_TYPE_bf16, 0x3dcd, "0.1");
    check_format(KEY_TYPE_bf16, 0x8000, "-0");
}

/* Checks that the decimal is read as the bits, and with a sign as the bits of the negative
 * number. */
static void check_small_read(enum key_type_id id, const char *sign, const char *text, unsigned bits)
{
    char number[1024];
    uint64_t read = 0;
    const unsigned infinity = id == KEY_TYPE_f16 ? 0x7c00 : 0x7f80;
    const enum number_status wanted = bits < infinity ? NUMBER_OK : NUMBER_OUT_OF_RANGE;
    const int length = snprintf(number, sizeof number, "%s%s", sign, text);
    const enum number_status status = number_parse(type_of(id), number, (size_t)length, &read);
    if (status != wanted || (wanted == NUMBER_OK && read != (*sign ? bits | 0x8000 : bits)))
        fail_msg("%s: %s is read as %04x, status %d, not %04x", type_of(id)->name, number,
                 (unsigned)read, status, bits);
}

/* Checks every number of the type, and every decimal halfway between two numbers, with all its
 * digits. The decimal itself is read as the even number; with a greater last digit as the number
 * above, with a smaller one as the number below. */
static void check_small_float_reads(enum key_type_id id, unsigned infinity)
{
    const unsigned exponent_bits = type_of(id)->exponent_bits;
    char text[512];
    for (unsigned bits = 0; bits < infinity; ++bits) {
        const double value = small_float(bits, exponent_bits);
        const double half = value + (value - (bits ? small_float(bits - 1, exponent_bits)
                                                   : -small_float(1, exponent_bits))) /
                                        2;
        const double above = bits + 1 < infinity ? small_float(bits + 1, exponent_bits) : 0;
        const double halfway = above > 0 ? (value + above) / 2 : half;
        snprintf(text, sizeof text, "%.*g", 200, value);
        check_small_read(id, "", text, bits);
        int length = snprintf(text, sizeof text, "%.*f", 140, halfway);
        check_small_read(id, "-", text, bits + (bits & 1));
        snprintf(text + length, sizeof text - (size_t)length, "%060d1", 0);
        check_small_read(id, "", text, bits + 1);
        snprintf(text, sizeof text, "%.*f", 140, halfway);
        for (--length; text[length] == '0' || text[length] == '.'; --length)
            text[length] = text[length] == '0' ? '9' : '.';
        text[length]--;
        check_small_read(id, "-", text, bits);
        snprintf(text, sizeof text, "%a", halfway);
        check_small_read(id, "", text, bits + (bits & 1));
    }
}

static void small_floats_are_rounded_once(void **state)
{
    (void)state;
    check_small_float_reads(KEY_TYPE_f16, 0x7c00);
    check_small_float_reads(KEY_TYPE_bf16, 0x7f80);
    check_small_read(KEY_TYPE_f16, "", "1e-9999", 0);
    check_small_read(KEY_TYPE_f16, "-", "0x0p9", 0);
    check_small_read(KEY_TYPE_bf16, "", "1e39", 0x7f80);
    check_small_read(KEY_TYPE_bf16, "-", "1e9999", 0x7f80);
    uint64_t bits;
    static const struct {
        const char *text;
        unsigned half, bfloat;
    } facts[] = {{"inf", 0x7c00, 0x7f80},
                 {"-Infinity", 0xfc00, 0xff80},
                 {"nan", 0x7e00, 0x7fc0},
                 {"-nan(7)", 0xfe00, 0xffc0}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; ++i) {
        const size_t length = strlen(facts[i].text);
        assert_int_equal(number_parse(type_of(KEY_TYPE_f16), facts[i].text, length, &bits),
                         NUMBER_OK);
        assert_int_equal(bits, facts[i].half);
        assert_int_equal(number_parse(type_of(KEY_TYPE_bf16), facts[i].text, length, &bits),
                         NUMBER_OK);
        assert_int_equal(bits, facts[i].bfloat);
    }
    assert_int_equal(number_parse(type_of(KEY_TYPE_f16), "1x", 2, &bits), NUMBER_MALFORMED);
}

static void times_and_truth_values(void **state)
{
    (void)state;
    check_format(KEY_TYPE_datetime64, UINT64_C(1) << 63, "NaT");
    check_format(KEY_TYPE_timedelta64, UINT64_MAX, "-1");
    check_format(KEY_TYPE_bool, 1, "1");
    static const struct {
        enum key_type_id id;
        const char *text;
        enum number_status status;
        uint64_t bits;
    } facts[] = {{KEY_TYPE_datetime64, " NaT\r", NUMBER_OK, UINT64_C(1) << 63},
                 {KEY_TYPE_timedelta64, "-5", NUMBER_OK, (uint64_t)-5},
                 {KEY_TYPE_datetime64, "nan", NUMBER_FRACTION, 0},
                 {KEY_TYPE_datetime64, "2020-01-01", NUMBER_MALFORMED, 0},
                 {KEY_TYPE_i64, "NaT", NUMBER_MALFORMED, 0},
                 {KEY_TYPE_bool, "1", NUMBER_OK, 1},
                 {KEY_TYPE_bool, "2", NUMBER_OUT_OF_RANGE, 0},
                 {KEY_TYPE_bool, "-1", NUMBER_OUT_OF_RANGE, 0}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; ++i) {
        uint64_t bits = 0;
        assert_int_equal(
            number_parse(type_of(facts[i].id), facts[i].text, strlen(facts[i].text), &bits),
            facts[i].status);
        assert_int_equal(bits, facts[i].bits);
    }
}

static void check_integer(enum key_type_id id, const char *text, enum number_status status,
                          uint64_t expected)
{
    uint64_t bits = 0;
    const enum number_status found = number_parse(type_of(id), text, strlen(text), &bits);
    if (found != status || (status == NUMBER_OK && bits != expected))
        fail_msg("'%s' as %s: status %d, %" PRIu64, text, type_of(id)->name, (int)found, bits);
}

/* Integers in text in various spellings, and the results. */
static const struct {
    enum key_type_id id;
    const char *text;
    enum number_status status;
    uint64_t bits;
} integer_cases[] = {
    {KEY_TYPE_u16, "1e3", NUMBER_OK, 1000},
    {KEY_TYPE_u8, "12.0", NUMBER_OK, 12},
    {KEY_TYPE_u8, "1.5e1", NUMBER_OK, 15},
    {KEY_TYPE_u8, " +7 ", NUMBER_OK, 7},
    {KEY_TYPE_u8, "0x10", NUMBER_OK, 16},
    {KEY_TYPE_u8, "0x1p7", NUMBER_OK, 128},
    {KEY_TYPE_u8, "0x1p8", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_u8, "0x.8p1", NUMBER_OK, 1},
    {KEY_TYPE_u8, "0x.8", NUMBER_FRACTION, 0},
    {KEY_TYPE_u8, "0x1p-1", NUMBER_FRACTION, 0},
    {KEY_TYPE_u8, "0x2p-1", NUMBER_OK, 1},
    {KEY_TYPE_u64, "1000000000000000000000e-12", NUMBER_OK, 1000000000},
    {KEY_TYPE_u64, "18446744073709551615", NUMBER_OK, UINT64_MAX},
    {KEY_TYPE_u64, "18446744073709551616", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_u64, "18446744073709551615.000", NUMBER_OK, UINT64_MAX},
    {KEY_TYPE_u64, "1844674407370955161500e-2", NUMBER_OK, UINT64_MAX},
    {KEY_TYPE_u64, "18446744073709551615.0001", NUMBER_FRACTION, 0},
    {KEY_TYPE_u64, "0xffffffffffffffff", NUMBER_OK, UINT64_MAX},
    {KEY_TYPE_u64, "0x7fffffffffffffff8p-3", NUMBER_OK, UINT64_MAX},
    {KEY_TYPE_u64, "0x1ffffffffffffffffp-1", NUMBER_FRACTION, 0},
    {KEY_TYPE_u64, "0x1fffffffffffffffep-1", NUMBER_OK, UINT64_MAX},
    {KEY_TYPE_u64, "0x7fffffffffffffff8p-2", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_u64, "0x10000000000000000", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_u64, "0xffffffffffffffffp63", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_i64, "-9223372036854775808", NUMBER_OK, UINT64_C(1) << 63},
    {KEY_TYPE_i64, "-9223372036854775809", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_i64, "9223372036854775808", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_i64, "9223372036854775807", NUMBER_OK, INT64_MAX},
    {KEY_TYPE_i8, "-128", NUMBER_OK, 0x80},
    {KEY_TYPE_i8, "-129", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_i8, "128", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_i16, "-1", NUMBER_OK, 0xffff},
    {KEY_TYPE_u8, "-1", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_u8, "-0", NUMBER_OK, 0},
    {KEY_TYPE_u8, "-0.000", NUMBER_OK, 0},
    {KEY_TYPE_u8, "0.000", NUMBER_OK, 0},
    {KEY_TYPE_u8, "0e999999999999999999999", NUMBER_OK, 0},
    {KEY_TYPE_u8, "0x0p-99999999999999999999", NUMBER_OK, 0},
    {KEY_TYPE_u8, "1e999999999999", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_u8, "1e99999999999999999999999", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_u8, "1e-5", NUMBER_FRACTION, 0},
    {KEY_TYPE_u8, "1e-99999999999999999999999", NUMBER_FRACTION, 0},
    {KEY_TYPE_u8, "1.5", NUMBER_FRACTION, 0},
    {KEY_TYPE_u8, "256", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_u8, "inf", NUMBER_OUT_OF_RANGE, 0},
    {KEY_TYPE_u8, "nan", NUMBER_FRACTION, 0},
    {KEY_TYPE_u8, "", NUMBER_MALFORMED, 0},
    {KEY_TYPE_u8, "-", NUMBER_MALFORMED, 0},
    {KEY_TYPE_u8, "1_0", NUMBER_MALFORMED, 0},
    {KEY_TYPE_u8, "000000000000000000000000000000007", NUMBER_OK, 7},
    {KEY_TYPE_u8, "0.00000000000000000000000000000007e32", NUMBER_OK, 7},
};

static void integers_take_every_whole_spelling(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof integer_cases / sizeof *integer_cases; ++i)
        check_integer(integer_cases[i].id, integer_cases[i].text, integer_cases[i].status,
                      integer_cases[i].bits);
}

static void long_texts_are_exact(void **state)
{
    (void)state;
    const size_t zeros = 3000000;
    char *const text = test_malloc(2 * zeros + 100);
    uint64_t bits = 0, key = 0, other = 0;
    bool exact = false;
    memset(text, '0', 2 * zeros + 100);
    text[0] = '7'; /* 7 000...000 . 000...000 e-zeros */
    text[zeros + 1] = '.';
    const int tail = sprintf(text + 2 * zeros, "e-%zu", zeros);
    const size_t length = 2 * zeros + (size_t)tail;
    assert_int_equal(number_parse(type_of(KEY_TYPE_u8), text, length, &bits), NUMBER_OK);
    assert_true(bits == 7);
    assert_int_equal(number_parse(type_of(KEY_TYPE_f64), text, length, &bits), NUMBER_OK);
    assert_true(bits == bits_of_double(7));
    assert_true(number_line_key(text, length, &key, &exact));
    assert_true(number_line_key("7", 1, &other, &exact));
    assert_true(key == other);
    text[2 * zeros - 1] = '1'; /* a 1 as the last digit */
    assert_int_equal(number_parse(type_of(KEY_TYPE_u8), text, length, &bits), NUMBER_FRACTION);
    assert_true(value_of(text, length) == 7);
    test_free(text);

    /* 1 + 2^-64 is the middle between 1 and the next long double. Then the text is slightly
     * greater, by a digit far away. */
    static const char middle[] =
        "1.0000000000000000000542101086242752217003726400434970855712890625";
    assert_true(value_of(middle, strlen(middle)) == 1);
    char above[40000];
    memset(above, '0', sizeof above);
    memcpy(above, middle, strlen(middle));
    assert_true(value_of(above, sizeof above) == 1);
    above[sizeof above - 1] = '1';
    assert_true(value_of(above, sizeof above) == 1 + LDBL_EPSILON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grammar_is_that_of_strtold),
        cmocka_unit_test(grammar_holds_for_random_text),
        cmocka_unit_test(embedded_nul_is_malformed),
        cmocka_unit_test(floats_are_rounded_as_by_libc),
        cmocka_unit_test(floats_read_back),
        cmocka_unit_test(floats_are_shortest),
        cmocka_unit_test(format_is_that_of_python),
        cmocka_unit_test(small_floats_read_back_and_are_shortest),
        cmocka_unit_test(small_floats_are_rounded_once),
        cmocka_unit_test(times_and_truth_values),
        cmocka_unit_test(integers_take_every_whole_spelling),
        cmocka_unit_test(long_texts_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
