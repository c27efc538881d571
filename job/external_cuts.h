/* SPDX-License-Identifier: Apache-2.0 */
/* external_cuts.h - where the sorted runs of all ranks are cut, so that each rank gets its range of
 * the output.
 *
 *   runs of rank 0 | runs of rank 1 | ...     all runs, in the order of the input
 *   cut c: a position in each run; the items before them are the first targets[c] of all items
 *
 * A record is a number or a line. An item is a number, or a byte of a run of lines. Lines are not
 * split, so that a cut of lines may exceed its target.
 *
 * The positions are exact for every distribution. Each step takes a record of one run as the pivot,
 * and counts, over all ranks, the items of the records before it. Equal records of an earlier run
 * are before it, so the sort is stable. With a unique order no cut separates equal lines: all that
 * are equal to the pivot get to the same side of the cut.
 */
#ifndef JOB_EXTERNAL_CUTS_H
#define JOB_EXTERNAL_CUTS_H

#include "core/group.h"
#include "core/line/line_order.h"
#include "job/external_merge.h"

/* The order of records: of lines by line_order, of numbers by key_order. */
struct record_order {
    const struct line_order *line_order; /* NULL: of numbers */
    unsigned item_bytes;                 /* 1, 2, 4, 8 or 16; of lines 1 */
    struct key_order key_order;          /* of the stored bits of numbers */
};

/* Returns a number below, equal to or above 0, as memcmp(3) does. Lines have no terminators. */
int record_compare(const struct record_order *order, const char *a, size_t a_length, const char *b,
                   size_t b_length);

/* The sorted runs of all ranks, in the order of the input. */
struct rank_runs {
    size_t count;        /* of all ranks */
    size_t first;        /* the number of this rank's first run */
    unsigned *owners;    /* owned: the rank of each run */
    uint64_t *positions; /* owned. Rows of `count`: where the range of rank r begins in each run; a
                            row more for the end of the last one */
};

struct external_cuts {
    struct group *group;
    struct record_order order;
    const struct item_run *runs; /* of this rank; lines are on disk */
    size_t run_count;
    struct rank_runs *numbered;
    const uint64_t *targets; /* of the end of each rank's range, in ascending order; at most the
                                number of all items */
};

/* Collective: fills the positions of `numbered` after its first row. Fails if a run cannot be read,
 * memory runs out or the group fails. */
bool external_cuts_find(const struct external_cuts *cuts, struct error *error);

#endif
