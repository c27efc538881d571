/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_group.c - numbers, or their indices, of a job that several processes share.
 *
 *   part of the input of this rank -> engine -> sorted runs   (external_runs.h)
 *     -> cuts of the runs of all ranks                        (external_cuts.h)
 *     -> messages; the runs of this rank's range merged       (external_exchange.h)
 *     -> this rank's part of the one output
 *
 * Keys of one and two bytes are counted. The counts are added up over all ranks, and each rank
 * writes its range of the output from them: no key is sent.
 *
 * The proof is that of one process, of sums over all ranks; and the last key of a rank does not
 * follow the first key of the next one.
 */
#include "core/clock.h"
#include "core/external_cuts.h"
#include "core/external_exchange.h"
#include "core/external_runs.h"
#include "core/host_files.h"
#include "core/trace.h"
#include "formats/codec.h"
#include "formats/frame_writer.h"
#include "core/item_merge.h"

#include <stdlib.h>
#include <string.h>

/* Ranges of ranks begin at a multiple of this in the output, if they have several times as much. */
#define CUT_BYTES ((uint64_t)1 << 20)
#define CUT_SHARE ((uint64_t)16)

/* Memory for merging and for messages, at most; and at least, however little -S leaves. */
#define MEMORY_MOST ((size_t)192 << 20)
#define MEMORY_LEAST ((size_t)1 << 20)

struct group_keys {
    struct run *run;
    struct group *group;
    struct external_runs runs;
    struct layout layout;  /* of the whole output */
    uint64_t *targets;     /* where the range of each rank begins in the sorted items; and an end */
    size_t all_runs;       /* of all ranks */
    size_t first_run;      /* the number of this rank's first one */
    unsigned *owners;      /* of all runs */
    uint64_t output_bytes; /* of all ranks */
    uint64_t figures[RANK_FIGURES];
    uint64_t *positions;                               /* see external_exchange.h */
    unsigned char first_key[sizeof(struct key_index)]; /* that this rank writes */
};

/* ---- Runs and ranges ---- */

static bool sort_runs(struct group_keys *keys, struct error *error)
{
    struct run *const run = keys->run;
    return run_sort_part(run, error) && external_runs_open(run, &keys->runs, error) &&
           external_runs_keep(&keys->runs, error) && external_runs_keep_rest(&keys->runs, error);
}

static size_t output_item_bytes(const struct job *job)
{
    const struct key_type *const index_type = job->argsort.index_type;
    return index_type ? index_type->bytes : job->readers[0].layout.type->bytes;
}

/* True if the ranks cannot write to their places in the output at once. */
static bool is_put_aside(const struct job *job)
{
    return job->output_format == &format_text || job->output.codec->encode || !job->output.group;
}

static uint64_t header_bytes(const struct group_keys *keys)
{
    if (keys->run->job->output_format == &format_text)
        return 0;
    return keys->run->job->output_format->file_bytes(&keys->layout) - layout_bytes(&keys->layout);
}

/* Divides the output among the ranks. Compressed, it is cut where one process begins a frame, so
 * that the frames are the same. */
static void choose_targets(struct group_keys *keys)
{
    const struct group *const group = keys->group;
    const uint64_t count = keys->layout.count, header = header_bytes(keys);
    const size_t width = output_item_bytes(keys->run->job);
    const bool is_packed = keys->run->job->output.codec->encode;
    const bool is_large = count * width / group->size >= CUT_SHARE * CUT_BYTES;
    const uint64_t unit = is_packed ? FRAME_CONTENT_BYTES : is_large ? CUT_BYTES : width;
    for (unsigned rank = 0; rank <= group->size; rank++) {
        const uint64_t bytes = header + group_share(group, count, rank) * width;
        const uint64_t target = ((bytes + unit - 1) / unit * unit - header) / width;
        keys->targets[rank] = rank == 0 ? 0 : target < count ? target : count;
    }
}

