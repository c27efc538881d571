/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_group_lines.c - lines of a job that several ranks share.
 *
 *   part of the input of this rank -> sorted runs on disk   (external_lines.h)
 *     -> cuts of the runs of all ranks                      (external_cuts.h)
 *     -> messages; the runs of this rank's range merged     (external_exchange.h, lines_merge.h)
 *     -> this rank's range of the one output
 *
 * The ranges have about equally many bytes. With --top, rank 0 merges the first lines of all ranks.
 * With --argsort the merge writes which run has the next line. After that, the indices of the runs
 * are exchanged, merged in the same order (line_indices.h) and written.
 */
#include "core/clock.h"
#include "formats/codec/codec.h"
#include "job/external_lines.h"
#include "job/line_indices.h"
#include "job/pipeline_ranks.h"

#include <stdlib.h>
#include <string.h>

struct group_lines {
    struct job_state *state;
    struct group *group;
    struct external_lines external;
    struct rank_runs numbered;
    uint64_t *targets; /* [r]: bytes of the sorted lines before the end of the range of rank r */
    struct check_sum *sums;  /* of this rank's range of each run */
    struct item_run sources; /* with --argsort: for each merged line the number of its run */
    struct rank_runs index_numbered;   /* the runs of indices, and the ranges in them */
    uint64_t index_first, index_count; /* of this rank's indices, in the whole output */
    struct lines_ends ends;            /* of the lines that this rank merged */
    uint64_t all_bytes;                /* of all runs */
    uint64_t range_begin;              /* bytes of the sorted lines before this rank's range */
    uint64_t range_bytes;              /* of the range, with lines that are left out */
    uint64_t output_bytes;             /* of all ranks */
};

/* ---- Runs and ranges ---- */

static bool sort_runs(struct group_lines *lines, struct error *error)
{
    struct job_state *const state = lines->state;
    struct lines *part = lines_create(state->job->sort.threads, &state->job->line_order);
    const bool ok = (part || error_set(error, "out of memory")) &&
                    external_lines_open(state, &lines->external, error) &&
                    job_read_lines(state, part, error) &&
                    external_lines_sort(&lines->external, &part, error);
    lines_free(part);
    return ok;
}

static size_t merge_bytes(const struct group_lines *lines)
{
    return ranks_merge_bytes(lines->external.merge_bytes);
}

static bool reduce_runs(struct group_lines *lines, struct error *error)
{
    struct external_lines *const external = &lines->external;
    const size_t ranks = lines->group->size,
                 short_ones = merge_bytes(lines) / LINES_MERGE_INPUT_BYTES;
    size_t most = external_lines_fan_in(external, merge_bytes(lines));
    if (most < ranks) /* one run of each rank must do, also of long lines */
        most = short_ones < ranks ? short_ones : ranks;
    return ranks_limit_runs(lines->group, most, &most, error) &&
           external_lines_reduce(external, most,
                                 external_lines_fan_in(external, external->merge_bytes), error);
}

static bool allocate(struct group_lines *lines, struct error *error)
{
    lines->targets = calloc(lines->group->size, sizeof *lines->targets);
    lines->sums = calloc(lines->numbered.count + 1, sizeof *lines->sums);
    return (lines->targets && lines->sums) || error_set(error, "out of memory");
}

static void find_range(struct group_lines *lines)
{
    const size_t count = lines->numbered.count;
    const uint64_t *const begins = lines->numbered.positions + lines->group->rank * count;
    for (size_t i = 0; i < count; i++) {
        lines->range_begin += begins[i];
        lines->range_bytes += begins[count + i] - begins[i];
    }
}

static struct record_order record_order_of(const struct group_lines *lines)
{
    return (struct record_order){.line_order = &lines->state->job->line_order, .item_bytes = 1};
}

