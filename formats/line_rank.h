/* SPDX-License-Identifier: Apache-2.0 */
/* line_rank.h - a line with a number, its rank, that nearly always decides a comparison.
 *
 *   line -> its first key -> a monotone 64-bit image of it, the rank
 *   two ranked lines -> ranks differ: done; else their keys and the last resort, from the text
 *
 * For lines that are sorted (lines_key.c), or compared more than once or one after the other
 * (line_run.c, lines_write.c, merge_texts.h).
 */
#ifndef FORMATS_LINE_RANK_H
#define FORMATS_LINE_RANK_H

#include "core/line_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the rank of text[0..length), the same for both directions; *is_exact says whether lines
 * with equal ranks that are exact have equal first keys. False when that key is LINE_STRICT and not
 * one number: the line is then in no order. */
typedef bool line_ranker(const struct line_order *order, const char *text, size_t length,
                         uint64_t *rank, bool *is_exact);

/* The ranker for the first key of the order. */
line_ranker *line_ranker_of(const struct line_order *order);

/* Borrows the text. */
struct ranked_line {
    const char *text;
    size_t length; /* without the terminator */
    uint64_t rank; /* a < b by the first key implies rank(a) <= rank(b) */
    bool is_exact; /* two lines with equal ranks, both exact, have equal first keys */
};

/* Ranks text[0..length), complemented if the first key is reversed; false as line_ranker. */
bool line_rank(const struct line_order *order, const char *text, size_t length,
               struct ranked_line *line);

/* As line_rank_compare, where the ranks are equal. */
int line_rank_compare_equal(const struct line_order *order, const struct ranked_line *a,
                            const struct ranked_line *b);

/* Compares two lines. Below 0: a sorts before b; above 0: after it; 0: they may be in any order or,
 * with a stable order, in that of the input. */
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
