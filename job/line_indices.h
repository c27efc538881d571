/* SPDX-License-Identifier: Apache-2.0 */
/* line_indices.h - the indices of lines that are sorted in parts, for --argsort.
 *
 * Each sorted run of text has a run of indices, one for each of its lines:
 *
 *   runs of text -> lines_merge, with writes_sources -> the numbers of the runs, on disk
 *     -> for each number, the next index of that run -> write
 */
#ifndef JOB_LINE_INDICES_H
#define JOB_LINE_INDICES_H

#include "core/backend.h"
#include "core/error.h"
#include "formats/io/sink.h"
#include "formats/io/spill.h"
#include "job/external_merge.h"
#include "job/job_state.h"

struct line_indices {
    const struct job_state *state;   /* its proof fails if a run has changed */
    const struct spill_run *sources; /* written by a merge of the runs of text */
    const struct item_run *runs;     /* of the indices, as uint64_t, in the order of that merge */
    size_t run_count;
    uint64_t wanted;     /* maximum number of indices written */
    size_t memory_bytes; /* for windows of the runs, approximately */
    /* Writes the next `count` struct key_index, whose keys are 0. Their memory is reused after it
     * returns. */
    bool (*write)(void *context, const void *items, size_t count, struct error *error);
    void *context;
};

/* Counts the lines that a merge of `run_count` runs wrote to `sources`. Adds to counts[i] those of
 * run i, unless `counts` is NULL. *kept is of all runs, without the lines that were left out. */
bool line_indices_count(const struct job_state *state, const struct spill_run *sources,
                        size_t run_count, uint64_t *counts, uint64_t *kept, struct error *error);

/* Passes at most `wanted` indices, of the lines that were not left out, to `write`. Fails if a run
 * cannot be read or has changed since it was written, `write` fails, or memory runs out. */
bool line_indices_write(const struct line_indices *task, struct error *error);

/* A `write` that appends the indices of the items to a run of indices, which is `sink`. */
bool line_indices_store(void *sink, const void *items, size_t count, struct error *error);

#endif