/* Finds the owners of all runs. */
static bool number_runs(struct group_keys *keys, struct error *error)
{
    struct group *const group = keys->group;
    uint64_t *const counts = calloc(group->size, sizeof *counts);
    bool ok = group_agree(group, counts || error_set(error, "out of memory"), error);
    if (ok) {
        counts[group->rank] = keys->runs.run_count;
        ok = group_sum(group, counts, group->size, error);
    }
    for (unsigned rank = 0; ok && rank < group->size; rank++) {
        keys->first_run = rank == group->rank ? keys->all_runs : keys->first_run;
        keys->all_runs += counts[rank];
    }
    keys->owners = calloc(keys->all_runs + 1, sizeof *keys->owners);
    keys->positions = calloc((group->size + 1) * keys->all_runs + 1, sizeof *keys->positions);
    const bool has_memory = (keys->owners && keys->positions) || error_set(error, "out of memory");
    ok = ok && group_agree(group, has_memory, error);
    for (unsigned rank = 0, number = 0; ok && rank < group->size; rank++)
        for (size_t i = 0; i < counts[rank]; i++)
            keys->owners[number++] = rank;
    free(counts);
    return ok;
}

/* Memory for this rank's merge and messages. */
static size_t choose_memory(const struct group_keys *keys)
{
    const size_t left = external_runs_memory_left(&keys->runs);
    return left > MEMORY_MOST ? MEMORY_MOST : left < MEMORY_LEAST ? MEMORY_LEAST : left;
}

/* Replaces *value by the least of all ranks. Fails only if the group does. */
static bool find_least(struct group *group, size_t *value, struct error *error)
{
    uint64_t *const values = calloc(group->size, sizeof *values);
    bool ok = group_agree(group, values || error_set(error, "out of memory"), error);
    if (ok) {
        values[group->rank] = *value;
        ok = group_sum(group, values, group->size, error);
    }
    for (unsigned rank = 0; ok && rank < group->size; rank++)
        *value = values[rank] < *value ? (size_t)values[rank] : *value;
    free(values);
    return ok;
}

/* Leaves this rank as many runs as a merge of those of all ranks can have. The ranks differ in
 * memory; the least of them counts. */
static bool reduce_runs(struct group_keys *keys, struct error *error)
{
    const unsigned size = keys->group->size;
    size_t fan_in = external_merge_fan_in(choose_memory(keys) / 2, keys->run->job->sort.threads);
    if (!find_least(keys->group, &fan_in, error))
        return false;
    if (size > fan_in)
        return error_set(error,
                         "%u ranks are more than can be merged in this memory, which is enough "
                         "for %zu: allow more (-S), or start fewer ranks",
                         size, fan_in);
    return external_runs_reduce(&keys->runs, fan_in / size, error);
}

static bool find_cuts(struct group_keys *keys, struct error *error)
{
    const struct job *const job = keys->run->job;
    const struct external_cuts cuts = {
        .group = keys->group,
        .item_bytes = job->sort.item_bytes,
        .order = job->sort.order,
        .runs = keys->runs.runs,
        .run_count = keys->runs.run_count,
        .first_run = keys->first_run,
        .all_runs = keys->all_runs,
        .targets = keys->targets + 1, /* the first range begins at the first item of each run */
        .cut_count = keys->group->size,
    };
    return external_cuts_find(&cuts, keys->positions + keys->all_runs, error);
}

/* ---- Output ---- */

static bool begin_output(struct group_keys *keys, struct error *error)
{
    struct run *const run = keys->run;
    const struct job *const job = run->job;
    const uint64_t place =
        header_bytes(keys) + keys->targets[keys->group->rank] * output_item_bytes(job);
    if (!job->argsort.index_type)
        key_check_start_ordered(&run->proof.written, run->proof.written.key_bytes,
                                run->proof.written.order);
    return (keys->group->rank != 0 ||
            job->output_format->write_header(run->sink, &keys->layout, error)) &&
           (is_put_aside(job) || sink_move(run->sink, place, error));
}

