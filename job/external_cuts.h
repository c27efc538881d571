/* SPDX-License-Identifier: Apache-2.0 */
/* external_cuts.h - where the sorted runs of all ranks are cut, so that each rank gets its range of
 * the output.
 *
 *   runs of rank 0 | runs of rank 1 | ...     all runs, in the order of the input
 *   cut c: a position in each run; the items before them are the first targets[c] of all items
 *
 * The positions are exact for every distribution. The item at a target is found bit by bit: each
 * step counts, over all ranks, the items that are less than a trial value. Items equal to it go
 * before the cut in the order of the runs, as in a stable sort.
 */
#ifndef JOB_EXTERNAL_CUTS_H
#define JOB_EXTERNAL_CUTS_H

#include "core/group.h"
#include "job/external_merge.h"

struct external_cuts {
    struct group *group;
    unsigned item_bytes;         /* 4, 8 or 16 */
    struct key_order order;      /* of the stored bits */
    const struct item_run *runs; /* of this rank */
    size_t run_count;
    size_t first_run;        /* the number of the first of them, of the runs of all ranks */
    size_t all_runs;         /* of all ranks */
    const uint64_t *targets; /* each at most the number of all items */
    size_t cut_count;
};

/* Collective: fills the positions, a row of `all_runs` for each cut. Fails where a run cannot be
 * read, memory runs out or the group fails. */
bool external_cuts_find(const struct external_cuts *cuts, uint64_t *positions, struct error *error);

#endif
