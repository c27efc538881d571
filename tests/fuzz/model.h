/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - sort(1)'s rules, written as simply as possible: the reference of the fuzz targets for
 * numbers, key definitions and lines.
 */
#ifndef TESTS_FUZZ_MODEL_H
#define TESTS_FUZZ_MODEL_H

#include "core/line/line_order.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

struct model_span {
    const char *text;
    size_t length;
};

/* ---- -g ---- */

/* Returns the text with a NUL after it, for strtold(3) and its variants. The caller frees it. */
static inline char *model_terminated(struct model_span span)
{
    char *const copy = malloc(span.length + 1);
    memcpy(copy, span.text, span.length);
    copy[span.length] = '\0';
    return copy;
}

/* Returns the class of the text; the least class sorts first: no number, NaNs, other numbers. */
static inline int model_general_class(struct model_span span, long double *value)
{
    char *const copy = model_terminated(span), *end;
    *value = strtold(copy, &end);
    const bool is_number = end != copy;
    free(copy);
    return !is_number ? 0 : isnan(*value) ? (signbit(*value) ? 1 : 2) : 3;
}

static inline int model_compare_general(struct model_span a, struct model_span b)
{
    long double x, y;
    const int a_class = model_general_class(a, &x), b_class = model_general_class(b, &y);
    if (a_class != b_class || a_class != 3)
        return a_class - b_class;
    return (x > y) - (x < y);
}

/* ---- -n and -h ---- */

struct model_decimal {
    int sign;       /* 0 if the value is zero */
    int suffix;     /* position in the row of suffixes, from 1; 0: none */
    char *whole;    /* without leading zeros */
    char *fraction; /* without trailing zeros */
    size_t whole_digits;
};

/* The byte 0x80 is skipped before the point, and then a suffix does not count
 * (formats/number/number_key.h). */
static inline struct model_decimal model_read_decimal(struct model_span span, bool has_suffix)
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

static inline int model_compare_decimal(struct model_span a, struct model_span b, bool has_suffix)
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

/* ---- keys ---- */

static inline bool model_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Returns true if byte i of the line is the first of a field other than the first field. */
static inline bool model_begins_field(int separator, struct model_span line, size_t i)
{
    if (i == 0)
        return false;
    return separator == LINE_SEPARATOR_BLANKS
               ? model_is_blank(line.text[i]) && !model_is_blank(line.text[i - 1])
               : (unsigned char)line.text[i - 1] == separator;
}

/* Returns the start of the field; the end of the line if it has no such field. */
static inline size_t model_field_begin(int separator, struct model_span line, size_t field)
{
    size_t i = 0;
    for (size_t found = 0; i < line.length; i++) {
        found += model_begins_field(separator, line, i);
        if (found == field)
            return i;
    }
    return line.length;
}

static inline size_t model_field_end(int separator, struct model_span line, size_t begin)
{
    size_t i = begin;
    while (i < line.length && (separator == LINE_SEPARATOR_BLANKS
                                   ? i == begin || !model_begins_field(separator, line, i)
                                   : (unsigned char)line.text[i] != separator))
        i++;
    return i;
}

/* Returns the position in the line. */
static inline size_t model_find_place(int separator, struct model_span line,
                                      const struct line_place *place)
{
    size_t at = model_field_begin(separator, line, place->field);
    while (place->skip_blanks && at < line.length && model_is_blank(line.text[at]))
        at++;
    return place->character > line.length - at ? line.length : at + place->character;
}

static inline struct model_span model_find_key(int separator, const struct line_key *key,
                                               struct model_span line)
{
    const size_t begin = model_find_place(separator, line, &key->begin);
    size_t end = line.length;
    if (key->end_kind == LINE_END_AT_PLACE)
        end = model_find_place(separator, line, &key->end);
    else if (key->end_kind == LINE_END_OF_FIELD)
        end = model_field_end(separator, line, model_field_begin(separator, line, key->end.field));
    return (struct model_span){line.text + begin, end > begin ? end - begin : 0};
}

/* ---- lines ---- */

static inline int model_compare_bytes(struct model_span a, struct model_span b)
{
    const size_t common = a.length < b.length ? a.length : b.length;
    const int order = common > 0 ? memcmp(a.text, b.text, common) : 0;
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static inline int model_compare_keys(const struct line_order *order, struct model_span a,
                                     struct model_span b)
{
    int result = 0;
    for (size_t i = 0; i < order->key_count && result == 0; i++) {
        const struct line_key *const key = &order->keys[i];
        const struct model_span x = model_find_key(order->separator, key, a),
                                y = model_find_key(order->separator, key, b);
        switch (key->kind) {
        case LINE_BYTES:
            result = model_compare_bytes(x, y);
            break;
        case LINE_NUMERIC:
        case LINE_HUMAN:
            result = model_compare_decimal(x, y, key->kind == LINE_HUMAN);
            break;
        case LINE_GENERAL:
        case LINE_STRICT:
            result = model_compare_general(x, y);
        }
        result = key->reverse ? -result : result;
    }
    return result;
}

/* Compares lines, with the last resort. */
static inline int model_compare_lines(const struct line_order *order, struct model_span a,
                                      struct model_span b)
{
    const int result = model_compare_keys(order, a, b);
    if (result != 0 || order->stable || order->unique)
        return result;
    return order->reverse ? model_compare_bytes(b, a) : model_compare_bytes(a, b);
}

#endif