static bool write_items(void *context, const void *items, size_t count, struct error *error)
{
    struct group_keys *const keys = context;
    const struct chunk chunk = {.items = (void *)items, .capacity = count, .count = count};
    if (keys->run->proof.written.sum.count == 0 && count > 0)
        memcpy(keys->first_key, items, keys->run->job->sort.item_bytes);
    return run_write_chunk(keys->run, &keys->layout, &chunk, error);
}

static uint64_t range_count(const struct group_keys *keys)
{
    const unsigned rank = keys->group->rank;
    return keys->targets[rank + 1] - keys->targets[rank];
}

static bool write_counted(struct group_keys *keys, struct error *error)
{
    size_t count;
    uint64_t *const table = key_counts_table(keys->runs.counts, &count);
    return group_sum(keys->group, table, count, error) && begin_output(keys, error) &&
           key_counts_write(keys->runs.counts, keys->run->job->sort.order,
                            keys->targets[keys->group->rank], range_count(keys), write_items, keys,
                            error);
}

static bool exchange(struct group_keys *keys, struct error *error)
{
    struct group *const group = keys->group;
    const struct sort_spec *const sort = &keys->run->job->sort;
    const size_t memory = choose_memory(keys);
    const size_t streams = keys->runs.run_count * (group->size - 1) + keys->all_runs;
    size_t message_bytes = external_exchange_message_bytes(memory / 2, streams, sort->item_bytes);
    if (!find_least(group, &message_bytes, error)) /* a message has one size on both sides */
        return false;
    struct external_exchange exchange = {
        .group = keys->group,
        .merge = {.item_bytes = sort->item_bytes,
                  .order = sort->order,
                  .wanted = range_count(keys),
                  .threads = sort->threads,
                  .memory_bytes = memory / 2,
                  .write = write_items,
                  .context = keys},
        .runs = keys->runs.runs,
        .run_count = keys->runs.run_count,
        .first_run = keys->first_run,
        .owners = keys->owners,
        .all_runs = keys->all_runs,
        .positions = keys->positions,
        .message_bytes = message_bytes,
    };
    const bool ok = begin_output(keys, error) && external_exchange_run(&exchange, error);
    keys->figures[RANK_SENT_BYTES] = exchange.sent_bytes;
    keys->figures[RANK_RECEIVED_BYTES] = exchange.received_bytes;
    return ok;
}

/* Collective: the range of this rank goes to run->sink. */
static bool write_range(struct group_keys *keys, struct error *error)
{
    const bool ok = keys->runs.counts ? write_counted(keys, error) : exchange(keys, error);
    return group_agree(keys->group, ok || !error->is_set, error) &&
           (ok || error_set(error, "the exchange with the other ranks failed"));
}

/* ---- Output that is put aside ---- */

#define COPY_BYTES ((size_t)4 << 20)

/* A part of the output in a run, while it is copied, and what was found of it. */
struct copy {
    const struct spill_run *run;
    unsigned char *buffer;
    uint64_t done;
    struct check_sum found;
};

/* Reads the next bytes of the run into the buffer. */
static bool read_aside(struct copy *copy, size_t *bytes, struct error *error)
{
    const uint64_t left = copy->run->bytes - copy->done;
    *bytes = left < COPY_BYTES ? (size_t)left : COPY_BYTES;
    if (!spill_read(copy->run, copy->done, copy->buffer, *bytes, error))
        return false;
    check_sum_add(&copy->found, text_check_sum(copy->done, copy->buffer, *bytes));
    copy->done += *bytes;
    return true;
}

static bool check_copy(const struct run *run, const struct copy *copy, struct error *error)
{
    return check_sum_equal(copy->found, copy->run->content) ||
           proof_fail(run, error, "the output put aside changed before it was written");
}

