/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_ranks.h - steps of a job that a group shares, which are the same for numbers and lines:
 * numbering the runs of all ranks, bringing the ranges of the output together, and the report.
 */
#ifndef JOB_PIPELINE_RANKS_H
#define JOB_PIPELINE_RANKS_H

#include "formats/merge/lines_merge.h"
#include "job/external_cuts.h"
#include "job/external_exchange.h"
#include "job/job_state.h"

/* Collective: numbers the runs, of which this rank has `run_count`. *runs is zeros before; its
 * positions are zeros afterwards. The caller frees *runs, also after a failure. */
bool rank_runs_number(struct group *group, size_t run_count, struct rank_runs *runs,
                      struct error *error);
void rank_runs_free(struct rank_runs *runs);

/* Returns the bytes of memory for this rank's merge if the job has `left` bytes. Its messages get
 * as many. */
size_t ranks_merge_bytes(size_t left);

/* Collective: finds how many runs each rank may have, so that those of all ranks can be merged at
 * once. `fan_in` is what this rank can merge; the ranks differ in memory, and the least of them
 * counts. Fails if not even one run of each rank can be merged. */
bool ranks_limit_runs(struct group *group, size_t fan_in, size_t *most, struct error *error);

/* Collective: merges the ranges of all ranks (external_exchange.h). The caller sets `item_bytes`,
 * `merge`, `context`, `runs`, `run_count` and `numbered`. memory_bytes: for messages. Adds to the
 * figures of this rank in the state. */
bool ranks_exchange(struct job_state *state, size_t memory_bytes,
                    struct external_exchange *exchange, struct error *error);

/* The output of this rank. */
struct rank_range {
    bool is_empty; /* it has no items; the frame that a codec still writes is kept by rank 0 only */
    /* Collective: writes the range to state->sink. */
    bool (*write)(void *context, struct error *error);
    void *context;
};

/* Collective, for output whose size is not known before it is made, or that is not a file: each
 * rank puts its range aside on disk (-T). Then the ranges are copied to their positions in the
 * file, or rank 0 writes all of them. Sets *output_bytes to the size of the whole output. */
bool ranks_write_aside(struct job_state *state, const struct rank_range *range,
                       uint64_t *output_bytes, struct error *error);

/* An output of numbers or indices, of which each rank writes a range: state->output_layout. */

/* Returns the bytes before the first number, in an output that ranks share. */
uint64_t rank_array_header_bytes(const struct job_state *state);

/* Announces the size of an output of numbers, or of this rank's file, so that its space is
 * allocated while devices start and the input is read. Sets state->output_layout. */
void rank_array_expect(struct job_state *state);

/* Collective: begins the range of this rank, `count` numbers from number `first` on. Writes the
 * header on rank 0, or on each rank to its own file. Moves the sink to the position of the range,
 * unless that is written aside or to an own file. */
bool rank_array_begin(struct job_state *state, uint64_t first, uint64_t count, struct error *error);

/* Collective: writes the ranges to their positions at once if that is possible, else as
 * ranks_write_aside(). */
bool rank_array_write(struct job_state *state, const struct rank_range *range,
                      uint64_t *output_bytes, struct error *error);

/* Collective: checks that the last number or line that a rank has written is not after the first
 * one of the ranks after it. With a unique order, lines must differ. noun: "number" or "line". */
bool ranks_check_order(const struct job_state *state, const struct record_order *order,
                       const struct lines_ends *ends, const char *noun, struct error *error);

/* Collective: replaces a sum by that of all ranks. */
bool ranks_add_up(struct group *group, struct check_sum *sum, struct error *error);

/* Collective, after the commit: completes the figures of this rank, and gathers those of all ranks
 * for the report. */
bool ranks_report(struct job_state *state, struct error *error);

#endif
