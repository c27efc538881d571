/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_numbers.c - numbers in text: read as every type, written and read again, and compared.
 *
 * The references are strtod(3) and its variants for floats, strings of digits for integers, and
 * sort(1)'s rules for the orders -g, -n and -h, written as simply as possible.
 */
#include "core/key_order.h"
#include "formats/lines/line_compare.h"
#include "formats/number/number_key.h"
#include "formats/number/number_text.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <strings.h>

/* Separates the two texts of an input. */
#define TEXT_END 0xee

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

/* Converts to f16 or bf16 by strtold(3). If that result is halfway between two values, the results
 * of rounding toward zero and away from it decide. */
static enum number_status model_small_float(const struct key_type *type, const char *text,
                                            uint64_t *bits)
{
    const int significand_bits = 15 - (int)type->exponent_bits;
    const int least = 2 - (1 << (type->exponent_bits - 1));
    const uint64_t infinity = key_type_infinity(type);
    const long double value = strtold(text, NULL), magnitude = fabsl(value);
    const int first = tolower((unsigned char)*skip_to_magnitude(text));
    uint64_t found = infinity;
    if (isnan(value)) {
        found |= (uint64_t)1 << (significand_bits - 1);
    } else if (magnitude < 0x1p200L) {
        const int exponent = magnitude > 0 && ilogbl(magnitude) > least ? ilogbl(magnitude) : least;
        const long double units = ldexpl(magnitude, significand_bits - exponent);
        const long double whole = floorl(units);
        fesetround(FE_TOWARDZERO);
        const long double inner = fabsl(strtold(text, NULL));
        fesetround(signbit(value) ? FE_DOWNWARD : FE_UPWARD);
        const long double outer = fabsl(strtold(text, NULL));
        fesetround(FE_TONEAREST);
        const bool goes_up = units - whole == 0.5L
                                 ? inner == magnitude && (outer > magnitude || fmodl(whole, 2) == 1)
                                 : units - whole > 0.5L;
        found = ((uint64_t)(exponent - least) << significand_bits) + (uint64_t)whole + goes_up;
    }
    *bits = found | (signbit(value) ? 0x8000u : 0);
    return found >= infinity && first != 'i' && first != 'n' ? NUMBER_OUT_OF_RANGE : NUMBER_OK;
}

