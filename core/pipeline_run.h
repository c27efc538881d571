/* pipeline_run.h - a job on its way: what the sources of pipeline.h share. */
#ifndef CORE_PIPELINE_RUN_H
#define CORE_PIPELINE_RUN_H

#include "core/pipeline.h"
#include "formats/lines_header.h"

struct run {
    const struct job *job;
    struct job_report *report;
    const struct backend *backend;            /* of the engine */
    const struct engine_functions *functions; /* those of the backend that the engine is for */
    struct engine *engine;
    struct sink *sink;
    size_t count;               /* items taken by the engine; of text, lines */
    struct lines_header header; /* of the first input, if the job keeps one apart */
};

/* Adds the time since start_ns to the stage. */
void run_stage_add(struct run *run, enum stage stage, uint64_t start_ns);

/* Ends the engine, if there is one, and reports its times. */
void run_close_engine(struct run *run);

/* Tells the sink ahead what it will get, so that its space is taken while the input is read and
 * sorted. Where files are memory, that comes on top of what sorting takes, twice the output and
 * more: so only if the machine has plenty; else the sink is told when the sort has let go of it. */
void run_expect_ahead(struct run *run, uint64_t bytes);

/* The engine's next chunk; count 0 at the end, which must not come before all `expected` items are
 * out. */
bool run_give_next(struct run *run, size_t expected, struct chunk *chunk, size_t *given,
                   struct error *error);

/* Writes what stands before the numbers, or the indices, that *layout then tells of. */
bool run_begin_output(struct run *run, struct layout *layout, struct error *error);

bool run_write_chunk(struct run *run, const struct layout *layout, const struct chunk *chunk,
                     struct error *error);

/* Writes the lines that the job keeps apart. */
bool run_write_header(struct run *run, struct error *error);

/* JOB_SORT of lines. */
bool run_lines(struct run *run, struct error *error);

#endif
