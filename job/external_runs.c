/* SPDX-License-Identifier: Apache-2.0 */
/* external_runs.c - see external_runs.h.
 *
 * While a run is made, reading continues into memory that is free at that time. A run that a GPU
 * sorted stays in the host's memory if that has room, as often only the memory of the GPU is short.
 */
#include "job/external_runs.h"

#include "core/clock.h"
#include "core/threads.h"
#include "core/trace.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Maximum host memory that an engine takes for each GPU: its pinned ring (STAGING_SLOTS and
 * STAGING_SLOT_BYTES of cuda/tuning.h). */
#define STAGING_BYTES ((size_t)128 << 20)

/* Runs in memory begin at a multiple of it. */
#define LARGE_PAGE_BYTES ((size_t)2 << 20)

/* A part has a minimum size, so kept_bytes may be above a tiny limit. */
size_t external_runs_memory_left(const struct external_runs *external)
{
    const size_t kept = external->kept_bytes;
    return external->merge_bytes > kept ? external->merge_bytes - kept : 0;
}

/* Allocates memory for a run that a GPU sorted, if as much again remains free for merging, beside
 * the pinned rings. */
static void keep_in_memory(struct external_runs *external, struct item_run *run, size_t bytes)
{
    const size_t left = external_runs_memory_left(external);
    const size_t staging = STAGING_BYTES * external->state->sort->device_count;
    if (external->state->backend == backends[0] || left < staging || bytes > (left - staging) / 2)
        return;
    void *items;
    if (posix_memalign(&items, LARGE_PAGE_BYTES, bytes) != 0)
        return;
    madvise(items, bytes, MADV_HUGEPAGE); /* a hint: it is filled faster */
    run->items = items;
    external->kept_bytes += bytes;
}

static bool append(struct external_runs *external, struct item_run *run, const struct chunk *chunk,
                   struct error *error)
{
    const size_t width = external->state->job->sort.item_bytes;
    if (external->counts)
        key_counts_add(external->counts, chunk->items, chunk->count, (unsigned)width);
    else if (run->items)
        shared_copy(run->items + run->count * width, chunk->items, chunk->count * width,
                    external->state->job->sort.threads);
    else if (!spill_append(&run->spilled, chunk->items, chunk->count * width, error))
        return false;
    run->count += chunk->count;
    return true;
}

/* Reads the input ahead while a part of `bytes` bytes is stored. The CPU's engine releases as much
 * scratch with its last chunk. With a GPU, half of the remaining memory is used, and the other half
 * is for the next run. */
static void read_on(struct external_runs *external, size_t bytes)
{
    const struct job_state *const state = external->state;
    const size_t left = external_runs_memory_left(external) / 2;
    const size_t room = state->backend == backends[0] || bytes < left ? bytes : left;
    if (!state->is_at_end && !state->job->sort.is_top)
        source_read_ahead(state->job->readers[state->reader].source, room);
}

/* Makes a run of the items where the CPU's engine keeps them (`is_kept` in core/backend.h). The
 * engine sorts most of them meanwhile. */
static bool keep_in_engine(struct external_runs *external, size_t count, struct error *error)
{
    struct job_state *const state = external->state;
    const uint64_t start_ns = job_stage_begin(STAGE_SORT);
    struct item_run *const kept = run_list_add(&external->list, &(struct item_run){0}, error);
    if (!kept)
        return false;
    external->is_in_engine = true;
    for (size_t given = 0; given < count;) {
        struct chunk chunk;
        if (!job_give_next(state, count, &chunk, &given, error) ||
            !state->functions->take_back(state->engine, chunk, error))
            return false;
        if (!kept->items)
            kept->items = chunk.items;
    }
    trace_span(TRACE_STAGE, stage_names[STAGE_SORT], start_ns, clock_now_ns(), 0);
    kept->count = count;
    external->kept_bytes += count * state->job->sort.item_bytes;
    return true;
}

/* Returns true only if a group shares the job: otherwise the first part is not the last one. */
static bool can_stay_in_engine(const struct external_runs *external)
{
    const struct job_state *const state = external->state;
    return state->backend == backends[0] && state->is_at_end && external->list.count == 0 &&
           !external->counts;
}

bool external_runs_keep(struct external_runs *external, struct error *error)
{
    struct job_state *const state = external->state;
    const size_t count = sort_spec_given(&state->job->sort, state->count - state->part_begin);
    if (can_stay_in_engine(external))
        return keep_in_engine(external, count, error);
    const uint64_t start = job_stage_begin(STAGE_SPILL);
    struct item_run *const part = run_list_add(&external->list, &(struct item_run){0}, error);
    if (!part)
        return false;
    if (!external->counts)
        keep_in_memory(external, part, count * state->job->sort.item_bytes);
    const bool is_spilled = !external->counts && !part->items;
    if (is_spilled && !spill_begin(external->spill, &part->spilled, error))
        return false;
    for (size_t given = 0;;) {
        struct chunk chunk;
        if (!job_give_next(state, count, &chunk, &given, error))
            return false;
        if (chunk.count == 0)
            break;
        if (given == (state->backend == backends[0] ? count : chunk.count))
            read_on(external, count * state->job->sort.item_bytes);
        if (!append(external, part, &chunk, error) ||
            !state->functions->take_back(state->engine, chunk, error))
            return false;
    }
    if (is_spilled && !spill_end(&part->spilled, error))
        return false;
    state->report->run_count += !external->counts;
    state->report->spilled_bytes += part->spilled.bytes;
    job_stage_add(state, STAGE_SPILL, start);
    return true;
}

