/* SPDX-License-Identifier: Apache-2.0 */
/* line_compare.h - compares two lines: by their texts alone, or by images (core/line/line_image.h),
 * numbers that nearly always decide a comparison.
 *
 *   line -> its first key -> the key's monotone 64-bit image
 *   two lines with images -> images differ: done; otherwise keys and last resort are read from the
 *                            text
 *
 * Images are for lines that are sorted (lines.c), or compared repeatedly or with their neighbours
 * (lines_check.c, lines_write.c, merge_steps.h). For bytes that are compared once, the key itself
 * is better.
 */
#ifndef FORMATS_LINE_COMPARE_H
#define FORMATS_LINE_COMPARE_H

#include "core/line/line_key.h"
#include "core/line/line_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Lines without an image ---- */

/* Compares keys [first, key_count), then by the last resort, the bytes of the whole lines, unless
 * the order has none. Returns a value below 0 if line a sorts before line b, above 0 if it sorts
 * after it, 0 if the lines are equal. The lines exclude their terminators. A LINE_STRICT key is
 * compared as LINE_GENERAL. */
int line_compare(const struct line_order *order, size_t first, const char *a, size_t a_length,
                 const char *b, size_t b_length);

/* ---- Images ---- */

/* Makes the image of a key, without regard to its direction. *is_exact: as in line_with_image.
 * Returns false if the key is LINE_STRICT and not a number. */
typedef bool line_image_maker(const char *text, size_t length, uint64_t *image, bool *is_exact);

/* Indexed by enum line_kind. */
extern line_image_maker *const line_image_makers[];

/* A line with its image. It borrows the text. */
struct line_with_image {
    const char *text;
    size_t length;        /* without the terminator */
    uint64_t image;       /* a < b by the first key implies image(a) <= image(b) */
    bool is_exact;        /* two lines with equal images, both exact, have equal first keys */
    struct line_span key; /* the first key; its text is NULL if it was not found yet */
};

/* As line_key_find(), and fast for whole lines. */
static inline struct line_span line_key_span(const struct line_order *order,
                                             const struct line_key *key, const char *text,
                                             size_t length)
{
    const struct line_span whole = {text, length};
    return line_key_is_whole(key) ? whole : line_key_find(order->separator, key, text, length);
}

/* Sets *line to text[0..length), its first key and its image, which is complemented if that key is
 * reversed. Returns false if that key is LINE_STRICT and not a number: the line has no order then.
 */
static inline bool line_image_make(const struct line_order *order, const char *text, size_t length,
                                   struct line_with_image *line)
{
    const struct line_key *const key = &order->keys[0];
    line->text = text;
    line->length = length;
    line->key = line_key_span(order, key, text, length);
    const bool has_image = line_image_makers[key->kind](line->key.text, line->key.length,
                                                        &line->image, &line->is_exact);
    if (key->reverse)
        line->image = ~line->image;
    return has_image;
}

/* Compares bytes, of which the first `same` are equal. Returns a value below 0, 0, or above 0. */
static inline int line_span_compare(struct line_span a, struct line_span b, size_t same)
{
    const size_t shared = a.length < b.length ? a.length : b.length;
    const int order = memcmp(a.text + same, b.text + same, shared - same);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* Finds the first key of an inexact line that will be compared several times with lines of the same
 * image. */
static inline void line_find_key(const struct line_order *order, struct line_with_image *line)
{
    if (!line->is_exact && !line->key.text)
        line->key = line_key_span(order, &order->keys[0], line->text, line->length);
}

/* As line_image_compare(), for equal images. */
int line_image_compare_equal(const struct line_order *order, const struct line_with_image *a,
                             const struct line_with_image *b);

/* Compares two lines. Returns a value below 0 if a sorts before b, above 0 if it sorts after b. 0:
 * the lines may be in any order or, with a stable order, keep that of the input. */
static inline int line_image_compare(const struct line_order *order,
                                     const struct line_with_image *a,
                                     const struct line_with_image *b)
{
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    return line_image_compare_equal(order, a, b);
}

#ifdef __cplusplus
}
#endif
#endif
