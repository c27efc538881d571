/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_ranks.c - see pipeline_ranks.h. */
#include "job/pipeline_ranks.h"

#include "core/host_limits.h"
#include "core/trace.h"
#include "formats/codec/codec.h"
#include "formats/merge/lines_merge.h"

#include <stdlib.h>
#include <string.h>

/* Maximum and minimum bytes for merging, and the same for messages. The minimum is used even if -S
 * leaves less. With the maximum, 438 runs of numbers can be merged at once with 12 threads or more,
 * and 512 with 10 or fewer (external_merge_fan_in()). */
#define RANK_MERGE_BYTES_MAX ((size_t)96 << 20)
#define RANK_MERGE_BYTES_MIN ((size_t)512 << 10)

_Static_assert(RANK_MERGE_BYTES_MAX / LINES_MERGE_INPUT_BYTES <= GROUP_TAG_MAX,
               "each run of lines has a tag; of numbers fewer runs are merged at once");

/* ---- Runs ---- */

bool rank_runs_number(struct group *group, size_t run_count, struct rank_runs *runs,
                      struct error *error)
{
    const uint64_t own = run_count;
    uint64_t *const counts = group_gather(group, &own, 1, error);
    for (unsigned rank = 0; counts && rank < group->size; rank++) {
        runs->first = rank == group->rank ? runs->count : runs->first;
        runs->count += counts[rank];
    }
    runs->owners = calloc(runs->count + 1, sizeof *runs->owners);
    runs->positions = calloc((group->size + 1) * runs->count + 1, sizeof *runs->positions);
    const bool has_memory = (runs->owners && runs->positions) || error_set(error, "out of memory");
    const bool ok = counts && group_agree(group, has_memory, error);
    for (unsigned rank = 0, number = 0; ok && rank < group->size; rank++)
        for (size_t i = 0; i < counts[rank]; i++)
            runs->owners[number++] = rank;
    free(counts);
    return ok;
}

void rank_runs_free(struct rank_runs *runs)
{
    free(runs->owners);
    free(runs->positions);
}

size_t ranks_merge_bytes(size_t left)
{
    const size_t half = left / 2;
    if (half > RANK_MERGE_BYTES_MAX)
        return RANK_MERGE_BYTES_MAX;
    return half > RANK_MERGE_BYTES_MIN ? half : RANK_MERGE_BYTES_MIN;
}

/* Collective: replaces *value by the least of all ranks. Fails only if the group does, or memory
 * runs out. */
static bool find_least(struct group *group, size_t *value, struct error *error)
{
    const uint64_t own = *value;
    uint64_t *const values = group_gather(group, &own, 1, error);
    const bool ok = values;
    for (unsigned rank = 0; ok && rank < group->size; rank++)
        *value = values[rank] < *value ? (size_t)values[rank] : *value;
    free(values);
    return ok;
}

bool ranks_limit_runs(struct group *group, size_t fan_in, size_t *most, struct error *error)
{
    if (!find_least(group, &fan_in, error))
        return false;
    *most = fan_in / group->size;
    return *most > 0 ||
           error_set(error,
                     "%u ranks are more than can be merged in this memory, which is enough for "
                     "%zu: start fewer ranks, or allow more memory (-S), which helps up to 438 "
                     "ranks of numbers",
                     group->size, fan_in);
}

/* ---- Exchange ---- */

bool ranks_exchange(struct job_state *state, size_t memory_bytes,
                    struct external_exchange *exchange, struct error *error)
{
    struct group *const group = state->job->group;
    const size_t streams = exchange->run_count * (group->size - 1) + exchange->numbered->count;
    exchange->message_bytes =
        external_exchange_message_bytes(memory_bytes, streams, exchange->item_bytes);
    if (!find_least(group, &exchange->message_bytes, error)) /* both sides have one size */
        return false;
    exchange->group = group;
    exchange->threads = state->job->sort.threads;
    const bool ok = external_exchange_run(exchange, error);
    state->figures[RANK_SENT_BYTES] += exchange->sent_bytes;
    state->figures[RANK_RECEIVED_BYTES] += exchange->received_bytes;
    return group_agree(group, ok || !error->is_set, error) &&
           (ok || error_set(error, "the exchange with the other ranks failed"));
}