/* ---- Merging ---- */

/* Returns a merge of `count` runs from `first` on; the caller sets `write` and `context`. */
static struct external_merge make_merge(const struct external_runs *external, size_t first,
                                        size_t count)
{
    const struct sort_spec *const sort = &external->state->job->sort;
    return (struct external_merge){
        .item_bytes = sort->item_bytes,
        .order = sort->order,
        .runs = external->list.runs + first,
        .run_count = count,
        .wanted = sort_spec_given(sort, external->state->count),
        .threads = sort->threads,
        .memory_bytes = external_runs_memory_left(external),
        .output = external->state->target,
    };
}

/* A run that others are merged into. */
struct merged_run {
    struct item_run run;
    size_t item_bytes;
};

static bool append_merged(void *context, const void *items, size_t count, struct error *error)
{
    struct merged_run *const merged = context;
    merged->run.count += count;
    return spill_append(&merged->run.spilled, items, count * merged->item_bytes, error);
}

static bool merge_into_run(void *context, size_t first, size_t count, struct error *error)
{
    struct external_runs *const external = context;
    struct external_merge merge = make_merge(external, first, count);
    struct merged_run merged = {.item_bytes = merge.item_bytes};
    merge.write = append_merged;
    merge.context = &merged;
    if (!spill_begin(external->spill, &merged.run.spilled, error) ||
        !external_merge_run(&merge, error) || !spill_end(&merged.run.spilled, error))
        return false;
    external->state->report->spilled_bytes += merged.run.spilled.bytes;
    for (size_t i = 0; i < count; i++)
        if (merge.runs[i].items)
            external->kept_bytes -= merge.runs[i].count * merge.item_bytes;
    run_list_replace(&external->list, first, count, &merged.run);
    return true;
}

static size_t fan_in_of(const struct external_runs *external)
{
    return external_merge_fan_in(external_runs_memory_left(external),
                                 external->state->job->sort.threads);
}

bool external_runs_reduce(struct external_runs *external, size_t most, struct error *error)
{
    return run_list_reduce(external->state, &external->list, most, fan_in_of(external),
                           merge_into_run, external, error);
}

/* ---- Life ---- */

bool external_runs_open(struct job_state *state, struct external_runs *external,
                        struct error *error)
{
    const struct job *const job = state->job;
    *external = (struct external_runs){.state = state};
    /* Text and indices are made in buffers of the sink. */
    const bool needs_buffers = !job->output_format->is_array || job->argsort.index_type;
    external->merge_bytes =
        memory_limits_left(&job->memory, job->sort.threads,
                           needs_buffers ? sink_buffers_bytes(job->output.threads) : 0);
    external->spill = spill_create(job->memory.directories, job->memory.directory_count);
    if (job->sort.item_bytes <= 2)
        external->counts = calloc(KEY_COUNTS(job->sort.item_bytes), sizeof *external->counts);
    return (external->spill && (external->counts || job->sort.item_bytes > 2)) ||
           error_set(error, "out of memory: no room for runs");
}

bool external_runs_keep_rest(struct external_runs *external, struct error *error)
{
    struct job_state *const state = external->state;
    while (!state->is_at_end)
        if (!job_sort_part(state, error) || !external_runs_keep(external, error))
            return false;
    if (!external->is_in_engine)
        job_close_engine(state);
    /* If the CPU's parts became smaller, because allocations failed, merging takes no more memory
     * than one of the two arrays of such a part: the merge has most of its memory in one
     * allocation. */
    const size_t most = state->part_count * state->job->sort.item_bytes;
    if (state->is_part_reduced && most < external->merge_bytes)
        external->merge_bytes = most;
    return true;
}

void external_runs_close(struct external_runs *external)
{
    for (size_t i = 0; i < external->list.count && !external->is_in_engine; i++)
        free(external->list.runs[i].items);
    free(external->list.runs);
    free(external->counts);
    spill_free(external->spill);
}

/* ---- A job in parts ---- */

static bool merge_all(struct external_runs *external, struct error *error)
{
    struct job_state *const state = external->state;
    if (!job_begin_output(state, state->count, error))
        return false;
    if (external->counts)
        return key_counts_write(external->counts, state->job->sort.item_bytes,
                                state->job->sort.order, 0, state->output_layout.count, state,
                                error);
    struct external_merge merge = make_merge(external, 0, external->list.count);
    merge.write = job_write_items;
    merge.context = state;
    return external_merge_run(&merge, error);
}

static bool merge_to_output(void *context, struct error *error)
{
    struct external_runs *const external = context;
    return merge_all(external, error) && proof_finish_keys(external->state, error);
}

bool external_keys_run(struct job_state *state, struct error *error)
{
    bool ok = false;
    struct external_runs external = {0};
    TRY(external_runs_open(state, &external, error));
    TRY(external_runs_keep(&external, error));
    TRY(external_runs_keep_rest(&external, error));
    TRY(external.counts || external_runs_reduce(&external, fan_in_of(&external), error));
    const uint64_t start = job_stage_begin(STAGE_WRITE);
    TRY(job_write_proved(state, merge_to_output, &external, error));
    job_stage_add(state, STAGE_WRITE, start);
    ok = true;
done:
    external_runs_close(&external);
    return ok;
}
