/* merge_round.h - texts in memory merged into one, by several threads.
 *
 *   texts -> merge_cut: parts -> each thread: a tree of losers over a part -> sink, in order
 */
#ifndef FORMATS_MERGE_ROUND_H
#define FORMATS_MERGE_ROUND_H

#include "core/error.h"
#include "core/line_order.h"
#include "formats/line_rank.h"
#include "formats/merge_cut.h"
#include "formats/sink.h"

#include <stdbool.h>
#include <stddef.h>

struct merge_round {
    const struct line_order *order;
    struct sorted_text *texts; /* `begin` is moved along to where the round has stopped */
    size_t count;
    /* NULL: the texts are in order, and are merged to their ends. Else they need not be; the next
     * line is the least of their first ones, until a text i is used up whose goes_on[i] is true. */
    const bool *goes_on;
    unsigned threads;
    size_t part_bytes; /* merged at a time by one thread */
    /* Of a unique order, in and out: the last line that was written. The text is the caller's, or
     * one of texts. */
    struct ranked_line last;
    bool has_last;
};

/* Writes the merged lines; of a unique order, those whose keys are not equal to those of the line
 * written before. */
bool merge_round_run(struct merge_round *round, struct sink *sink, struct error *error);

#endif
