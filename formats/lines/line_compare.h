/* SPDX-License-Identifier: Apache-2.0 */
/* line_compare.h - compares two lines: by their bytes alone, or by ranks, numbers that nearly
 * always decide a comparison.
 *
 *   line -> its first key -> a monotone 64-bit image of the key, the rank
 *   two ranked lines -> ranks differ: done; otherwise keys and last resort are read from the text
 *
 * Ranks are for lines that are sorted (lines.c), or compared repeatedly or with their neighbours
 * (lines_check.c, lines_write.c, merge_texts.h).
 */
#ifndef FORMATS_LINE_COMPARE_H
#define FORMATS_LINE_COMPARE_H

#include "core/line/line_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Lines without a rank ---- */

/* Compares keys [first, key_count). Returns a value below 0 if line a sorts before line b, above 0
 * if it sorts after it, 0 if all keys are equal. The lines exclude their terminators. A LINE_STRICT
 * key is compared as LINE_GENERAL. */
int line_compare_keys(const struct line_order *order, size_t first, const char *a, size_t a_length,
                      const char *b, size_t b_length);

/* Compares by the last resort: the bytes of the whole lines. Returns 0 if the order has none. */
int line_compare_last(const struct line_order *order, const char *a, size_t a_length, const char *b,
                      size_t b_length);

/* ---- Ranks ---- */

/* Computes the rank of text[0..length), which does not depend on the direction of the key.
 * *is_exact: a line with the same rank that is exact too has an equal first key. Returns false if
 * that key is LINE_STRICT and not a number: the line has no order then. */
typedef bool line_ranker(const struct line_order *order, const char *text, size_t length,
                         uint64_t *rank, bool *is_exact);

/* Returns the ranker for the first key of the order. */
line_ranker *line_ranker_of(const struct line_order *order);

/* A line with its rank. It borrows the text. */
struct ranked_line {
    const char *text;
    size_t length; /* without the terminator */
    uint64_t rank; /* a < b by the first key implies rank(a) <= rank(b) */
    bool is_exact; /* two lines with equal ranks, both exact, have equal first keys */
};

/* Ranks text[0..length). The rank is complemented if the first key is reversed. Returns false as a
 * line_ranker does. */
bool line_rank(const struct line_order *order, const char *text, size_t length,
               struct ranked_line *line);

/* As line_rank_compare(), for equal ranks. */
int line_rank_compare_equal(const struct line_order *order, const struct ranked_line *a,
                            const struct ranked_line *b);

/* Compares two lines. Returns a value below 0 if a sorts before b, above 0 if it sorts after b. 0:
 * any order is correct; with a stable order, that of the input. */
static inline int line_rank_compare(const struct line_order *order, const struct ranked_line *a,
                                    const struct ranked_line *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return line_rank_compare_equal(order, a, b);
}

#ifdef __cplusplus
}
#endif
#endif