/* ---- Output that is stored ---- */

#define COPY_BYTES ((size_t)4 << 20)

struct copy {
    struct proof_reader reader;
    unsigned char *buffer;
};

static bool copy_aside(struct job_state *state, struct copy *copy, struct error *error)
{
    while (copy->reader.done < copy->reader.stored->bytes) {
        size_t bytes;
        if (!proof_read_stored(&copy->reader, copy->buffer, COPY_BYTES, &bytes, error) ||
            !sink_write(state->sink, copy->buffer, bytes, error))
            return false;
    }
    return true;
}

/* Sends the range to rank 0: all of it, even after a failure, as rank 0 waits for it. */
static bool send_aside(struct group *group, struct copy *copy, struct error *error)
{
    bool ok = true;
    for (uint64_t left = copy->reader.stored->bytes; left > 0;) {
        size_t bytes = left < COPY_BYTES ? (size_t)left : COPY_BYTES;
        ok = ok && proof_read_stored(&copy->reader, copy->buffer, COPY_BYTES, &bytes, error);
        if (!group_send(group, copy->buffer, bytes, 0, error))
            return false;
        left -= bytes;
    }
    return ok;
}

/* Rank 0 writes the range of another rank. Receives all of it, also after a write has failed. */
static bool write_received(struct group *group, struct job_state *state, unsigned rank,
                           uint64_t bytes, unsigned char *buffer, struct error *error)
{
    bool ok = true;
    while (bytes > 0) {
        const size_t some = bytes < COPY_BYTES ? (size_t)bytes : COPY_BYTES;
        if (!group_receive(group, buffer, some, rank, error))
            return false;
        ok = ok && sink_write(state->sink, buffer, some, error);
        bytes -= some;
    }
    return ok;
}

/* Writes the ranges of all ranks to the output of rank 0: standard output, a pipe or a device. */
static bool stream_aside(struct job_state *state, struct copy *copy, const uint64_t *sizes,
                         struct error *error)
{
    struct group *const group = state->job->group;
    if (!group_reserve(group, 1, error))
        return false;
    if (group->rank > 0)
        return send_aside(group, copy, error);
    bool ok = copy_aside(state, copy, error);
    for (unsigned rank = 1; !group->is_broken && rank < group->size; rank++)
        ok = write_received(group, state, rank, sizes[rank], copy->buffer, error) && ok;
    return ok;
}

/* Copies the range of this rank to its position in the file. */
static bool place_aside(struct job_state *state, struct copy *copy, const uint64_t *sizes,
                        struct error *error)
{
    uint64_t position = 0;
    for (unsigned rank = 0; rank < state->job->group->rank; rank++)
        position += sizes[rank];
    return sink_move(state->sink, position, error) && copy_aside(state, copy, error);
}

/* Collective: brings the ranges of all ranks together. */
static bool join_ranges(struct job_state *state, const struct spill_run *stored,
                        uint64_t *output_bytes, struct error *error)
{
    struct group *const group = state->job->group;
    struct copy copy = {.reader = {.state = state, .stored = stored}, .buffer = malloc(COPY_BYTES)};
    const bool has_memory = copy.buffer || error_set(error, "out of memory");
    uint64_t *const sizes = group_agree(group, has_memory, error)
                                ? group_gather(group, &stored->bytes, 1, error)
                                : NULL;
    *output_bytes = 0;
    for (unsigned rank = 0; sizes && rank < group->size; rank++)
        *output_bytes += sizes[rank];
    const bool ok =
        sizes && group_agree(group,
                             state->job->output.group ? place_aside(state, &copy, sizes, error)
                                                      : stream_aside(state, &copy, sizes, error),
                             error);
    free(copy.buffer);
    free(sizes);
    return ok;
}

