/* SPDX-License-Identifier: Apache-2.0 */
/* external_keys.c - sorts numbers, or items that carry their index, that do not fit in memory.
 *
 *   part -> engine -> a sorted run, in memory or on disk -> the next part -> ...
 *        -> external_merge.h -> format -> sink
 *
 * While a run is written, input is read ahead into memory that is not needed then. A run stays in
 * memory if that has room for it beside the engine, as it does when the limit is the GPU's memory.
 * Keys of one and two bytes are counted instead (key_counts.h), and no run is kept.
 */
#include "core/external_merge.h"
#include "core/key_counts.h"
#include "core/pipeline_run.h"
#include "core/shared_copy.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Host memory of a GPU's engine: its pinned buffers. */
#define STAGING_BYTES ((size_t)64 << 20)

/* Alignment of runs in memory. */
#define LARGE_PAGE_BYTES ((size_t)2 << 20)

struct external_keys {
    struct run *run;
    struct layout layout;      /* of the output */
    struct key_counts *counts; /* for keys of one or two bytes; else NULL */
    struct spill *spill;
    struct item_run *runs;
    size_t run_count, run_room;
    size_t kept_bytes;  /* bytes of runs in memory */
    size_t merge_bytes; /* memory for merging */
};

/* Returns the memory for merging beside the runs in memory. */
static size_t memory_left(const struct external_keys *external)
{
    return external->merge_bytes - external->kept_bytes;
}

/* ---- Runs ---- */

static struct item_run *add_run(struct external_keys *external, struct error *error)
{
    if (external->run_count == external->run_room) {
        const size_t room = 2 * external->run_room + 16;
        struct item_run *const runs = realloc(external->runs, room * sizeof *runs);
        if (!runs) {
            error_set(error, "out of memory: no room for %zu runs", room);
            return NULL;
        }
        external->runs = runs;
        external->run_room = room;
    }
    struct item_run *const run = &external->runs[external->run_count++];
    *run = (struct item_run){0};
    return run;
}

/* Allocates memory for the run if there is enough: merging must keep at least as much again. Never
 * with the CPU's engine. */
static void keep_in_memory(struct external_keys *external, struct item_run *run, size_t bytes)
{
    const size_t left = memory_left(external);
    if (external->run->backend == backends[0] || left < STAGING_BYTES ||
        bytes > (left - STAGING_BYTES) / 2)
        return;
    void *items;
    if (posix_memalign(&items, LARGE_PAGE_BYTES, bytes) != 0)
        return;
    madvise(items, bytes, MADV_HUGEPAGE); /* a hint: the run is filled faster */
    run->items = items;
    external->kept_bytes += bytes;
}

static bool append(struct external_keys *external, struct item_run *run, const struct chunk *chunk,
                   struct error *error)
{
    const size_t width = external->run->job->sort.item_bytes;
    if (external->counts)
        key_counts_add(external->counts, chunk->items, chunk->count);
    else if (run->items)
        shared_copy(run->items + run->count * width, chunk->items, chunk->count * width,
                    external->run->job->sort.threads);
    else if (!spill_append(&run->spilled, chunk->items, chunk->count * width, error))
        return false;
    run->count += chunk->count;
    return true;
}

/* Reads input ahead while a part of `bytes` bytes is stored as a run. The CPU's engine releases
 * that much scratch with its last chunk. With a GPU's engine half of the free memory is used, and
 * the other half is for the next run. */
static void read_on(struct external_keys *external, size_t bytes)
{
    const struct run *const run = external->run;
    const size_t left = memory_left(external) / 2;
    const size_t room = run->backend == backends[0] || bytes < left ? bytes : left;
    if (!run->is_at_end && !run->job->sort.is_top)
        source_read_ahead(run->job->readers[run->reader].source, room);
}

/* Stores the sorted part as a run. */
static bool keep_part(struct external_keys *external, struct error *error)
{
    struct run *const run = external->run;
    const size_t count = sort_spec_given(&run->job->sort, run->count - run->part_begin);
    const uint64_t start = run_stage_begin(STAGE_SPILL);
    struct item_run *const part = add_run(external, error);
    if (!part)
        return false;
    if (!external->counts)
        keep_in_memory(external, part, count * run->job->sort.item_bytes);
    const bool is_spilled = !external->counts && !part->items;
    if (is_spilled && !spill_begin(external->spill, &part->spilled, error))
        return false;
    for (size_t given = 0;;) {
        struct chunk chunk;
        if (!run_give_next(run, count, &chunk, &given, error))
            return false;
        if (chunk.count == 0)
            break;
        if (given == (run->backend == backends[0] ? count : chunk.count))
            read_on(external, count * run->job->sort.item_bytes);
        if (!append(external, part, &chunk, error) ||
            !run->functions->take_back(run->engine, chunk, error))
            return false;
    }
    if (is_spilled && !spill_end(&part->spilled, error))
        return false;
    run->report->run_count++;
    run->report->spilled_bytes += part->spilled.bytes;
    run_stage_add(run, STAGE_SPILL, start);
    return true;
}

/* ---- Merging ---- */