/* Collective: divides the lines among the ranks. */
static bool find_cuts(struct group_lines *lines, struct error *error)
{
    struct group *const group = lines->group;
    const struct job *const job = lines->state->job;
    const struct external_cuts cuts = {
        .group = group,
        .order = record_order_of(lines),
        .runs = lines->external.list.runs,
        .run_count = lines->external.list.count,
        .numbered = &lines->numbered,
        .targets = lines->targets,
    };
    for (size_t i = 0; i < lines->external.list.count; i++)
        lines->all_bytes += lines->external.list.runs[i].count;
    if (!group_sum(group, &lines->all_bytes, 1, error))
        return false;
    for (unsigned rank = 0; rank < group->size; rank++)
        lines->targets[rank] =
            job->sort.is_top ? lines->all_bytes : group_begin(group, lines->all_bytes, rank + 1);
    if (!external_cuts_find(&cuts, error))
        return false;
    find_range(lines);
    return true;
}

/* ---- Output ---- */

/* Merges the ranges of all runs to the sink. */
static bool merge_runs(struct group_lines *lines, struct item_run *runs, size_t count,
                       struct sink *sink, struct error *error)
{
    struct lines_merge merge = {
        .count = count,
        .writes_sources = lines->state->job->argsort.index_type,
        .memory_bytes = merge_bytes(lines),
        .source_positions = lines->numbered.positions + lines->group->rank * count,
        .source_sums = lines->sums,
        .ends = &lines->ends,
    };
    return external_lines_merge(&lines->external, runs, &merge, sink, error);
}

/* Merges the ranges of all runs into *merged, a run of the spill. */
static bool merge_to_run(struct group_lines *lines, struct item_run *runs, size_t count,
                         struct spill *spill, struct item_run *merged, struct error *error)
{
    struct external_lines *const external = &lines->external;
    struct sink *sink = NULL;
    if (!external_lines_begin_run(external, spill, merged, &sink, error))
        return false;
    const bool ok = merge_runs(lines, runs, count, sink, error);
    return external_lines_end_run(external, merged, sink, ok, error);
}

/* With --top, the first of the merged lines are copied to the output. With --argsort, the run of
 * each merged line is stored: the indices are merged in this order later. */
static bool merge_range(void *context, struct item_run *runs, size_t count, struct error *error)
{
    struct group_lines *const lines = context;
    const struct job *const job = lines->state->job;
    const struct external_lines *const external = &lines->external;
    struct item_run first = {0};
    if (lines->range_bytes == 0)
        return true;
    if (job->argsort.index_type)
        return merge_to_run(lines, runs, count, external->index_spill, &lines->sources, error);
    if (!job->sort.is_top)
        return merge_runs(lines, runs, count, lines->state->sink, error);
    return merge_to_run(lines, runs, count, external->spill, &first, error) &&
           external_lines_copy(external, &first, job->sort.top, error);
}

/* True if the ranks share the output, and the size of a range is not known before it is made, or
 * they cannot write to their positions at once. */
static bool lines_are_put_aside(const struct job *job)
{
    return !job->has_rank_output && (job->line_order.unique || job->sort.is_top ||
                                     job->output.codec->encode || !job->output.group);
}

/* Rank 0 writes the header before its lines, or each rank to its file. */
static bool begin_output(struct group_lines *lines, struct error *error)
{
    struct job_state *const state = lines->state;
    if (state->job->has_rank_output)
        return job_write_header(state, error);
    const uint64_t position =
        lines->group->rank == 0 ? 0 : state->header.bytes + lines->range_begin;
    if (!lines_are_put_aside(state->job))
        sink_expect(state->sink, state->header.bytes + lines->all_bytes);
    return (lines_are_put_aside(state->job) || sink_move(state->sink, position, error)) &&
           (lines->group->rank > 0 || job_write_header(state, error));
}

/* Collective: merges the range of this rank. */
static bool exchange(struct group_lines *lines, struct error *error)
{
    struct external_exchange exchange = {
        .item_bytes = 1,
        .merge = merge_range,
        .context = lines,
        .runs = lines->external.list.runs,
        .run_count = lines->external.list.count,
        .numbered = &lines->numbered,
    };
    return ranks_exchange(lines->state, merge_bytes(lines), &exchange, error);
}

