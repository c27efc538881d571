/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_group.c - numbers, or their indices, of a job that several ranks share.
 *
 *   part of the input of this rank -> engine -> sorted runs   (external_runs.h)
 *     -> cuts of the runs of all ranks                        (external_cuts.h)
 *     -> messages, or memory of other ranks that is read; the runs of this rank's range
 *        merged                                               (external_exchange.h)
 *     -> this rank's range of the one output
 *
 * If the engines of all ranks can sort together (`share` in core/backend.h), there are no runs:
 * each engine gives the numbers of its rank's range. Of keys of one and two bytes, the counts of
 * all ranks are added up, and no key is sent.
 */
#include "core/clock.h"
#include "core/trace.h"
#include "formats/codec/codec.h"
#include "formats/codec/frames.h"
#include "job/external_runs.h"
#include "job/pipeline_ranks.h"

#include <stdlib.h>

/* In one uncompressed output, the ranges of ranks begin at a multiple of CUT_BYTES if each has at
 * least CUT_SHARE times as much. */
#define CUT_BYTES ((uint64_t)1 << 20)
#define CUT_SHARE ((uint64_t)16)

struct group_keys {
    struct job_state *state;
    struct group *group;
    struct external_runs runs;
    bool is_shared;    /* the engines sort together; there are no runs */
    uint64_t *targets; /* where the range of each rank begins in the sorted items; and an end */
    struct rank_runs numbered;
    uint64_t output_bytes; /* of all ranks */
};

/* ---- Runs and ranges ---- */

static bool sort_runs(struct group_keys *keys, struct error *error)
{
    struct job_state *const state = keys->state;
    return job_sort_engine(state, error) && external_runs_open(state, &keys->runs, error) &&
           external_runs_keep(&keys->runs, error) && external_runs_keep_rest(&keys->runs, error);
}

/* Divides the output among the ranks. Compressed output is divided only where a single process
 * would begin a frame, so that the frames are the same. */
static void choose_targets(struct group_keys *keys)
{
    const struct group *const group = keys->group;
    const struct layout *const layout = &keys->state->output_layout;
    const uint64_t count = layout->count, header = rank_array_header_bytes(keys->state);
    const size_t width = layout->type->bytes;
    const bool is_packed = keys->state->job->output.codec->encode;
    const bool is_large = count * width / group->size >= CUT_SHARE * CUT_BYTES;
    const uint64_t unit = keys->state->job->has_rank_output ? width
                          : is_packed                       ? FRAME_CONTENT_BYTES
                          : is_large                        ? CUT_BYTES
                                                            : width;
    for (unsigned rank = 0; rank <= group->size; rank++) {
        const uint64_t bytes = header + group_begin(group, count, rank) * width;
        const uint64_t target = ((bytes + unit - 1) / unit * unit - header) / width;
        keys->targets[rank] = rank == 0 ? 0 : target < count ? target : count;
    }
}

static size_t merge_bytes(const struct group_keys *keys)
{
    return ranks_merge_bytes(external_runs_memory_left(&keys->runs));
}

static bool reduce_runs(struct group_keys *keys, struct error *error)
{
    const size_t fan_in = external_merge_fan_in(merge_bytes(keys), keys->state->job->sort.threads);
    size_t most;
    return ranks_limit_runs(keys->group, fan_in, &most, error) &&
           external_runs_reduce(&keys->runs, most, error);
}

static struct record_order record_order_of(const struct group_keys *keys)
{
    const struct sort_spec *const sort = &keys->state->job->sort;
    return (struct record_order){.item_bytes = sort->item_bytes, .key_order = sort->order};
}

static bool find_cuts(struct group_keys *keys, struct error *error)
{
    const struct external_cuts cuts = {
        .group = keys->group,
        .order = record_order_of(keys),
        .runs = keys->runs.list.runs,
        .run_count = keys->runs.list.count,
        .numbered = &keys->numbered,
        .targets = keys->targets + 1, /* the first range begins at the first item of each run */
    };
    return external_cuts_find(&cuts, error);
}

