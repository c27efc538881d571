/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_run.h - a job on its way: what the sources of pipeline.h share, and nobody else.
 *
 *   pipeline_sample.c             a look at numbers before they are read
 *   pipeline.c, pipeline_lines.c  the first part of the input, which is all of it where memory has
 *                                 room -> output
 *   pipeline_order.c              what is in order already, checked or merged
 *   external_*.c                  the first part and all others -> sorted runs -> merged -> output
 */
#ifndef CORE_PIPELINE_RUN_H
#define CORE_PIPELINE_RUN_H

#include "core/pipeline.h"
#include "core/pipeline_proof.h"
#include "formats/lines.h"
#include "formats/lines_header.h"

struct run {
    const struct job *job;
    struct job_report *report;
    const struct backend *backend;            /* of the engine */
    const struct engine_functions *functions; /* those of the backend that the engine is for */
    const struct sort_spec *sort;             /* by that backend, of numbers */
    size_t part_count;                        /* as the job's, by that backend */
    struct engine *engine;
    struct sink *sink;
    const struct sink *target;  /* of the job; `sink` may be one of a run that is put aside */
    size_t count;               /* items taken by the engine, in all parts; of text, lines */
    struct lines_header header; /* of the first input, if the job keeps one apart */

    /* The part that is read. */
    size_t reader;        /* the input that is read next */
    size_t readers_begun; /* of lines: inputs that any were read of */
    size_t room;          /* numbers that the part has room for still */
    size_t part_begin;    /* numbers taken before the part */
    bool is_at_end;       /* all inputs have been read */
    bool is_short;        /* of lines: memory had no room for the CPU's engine; none was taken */
    uint64_t space_most;  /* bytes that may be taken ahead for the output; 0: not found out */

    struct proof proof;
};

/* The job is at the stage from now on. Returns when, for run_stage_add. */
uint64_t run_stage_begin(enum stage stage);

/* Adds the time since start_ns to the stage, in the report and in the trace. */
void run_stage_add(struct run *run, enum stage stage, uint64_t start_ns);

/* Sorts what the engine has taken. What that took, the engine knows best: see run_close_engine. */
bool run_sort_engine(struct run *run, struct error *error);

/* Ends the engine, if there is one, and reports its times. */
void run_close_engine(struct run *run);

/* Tells the sink ahead what it will get, so that its space is taken while the input is read and
 * sorted. Where files are memory, that comes on top of what sorting takes, twice the output and
 * more: so only if the machine has plenty; else the sink is told when the sort has let go of it. */
void run_expect_ahead(struct run *run, uint64_t bytes);

/* For an engine that is opened for the next part of the numbers: gives its spec a sample of them,
 * if they are in plain files and in memory. The caller frees what is returned, which may be NULL.
 */
void *run_take_sample(const struct run *run, struct sort_spec *spec);

/* Opens an engine for the next part of the numbers, which takes and sorts them. */
bool run_sort_part(struct run *run, struct error *error);

/* The engine's next chunk; count 0 at the end, which must not come before all `expected` items are
 * out. *given starts as 0. */
bool run_give_next(struct run *run, size_t expected, struct chunk *chunk, size_t *given,
                   struct error *error);

/* Has `write` write all of the output, and prove it. In place, that is done twice: first to a sink
 * that writes nothing, so that all is proved before the first byte is overwritten. */
bool run_write_proved(struct run *run, bool (*write)(void *context, struct error *error),
                      void *context, struct error *error);

/* Writes what stands before the numbers, or the indices, that *layout then tells of. */
bool run_begin_output(struct run *run, struct layout *layout, struct error *error);

/* Writes numbers, or the indices of items. */
bool run_write_chunk(struct run *run, const struct layout *layout, const struct chunk *chunk,
                     struct error *error);

/* Takes the header of every input, so that what reads them finds only lines that are sorted. They
 * must be the same, as one of them is written for all. */
bool run_take_headers(struct run *run, struct error *error);

/* JOB_CHECK and JOB_MERGE. */
bool run_check(struct run *run, struct error *error);
bool run_merge(struct run *run, struct error *error);

/* Writes the lines that the job keeps apart. */
bool run_write_header(struct run *run, struct error *error);

/* JOB_SORT of lines. */
bool run_lines(struct run *run, struct error *error);

/* Reads lines up to the end of the inputs, or until there is no room for more. */
bool run_read_lines(struct run *run, struct lines *lines, struct error *error);

/* Sorts the lines, all of which are in memory, and writes them behind the header. */
bool run_sort_lines(struct run *run, struct lines *lines, struct error *error);

/* external_keys.c: the first part is sorted and there is more. Sorts the rest, merges and writes.
 */
bool external_keys_run(struct run *run, struct error *error);

/* external_lines.c: the same of lines, of which the first part, and more, is read, or all of them
 * if memory is short. *lines changes from part to part; the caller frees the last one. */
bool external_lines_run(struct run *run, struct lines **lines, struct error *error);

#endif