static struct external_merge make_merge(const struct external_keys *external, size_t first,
                                        size_t count)
{
    const struct sort_spec *const sort = &external->run->job->sort;
    return (struct external_merge){
        .item_bytes = sort->item_bytes,
        .order = sort->order,
        .runs = external->runs + first,
        .run_count = count,
        .wanted = sort_spec_given(sort, external->run->count),
        .threads = sort->threads,
        .memory_bytes = memory_left(external),
    };
}

static void drop_runs(struct external_keys *external, struct item_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (runs[i].items)
            external->kept_bytes -= runs[i].count * external->run->job->sort.item_bytes;
        else
            spill_drop(&runs[i].spilled);
        free(runs[i].items);
    }
}

/* A run that other runs are merged into. */
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

/* Merges `count` runs into one that replaces them. */
static bool merge_into_run(struct external_keys *external, size_t first, size_t count,
                           struct error *error)
{
    struct external_merge merge = make_merge(external, first, count);
    struct merged_run merged = {.item_bytes = merge.item_bytes};
    merge.write = append_merged;
    merge.context = &merged;
    if (!spill_begin(external->spill, &merged.run.spilled, error) ||
        !external_merge_run(&merge, error) || !spill_end(&merged.run.spilled, error))
        return false;
    external->run->report->spilled_bytes += merged.run.spilled.bytes;
    struct item_run *const runs = external->runs + first;
    drop_runs(external, runs, count);
    external->run_count -= count - 1;
    runs[0] = merged.run;
    memmove(runs + 1, runs + count, (external->run_count - first - 1) * sizeof *runs);
    return true;
}

/* Merges as few runs as necessary until their number is at most the fan-in. */
static bool reduce_runs(struct external_keys *external, struct error *error)
{
    const size_t fan_in =
        external_merge_fan_in(memory_left(external), external->run->job->sort.threads);
    for (size_t first = 0; external->run_count > fan_in; first++) {
        const size_t excess = external->run_count - fan_in + 1;
        if (first + 1 >= external->run_count)
            first = 0;
        size_t count = external->run_count - first;
        count = count < excess ? count : excess;
        if (!merge_into_run(external, first, count < fan_in ? count : fan_in, error))
            return false;
    }
    return true;
}

static bool write_items(void *context, const void *items, size_t count, struct error *error)
{
    struct external_keys *const external = context;
    const struct chunk chunk = {.items = (void *)items, .capacity = count, .count = count};
    return run_write_chunk(external->run, &external->layout, &chunk, error);
}

static bool merge_all(struct external_keys *external, struct error *error)
{
    struct run *const run = external->run;
    if (external->counts)
        return run_begin_output(run, &external->layout, error) &&
               key_counts_write(external->counts, run->job->sort.order, external->layout.count,
                                write_items, external, error);
    if (!reduce_runs(external, error) || !run_begin_output(run, &external->layout, error))
        return false;
    struct external_merge merge = make_merge(external, 0, external->run_count);
    merge.write = write_items;
    merge.context = external;
    return external_merge_run(&merge, error);
}

static bool merge_to_output(void *context, struct error *error)
{
    struct external_keys *const external = context;
    return merge_all(external, error) && proof_finish_keys(external->run, error);
}

/* ---- All of it ---- */

static bool open_external(struct external_keys *external, struct error *error)
{
    const struct job *const job = external->run->job;
    /* Text and indices are made in buffers of the sink. */
    const bool makes_text = job->output_format == &format_text || job->argsort.index_type;
    external->merge_bytes = memory_limits_left(
        &job->memory, job->sort.threads, makes_text ? sink_buffers_bytes(job->output.threads) : 0);
    external->spill = spill_create(job->memory.directories, job->memory.directory_count);
    if (job->sort.item_bytes <= 2)
        external->counts = key_counts_create(job->sort.item_bytes);
    return (external->spill && (external->counts || job->sort.item_bytes > 2)) ||
           error_set(error, "out of memory: no room for runs");
}

/* Limits the memory for merging to that of sorting a part, in case parts became smaller because
 * allocations failed. */
static void limit_merge(struct external_keys *external)
{
    const struct run *const run = external->run;
    const size_t item_bytes = 2 * run->job->sort.item_bytes; /* with scratch */
    if (run->backend == backends[0] && run->part_count < external->merge_bytes / item_bytes)
        external->merge_bytes = run->part_count * item_bytes;
}

static void close_external(struct external_keys *external)
{
    for (size_t i = 0; i < external->run_count; i++)
        free(external->runs[i].items);
    free(external->runs);
    key_counts_free(external->counts);
    spill_free(external->spill);
}

bool external_keys_run(struct run *run, struct error *error)
{
    bool ok = false;
    struct external_keys external = {.run = run};
    TRY(open_external(&external, error));
    TRY(keep_part(&external, error));
    while (!run->is_at_end) {
        TRY(run_sort_part(run, error));
        TRY(keep_part(&external, error));
    }
    run_close_engine(run);
    limit_merge(&external);
    const uint64_t start = run_stage_begin(STAGE_WRITE);
    TRY(run_write_proved(run, merge_to_output, &external, error));
    run_stage_add(run, STAGE_WRITE, start);
    ok = true;
done:
    close_external(&external);
    return ok;
}
