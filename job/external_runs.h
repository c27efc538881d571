/* SPDX-License-Identifier: Apache-2.0 */
/* external_runs.h - sorted runs of numbers, or of items that carry their index: made of the parts
 * of the input that an engine sorts, kept in memory or on disk, and merged.
 *
 * Keys of one and two bytes are counted instead (key_counts.h), which takes little memory and needs
 * no merge: no run is kept.
 */
#ifndef JOB_EXTERNAL_RUNS_H
#define JOB_EXTERNAL_RUNS_H

#include "job/job_state.h"
#include "job/key_counts.h"
#include "job/run_list.h"

struct external_runs {
    struct job_state *state;
    uint64_t *counts; /* owned: of keys of one or two bytes (key_counts.h); else NULL */
    struct spill *spill;
    struct run_list list;
    size_t kept_bytes;  /* of runs in memory */
    bool is_in_engine;  /* the one run is in the memory of the engine, which stays open */
    size_t merge_bytes; /* memory for merging, and for the runs in memory */
};

/* Fills *external for the parts of the job. The caller calls external_runs_close(), also after a
 * failure. */
bool external_runs_open(struct job_state *state, struct external_runs *external,
                        struct error *error);

/* Makes a run of the part that was sorted, or counts its keys. If a group shares the job, and the
 * CPU's engine has all numbers of this rank, the run stays in the engine's memory. */
bool external_runs_keep(struct external_runs *external, struct error *error);

/* Sorts and keeps the parts that follow the first one, then closes the engine if no run is in it.
 */
bool external_runs_keep_rest(struct external_runs *external, struct error *error);

/* Returns the bytes of memory that the runs leave for merging. */
size_t external_runs_memory_left(const struct external_runs *external);

/* Merges adjacent runs until there are at most `most`. */
bool external_runs_reduce(struct external_runs *external, size_t most, struct error *error);

void external_runs_close(struct external_runs *external);

#endif
