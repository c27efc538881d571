/* line_compare.c - see line_compare.h. */
#include "formats/line_compare.h"

#include "formats/line_field.h"
#include "formats/number_value.h"
#include "formats/numeric_text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static int compare_sizes(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order : compare_sizes(a_length, b_length);
}

/* ---- -n and -h ---- */

/* -1, 0 or 1, the sign of the number. */
static int sign_of(const struct numeric_text *number)
{
    if (number->whole_digits + number->fraction_digits == 0)
        return 0;
    return number->is_negative ? -1 : 1;
}

/* Of as many digits, with separators among those of one or the other. */
static int compare_grouped(const struct numeric_text *a, const struct numeric_text *b)
{
    const char *p = a->whole, *q = b->whole;
    for (size_t left = a->whole_digits; left > 0; left--, p++, q++) {
        while (numeric_is_separator(*p))
            p++;
        while (numeric_is_separator(*q))
            q++;
        if (*p != *q)
            return *p - *q;
    }
    return 0;
}

static int compare_magnitudes(const struct numeric_text *a, const struct numeric_text *b)
{
    if (a->whole_digits != b->whole_digits)
        return compare_sizes(a->whole_digits, b->whole_digits);
    const int order = a->is_grouped || b->is_grouped ? compare_grouped(a, b)
                                                     : memcmp(a->whole, b->whole, a->whole_digits);
    /* A fraction that goes on behind the other has a digit there that is not 0. */
    return order != 0
               ? order
               : compare_bytes(a->fraction, a->fraction_digits, b->fraction, b->fraction_digits);
}

static int compare_values(const struct numeric_text *a, const struct numeric_text *b)
{
    const int a_sign = sign_of(a), b_sign = sign_of(b);
    if (a_sign != b_sign)
        return a_sign - b_sign;
    return a_sign < 0 ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

static int compare_numeric(struct line_span a, struct line_span b)
{
    const struct numeric_text x = numeric_text_read(a.text, a.length);
    const struct numeric_text y = numeric_text_read(b.text, b.length);
    return compare_values(&x, &y);
}

static int compare_human(struct line_span a, struct line_span b)
{
    const struct numeric_text x = numeric_text_read(a.text, a.length);
    const struct numeric_text y = numeric_text_read(b.text, b.length);
    const int x_order = sign_of(&x) * numeric_suffix_order(x.suffix);
    const int y_order = sign_of(&y) * numeric_suffix_order(y.suffix);
    return x_order != y_order ? x_order - y_order : compare_values(&x, &y);
}

/* ---- -g ---- */

/* What is no number, NaNs and the other numbers, in this order. */
enum general_class { NO_NUMBER, NEGATIVE_NAN, POSITIVE_NAN, ORDERED_NUMBER };

struct general_value {
    enum general_class class;
    long double value;
};

static struct general_value read_general(struct line_span key)
{
    long double value;
    if (!number_prefix_value(key.text, key.length, &value))
        return (struct general_value){NO_NUMBER, 0};
    if (isnan(value))
        return (struct general_value){signbit(value) ? NEGATIVE_NAN : POSITIVE_NAN, 0};
    return (struct general_value){ORDERED_NUMBER, value};
}

static int compare_general(struct line_span a, struct line_span b)
{
    const struct general_value x = read_general(a), y = read_general(b);
    if (x.class != y.class)
        return (int)x.class - (int)y.class;
    return (x.value > y.value) - (x.value < y.value);
}

/* ---- Lines ---- */

static int compare_spans(enum line_kind kind, struct line_span a, struct line_span b)
{
    switch (kind) {
    case LINE_NUMERIC:
        return compare_numeric(a, b);
    case LINE_HUMAN:
        return compare_human(a, b);
    case LINE_BYTES:
        return compare_bytes(a.text, a.length, b.text, b.length);
    case LINE_STRICT:
    case LINE_GENERAL:
        break;
    }
    return compare_general(a, b);
}

int line_compare_keys(const struct line_order *order, size_t first, const char *a, size_t a_length,
                      const char *b, size_t b_length)
{
    for (size_t i = first; i < order->key_count; i++) {
        const struct line_key *const key = &order->keys[i];
        const int found = compare_spans(key->kind, line_key_find(order, key, a, a_length),
                                        line_key_find(order, key, b, b_length));
        if (found != 0)
            return (found > 0) != key->reverse ? 1 : -1;
    }
    return 0;
}

int line_compare_last(const struct line_order *order, const char *a, size_t a_length, const char *b,
                      size_t b_length)
{
    if (line_order_is_stable(order))
        return 0;
    const int found = compare_bytes(a, a_length, b, b_length);
    return found == 0 ? 0 : (found > 0) != order->reverse ? 1 : -1;
}

int line_compare(const struct line_order *order, const char *a, size_t a_length, const char *b,
                 size_t b_length)
{
    const int found = line_compare_keys(order, 0, a, a_length, b, b_length);
    return found != 0 ? found : line_compare_last(order, a, a_length, b, b_length);
}