static bool copy_aside(struct run *run, struct copy *copy, struct error *error)
{
    while (copy->done < copy->run->bytes) {
        size_t bytes;
        if (!read_aside(copy, &bytes, error) || !sink_write(run->sink, copy->buffer, bytes, error))
            return false;
    }
    return check_copy(run, copy, error);
}

/* Waits for the message in slot 0. */
static bool await_message(struct group *group, struct error *error)
{
    for (size_t slot = GROUP_NO_SLOT, bytes; slot == GROUP_NO_SLOT;)
        if (!group_check(group, group->functions->poll(group->context, &slot, &bytes), error))
            return false;
    return true;
}

/* Sends the part to rank 0: all of it, even after a failure, as rank 0 waits for it. */
static bool send_aside(struct group *group, const struct run *run, struct copy *copy,
                       struct error *error)
{
    bool ok = true;
    for (uint64_t sent = 0; sent < copy->run->bytes;) {
        const uint64_t left = copy->run->bytes - sent;
        size_t bytes = left < COPY_BYTES ? (size_t)left : COPY_BYTES;
        ok = ok && read_aside(copy, &bytes, error);
        if (!group_check(group,
                         group->functions->send(group->context, 0, copy->buffer, bytes, 0, 0),
                         error) ||
            !await_message(group, error))
            return false;
        sent += bytes;
    }
    return ok && check_copy(run, copy, error);
}

/* Rank 0 writes the part of another rank, and takes all of it. */
static bool write_received(struct group *group, struct run *run, unsigned rank, uint64_t bytes,
                           unsigned char *buffer, struct error *error)
{
    bool ok = true;
    while (bytes > 0) {
        const size_t some = bytes < COPY_BYTES ? (size_t)bytes : COPY_BYTES;
        if (!group_check(group, group->functions->receive(group->context, 0, buffer, some, rank, 0),
                         error) ||
            !await_message(group, error))
            return false;
        ok = ok && sink_write(run->sink, buffer, some, error);
        bytes -= some;
    }
    return ok;
}

/* Writes the parts of all ranks to standard output, which is rank 0's. */
static bool stream_aside(struct group_keys *keys, struct copy *copy, const uint64_t *sizes,
                         struct error *error)
{
    struct group *const group = keys->group;
    if (!group_check(group, group->functions->reserve(group->context, 1), error))
        return false;
    if (group->rank > 0)
        return send_aside(group, keys->run, copy, error);
    bool ok = copy_aside(keys->run, copy, error);
    for (unsigned rank = 1; !group->is_broken && rank < group->size; rank++)
        ok = write_received(group, keys->run, rank, sizes[rank], copy->buffer, error) && ok;
    return ok;
}

/* Copies the part of this rank to its place in the file. */
static bool place_aside(struct group_keys *keys, struct copy *copy, const uint64_t *sizes,
                        struct error *error)
{
    uint64_t place = 0;
    for (unsigned rank = 0; rank < keys->group->rank; rank++)
        place += sizes[rank];
    return sink_move(keys->run->sink, place, error) && copy_aside(keys->run, copy, error);
}

/* Collective: brings the parts of all ranks together. */
static bool join_parts(struct group_keys *keys, const struct spill_run *part, struct error *error)
{
    struct group *const group = keys->group;
    struct copy copy = {.run = part, .buffer = malloc(COPY_BYTES)};
    uint64_t *const sizes = calloc(group->size, sizeof *sizes);
    bool ok =
        group_agree(group, (copy.buffer && sizes) || error_set(error, "out of memory"), error);
    if (ok) {
        sizes[group->rank] = part->bytes;
        ok = group_sum(group, sizes, group->size, error);
    }
    for (unsigned rank = 0; ok && rank < group->size; rank++)
        keys->output_bytes += sizes[rank];
    if (ok)
        ok = group_agree(group,
                         keys->run->job->output.group ? place_aside(keys, &copy, sizes, error)
                                                      : stream_aside(keys, &copy, sizes, error),
                         error);
    free(copy.buffer);
    free(sizes);
    return ok;
}

