/* SPDX-License-Identifier: Apache-2.0 */
/* line_compare.c - see line_compare.h. */
#include "formats/lines/line_compare.h"

#include "core/byte_words.h"
#include "core/line/line_key.h"
#include "formats/number/number_key.h"

#include <stdbool.h>
#include <string.h>

/* ---- Numbers, exactly ---- */

/* Compares numbers of -n or -h word by word (number_key.h), up to the first difference. */
static int compare_decimals(struct line_span a, struct line_span b, bool has_suffix)
{
    struct decimal_text x, y;
    decimal_scan(a.text, a.length, has_suffix, &x);
    decimal_scan(b.text, b.length, has_suffix, &y);
    for (size_t index = 0;;) {
        const uint64_t x_word = decimal_word(&x, index), y_word = decimal_word(&y, index);
        if (x_word != y_word)
            return x_word < y_word ? -1 : 1;
        if (decimal_word_is_last(x_word, index))
            return 0;
        index = index == 0 ? decimal_common_words(&x, &y) : index + 1;
    }
}

/* For keys with equal images: with -g, both are numbers, both are NaNs of one sign, or neither is a
 * number. */
static int compare_numbers(enum line_kind kind, struct line_span a, struct line_span b)
{
    if (kind == LINE_NUMERIC || kind == LINE_HUMAN)
        return compare_decimals(a, b, kind == LINE_HUMAN);
    long double x = 0, y = 0;
    (void)number_prefix_class(a.text, a.length, &x);
    (void)number_prefix_class(b.text, b.length, &y);
    return (x > y) - (x < y);
}

/* ---- Images ---- */

static bool image_of_numeric(const char *text, size_t length, uint64_t *image, bool *is_exact)
{
    *image = decimal_image(text, length);
    *is_exact = decimal_word_is_last(*image, 0);
    return true;
}

static bool image_of_human(const char *text, size_t length, uint64_t *image, bool *is_exact)
{
    *image = decimal_suffix_image(text, length);
    *is_exact = decimal_word_is_last(*image, 0);
    return true;
}

/* The first 7 bytes, then the length, where 8 means more than 7. lines_refine.c relies
 * on this. */
static bool image_of_bytes(const char *text, size_t length, uint64_t *image, bool *is_exact)
{
    uint64_t word;
    *is_exact = length <= 7;
    if (*is_exact) {
        *image = __builtin_bswap64(bytes_load_short(text, length)) | length;
    } else {
        memcpy(&word, text, 8);
        *image = (__builtin_bswap64(word) & ~(uint64_t)0xff) | 8;
    }
    return true;
}

line_image_maker *const line_image_makers[] = {
    [LINE_STRICT] = number_line_image, [LINE_GENERAL] = number_prefix_image,
    [LINE_NUMERIC] = image_of_numeric, [LINE_HUMAN] = image_of_human,
    [LINE_BYTES] = image_of_bytes,
};

/* ---- Lines ---- */

/* Compares numbers by their images first, which mostly decide, and are faster to make than an exact
 * comparison. */
static int compare_keys(enum line_kind kind, struct line_span a, struct line_span b)
{
    if (kind == LINE_BYTES)
        return line_span_compare(a, b, 0);
    uint64_t x, y;
    bool is_x_exact, is_y_exact;
    const enum line_kind made = kind == LINE_STRICT ? LINE_GENERAL : kind;
    (void)line_image_makers[made](a.text, a.length, &x, &is_x_exact);
    (void)line_image_makers[made](b.text, b.length, &y, &is_y_exact);
    if (x != y)
        return x < y ? -1 : 1;
    return is_x_exact && is_y_exact ? 0 : compare_numbers(kind, a, b);
}

static int in_direction(int found, bool is_reversed)
{
    return found == 0 ? 0 : (found > 0) != is_reversed ? 1 : -1;
}

