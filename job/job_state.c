/* SPDX-License-Identifier: Apache-2.0 */
/* job_state.c - see job_state.h: the stages of a job, and its engine. */
#include "job/job_state.h"

#include "core/clock.h"
#include "core/trace.h"

const char *const stage_names[STAGE_COUNT] = {
    "start",  "read",     "parse", "upload", "sort",   "exchange",
    "refine", "download", "spill", "write",  "verify",
};

uint64_t job_stage_begin(enum stage stage)
{
    return trace_stage(stage_names[stage]);
}

void job_stage_add(struct job_state *state, enum stage stage, uint64_t start_ns)
{
    const uint64_t end_ns = clock_now_ns();
    state->report->stage_ns[stage] += end_ns - start_ns;
    trace_span(TRACE_STAGE, stage_names[stage], start_ns, end_ns, 0);
}

size_t job_part_room(const struct job_state *state)
{
    return state->part_count - (state->count - state->part_begin);
}

bool job_sort_engine(struct job_state *state, struct error *error)
{
    const uint64_t start_ns = job_stage_begin(STAGE_SORT);
    const bool is_sorted = state->functions->sort(state->engine, error);
    trace_span(TRACE_STAGE, stage_names[STAGE_SORT], start_ns, clock_now_ns(), 0);
    return is_sorted;
}

void job_close_engine(struct job_state *state)
{
    uint64_t *const stage_ns = state->report->stage_ns;
    struct engine_times times;
    if (!state->engine)
        return;
    state->functions->times(state->engine, &times);
    stage_ns[STAGE_START] += times.start_ns;
    stage_ns[STAGE_UPLOAD] += times.upload_ns;
    stage_ns[STAGE_PARSE] += times.parse_ns;
    stage_ns[STAGE_SORT] += times.sort_ns;
    stage_ns[STAGE_EXCHANGE] += times.exchange_ns;
    stage_ns[STAGE_REFINE] += times.refine_ns;
    stage_ns[STAGE_DOWNLOAD] += times.download_ns;
    state->functions->close(state->engine);
    state->engine = NULL;
}

bool job_give_next(struct job_state *state, size_t expected, struct chunk *chunk, size_t *given,
                   struct error *error)
{
    if (!state->functions->give(state->engine, chunk, error))
        return false;
    *given += chunk->count;
    if (*given > expected || (chunk->count == 0 && *given < expected && expected != COUNT_UNKNOWN))
        return error_set(error, "%s: gave back %zu of %zu items", state->backend->name, *given,
                         expected);
    return true;
}