/* Collective: the range of this rank goes to state->sink. */
static bool write_range(void *context, struct error *error)
{
    struct group_lines *const lines = context;
    return group_agree(lines->group, begin_output(lines, error), error) &&
           sink_map_shared(lines->state->sink, error) && exchange(lines, error);
}

/* ---- Indices ---- */

/* Collective: finds the ranges of all ranks in the runs of indices, and this rank's in the output.
 */
static bool find_index_ranges(struct group_lines *lines, uint64_t *counts, struct error *error)
{
    struct group *const group = lines->group;
    struct rank_runs *const numbered = &lines->index_numbered;
    const size_t runs = numbered->count, row = runs + 1; /* counts, and how many are kept */
    uint64_t *const own = counts + group->rank * row;
    uint64_t first = 0, kept = 0;
    if (!group_agree(
            group,
            line_indices_count(lines->state, &lines->sources.spilled, runs, own, &own[runs], error),
            error) ||
        !group_sum(group, counts, group->size * row, error))
        return false;
    for (unsigned rank = 0; rank < group->size; rank++) {
        const uint64_t *const has = counts + rank * row;
        uint64_t *const begins = numbered->positions + rank * runs;
        for (size_t i = 0; i < runs; i++)
            begins[runs + i] = begins[i] + has[i];
        first += rank < group->rank ? has[runs] : 0;
        kept += has[runs];
    }
    lines->state->output_layout = job_output_layout(lines->state->job, (size_t)kept);
    const uint64_t all = lines->state->output_layout.count, left = all > first ? all - first : 0;
    lines->index_first = first;
    lines->index_count = own[runs] < left ? own[runs] : left;
    return true;
}

static bool number_indices(struct group_lines *lines, struct error *error)
{
    struct group *const group = lines->group;
    struct rank_runs *const numbered = &lines->index_numbered;
    if (!rank_runs_number(group, lines->external.index_list.count, numbered, error))
        return false;
    uint64_t *const counts = calloc((numbered->count + 1) * group->size, sizeof *counts);
    const bool ok = group_agree(group, counts || error_set(error, "out of memory"), error) &&
                    find_index_ranges(lines, counts, error);
    free(counts);
    return ok;
}

static bool merge_index_range(void *context, struct item_run *runs, size_t count,
                              struct error *error)
{
    struct group_lines *const lines = context;
    const struct line_indices indices = {
        .state = lines->state,
        .sources = &lines->sources.spilled,
        .runs = runs,
        .run_count = count,
        .wanted = lines->index_count,
        .memory_bytes = merge_bytes(lines),
        .write = job_write_items,
        .context = lines->state,
    };
    return line_indices_write(&indices, error);
}

/* Collective: the indices in the range of this rank go to state->sink. */
static bool write_index_range(void *context, struct error *error)
{
    struct group_lines *const lines = context;
    struct external_exchange exchange = {
        .item_bytes = sizeof(uint64_t),
        .merge = merge_index_range,
        .context = lines,
        .runs = lines->external.index_list.runs,
        .run_count = lines->external.index_list.count,
        .numbered = &lines->index_numbered,
    };
    return rank_array_begin(lines->state, lines->index_first, lines->index_count, error) &&
           ranks_exchange(lines->state, merge_bytes(lines), &exchange, error);
}

/* Collective. */
static bool prove_indices(const struct group_lines *lines, struct error *error)
{
    struct job_state *const state = lines->state;
    struct group *const group = lines->group;
    struct proof *const proof = &state->proof;
    const uint64_t count = state->output_layout.count;
    uint64_t all = state->count;
    proof->file = proof->written.sum;
    return ranks_add_up(group, &proof->written.sum, error) && group_sum(group, &all, 1, error) &&
           group_agree(group, proof_finish_indices(state, count, count == all, error), error);
}