/* The fields of a line from one of them on. */
struct fields {
    const char *text, *end;
    size_t first; /* number of the field that begins at `text` */
};

/* As line_key_span(), but searches from left->text on. The next key usually is in a later field, so
 * *left is moved to the field after a key that ends with a field. It returns to the start of the
 * line for a key in an earlier field. */
static struct line_span find_key(const struct line_order *order, const struct line_key *key,
                                 const char *line, struct fields *left)
{
    if (key->begin.field < left->first ||
        (key->end_kind != LINE_END_OF_LINE && key->end.field < left->first)) {
        left->text = line;
        left->first = 0;
    }
    const struct line_span span = line_key_find_after(order->separator, key, left->first,
                                                      left->text, (size_t)(left->end - left->text));
    if (key->end_kind == LINE_END_OF_FIELD && span.length > 0) {
        left->text = span.text + span.length;
        left->first = key->end.field + 1;
        left->text += order->separator != LINE_SEPARATOR_BLANKS && left->text < left->end;
    }
    return span;
}

/* Compares by the keys from `first` on. Both lines begin with the same `common` bytes: a key that
 * ends before the first difference is the same in both, so it is found in one line only. */
static int compare_by_keys(const struct line_order *order, size_t first, struct fields *a_left,
                           struct fields *b_left, size_t common)
{
    const char *const a = a_left->text, *const b = b_left->text;
    for (size_t i = first; i < order->key_count; i++) {
        const struct line_key *const key = &order->keys[i];
        const struct line_span x = find_key(order, key, a, a_left);
        if (x.text + x.length < a + common) {
            b_left->text = b + (a_left->text - a);
            b_left->first = a_left->first;
            continue;
        }
        const int found = compare_keys(key->kind, x, find_key(order, key, b, b_left));
        if (found != 0)
            return in_direction(found, key->reverse);
    }
    return 0;
}

/* For a single key, finding the common bytes takes more time than it saves. */
int line_compare(const struct line_order *order, size_t first, const char *a, size_t a_length,
                 const char *b, size_t b_length)
{
    size_t common = 0;
    int found = 0;
    if (order->key_count - first > 1) {
        common = bytes_common(a, b, a_length < b_length ? a_length : b_length);
        if (common == a_length && common == b_length)
            return 0;
        struct fields a_left = {a, a + a_length, 0}, b_left = {b, b + b_length, 0};
        found = compare_by_keys(order, first, &a_left, &b_left, common);
    } else if (first < order->key_count) {
        const struct line_key *const key = &order->keys[first];
        found = compare_keys(key->kind, line_key_span(order, key, a, a_length),
                             line_key_span(order, key, b, b_length));
        found = in_direction(found, key->reverse);
    }
    if (found != 0 || line_order_is_stable(order))
        return found;
    found =
        line_span_compare((struct line_span){a, a_length}, (struct line_span){b, b_length}, common);
    return in_direction(found, order->reverse);
}

int line_image_compare_equal(const struct line_order *order, const struct line_with_image *a,
                             const struct line_with_image *b)
{
    const struct line_key *const key = &order->keys[0];
    if (!a->is_exact || !b->is_exact) {
        /* Equal lines are found without reading their numbers, which may take long. */
        if (key->kind != LINE_BYTES &&
            (a->text == b->text ||
             (a->length == b->length && memcmp(a->text, b->text, a->length) == 0)))
            return 0;
        const struct line_span x =
            a->key.text ? a->key : line_key_span(order, key, a->text, a->length);
        const struct line_span y =
            b->key.text ? b->key : line_key_span(order, key, b->text, b->length);
        const int found =
            key->kind == LINE_BYTES ? line_span_compare(x, y, 0) : compare_numbers(key->kind, x, y);
        if (found != 0)
            return in_direction(found, key->reverse);
    }
    return line_order_has_one_key(order)
               ? 0
               : line_compare(order, 1, a->text, a->length, b->text, b->length);
}
