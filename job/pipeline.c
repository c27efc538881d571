/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.c - see pipeline.h. Opens the output, runs the job and commits its output. part.c and
 * part_lines.c sort what fits in memory, external_*.c the rest. Checks and merges, which only read
 * lines in order, are in pipeline_order.c. */
#include "job/pipeline.h"

#include "core/clock.h"
#include "core/trace.h"
#include "formats/codec/codec.h"
#include "formats/io/spill.h"
#include "job/pipeline_ranks.h"

#include <errno.h>
#include <stdlib.h>

/* Checks that the file to be overwritten is the one that is read, of which some bytes were read
 * before it was opened as the output. */
static bool check_same_file(const struct job_state *state, struct error *error)
{
    const struct source *const source = state->job->readers[0].source;
    errno = 0;
    const bool is_same = sink_writes_to(state->sink, source);
    if (is_same && source_is_unmodified(source))
        return true;
    if (errno)
        return error_set_errno(error, "%s", sink_name(state->sink));
    return error_set(error, "%s: %s; nothing is written", sink_name(state->sink),
                     is_same ? "it was changed while it was sorted"
                             : "it was moved, removed or replaced meanwhile");
}

static bool open_output(struct job_state *state, struct error *error)
{
    const struct job *job = state->job;
    struct sink_spec spec = job->output;
    if (job->group && !job->has_rank_output)
        spec.codec = &codecs[0]; /* what ranks write is compressed already */
    if (!sink_open(&spec, &state->sink, error))
        return false;
    if (job->output.is_in_place && !check_same_file(state, error))
        return false;
    if (proof_sums_content(job))
        sink_sum_content(state->sink);
    const bool is_packed = job->output.codec != &codecs[0];
    const bool is_binary = job->output_format != &format_text || is_packed;
    /* Open MPI gives ranks a terminal, whatever its own output is. */
    const bool is_shown = sink_is_terminal(state->sink) && !job->group;
    if (is_binary && is_shown && !job->binary_to_terminal)
        return error_set(error,
                         "%s: binary data is not written to a terminal: use -o FILE, %s or --force",
                         sink_name(state->sink), is_packed ? "--no-zstd" : "--output-format=text");
    return proof_check_verify(state, error);
}

/* In place: checks the numbers in the memory of the engine, instead of giving them twice. */
static bool check_keys(struct job_state *state, const struct layout *layout, struct error *error)
{
    struct key_check *const written = &state->proof.written;
    sink_skip(state->sink, layout->count * layout->type->bytes);
    return state->functions->check(state->engine, &written->sum, &written->disorder, error);
}

static bool give_keys(struct job_state *state, const struct layout *layout, struct error *error)
{
    for (size_t given = 0;;) {
        struct chunk chunk;
        if (!job_give_next(state, layout->count, &chunk, &given, error))
            return false;
        if (chunk.count == 0)
            return true;
        if (!job_write_chunk(state, layout, &chunk, error) ||
            !state->functions->take_back(state->engine, chunk, error))
            return false;
    }
}

static bool write_keys(void *context, struct error *error)
{
    struct job_state *const state = context;
    const uint64_t start = job_stage_begin(STAGE_WRITE);
    const bool can_check = sink_is_trial(state->sink) && state->job->output_format != &format_text;
    struct layout layout;
    if (!job_begin_output(state, state->count, &layout, error) ||
        !(can_check ? check_keys(state, &layout, error) : give_keys(state, &layout, error)))
        return false;
    job_stage_add(state, STAGE_WRITE, start);
    return proof_finish_keys(state, error);
}

/* Announces the size of the output if the numbers are counted in advance. */
static void expect_numbers(struct job_state *state)
{
    const struct job *job = state->job;
    if (job->sort.count == COUNT_UNKNOWN)
        return;
    const struct layout layout = job_output_layout(job, job->sort.count);
    job_expect_ahead(state, job->output_format->file_bytes(&layout));
}

uint64_t job_output_bytes(const struct job *job)
{
    const size_t count = job->group ? (size_t)job->group_count : job->sort.count;
    const bool drops_lines = job->line_order.unique || job->sort.is_top ||
                             job->argsort.index_type || job->has_rank_inputs ||
                             (job->header_lines > 0 && job->reader_count > 1);
    uint64_t bytes = job->input_bytes;
    if (job->action == JOB_CHECK || job->output.codec->encode ||
        (job->group && !job->output.group) ||
        (job->keep_lines ? drops_lines : count == COUNT_UNKNOWN))
        return 0;
    if (!job->keep_lines) {
        const struct layout layout = job_output_layout(job, count);
        bytes = job->output_format->file_bytes(&layout);
    }
    return bytes <= INT64_MAX ? bytes : 0;
}

/* Returns the least bytes of sorted runs that will be stored in the directories of -T; 0: none, or
 * not known. */
static uint64_t spilled_bytes(const struct job *job)
{
    const size_t item_bytes = job->sort.item_bytes;
    if (job->action != JOB_SORT || job->sort.is_top || job->group)
        return 0;
    if (job->keep_lines)
        return !job->line_order.unique && job->input_bytes != SIZE_UNKNOWN &&
                       job->input_bytes > job->part_bytes
                   ? job->input_bytes
                   : 0;
    return job->backend == backends[0] && job->sort.count != COUNT_UNKNOWN &&
                   job->sort.count > job->part_count && item_bytes > 2
               ? job->sort.count * item_bytes
               : 0;
}

