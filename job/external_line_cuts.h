/* SPDX-License-Identifier: Apache-2.0 */
/* external_line_cuts.h - where the sorted runs of lines of all ranks are cut, so that each rank
 * gets its range of the output.
 *
 *   runs of rank 0 | runs of rank 1 | ...     text on disk; all runs, in the order of the input
 *   cut c: a position in each run, at which a line begins; the bytes before them are targets[c]
 *          bytes of all runs, and at most one line more
 *
 * Each step takes a line of one run as the pivot, and counts, over all ranks, the bytes of the
 * lines before it. Equal lines of an earlier run are before it, so the sort is stable. With a
 * unique order no cut separates equal lines: the first line of each run that is not less than the
 * pivot begins after the cut.
 */
#ifndef JOB_EXTERNAL_LINE_CUTS_H
#define JOB_EXTERNAL_LINE_CUTS_H

#include "core/group.h"
#include "core/line/line_order.h"
#include "formats/io/spill.h"

struct external_line_cuts {
    struct group *group;
    const struct line_order *order;
    const struct spill_run *runs; /* of this rank */
    size_t run_count;
    size_t first_run;        /* the number of the first of them, of the runs of all ranks */
    const unsigned *owners;  /* of all runs: the rank */
    size_t all_runs;         /* of all ranks */
    const uint64_t *targets; /* in ascending order, each at most the bytes of all runs */
    size_t cut_count;
};

/* Collective: fills the positions, a row of `all_runs` for each cut. Fails if a run cannot be read,
 * memory runs out or the group fails. */
bool external_line_cuts_find(const struct external_line_cuts *cuts, uint64_t *positions,
                             struct error *error);

#endif