/* ---- Output ---- */

static uint64_t range_count(const struct group_keys *keys)
{
    const unsigned rank = keys->group->rank;
    return keys->targets[rank + 1] - keys->targets[rank];
}

/* Collective. */
static bool begin_output(struct group_keys *keys, struct error *error)
{
    return rank_array_begin(keys->state, keys->targets[keys->group->rank], range_count(keys),
                            error);
}

static bool write_counted(struct group_keys *keys, struct error *error)
{
    const struct sort_spec *const sort = &keys->state->job->sort;
    uint64_t *const counts = keys->runs.counts;
    return group_sum(keys->group, counts, KEY_COUNTS(sort->item_bytes), error) &&
           begin_output(keys, error) &&
           key_counts_write(counts, sort->item_bytes, sort->order, keys->targets[keys->group->rank],
                            range_count(keys), keys->state, error);
}

static bool merge_range(void *context, struct item_run *runs, size_t run_count, struct error *error)
{
    struct group_keys *const keys = context;
    const struct sort_spec *const sort = &keys->state->job->sort;
    const struct external_merge merge = {
        .item_bytes = sort->item_bytes,
        .order = sort->order,
        .runs = runs,
        .run_count = run_count,
        .wanted = range_count(keys),
        .threads = sort->threads,
        .memory_bytes = merge_bytes(keys),
        .write = job_write_items,
        .context = keys->state,
        .output = keys->state->target,
    };
    return external_merge_run(&merge, error);
}

static bool exchange(struct group_keys *keys, struct error *error)
{
    struct external_exchange exchange = {
        .item_bytes = keys->state->job->sort.item_bytes,
        .merge = merge_range,
        .context = keys,
        .runs = keys->runs.list.runs,
        .run_count = keys->runs.list.count,
        .numbered = &keys->numbered,
    };
    return begin_output(keys, error) &&
           ranks_exchange(keys->state, merge_bytes(keys), &exchange, error);
}

/* Collective: the range of this rank goes to state->sink. */
static bool write_range(void *context, struct error *error)
{
    struct group_keys *const keys = context;
    if (keys->is_shared)
        return begin_output(keys, error) &&
               group_agree(keys->group,
                           job_write_given(keys->state, (size_t)range_count(keys), 0, error),
                           error);
    return keys->runs.counts ? group_agree(keys->group, write_counted(keys, error), error)
                             : exchange(keys, error);
}

/* ---- Proof ---- */

/* Collective: checks the order from each rank to the next. */
static bool check_ranks(struct group_keys *keys, struct error *error)
{
    struct key_check *const written = &keys->state->proof.written;
    const struct record_order order = record_order_of(keys);
    const struct lines_ends ends = {
        .texts = {(char *)written->first_key, (char *)written->last_key},
        .lengths = {order.item_bytes, order.item_bytes},
        .has_lines = written->sum.count > 0,
    };
    return ranks_check_order(keys->state, &order, &ends, "number", error);
}

/* The sums of all ranks take the place of this rank's, so that each rank proves the same. */
static bool prove(struct group_keys *keys, struct error *error)
{
    struct group *const group = keys->group;
    struct proof *const proof = &keys->state->proof;
    if (!group_agree(group, check_ranks(keys, error), error))
        return false;
    proof->file = proof->written.sum;
    return ranks_add_up(group, &proof->read.sum, error) &&
           ranks_add_up(group, &proof->taken.sum, error) &&
           ranks_add_up(group, &proof->made.sum, error) &&
           ranks_add_up(group, &proof->written.sum, error) &&
           group_agree(group, proof_finish_keys(keys->state, error), error);
}

/* ---- A job of numbers, from parts to output ---- */

/* Returns true if the engines may sort together: the ranks are of one host, and the keys are not
 * counted. The result is equal on all ranks. */
static bool may_share(const struct group_keys *keys)
{
    return keys->group->host_size == keys->group->size && keys->state->job->sort.item_bytes >= 4;
}