/* True if --in-place could make the output. */
static bool can_be_in_place(const struct job *job)
{
    char last;
    return job->action == JOB_SORT && !job->group && job->reader_count == 1 &&
           !job->line_order.unique && !job->sort.is_top && !job->argsort.index_type &&
           !job->output.is_in_place && job->output_format == job->input_format &&
           source_last_byte(job->readers[0].source, &last);
}

/* Fails if the output, or runs on disk, will certainly have no room. Both exist at the end. */
static bool check_room(const struct job_state *state, struct error *error)
{
    const struct job *const job = state->job;
    const struct memory_limits *const memory = &job->memory;
    const uint64_t bytes = job_output_bytes(job), spilled = spilled_bytes(job);
    bool needs_no_output = true,
         ok = bytes < ROOM_BYTES_MIN || sink_check_room(state->sink, bytes, error);
    if (ok && spilled >= ROOM_BYTES_MIN)
        ok = spill_check_room(memory->directories, memory->directory_count, spilled,
                              sink_needs(state->sink, bytes), &needs_no_output, error);
    if (!ok && needs_no_output && can_be_in_place(job))
        error_add(error, ", or overwrite the input with --in-place");
    return ok;
}

static bool run_keys(struct job_state *state, struct error *error)
{
    if (state->job->group)
        return job_group_keys(state, error);
    expect_numbers(state);
    proof_start_keys(state);
    if (!job_sort_part(state, error) ||
        !(state->is_at_end ? job_write_proved(state, write_keys, state, error)
                           : external_keys_run(state, error)))
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
    switch (state->job->action) {
    case JOB_CHECK:
        return job_check(state, error);
    case JOB_MERGE:
        return job_merge(state, error);
    case JOB_SORT:
        break;
    }
    return state->job->keep_lines ? run_lines(state, error) : run_keys(state, error);
}

/* Completes the report once the inputs are read. Bytes that --verify reads later do not count. */
static void note_result(struct job_state *state)
{
    struct trace_view view;
    trace_look(&view);
    state->report->read_bytes = view.bytes[TRACE_READ];
    state->report->count = state->count;
}

static bool verify_output(struct job_state *state, struct error *error)
{
    const uint64_t start = job_stage_begin(STAGE_VERIFY);
    const bool ok = proof_verify(state, error);
    job_stage_add(state, STAGE_VERIFY, start);
    return ok;
}

/* Completes the error of a job that fails while it overwrites a file. */
static void add_damage(struct error *error)
{
    error_add(error, "; the file has been overwritten, in part at least, and is of no use");
}

static bool check_replaced(const struct job_state *state, struct error *error)
{
    bool is_well = true;
    for (size_t i = 0; is_well && i < state->job->reader_count; i++)
        is_well = sink_check_replaced(state->sink, state->job->readers[i].source, error);
    return group_agree(state->job->group, is_well, error);
}

static bool commit_output(struct job_state *state, struct error *error)
{
    const uint64_t start = job_stage_begin(STAGE_WRITE);
    struct sink *sink = state->sink;
    const bool is_overwriting = sink_is_overwriting(sink);
    state->sink = NULL;
    const bool ok = group_agree(state->job->group, sink_commit(sink, error), error);
    if (!ok && is_overwriting)
        add_damage(error);
    job_stage_add(state, STAGE_WRITE, start);
    return ok;
}

void pipeline_open_early(struct job *job)
{
    struct error ignored = {0};
    struct job_state state = {.job = job};
    if (open_output(&state, &ignored)) {
        expect_numbers(&state);
        job->sink = state.sink;
    } else {
        sink_discard(state.sink);
    }
}

bool pipeline_open_group(struct job *job, struct error *error)
{
    struct job_state state = {.job = job};
    if (!group_agree(job->group, open_output(&state, error), error)) {
        sink_discard(state.sink);
        return false;
    }
    if (!job->keep_lines) {
        const struct layout layout = job_output_layout(job, job->group_count);
        rank_array_expect(&state, &layout);
    }
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
    TRY(!has_output || state.sink || group_agree(job->group, open_output(&state, error), error));
    state.target = state.sink;
    TRY(!has_output || group_agree(job->group, check_room(&state, error), error));
    TRY(job->header_lines == 0 || job->group || job_take_headers(job, &state.header, error));
    TRY(run_action(&state, error));
    note_result(&state);
    TRY(!job->verify || verify_output(&state, error));
    TRY(!has_output || (check_replaced(&state, error) && commit_output(&state, error)));
    report->total_ns = clock_now_ns() - start;
    ok = true;
done:
    if (!ok && state.sink && sink_is_overwriting(state.sink))
        add_damage(error);
    report->is_undone = !ok && state.sink && sink_is_unused(state.sink);
    free(state.header.text);
    sink_discard(state.sink);
    job_close_engine(&state);
    return ok;
}