/* Collective: writes the indices of the lines to state->sink, and proves them. */
static bool write_indices(struct group_lines *lines, struct error *error)
{
    key_check_start_lines(&lines->state->proof.written);
    bool ok = exchange(lines, error) && number_indices(lines, error);
    if (ok) {
        const struct rank_range range = {
            .is_empty = lines->index_count == 0,
            .write = write_index_range,
            .context = lines,
        };
        ok = rank_array_write(lines->state, &range, &lines->output_bytes, error);
    }
    return ok && prove_indices(lines, error);
}

static bool write_output(struct group_lines *lines, struct error *error)
{
    struct job_state *const state = lines->state;
    const struct rank_range range = {
        .is_empty = lines->range_bytes == 0,
        .write = write_range,
        .context = lines,
    };
    bool ok;
    if (state->job->argsort.index_type)
        return write_indices(lines, error);
    if (lines_are_put_aside(state->job)) {
        ok = ranks_write_aside(state, &range, &lines->output_bytes, error);
    } else {
        ok = write_range(lines, error);
        lines->output_bytes = state->header.bytes + lines->all_bytes;
    }
    return ok;
}

/* ---- Proof ---- */

/* Collective: checks that the ranges of each run, over all ranks, are the run. */
static bool check_runs(struct group_lines *lines, struct error *error)
{
    struct group *const group = lines->group;
    const size_t count = lines->numbered.count;
    struct check_sum *const sums = calloc(2 * count + 1, sizeof *sums), *const written =
                                                                            sums + count;
    bool ok = group_agree(group, sums || error_set(error, "out of memory"), error);
    if (ok) {
        memcpy(sums, lines->sums, count * sizeof *sums);
        for (size_t i = 0; i < lines->external.list.count; i++)
            written[lines->numbered.first + i] = lines->external.list.runs[i].spilled.content;
        ok = group_sum(group, &sums->count, 2 * count * (sizeof *sums / sizeof(uint64_t)), error);
    }
    for (size_t i = 0; ok && i < count; i++)
        ok = check_sum_equal(sums[i], written[i]) ||
             proof_fail(lines->state, error, "a run of rank %u was changed after it was written",
                        lines->numbered.owners[i]);
    free(sums);
    return ok;
}

static bool prove(struct group_lines *lines, struct error *error)
{
    const struct record_order order = record_order_of(lines);
    const bool ok = check_runs(lines, error) &&
                    ranks_check_order(lines->state, &order, &lines->ends, "line", error);
    return group_agree(lines->group, ok, error);
}

/* ---- All of it ---- */

/* Collective: adds up the count and the bytes of the report over all ranks. */
static bool add_up_counts(struct job_state *state, struct error *error)
{
    uint64_t words[2] = {state->count, state->report->item_bytes};
    const bool ok = group_sum(state->job->group, words, 2, error);
    state->count = (size_t)words[0];
    state->report->total_bytes = words[1];
    return ok;
}

bool job_group_lines(struct job_state *state, struct error *error)
{
    struct group_lines lines = {.state = state, .group = state->job->group};
    const uint64_t begin = clock_now_ns();
    bool ok = group_agree(lines.group, sort_runs(&lines, error), error) &&
              group_agree(lines.group, reduce_runs(&lines, error), error) &&
              rank_runs_number(lines.group, lines.external.list.count, &lines.numbered, error) &&
              group_agree(lines.group, allocate(&lines, error), error);
    const uint64_t start = job_stage_begin(STAGE_WRITE);
    ok = ok && find_cuts(&lines, error) && write_output(&lines, error);
    job_stage_add(state, STAGE_WRITE, start);
    state->figures[RANK_SORT_NS] = start - begin;
    state->figures[RANK_WRITE_NS] = clock_now_ns() - start;
    ok = ok && prove(&lines, error) && add_up_counts(state, error) &&
         (state->job->has_rank_output || sink_move(state->sink, lines.output_bytes, error));
    external_lines_close(&lines.external);
    rank_runs_free(&lines.numbered);
    rank_runs_free(&lines.index_numbered);
    lines_ends_free(&lines.ends);
    free(lines.targets);
    free(lines.sums);
    return ok;
}
