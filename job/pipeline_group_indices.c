/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_group_indices.c - see pipeline_group_indices.h. */
#include "job/pipeline_group_indices.h"

#include "job/line_indices.h"

#include <stdlib.h>

struct writer {
    struct group_indices *task;
    struct group *group;
    struct rank_runs numbered; /* the runs of indices; positions: of the ranges in them */
    uint64_t first, count;     /* of this rank's indices, in the whole output */
    struct layout layout;      /* of the whole output */
};

/* ---- Ranges ---- */

/* Collective: finds the ranges of all ranks in the runs, and this rank's in the output. */
static bool find_ranges(struct writer *writer, uint64_t *counts, struct error *error)
{
    const struct group_indices *const task = writer->task;
    struct group *const group = writer->group;
    const size_t runs = writer->numbered.count, row = runs + 1; /* counts, and how many are kept */
    uint64_t *const own = counts + group->rank * row;
    uint64_t kept = 0;
    if (!group_agree(group,
                     line_indices_count(task->state, task->sources, runs, own, &own[runs], error),
                     error) ||
        !group_sum(group, counts, group->size * row, error))
        return false;
    for (unsigned rank = 0; rank < group->size; rank++) {
        const uint64_t *const has = counts + rank * row;
        uint64_t *const begins = writer->numbered.positions + rank * runs;
        for (size_t i = 0; i < runs; i++)
            begins[runs + i] = begins[i] + has[i];
        writer->first += rank < group->rank ? has[runs] : 0;
        kept += has[runs];
    }
    writer->layout = job_output_layout(task->state->job, (size_t)kept);
    const uint64_t left =
        writer->layout.count > writer->first ? writer->layout.count - writer->first : 0;
    writer->count = own[runs] < left ? own[runs] : left;
    return true;
}

static bool prepare(struct writer *writer, struct error *error)
{
    const struct group_indices *const task = writer->task;
    struct group *const group = writer->group;
    if (!rank_runs_number(group, task->run_count, &writer->numbered, error))
        return false;
    uint64_t *const counts = calloc((writer->numbered.count + 1) * group->size, sizeof *counts);
    const bool ok = group_agree(group, counts || error_set(error, "out of memory"), error) &&
                    find_ranges(writer, counts, error);
    free(counts);
    return ok;
}

/* ---- Output ---- */

static bool write_items(void *context, struct key_index *items, size_t count, struct error *error)
{
    struct writer *const writer = context;
    const struct chunk chunk = {.items = items, .capacity = count, .count = count};
    return job_write_chunk(writer->task->state, &writer->layout, &chunk, error);
}

static bool merge_range(void *context, struct item_run *runs, size_t count, struct error *error)
{
    struct writer *const writer = context;
    const struct line_indices indices = {
        .state = writer->task->state,
        .sources = writer->task->sources,
        .runs = runs,
        .run_count = count,
        .wanted = writer->count,
        .memory_bytes = writer->task->memory_bytes,
        .write = write_items,
        .context = writer,
    };
    return line_indices_write(&indices, error);
}

/* Collective: the range of this rank goes to state->sink. */
static bool write_range(void *context, struct error *error)
{
    struct writer *const writer = context;
    struct group_indices *const task = writer->task;
    struct external_exchange exchange = {
        .item_bytes = sizeof(uint64_t),
        .merge = merge_range,
        .context = writer,
        .runs = task->runs,
        .run_count = task->run_count,
    };
    return rank_array_begin(task->state, &writer->layout, writer->first, writer->count, error) &&
           ranks_exchange(task->state, &writer->numbered, task->memory_bytes, &exchange,
                          task->figures, error);
}

/* Collective. */
static bool prove(const struct writer *writer, struct error *error)
{
    struct job_state *const state = writer->task->state;
    struct group *const group = writer->group;
    struct proof *const proof = &state->proof;
    uint64_t all = state->count;
    proof->file = proof->written.sum;
    return ranks_add_up(group, &proof->written.sum, error) && group_sum(group, &all, 1, error) &&
           group_agree(group,
                       proof_finish_indices(state, writer->layout.count,
                                            writer->layout.count == all, error),
                       error);
}

bool group_indices_write(struct group_indices *task, struct error *error)
{
    struct writer writer = {.task = task, .group = task->state->job->group};
    key_check_start_lines(&task->state->proof.written);
    bool ok = prepare(&writer, error);
    if (ok) {
        struct rank_range range = {
            .is_empty = writer.count == 0, .write = write_range, .context = &writer};
        ok = rank_array_write(task->state, &writer.layout, &range, &task->output_bytes, error);
    }
    task->figures[RANK_WRITTEN_BYTES] = ok ? writer.count * writer.layout.type->bytes : 0;
    ok = ok && prove(&writer, error);
    rank_runs_free(&writer.numbered);
    return ok;
}