/* Output whose size is not known before it is made, or that is not a file: each rank puts its part
 * aside first. A rank without numbers has none, where a codec would write a frame. */
static bool write_aside(struct group_keys *keys, struct error *error)
{
    struct run *const run = keys->run;
    struct sink *const target = run->sink;
    struct spill_run part = {0};
    struct sink *sink = NULL;
    const bool is_open = spill_begin(keys->runs.spill, &part, error) &&
                         sink_open_run(&part, &run->job->output, &sink, error);
    if (!group_agree(keys->group, is_open, error)) {
        sink_discard(sink);
        return false;
    }
    run->sink = sink;
    bool ok = write_range(keys, error);
    run->sink = target;
    if (!ok) {
        sink_discard(sink);
        return false;
    }
    ok = sink_commit_run(sink, &part.content, error) && spill_end(&part, error);
    if (keys->group->rank > 0 && range_count(keys) == 0) {
        part.bytes = 0;
        part.content = (struct check_sum){0};
    }
    run->report->spilled_bytes += part.bytes;
    return group_agree(keys->group, ok, error) && join_parts(keys, &part, error);
}

/* ---- Proof ---- */

/* Writes the ordered bits of a key as two words, the more significant one first. */
static void encode_key(const struct group_keys *keys, const unsigned char *key, uint64_t words[2])
{
    const unsigned width = keys->run->job->sort.item_bytes;
    struct key_index pair = {0};
    if (width == sizeof pair) {
        memcpy(&pair, key, sizeof pair);
    } else {
        memcpy(&pair.key, key, width);
        pair.key = key_order_encode(keys->run->job->sort.order, 8 * width, pair.key);
    }
    words[0] = pair.key;
    words[1] = pair.index;
}

/* What a rank tells the others of what it wrote. */
enum { RANK_COUNT, RANK_FIRST, RANK_LAST = RANK_FIRST + 2, RANK_WORDS = RANK_LAST + 2 };

/* Finds the rank whose first key should be before the last key of a rank before it; `size` if there
 * is none. */
static unsigned find_disorder(const uint64_t *words, unsigned size)
{
    const uint64_t *last = NULL;
    for (unsigned rank = 0; rank < size; rank++) {
        const uint64_t *const row = words + rank * RANK_WORDS, *const first = row + RANK_FIRST;
        if (row[RANK_COUNT] == 0)
            continue;
        if (last && (first[0] < last[0] || (first[0] == last[0] && first[1] < last[1])))
            return rank;
        last = row + RANK_LAST;
    }
    return size;
}

/* Adds up a sum over all ranks. */
static bool add_up(struct group *group, struct check_sum *sum, struct error *error)
{
    uint64_t words[2] = {sum->count, sum->hash};
    const bool ok = group_sum(group, words, 2, error);
    *sum = (struct check_sum){words[0], words[1]};
    return ok;
}

static bool check_ranks(struct group_keys *keys, uint64_t *words, struct error *error)
{
    struct group *const group = keys->group;
    const struct key_check *const written = &keys->run->proof.written;
    uint64_t *const own = words + group->rank * RANK_WORDS;
    own[RANK_COUNT] = written->sum.count;
    if (written->sum.count > 0) {
        encode_key(keys, keys->first_key, own + RANK_FIRST);
        encode_key(keys, written->last_key, own + RANK_LAST);
    }
    if (!group_sum(group, words, (size_t)group->size * RANK_WORDS, error))
        return false;
    const unsigned rank = find_disorder(words, group->size);
    return rank == group->size ||
           proof_fail(keys->run, error,
                      "the first number of rank %u should be before the last one of the ranks "
                      "before it",
                      rank);
}

