/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_numbers.c - numbers in text, read as every type.
 *
 * The references are strtod(3) and its variants for floats, and strings of digits for integers.
 * conversion.sh tests floats of two bytes and how numbers are written, sort_cases_numbers.sh,
 * sort_alike.sh and fuzz.sh the orders of lines.
 */
#include "core/key_order.h"
#include "formats/lines/line_compare.h"
#include "formats/number/number_key.h"
#include "formats/number/number_text.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <strings.h>

/* ---- reading ---- */

/* Returns true if strtold(3) and trailing blanks consume all of the text. */
static bool is_number(const char *text, size_t length)
{
    char *end;
    (void)strtold(text, &end);
    const bool any = end != text;
    while (isspace((unsigned char)*end))
        end++;
    return any && end == text + length;
}

static const char *skip_to_magnitude(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return *text == '-' || *text == '+' ? text + 1 : text;
}

static enum number_status model_float(const struct key_type *type, const char *text, uint64_t *bits)
{
    const float narrow = strtof(text, NULL);
    const double wide = strtod(text, NULL);
    *bits = 0;
    memcpy(bits, type->bytes == 4 ? (const void *)&narrow : (const void *)&wide, type->bytes);
    const bool is_infinite = type->bytes == 4 ? isinf(narrow) : isinf(wide);
    return is_infinite && tolower((unsigned char)*skip_to_magnitude(text)) != 'i'
               ? NUMBER_OUT_OF_RANGE
               : NUMBER_OK;
}

/* Digits in base 10 or 2; `point` is the number of digits before the point. */
struct digits {
    char *data;
    long count, point, base;
};

static struct digits read_digits(const char *p)
{
    struct digits digits = {malloc(4 * strlen(p) + 1), 0, -1, 10};
    const bool is_hex =
        p[0] == '0' && (p[1] | 32) == 'x' &&
        (isxdigit((unsigned char)p[2]) || (p[2] == '.' && isxdigit((unsigned char)p[3])));
    digits.base = is_hex ? 2 : 10;
    for (p += is_hex ? 2 : 0; is_hex ? isxdigit((unsigned char)*p) || *p == '.'
                                     : isdigit((unsigned char)*p) || *p == '.';
         p++) {
        const int value = isdigit((unsigned char)*p) ? *p - '0' : (*p | 32) - 'a' + 10;
        if (*p == '.')
            digits.point = digits.count;
        for (int bit = 3; is_hex && *p != '.' && bit >= 0; bit--)
            digits.data[digits.count++] = (char)('0' + (value >> bit & 1));
        if (!is_hex && *p != '.')
            digits.data[digits.count++] = *p;
    }
    digits.point = digits.point < 0 ? digits.count : digits.point;
    const long exponent = *p == '\0' ? 0 : strtol(p + 1, NULL, 10);
    digits.point += exponent > 1 << 30 ? 1 << 30 : exponent < -(1 << 30) ? -(1 << 30) : exponent;
    return digits;
}

/* Converts the digits before the point. They fit 64 bits if the number is in range. */
static enum number_status whole_value(const struct digits *digits, unsigned long long *value)
{
    char whole[80];
    size_t length = 0;
    long first = 0;
    while (first < digits->count && digits->data[first] == '0')
        first++;
    *value = 0;
    for (long i = first; i < digits->count; i++)
        if (i >= digits->point && digits->data[i] != '0')
            return NUMBER_FRACTION;
    if (first == digits->count)
        return NUMBER_OK;
    if (digits->point - first > 64)
        return NUMBER_OUT_OF_RANGE;
    for (long i = first; i < digits->point; i++)
        whole[length++] = i < digits->count ? digits->data[i] : '0';
    whole[length] = '\0';
    errno = 0;
    *value = strtoull(whole, NULL, (int)digits->base);
    return errno == ERANGE ? NUMBER_OUT_OF_RANGE : NUMBER_OK;
}

static enum number_status model_integer(const struct key_type *type, const char *text,
                                        uint64_t *bits)
{
    const char *const magnitude = skip_to_magnitude(text);
    const bool negative = magnitude > text && magnitude[-1] == '-';
    if (tolower((unsigned char)*magnitude) == 'i')
        return NUMBER_OUT_OF_RANGE;
    if (tolower((unsigned char)*magnitude) == 'n')
        return NUMBER_FRACTION;
    const struct digits digits = read_digits(magnitude);
    unsigned long long value;
    const enum number_status status = whole_value(&digits, &value);
    free(digits.data);
    if (status != NUMBER_OK)
        return status;
    const __int128 number = negative ? -(__int128)value : (__int128)value;
    const unsigned width = type->bytes * 8;
    const bool is_signed = type->kind != KEY_UNSIGNED;
    const __int128 least = is_signed ? -((__int128)1 << (width - 1)) : 0;
    const __int128 beyond =
        type->id == KEY_TYPE_bool ? 2 : (__int128)1 << (is_signed ? width - 1 : width);
    if (number < least || number >= beyond)
        return NUMBER_OUT_OF_RANGE;
    *bits = (uint64_t)number & UINT64_MAX >> (64 - width);
    return NUMBER_OK;
}

