/* SPDX-License-Identifier: Apache-2.0 */
/* job_state.h - a job while it runs: the interface between the files of this folder only. A file
 * calls only those above it in this list, and pipeline_proof.c also ranks_add_up():
 *
 *   job_state.c           stages, and the engine
 *   pipeline_proof.c      the proof of output
 *   job_output.c          the output: opened, announced, given numbers
 *   part_sample.c, part.c samples, reads and sorts a part of the numbers
 *   pipeline_order.c      checks the order of the input, or merges lines that are in order
 *   external_merge.c      merges sorted runs of numbers or items
 *   line_indices.c        the indices of lines that are sorted in parts
 *   part_lines.c          reads a part of the lines, sorts it and writes it
 *   key_counts.c          counts the keys of all parts
 *   run_list.c            the sorted runs of all parts
 *   external_*.c          all parts -> sorted runs -> merge -> output
 *   pipeline_ranks.c      steps of all jobs that ranks share
 *   pipeline_group*.c     as external_*.c, for numbers and lines of a job that ranks share
 *   pipeline.c            the steps of a job, from opening the output to its commit
 *
 * The words: a *part* is what one engine sorts at once. A part that was sorted is a *run* if others
 * must be merged with it. Merged runs are divided into *ranges*: the output of a rank, or of a
 * thread.
 */
#ifndef JOB_STATE_H
#define JOB_STATE_H

#include "core/check/check.h"
#include "formats/io/spill.h"
#include "formats/lines/lines.h"
#include "job/pipeline.h"

struct proof {
    struct key_check read;    /* the numbers read */
    struct key_check taken;   /* for indices: the numbers that items were made of */
    struct key_check made;    /* for indices: the items made */
    struct key_check written; /* the numbers or items written */
    struct check_sum file;    /* the numbers in the file of this rank, if each has one */
    struct check_sum content; /* for `verify`: the bytes written */
};

struct job_state {
    const struct job *job;
    struct job_report *report;
    const struct backend *backend;            /* the backend of the engine */
    const struct engine_functions *functions; /* of that backend, for the engine's kind of data */
    const struct sort_spec *sort;             /* for that backend, if numbers are sorted */
    size_t part_count;    /* maximum items of a part: the job's, unless the spare backend
                             sorts, or memory was short */
    bool is_part_reduced; /* memory was short */
    struct engine *engine;
    struct sink *sink;
    const struct sink *target;  /* the job's output; `sink` may be that of a spilled run */
    size_t count;               /* items that the engine took, in all parts; for text, lines */
    struct lines_header header; /* of the first input, if the job has header lines */
    struct sink *index_sink;    /* of a part of the lines that becomes a run, with --argsort: its
                                   indices go there, and the lines themselves to `sink` */
    uint64_t lines_before;      /* the index of the first line of that part */

    /* The part that is being read. */
    size_t reader;        /* index of the input that is read next */
    size_t readers_begun; /* for lines: number of inputs that reading has begun from */
    size_t part_begin;    /* numbers taken before the part */
    bool is_at_end;       /* all inputs have been read, and what was read is one part. False if more
                             parts follow, also of lines that have no memory to be sorted at once */
    bool is_short;        /* for lines: the CPU's engine had no memory and took nothing */

    void *shared_sample; /* of the numbers of all ranks, for the first part; or NULL */
    size_t shared_sample_count;
    size_t shared_given; /* for the spec of the first part's engine */

    struct layout output_layout;    /* of the numbers or indices of all ranks */
    uint64_t figures[RANK_FIGURES]; /* of this rank; ranks_report() completes them */
    struct proof proof;
};

/* ---- job_state.c ---- */

/* Sets the current stage of the job. Returns the time, for job_stage_add(). */
uint64_t job_stage_begin(enum stage stage);

/* Adds the time since start_ns to the stage, in the report and in the trace. */
void job_stage_add(struct job_state *state, enum stage stage, uint64_t start_ns);

/* Returns how many numbers still fit in the part. */
size_t job_part_room(const struct job_state *state);

/* Sorts the items that the engine has taken. job_close_engine() reports the time. */
bool job_sort_engine(struct job_state *state, struct error *error);