/* The sums of all ranks take the place of this rank's, so that each rank proves the same. */
static bool prove(struct group_keys *keys, struct error *error)
{
    struct group *const group = keys->group;
    struct proof *const proof = &keys->run->proof;
    uint64_t *const words = calloc((size_t)group->size * RANK_WORDS, sizeof *words);
    bool ok = group_agree(group, proof_check_order(keys->run, &proof->written, error), error) &&
              group_agree(group, words || error_set(error, "out of memory"), error);
    if (ok)
        ok = group_agree(group, check_ranks(keys, words, error), error);
    ok = ok && add_up(group, &proof->read.sum, error) && add_up(group, &proof->taken.sum, error) &&
         add_up(group, &proof->made.sum, error) && add_up(group, &proof->written.sum, error) &&
         group_agree(group, proof_finish_keys(keys->run, error), error);
    free(words);
    return ok;
}

/* ---- All of it ---- */

/* Gathers the figures of all ranks for the report. */
static bool report_ranks(struct group_keys *keys, struct error *error)
{
    struct group *const group = keys->group;
    struct run *const run = keys->run;
    const size_t kib = host_file_number("/proc/self/status", "VmHWM:");
    uint64_t *const figures = calloc((size_t)group->size * RANK_FIGURES, sizeof *figures);
    struct trace_view view;
    run->report->ranks = figures;
    if (!group_agree(group, figures || error_set(error, "out of memory"), error))
        return false;
    trace_look(&view);
    keys->figures[RANK_READ_BYTES] = view.bytes[TRACE_READ];
    keys->figures[RANK_WRITTEN_BYTES] = range_count(keys) * output_item_bytes(run->job);
    keys->figures[RANK_MEMORY_BYTES] = kib == SIZE_MAX ? 0 : (uint64_t)kib << 10;
    memcpy(figures + group->rank * RANK_FIGURES, keys->figures, sizeof keys->figures);
    return group_sum(group, figures, (size_t)group->size * RANK_FIGURES, error);
}

/* Sorts this rank's part of the input. Sets the layout of the whole output. */
static bool sort_part(struct group_keys *keys, struct error *error)
{
    struct run *const run = keys->run;
    proof_start_keys(run);
    if (!group_agree(keys->group, sort_runs(keys, error), error))
        return false;
    keys->layout = run_output_layout(run->job, run->job->group_count);
    keys->targets = calloc(keys->group->size + 1, sizeof *keys->targets);
    if (!group_agree(keys->group, keys->targets || error_set(error, "out of memory"), error))
        return false;
    choose_targets(keys);
    return true;
}

static bool write_part(struct group_keys *keys, struct error *error)
{
    if (!keys->runs.counts && (!group_agree(keys->group, reduce_runs(keys, error), error) ||
                               !number_runs(keys, error) || !find_cuts(keys, error)))
        return false;
    if (is_put_aside(keys->run->job))
        return write_aside(keys, error);
    keys->output_bytes = keys->run->job->output_format->file_bytes(&keys->layout);
    return write_range(keys, error);
}

bool run_group_keys(struct run *run, struct error *error)
{
    struct group_keys keys = {.run = run, .group = run->job->group};
    const uint64_t begin = clock_now_ns();
    bool ok = sort_part(&keys, error);
    const uint64_t start = run_stage_begin(STAGE_WRITE);
    ok = ok && write_part(&keys, error);
    run_stage_add(run, STAGE_WRITE, start);
    keys.figures[RANK_SORT_NS] = start - begin;
    keys.figures[RANK_WRITE_NS] = clock_now_ns() - start;
    ok = ok && prove(&keys, error) && report_ranks(&keys, error) &&
         sink_move(run->sink, keys.output_bytes, error);
    if (ok) {
        run->count = run->job->group_count;
        run->report->item_bytes = (uint64_t)run->count * run->job->readers[0].layout.type->bytes;
    }
    external_runs_close(&keys.runs);
    free(keys.targets);
    free(keys.owners);
    free(keys.positions);
    return ok;
}
