/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.c - see pipeline.h. Runs the steps of a job, from opening its output to its commit.
 * part.c and part_lines.c sort what fits in memory, external_*.c the rest. Checks and merges, which
 * sort nothing, are in pipeline_order.c. job_output.c writes the numbers. */
#include "job/pipeline.h"

#include "core/clock.h"
#include "core/trace.h"
#include "job/pipeline_ranks.h"

#include <stdlib.h>

static bool run_keys(struct job_state *state, struct error *error)
{
    if (state->job->group)
        return job_group_keys(state, error);
    job_expect_numbers(state);
    proof_start_keys(state);
    if (!job_sort_part(state, error) ||
        !(state->is_at_end ? job_write_keys(state, error) : external_keys_run(state, error)))
        return false;
    state->report->item_bytes = (uint64_t)state->count * state->job->readers[0].layout.type->bytes;
    return true;
}

static bool run_lines(struct job_state *state, struct error *error)
{
    if (state->job->group)
        return job_group_lines(state, error);
    struct lines *lines = lines_create(state->job->sort.threads, &state->job->line_order);
    if (!lines)
        return error_set(error, "out of memory");
    bool ok = job_first_lines(state, lines, error);
    if (ok && !state->is_at_end)
        ok = external_lines_run(state, &lines, error);
    lines_free(lines);
    return ok;
}

static bool run_action(struct job_state *state, struct error *error)
{
    const struct job *const job = state->job;
    return job->action == JOB_CHECK   ? job_check(state, error)
           : job->action == JOB_MERGE ? job_merge(state, error)
           : job->keep_lines          ? run_lines(state, error)
                                      : run_keys(state, error);
}

/* Completes the report once the inputs are read. Bytes that --verify reads later do not count. */
static void note_result(struct job_state *state)
{
    struct trace_view view;
    trace_look(&view);
    state->report->read_bytes = view.bytes[TRACE_READ];
    state->report->count = state->count;
    if (!state->job->group)
        state->report->total_bytes = state->report->item_bytes;
}

/* Completes the error of a job that fails while it overwrites a file. */
static void add_damage(struct error *error)
{
    error_add(error, "; the file has been overwritten, in part at least, and is of no use");
}

static bool commit_output(struct job_state *state, struct error *error)
{
    const uint64_t start = job_stage_begin(STAGE_WRITE);
    struct sink *sink = state->sink;
    struct group *const group = state->job->group;
    const bool is_overwriting = sink_is_overwriting(sink); /* the last bytes may be unwritten */
    state->sink = NULL;
    const bool ok = group_agree(group, sink_commit(sink, group, error), error);
    if (!ok && is_overwriting)
        add_damage(error);
    job_stage_add(state, STAGE_WRITE, start);
    return ok;
}

void pipeline_open_early(struct job *job)
{
    struct error ignored = {0};
    struct job_state state = {.job = job};
    if (job_open_output(&state, &ignored)) {
        job_expect_numbers(&state);
        job->sink = state.sink;
    } else {
        sink_discard(state.sink);
    }
}

bool pipeline_open_group(struct job *job, struct error *error)
{
    struct job_state state = {.job = job};
    if (!group_agree(job->group, job_open_output(&state, error), error)) {
        sink_discard(state.sink);
        return false;
    }
    if (!job->keep_lines)
        rank_array_expect(&state);
    job->sink = state.sink;
    return true;
}

bool pipeline_run(struct job *job, struct job_report *report, struct error *error)
{
    bool ok = false;
    const bool has_output = job->action != JOB_CHECK;
    const uint64_t start = clock_now_ns();
    struct job_state state = {
        .job = job,
        .report = report,
        .backend = job->backend,
        .functions = job->backend->keys,
        .sort = &job->sort,
        .part_count = job->part_count,
        .sink = job->sink,
        .header = job->header,
    };
    job->sink = NULL;
    job->header = (struct lines_header){0};
    *report = (struct job_report){0};
    TRY(!has_output || state.sink ||
        group_agree(job->group, job_open_output(&state, error), error));
    state.target = state.sink;
    TRY(!has_output || group_agree(job->group, job_check_room(&state, error), error));
    TRY(job->header_lines == 0 || job->group || job_take_headers(job, &state.header, error));
    TRY(run_action(&state, error));
    note_result(&state);
    TRY(!job->verify || proof_verify(&state, error));
    TRY(!has_output || commit_output(&state, error));
    TRY(!job->group || ranks_report(&state, error));
    report->total_ns = clock_now_ns() - start;
    ok = true;
done:
    if (!ok && state.sink && sink_has_damage(state.sink))
        add_damage(error);
    report->is_undone = !ok && state.sink && sink_is_unused(state.sink);
    free(state.header.text);
    sink_discard(state.sink);
    job_close_engine(&state);
    return ok;
}
