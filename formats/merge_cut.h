/* merge_cut.h - where to cut sorted texts, so that the parts can be merged apart from each other.
 *
 *   sorted texts -> lines at even distances, sorted -> every so many of them is a splitter
 *     -> in each text, the place of each splitter by binary search
 *
 * All lines before a cut go before all lines behind it, in every text, equal lines in the order of
 * the texts; with a unique order no equal keys stand on both sides.
 */
#ifndef FORMATS_MERGE_CUT_H
#define FORMATS_MERGE_CUT_H

#include "core/error.h"
#include "core/line_order.h"
#include "formats/line_rank.h"

#include <stdbool.h>
#include <stddef.h>

/* Whole lines text[begin..end), in order. Borrows the text. */
struct sorted_text {
    const char *text;
    size_t begin, end;
};

/* A line of texts[text]. */
struct splitter {
    struct ranked_line line;
    size_t text;
    size_t offset;
};

/* Ranks the line of the text that the byte at `offset` is of; returns where it starts. */
size_t merge_cut_rank_line(const struct line_order *order, const struct sorted_text *text,
                           size_t offset, struct ranked_line *line);

/* Where texts[i] is to be cut, so that what goes before the splitter is before the cut. With
 * `behind`, the splitter itself goes before it. */
size_t merge_cut_find(const struct line_order *order, const struct sorted_text *texts, size_t i,
                      const struct splitter *splitter, bool behind);

/* Cuts the texts into parts of about as many bytes: part p is [cuts[p * count + i], cuts[(p + 1) *
 * count + i]) of texts[i]. cuts has (parts + 1) * count elements; parts is at least 1. */
bool merge_cut_evenly(const struct line_order *order, const struct sorted_text *texts, size_t count,
                      size_t parts, size_t *cuts, unsigned threads, struct error *error);

#endif