static enum number_status model_float(const struct key_type *type, const char *text, uint64_t *bits)
{
    if (type->bytes == 2)
        return model_small_float(type, text, bits);
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

static void check_parse(const struct key_type *type, struct fuzz_text text, const char *terminated,
                        bool is_one_number)
{
    uint64_t bits = 0, expected_bits = 0;
    const enum number_status status = number_parse(type, text.data, text.length, &bits);
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

/* ---- writing ---- */

static bool reads_as(const char *text, const struct key_type *type, uint64_t bits)
{
    uint64_t found;
    return model_float(type, text, &found) == NUMBER_OK && found == bits;
}

/* unit_numbers tests that no shorter text reads back as the same float. */
static void check_format(const struct key_type *type, uint64_t bits)
{
    char text[NUMBER_TEXT_MAX + 1], expected[64];
    bits &= UINT64_MAX >> (64 - type->bytes * 8);
    const size_t length = number_format(type, bits, text);
    text[length] = '\0';
    bool is_right;
    if (type->kind == KEY_FLOAT) {
        const bool is_nan = strstr(text, "nan") != NULL; /* the payload is not written */
        is_right = is_nan
                       ? (bits & ~((uint64_t)1 << (type->bytes * 8 - 1))) > key_type_infinity(type)
                       : reads_as(text, type, bits);
    } else {
        const unsigned unused = 64 - type->bytes * 8;
        if (type->kind == KEY_TIME && bits == NAT_BITS)
            strcpy(expected, "NaT");
        else if (type->kind != KEY_UNSIGNED)
            snprintf(expected, sizeof expected, "%lld", (long long)(bits << unused) >> unused);
        else
            snprintf(expected, sizeof expected, "%llu", (unsigned long long)bits);
        is_right = strcmp(text, expected) == 0;
    }
    if (!is_right)
        fuzz_fail("%#llx as %s is written '%s'", (unsigned long long)bits, type->name, text);
}

/* ---- order ---- */

/* Returns the text with a NUL after it, for strtold(3) and its variants. The caller frees it. */
static char *model_terminated(struct fuzz_span span)
{
    char *const copy = malloc(span.length + 1);
    memcpy(copy, span.text, span.length);
    copy[span.length] = '\0';
    return copy;
}

/* Returns the class of the text; the least class sorts first: no number, NaNs, other numbers. */
static int model_general_class(struct fuzz_span span, long double *value)
{
    char *const copy = model_terminated(span), *end;
    *value = strtold(copy, &end);
    const bool is_number = end != copy;
    free(copy);
    return !is_number ? 0 : isnan(*value) ? (signbit(*value) ? 1 : 2) : 3;
}

static int model_compare_general(struct fuzz_span a, struct fuzz_span b)
{
    long double x, y;
    const int a_class = model_general_class(a, &x), b_class = model_general_class(b, &y);
    if (a_class != b_class || a_class != 3)
        return a_class - b_class;
    return (x > y) - (x < y);
}

struct model_decimal {
    int sign;       /* 0 if the value is zero */
    int suffix;     /* position in the row of suffixes, from 1; 0: none */
    char *whole;    /* without leading zeros */
    char *fraction; /* without trailing zeros */
    size_t whole_digits;
};

/* The byte 0x80 is skipped before the point, and then a suffix does not count
 * (formats/number/number_key.h). */
static struct model_decimal model_read_decimal(struct fuzz_span span, bool has_suffix)
{
    const char *p = span.text, *const end = p + span.length;
    struct model_decimal decimal = {.whole = malloc(span.length + 1),
                                    .fraction = malloc(span.length + 1)};
    size_t fraction_digits = 0;
    bool is_parted = false;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n'))
        p++;
    const bool negative = p < end && *p == '-';
    p += negative;
    for (; p < end && ((*p >= '0' && *p <= '9') || *p == (char)0x80); p++) {
        is_parted |= *p == (char)0x80;
        if (*p != (char)0x80 && (*p != '0' || decimal.whole_digits > 0))
            decimal.whole[decimal.whole_digits++] = *p;
    }
    if (p < end && *p == '.')
        for (p++; p < end && *p >= '0' && *p <= '9'; p++)
            decimal.fraction[fraction_digits++] = *p;
    while (fraction_digits > 0 && decimal.fraction[fraction_digits - 1] == '0')
        fraction_digits--;
    decimal.whole[decimal.whole_digits] = decimal.fraction[fraction_digits] = '\0';
    const bool is_zero = decimal.whole_digits + fraction_digits == 0;
    decimal.sign = is_zero ? 0 : negative ? -1 : 1;
    if (has_suffix && !is_zero && !is_parted && p < end && *p != '\0') {
        const char *const suffix = strchr("KMGTPEZYRQ", *p == 'k' ? 'K' : *p);
        decimal.suffix = suffix ? (int)(suffix - "KMGTPEZYRQ") + 1 : 0;
    }
    return decimal;
}

static int model_compare_decimal(struct fuzz_span a, struct fuzz_span b, bool has_suffix)
{
    const struct model_decimal x = model_read_decimal(a, has_suffix),
                               y = model_read_decimal(b, has_suffix);
    int order = x.suffix - y.suffix;
    if (order == 0)
        order = (x.whole_digits > y.whole_digits) - (x.whole_digits < y.whole_digits);
    order = order != 0 ? order : strcmp(x.whole, y.whole);
    order = order != 0 ? order : strcmp(x.fraction, y.fraction);
    free(x.whole), free(x.fraction), free(y.whole), free(y.fraction);
    return x.sign != y.sign ? x.sign - y.sign : x.sign < 0 ? -order : order;
}

/* Compares two numbers in the order of a kind of key. */
static int model_compare(enum line_kind kind, struct fuzz_span a, struct fuzz_span b)
{
    const size_t common = a.length < b.length ? a.length : b.length;
    if (kind == LINE_NUMERIC || kind == LINE_HUMAN)
        return model_compare_decimal(a, b, kind == LINE_HUMAN);
    if (kind != LINE_BYTES)
        return model_compare_general(a, b);
    const int order = common > 0 ? memcmp(a.text, b.text, common) : 0;
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static void check_value(struct fuzz_text text)
{
    long double expected, found = 0;
    const int class = model_general_class((struct fuzz_span){text.data, text.length}, &expected);
    if (number_prefix_value(text.data, text.length, &found) != (class > 0))
        fuzz_fail("whether '%.*s' begins with a number", (int)text.length, text.data);
    if (class > 0 && (signbit(found) != signbit(expected) || isnan(found) != isnan(expected) ||
                      (class == 3 && found != expected)))
        fuzz_fail("'%.*s' is read as %La, by strtold(3) as %La", (int)text.length, text.data, found,
                  expected);
}

static void check_order(enum line_kind kind, bool reverse, struct fuzz_text a, struct fuzz_text b)
{
    struct line_key key = {.kind = kind, .reverse = reverse};
    const struct line_order order = {&key, 1, LINE_SEPARATOR_BLANKS, '\n', false, true, false};
    struct line_with_image x, y;
    const int upwards = sign(model_compare(kind, (struct fuzz_span){a.data, a.length},
                                           (struct fuzz_span){b.data, b.length}));
    const int expected = reverse ? -upwards : upwards;
    const bool a_has_image = line_image_make(&order, a.data, a.length, &x);
    const bool b_has_image = line_image_make(&order, b.data, b.length, &y);
    if (a_has_image && b_has_image) {
        const bool images_are_right =
            expected == 0 ? x.image == y.image
                          : (expected < 0 ? x.image <= y.image : x.image >= y.image) &&
                                (x.image != y.image || !x.is_exact || !y.is_exact);
        if (!images_are_right || sign(line_image_compare(&order, &x, &y)) != expected)
            fuzz_fail("kind %d: images of '%.*s', %#llx, and '%.*s', %#llx; expected %d", (int)kind,
                      (int)a.length, a.data, (unsigned long long)x.image, (int)b.length, b.data,
                      (unsigned long long)y.image, expected);
    }
    const int found = sign(line_compare_keys(&order, 0, a.data, a.length, b.data, b.length));
    if (found != expected)
        fuzz_fail("kind %d: '%.*s' and '%.*s' compare as %d, expected %d", (int)kind, (int)a.length,
                  a.data, (int)b.length, b.data, found, expected);
    if (kind != LINE_STRICT && !(a_has_image && b_has_image))
        fuzz_fail("kind %d refuses a line", (int)kind);
}

static void check_strict(struct fuzz_text text, const char *terminated, bool is_one_number)
{
    uint64_t key;
    bool exact;
    if (number_line_image(text.data, text.length, &key, &exact) != is_one_number)
        fuzz_fail("whether '%s' is one number", terminated);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct fuzz_input input = {data, bytes};
    uint64_t bits = 0;
    memcpy(&bits, data, bytes < sizeof bits ? bytes : sizeof bits);
    const unsigned flags = fuzz_take(&input);
    const bool reverse = flags & 1;
    const size_t most = flags >= 0xfe ? FUZZ_TEXT_MAX : 100; /* long texts take long */
    const struct fuzz_text a = fuzz_take_text(&input, TEXT_END, most);
    const struct fuzz_text b = fuzz_take_text(&input, -1, most);
    char *const terminated = model_terminated((struct fuzz_span){a.data, a.length});
    const bool is_one_number = is_number(terminated, a.length);
    for (size_t i = 0; i < KEY_TYPE_COUNT; i++) {
        check_parse(&key_types[i], a, terminated, is_one_number);
        check_format(&key_types[i], bits);
    }
    check_value(a);
    check_strict(a, terminated, is_one_number);
    for (enum line_kind kind = LINE_STRICT; kind <= LINE_BYTES; kind++)
        check_order(kind, reverse, a, b);
    free(terminated);
    free(a.data);
    free(b.data);
    return 0;
}
