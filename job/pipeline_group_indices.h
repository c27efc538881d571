/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_group_indices.h - the indices of lines of a job that several ranks share, once each
 * rank has merged its range of the lines.
 *
 *   indices of this rank's runs of lines -> messages -> merged as the lines were (line_indices.h)
 *     -> this rank's range of the one output
 */
#ifndef JOB_PIPELINE_GROUP_INDICES_H
#define JOB_PIPELINE_GROUP_INDICES_H

#include "job/pipeline_ranks.h"

struct group_indices {
    struct job_state *state;
    const struct item_run *runs; /* of indices, of this rank */
    size_t run_count;
    const struct spill_run *sources; /* the merged range of this rank */
    size_t memory_bytes;             /* for merging, and as much for messages */
    uint64_t *figures;               /* of this rank: RANK_FIGURES */
    uint64_t output_bytes;           /* out: of all ranks */
};

/* Collective: writes the indices to state->sink, and proves them. */
bool group_indices_write(struct group_indices *indices, struct error *error);

#endif