/* Collective: writes the range of this rank to a run of the spill. */
static bool write_range(struct job_state *state, const struct rank_range *range,
                        struct spill *spill, struct spill_run *aside, struct error *error)
{
    struct group *const group = state->job->group;
    struct sink *const target = state->sink;
    struct sink *sink = NULL;
    const bool is_open = (spill || error_set(error, "out of memory")) &&
                         spill_begin(spill, aside, error) &&
                         sink_open_run(aside, &state->job->output, &sink, error);
    if (!group_agree(group, is_open, error)) {
        sink_discard(sink);
        return false;
    }
    state->sink = sink;
    bool ok = range->write(range->context, error);
    state->sink = target;
    if (!ok) {
        sink_discard(sink);
        return false;
    }
    ok = sink_commit_run(sink, &aside->content, error) && spill_end(aside, error);
    if (group->rank > 0 && range->is_empty) {
        aside->bytes = 0;
        aside->content = (struct check_sum){0};
    }
    state->report->spilled_bytes += aside->bytes;
    return group_agree(group, ok, error);
}

bool ranks_write_aside(struct job_state *state, const struct rank_range *range,
                       uint64_t *output_bytes, struct error *error)
{
    const struct memory_limits *const memory = &state->job->memory;
    struct spill *const spill = spill_create(memory->directories, memory->directory_count);
    struct spill_run aside = {0};
    const bool ok = write_range(state, range, spill, &aside, error) &&
                    join_ranges(state, &aside, output_bytes, error);
    spill_free(spill);
    return ok;
}

/* ---- Numbers or indices ---- */

/* True if the ranks share the output, and cannot write to their positions in it at once. */
static bool array_is_put_aside(const struct job *job)
{
    return !job->has_rank_output &&
           (!job->output_format->is_array || job->output.codec->encode || !job->output.group);
}

uint64_t rank_array_header_bytes(const struct job_state *state)
{
    const struct job *const job = state->job;
    const struct layout *const layout = &state->output_layout;
    if (!job->output_format->is_array || job->has_rank_output)
        return 0;
    return job->output_format->file_bytes(layout) - layout_bytes(layout);
}

/* Returns the layout of the file that this rank writes `count` numbers to. */
static struct layout file_layout(const struct job_state *state, uint64_t count)
{
    struct layout own = state->output_layout;
    if (state->job->has_rank_output) {
        layout_flatten(&own);
        own.count = (size_t)count;
    }
    return own;
}

void rank_array_expect(struct job_state *state)
{
    const struct job *const job = state->job;
    const struct group *const group = job->group;
    state->output_layout = job_output_layout(job, job->group_count);
    const uint64_t all = state->output_layout.count;
    const uint64_t count =
        group_begin(group, all, group->rank + 1) - group_begin(group, all, group->rank);
    const struct layout own = file_layout(state, count);
    if (!array_is_put_aside(job))
        job_expect_ahead(state, job->output_format->file_bytes(&own));
}

static bool begin_array(struct job_state *state, uint64_t first, uint64_t count,
                        struct error *error)
{
    const struct job *const job = state->job;
    const struct format *const format = job->output_format;
    const uint64_t position =
        rank_array_header_bytes(state) + first * state->output_layout.type->bytes;
    const struct layout own = file_layout(state, count);
    struct key_check *const written = &state->proof.written;
    if (!job->argsort.index_type)
        key_check_start_ordered(written, written->key_bytes, written->order);
    sink_expect(state->sink, format->file_bytes(&own));
    if (job->has_rank_output)
        return format->write_header(state->sink, &own, error);
    return (job->group->rank != 0 || format->write_header(state->sink, &own, error)) &&
           (array_is_put_aside(job) || sink_move(state->sink, position, error));
}

bool rank_array_begin(struct job_state *state, uint64_t first, uint64_t count, struct error *error)
{
    return group_agree(state->job->group, begin_array(state, first, count, error), error) &&
           sink_map_shared(state->sink, error);
}