/* Collective: finds out whether each rank has all its numbers in an engine of the same backend,
 * which can sort with others. */
static bool have_one_engine(const struct group_keys *keys, bool *are_alike, struct error *error)
{
    const struct job_state *const state = keys->state;
    uint64_t own = 0; /* no such engine; otherwise the row of its backend, from 1 */
    for (size_t i = 0; state->is_at_end && state->functions->share && i < backend_count; i++)
        if (backends[i] == state->backend)
            own = i + 1;
    uint64_t *const all = group_gather(keys->group, &own, 1, error);
    *are_alike = all && own > 0;
    for (unsigned rank = 0; all && rank < keys->group->size; rank++)
        *are_alike = *are_alike && all[rank] == own;
    free(all);
    return all;
}

/* Collective: lets the engines of all ranks sort together, if each has all numbers of its rank and
 * is able to. */
static bool share_sort(struct group_keys *keys, struct error *error)
{
    struct job_state *const state = keys->state;
    struct shared_sort shared = {.group = keys->group, .targets = keys->targets};
    bool are_alike = false;
    if (!may_share(keys))
        return true;
    if (!have_one_engine(keys, &are_alike, error))
        return false;
    if (!are_alike)
        return true;
    const uint64_t start_ns = job_stage_begin(STAGE_SORT);
    const bool ok = state->functions->share(state->engine, &shared, &keys->is_shared, error);
    trace_span(TRACE_STAGE, stage_names[STAGE_SORT], start_ns, clock_now_ns(), 0);
    state->figures[RANK_SENT_BYTES] = shared.sent_bytes;
    state->figures[RANK_RECEIVED_BYTES] = shared.received_bytes;
    return ok;
}

static bool sort_part(struct group_keys *keys, struct error *error)
{
    struct job_state *const state = keys->state;
    struct group *const group = keys->group;
    state->output_layout = job_output_layout(state->job, state->job->group_count);
    proof_start_keys(state);
    keys->targets = calloc(group->size + 1, sizeof *keys->targets);
    if (!group_agree(group, keys->targets || error_set(error, "out of memory"), error))
        return false;
    choose_targets(keys);
    if (may_share(keys))
        state->shared_given = (size_t)range_count(keys);
    return job_share_sample(state, error) &&
           group_agree(group, job_read_part(state, error), error) && share_sort(keys, error) &&
           (keys->is_shared || group_agree(group, sort_runs(keys, error), error));
}

static bool write_output(struct group_keys *keys, struct error *error)
{
    if (!keys->runs.counts && !keys->is_shared &&
        (!group_agree(keys->group, reduce_runs(keys, error), error) ||
         !rank_runs_number(keys->group, keys->runs.list.count, &keys->numbered, error) ||
         !find_cuts(keys, error)))
        return false;
    const struct rank_range range = {
        .is_empty = range_count(keys) == 0,
        .write = write_range,
        .context = keys,
    };
    return rank_array_write(keys->state, &range, &keys->output_bytes, error);
}

bool job_group_keys(struct job_state *state, struct error *error)
{
    struct group_keys keys = {.state = state, .group = state->job->group};
    const uint64_t begin = clock_now_ns();
    bool ok = sort_part(&keys, error);
    const uint64_t start = job_stage_begin(STAGE_WRITE);
    ok = ok && write_output(&keys, error);
    job_stage_add(state, STAGE_WRITE, start);
    state->figures[RANK_SORT_NS] = start - begin;
    state->figures[RANK_WRITE_NS] = clock_now_ns() - start;
    ok = ok && prove(&keys, error) &&
         (state->job->has_rank_output || sink_move(state->sink, keys.output_bytes, error));
    if (ok) {
        const unsigned width = state->job->readers[0].layout.type->bytes;
        state->report->item_bytes = (uint64_t)state->count * width;
        state->report->total_bytes = state->job->group_count * width;
        state->count = state->job->group_count;
    }
    external_runs_close(&keys.runs);
    free(state->shared_sample);
    free(keys.targets);
    rank_runs_free(&keys.numbered);
    return ok;
}