/* Gets the engine's next chunk; count 0 at the end. Adds its count to *given, the number of items
 * (bytes of text) given so far. Fails if the engine gives more or fewer than `expected` in all,
 * unless that is COUNT_UNKNOWN. */
bool job_give_next(struct job_state *state, size_t expected, struct chunk *chunk, size_t *given,
                   struct error *error);

/* Closes the engine, if there is one, and adds its times to the report. */
void job_close_engine(struct job_state *state);

/* ---- pipeline_proof.c ---- */

/* Starts the checks of a job that sorts numbers, and sets the taps of its readers. */
void proof_start_keys(struct job_state *state);

/* Compares the numbers written with those read, and checks their order. Fails with the
 * difference. */
bool proof_finish_keys(struct job_state *state, struct error *error);

/* As proof_finish_keys(), for lines, or for indices of lines, that were sorted as items. are_all:
 * the output has all lines of the input. */
bool proof_finish_lines(struct job_state *state, const struct lines *lines,
                        const struct lines_written *written, bool are_all, struct error *error);
bool proof_finish_indices(struct job_state *state, uint64_t count, bool are_all,
                          struct error *error);

/* As proof_finish_keys(), for text that an engine of lines has given. written: checksum of the text
 * given to the sink. */
bool proof_finish_text(struct job_state *state, const struct lines *lines, struct check_sum written,
                       struct error *error);

/* Sets the error "OUT: the proof failed: DIFFERENCE; OUT is left as it was", or with what else
 * happens to OUT. Returns false. */