#define NAT_BITS ((uint64_t)1 << 63)

/* Returns true if the text is "NaT", with optional blanks. */
static bool is_nat(const char *text, size_t length)
{
    const char *const first = text + strspn(text, " \t\n\v\f\r");
    return strncasecmp(first, "nat", 3) == 0 &&
           first + 3 + strspn(first + 3, " \t\n\v\f\r") == text + length;
}

static void check_parse(const struct key_type *type, struct fuzz_span text, const char *terminated,
                        bool is_one_number)
{
    uint64_t bits = 0, expected_bits = 0;
    const enum number_status status = number_parse(type, text.text, text.length, &bits);
    enum number_status expected = NUMBER_MALFORMED;
    if (is_one_number)
        expected = type->kind == KEY_FLOAT ? model_float(type, terminated, &expected_bits)
                                           : model_integer(type, terminated, &expected_bits);
    else if (type->kind == KEY_TIME && is_nat(terminated, text.length)) {
        expected = NUMBER_OK;
        expected_bits = NAT_BITS;
    }
    if (status != expected || (status == NUMBER_OK && bits != expected_bits))
        fuzz_fail("'%s' as %s: status %d, bits %#llx; expected %d, %#llx", terminated, type->name,
                  (int)status, (unsigned long long)bits, (int)expected,
                  (unsigned long long)expected_bits);
}

/* The number at the beginning of the text, for -g: no number, a NaN with its sign, or a value. */
static void check_value(struct fuzz_span text, const char *terminated)
{
    char *end;
    const long double expected = strtold(terminated, &end);
    long double found = 0;
    const uint64_t expected_class = end == terminated   ? NUMBER_IMAGE_NONE
                                    : !isnan(expected)  ? NUMBER_IMAGE_LEAST
                                    : signbit(expected) ? NUMBER_IMAGE_NEGATIVE_NAN
                                                        : NUMBER_IMAGE_POSITIVE_NAN;
    if (number_prefix_class(text.text, text.length, &found) != expected_class)
        fuzz_fail("whether '%s' begins with a number or a NaN", terminated);
    if (expected_class == NUMBER_IMAGE_LEAST &&
        (found != expected || signbit(found) != signbit(expected)))
        fuzz_fail("'%s' is read as %La, by strtold(3) as %La", terminated, found, expected);
}

/* By -n and -h a line equals itself. The address sanitizer finds reads past its end. */
static void check_decimal(enum line_kind kind, struct fuzz_span text)
{
    struct line_key key = {.kind = kind};
    const struct line_order order = {&key, 1, LINE_SEPARATOR_BLANKS, '\n', false, true, false};
    struct line_with_image line;
    if (!line_image_make(&order, text.text, text.length, &line) ||
        line_image_compare(&order, &line, &line) != 0 ||
        line_compare(&order, 0, text.text, text.length, text.text, text.length) != 0)
        fuzz_fail("kind %d: '%.*s' is refused, or not equal to itself", (int)kind, (int)text.length,
                  text.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input input = {data, bytes};
    const bool is_long = fuzz_take(&input) >= 0xfe; /* long texts take long */
    const struct fuzz_span text = fuzz_take_text(&input, is_long ? FUZZ_TEXT_MAX : 100);
    char *const terminated = calloc(text.length + 1, 1); /* for strtold(3) and its variants */
    memcpy(terminated, text.text, text.length);
    const bool is_one_number = is_number(terminated, text.length);
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++)
        if (key_types[i].kind != KEY_FLOAT || key_types[i].bytes > 2)
            check_parse(&key_types[i], text, terminated, is_one_number);
    check_value(text, terminated);
    uint64_t key;
    bool is_exact;
    if (number_line_image(text.text, text.length, &key, &is_exact) != is_one_number)
        fuzz_fail("whether '%s' is one number", terminated);
    check_decimal(LINE_NUMERIC, text);
    check_decimal(LINE_HUMAN, text);
    free(terminated);
    free((char *)text.text);
    return 0;
}
