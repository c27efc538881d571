/* SPDX-License-Identifier: Apache-2.0 */
/* external_lines.h - sorted runs of lines on disk: made of the parts of the input that are sorted
 * in memory, and merged. With --argsort each has a run of indices beside it (line_indices.h).
 */
#ifndef JOB_EXTERNAL_LINES_H
#define JOB_EXTERNAL_LINES_H

#include "formats/merge/lines_merge.h"
#include "job/job_state.h"
#include "job/run_list.h"

struct external_lines {
    struct job_state *state;
    struct spill *spill;
    struct run_list list;       /* items are bytes of text */
    struct spill *index_spill;  /* NULL: lines are written */
    struct run_list index_list; /* of each run: the indices of its lines, as uint64_t */
    size_t merge_bytes;         /* for text and items while runs are merged */
    uint64_t longest_lines;     /* sum of the lengths of the longest line of each part */
    size_t parts;
};

/* Returns how many runs can be merged at once in `bytes` bytes, at least 4. Each needs two thirds
 * of LINES_MERGE_INPUT_BYTES, or twice its longest line, in memory that it uses. */
size_t external_lines_fan_in(const struct external_lines *external, size_t bytes);

/* Creates the spills of runs. The caller calls external_lines_close(), also after a failure. */
bool external_lines_open(struct job_state *state, struct external_lines *external,
                         struct error *error);

/* Makes runs of the lines, and of the lines that the inputs still have. *lines is replaced for each
 * part; the caller frees the last one. */
bool external_lines_sort(struct external_lines *external, struct lines **lines,
                         struct error *error);

/* Merges adjacent runs, as few as necessary and at most `fan_in` at once, until there are at most
 * `most`. */
bool external_lines_reduce(struct external_lines *external, size_t most, size_t fan_in,
                           struct error *error);

/* Begins a run in the spill of lines, or with --argsort in that of indices, and opens a sink on it,
 * which the caller passes to external_lines_end_run(). */
bool external_lines_begin_run(const struct external_lines *external, struct spill *spill,
                              struct item_run *run, struct sink **sink, struct error *error);

/* Commits the sink, ends the run and sets run->count: items. If the run is not whole, discards the
 * sink, which may be NULL, and returns false. */
bool external_lines_end_run(struct external_lines *external, struct item_run *run,
                            struct sink *sink, bool is_whole, struct error *error);

/* Merges merge->count runs to the sink. The caller sets the fields of *merge except the order, the
 * sources, are_sorted and the threads. */
bool external_lines_merge(const struct external_lines *external, struct item_run *runs,
                          struct lines_merge *merge, struct sink *sink, struct error *error);

/* Copies the first `wanted` lines of the run to the output. Fails if the run was changed. */
bool external_lines_copy(const struct external_lines *external, const struct item_run *run,
                         size_t wanted, struct error *error);

void external_lines_close(struct external_lines *external);

#endif