bool proof_fail(const struct job_state *state, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A run on disk that is read once, from its beginning to its end. */
struct proof_reader {
    const struct job_state *state;
    const struct spill_run *stored;
    uint64_t done;          /* bytes read */
    struct check_sum found; /* of these bytes */
};

/* Reads the next bytes of the run, at most `most`, and sets *bytes to their number; 0 at the end.
 * With the last bytes, fails unless all were as they had been written. */
bool proof_read_stored(struct proof_reader *reader, void *data, size_t most, size_t *bytes,
                       struct error *error);

/* Fails, with the position, if the numbers written are not in order. */
bool proof_check_order(const struct job_state *state, const struct key_check *written,
                       struct error *error);

/* Fails if the job is to read back its output and cannot. The sink is open. */
bool proof_check_verify(const struct job_state *state, struct error *error);

/* Returns true if the sink must compute the checksum of its content, because numbers cannot be
 * compared. */
bool proof_sums_content(const struct job *job);

/* Collective: reads the new file back and checks it, before it replaces the old one; or the file
 * that was overwritten in place. */
bool proof_verify(struct job_state *state, struct error *error);

/* ---- job_output.c ---- */

/* Opens state->sink, which the caller discards also after a failure. Fails also if the job must not
 * write to it: binary data to a terminal, in place to a file that is no longer the input, or with
 * --verify to what cannot be read back. */
bool job_open_output(struct job_state *state, struct error *error);

/* Returns the layout of the output, of numbers or of indices, for `count` items taken. */
struct layout job_output_layout(const struct job *job, size_t count);

/* Announces the size of the output to the sink before the input is read, so that its space is
 * allocated meanwhile. In a file system in memory, that space adds to the memory of the sort, which
 * is twice the output or more. So an output of 16 MiB or more and above memory_ahead_most() is not
 * announced here, but only when the sort has released its memory. If devices sort all numbers at
 * once, in memory of their own, the limit is half of the host's. */
void job_expect_ahead(struct job_state *state, uint64_t bytes);

/* As job_expect_ahead(), if the numbers are counted in advance. */
void job_expect_numbers(struct job_state *state);

/* Announces the items taken so far as the least that will be written, if their number is not known
 * in advance. As in job_expect_ahead(), only while memory is plentiful. */
void job_expect_taken(struct job_state *state);

/* Announces the size of the output before its first byte. Fails if it certainly has no room: the
 * size may not have been known when the job began, and other files have been written since. */
bool job_expect(struct job_state *state, uint64_t bytes, struct error *error);

/* Fails if the output, or runs on disk, will certainly have no room. The output and the runs need
 * space at the same time. */
bool job_check_room(const struct job_state *state, struct error *error);

/* Announces the size of the output and writes the format's header. count: of the items sorted, of
 * which --top takes the first. Sets state->output_layout. */
bool job_begin_output(struct job_state *state, size_t count, struct error *error);

/* Writes numbers, or the indices of items, in state->output_layout; also as the `write` of a merge,
 * in the thread of an exchange. opaque: the job_state. */
bool job_write_items(void *opaque, const void *items, size_t count, struct error *error);

/* Writes what the engine gives, in all `count` items, of which `given` are written already. */
bool job_write_given(struct job_state *state, size_t count, size_t given, struct error *error);

/* Calls `write`, which must write all of the output and check it. In place, it is called twice:
 * first with a sink that writes nothing, so that all is checked before the first byte is
 * overwritten. */
bool job_write_proved(struct job_state *state, bool (*write)(void *context, struct error *error),
                      void *context, struct error *error);

/* Writes all numbers of the engine, or their indices, and proves them. */
bool job_write_keys(struct job_state *state, struct error *error);

/* ---- part_sample.c, part.c ---- */

/* Takes a sample of the next part of the numbers for the spec of an engine, if they are in plain
 * files and in memory. Returns the memory of the sample, which the caller frees; NULL if there is
 * none, or if the spec has state->shared_sample. */
void *job_sample_part(const struct job_state *state, struct sort_spec *spec);

/* Collective, before the first part: takes a sample of the numbers of all ranks, if they are on one
 * host, have enough numbers for their engines to sort them together, and can be sampled. Sets
 * state->shared_sample, which the caller frees, on all ranks or on none. */
bool job_share_sample(struct job_state *state, struct error *error);

/* Opens an engine for the next part of the numbers, and reads them into it. */
bool job_read_part(struct job_state *state, struct error *error);

/* Fails if the chunk, which was read last, has a NaN or NaT that --nan=error refuses. */
bool job_check_nan(const struct job *job, const struct reader *reader, const struct chunk *chunk,
                   struct error *error);

/* As job_read_part(), and sorts them. */
bool job_sort_part(struct job_state *state, struct error *error);

/* ---- pipeline_order.c ---- */

/* Run the actions JOB_CHECK and JOB_MERGE. */
bool job_check(struct job_state *state, struct error *error);
bool job_merge(struct job_state *state, struct error *error);

/* Writes the header lines, if there are any. */
bool job_write_header(struct job_state *state, struct error *error);

/* Minimum memory for merging, even if the limit is lower. */
#define MERGE_BYTES_MIN ((size_t)8 << 20)

/* Returns the memory for merging lines: that of a part, without the memory that merging threads
 * need. */
size_t job_merge_bytes(const struct job *job);

/* ---- part_lines.c ---- */

/* Reads the first part of the lines. Sorts and writes it if state->is_at_end, that is, if it is all
 * of the input and there is memory to sort it at once. */
bool job_first_lines(struct job_state *state, struct lines *lines, struct error *error);

/* Reads lines up to the end of the inputs, or until the part is full. */
bool job_read_lines(struct job_state *state, struct lines *lines, struct error *error);

/* Sorts lines in memory, and writes them to the sink. */
bool job_sort_lines(struct job_state *state, struct lines *lines, struct error *error);

/* ---- external_runs.c, external_lines.c ---- */

/* Called when the first part of the numbers is sorted and more input remains. Sorts the remaining
 * parts, merges and writes. */
bool external_keys_run(struct job_state *state, struct error *error);

/* Called after at least the first part of the lines has been read, or all lines if memory to sort
 * them at once is short. Sorts in parts, merges and writes. *lines is replaced for each part; the
 * caller frees the last one. */
bool external_lines_run(struct job_state *state, struct lines **lines, struct error *error);

/* ---- pipeline_group.c, pipeline_group_lines.c: a job that ranks share ---- */

/* Runs a job of numbers, or of their indices. */
bool job_group_keys(struct job_state *state, struct error *error);

/* Runs a job of lines. */
bool job_group_lines(struct job_state *state, struct error *error);

#endif
