/* SPDX-License-Identifier: Apache-2.0 */
/* merge_round.h - texts in memory merged into one, by several threads.
 *
 *   texts -> merge_cut: parts -> each thread: merge_part -> sink, in order
 */
#ifndef FORMATS_MERGE_ROUND_H
#define FORMATS_MERGE_ROUND_H

#include "core/check_sum.h"
#include "core/error.h"
#include "formats/merge_part.h"
#include "formats/merge_texts.h"
#include "formats/sink.h"

#include <stdbool.h>
#include <stddef.h>

struct merge_round {
    struct merge_texts texts; /* `begin` is moved along to where the round has stopped */
    unsigned threads;
    struct merge_scratch *scratches; /* of each thread; the caller's, and kept */
    size_t part_bytes;               /* of text and items, merged at a time by one thread */
    /* Of a unique order, in and out: the last line that was written. The text is the caller's, or
     * one of texts. */
    struct ranked_line last;
    bool has_last;
    uint64_t last_key;       /* in and out: of the last line of the round before; 0 at first */
    bool is_disordered;      /* out: items that are not in order */
    struct check_sum passed; /* out: the lines written, and those that were left out, each at its
                                place in its source */
};

/* Writes the merged lines; of a unique order, those whose keys are not equal to those of the line
 * written before. */
bool merge_round_run(struct merge_round *round, struct sink *sink, struct error *error);

#endif