bool rank_array_write(struct job_state *state, const struct rank_range *range,
                      uint64_t *output_bytes, struct error *error)
{
    if (array_is_put_aside(state->job))
        return ranks_write_aside(state, range, output_bytes, error);
    *output_bytes = state->job->output_format->file_bytes(&state->output_layout);
    return range->write(range->context, error);
}

/* ---- Proof and report ---- */

/* A row of facts about the ends of a rank. */
enum { ENDS_HAS_ANY, ENDS_LENGTHS, ENDS_WORDS = ENDS_LENGTHS + 2 };

/* Finds the rank whose first record should be before the last record of a rank before it; `size` if
 * there is none. texts: the ends of all ranks, each in whole words. */
static unsigned find_disorder(const struct record_order *order, const uint64_t *rows, unsigned size,
                              const uint64_t *texts)
{
    const int highest = order->line_order && order->line_order->unique ? -1 : 0;
    const char *last = NULL;
    size_t last_length = 0;
    for (unsigned rank = 0; rank < size; rank++) {
        const uint64_t *const row = rows + rank * ENDS_WORDS, *const lengths = row + ENDS_LENGTHS;
        const char *const first = (const char *)texts;
        if (!row[ENDS_HAS_ANY])
            continue;
        if (last && record_compare(order, last, last_length, first, (size_t)lengths[0]) > highest)
            return rank;
        last = (const char *)(texts + group_words(lengths[0]));
        last_length = (size_t)lengths[1];
        texts += group_words(lengths[0]) + group_words(lengths[1]);
    }
    return size;
}

/* Collective: gives all ranks the ends of all. */
static bool share_ends(struct group *group, const struct lines_ends *ends, const uint64_t *rows,
                       uint64_t **texts, struct error *error)
{
    size_t words = 0, own = 0;
    for (unsigned rank = 0; rank < group->size; rank++) {
        own = rank == group->rank ? words : own;
        for (size_t i = 0; i < 2 && rows[rank * ENDS_WORDS + ENDS_HAS_ANY]; i++)
            words += group_words(rows[rank * ENDS_WORDS + ENDS_LENGTHS + i]);
    }
    *texts = calloc(words + 1, sizeof **texts);
    if (!group_agree(group, *texts || error_set(error, "out of memory"), error))
        return false;
    for (size_t i = 0; ends->has_lines && i < 2; i++) {
        memcpy(*texts + own, ends->texts[i], ends->lengths[i]);
        own += group_words(ends->lengths[i]);
    }
    return group_sum(group, *texts, words, error);
}

bool ranks_check_order(const struct job_state *state, const struct record_order *order,
                       const struct lines_ends *ends, const char *noun, struct error *error)
{
    struct group *const group = state->job->group;
    const uint64_t own[ENDS_WORDS] = {ends->has_lines, ends->lengths[0], ends->lengths[1]};
    uint64_t *const rows = group_gather(group, own, ENDS_WORDS, error), *texts = NULL;
    bool ok = rows && share_ends(group, ends, rows, &texts, error);
    if (ok) {
        const unsigned rank = find_disorder(order, rows, group->size, texts);
        ok = rank == group->size ||
             proof_fail(state, error,
                        "the first %s of rank %u should be before the last one of the ranks before "
                        "it",
                        noun, rank);
    }
    free(rows);
    free(texts);
    return ok;
}

bool ranks_add_up(struct group *group, struct check_sum *sum, struct error *error)
{
    uint64_t words[2] = {sum->count, sum->hash};
    const bool ok = group_sum(group, words, 2, error);
    *sum = (struct check_sum){words[0], words[1]};
    return ok;
}

bool ranks_report(struct job_state *state, struct error *error)
{
    struct trace_view view;
    trace_look(&view);
    state->figures[RANK_READ_BYTES] = state->report->read_bytes;
    state->figures[RANK_WRITTEN_BYTES] = view.bytes[TRACE_WRITE];
    state->figures[RANK_MEMORY_BYTES] = memory_peak();
    state->report->ranks = group_gather(state->job->group, state->figures, RANK_FIGURES, error);
    return state->report->ranks;
}
