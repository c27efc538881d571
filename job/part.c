/* SPDX-License-Identifier: Apache-2.0 */
/* part.c - a part of the numbers: reads it into an engine, sorts it, and gives and writes its
 * items.
 *
 *   open the engine -> { lend -> read, or make items -> take }* -> sort -> { give -> write }*
 *
 * All kinds of jobs use it: in memory, in parts (external_*.c) and with other ranks
 * (pipeline_group.c). It calls none of them. part_lines.c does the same for lines.
 */
#include "core/clock.h"
#include "core/trace.h"
#include "formats/array/format.h"
#include "job/job_state.h"

#include <stdlib.h>

/* Bytes of one loan from the engine when keys are read. Large enough to divide a read among
 * threads, small enough for the first upload to start early. */
#define CHUNK_BYTES ((size_t)64 << 20)

/* Smaller outputs are announced without checking the limit of memory_ahead_most(). */
#define AHEAD_BYTES_MIN ((uint64_t)16 << 20)

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

/* One array keeps its shape. Several arrays become one of one dimension, and so do indices. */
struct layout job_output_layout(const struct job *job, size_t count)
{
    struct layout layout = job->readers[0].layout;
    if (job->argsort.index_type)
        layout =
            (struct layout){.type = job->argsort.index_type, .endian = job->argsort.index_endian};
    if (job->reader_count > 1)
        layout_flatten(&layout);
    layout.count = sort_spec_given(&job->sort, count);
    return layout;
}

/* True if the numbers are sorted in the memory of devices, all at once. False while the plan is
 * made, which has opened the output early: the part is not known yet. */
static bool is_on_device(const struct job_state *state)
{
    return state->backend && state->backend != backends[0] &&
           state->sort->count <= state->part_count;
}

void job_expect_ahead(struct job_state *state, uint64_t bytes)
{
    const struct job *const job = state->job;
    const unsigned outputs = job->has_rank_output ? job->group->host_size : 1;
    /* Beside a sort on devices, half of the memory remains for an input in the page cache. */
    const size_t most = is_on_device(state) ? memory_at_start() / 2 : memory_ahead_most();
    if (bytes < AHEAD_BYTES_MIN || bytes <= most / outputs)
        sink_expect(state->sink, bytes);
}

bool job_expect(struct job_state *state, uint64_t bytes, struct error *error)
{
    const bool is_large = bytes >= ROOM_BYTES_MIN && bytes <= INT64_MAX; /* else unknown */
    if (is_large && state->sink == state->target && !state->job->group &&
        !sink_check_room(state->sink, bytes, error))
        return false;
    sink_expect(state->sink, bytes);
    return true;
}

/* Announces the items taken so far as the least that will be written, if their number is not known
 * in advance. As in job_expect_ahead(), only while memory is plentiful. */
static void expect_taken(struct job_state *state)
{
    const struct job *job = state->job;
    if (job->sort.count != COUNT_UNKNOWN)
        return;
    const struct layout layout = job_output_layout(job, state->count);
    const uint64_t bytes = job->output_format->file_bytes(&layout);
    if (bytes >= AHEAD_BYTES_MIN && bytes <= memory_ahead_most())
        sink_expect_least(state->sink, bytes);
}

static bool check_nan(const struct job *job, const struct reader *reader, const struct chunk *chunk,
                      struct error *error)
{
    const struct layout *layout = &reader->layout;
    const size_t nan = job->nan == NAN_ERROR ? key_order_find_nan(layout->type, layout->endian,
                                                                  chunk->items, chunk->count)
                                             : chunk->count;
    if (nan == chunk->count)
        return true;
    return error_set(error, "%s: number %zu is a %s, which --nan=error refuses",
                     source_name(reader->source),
                     reader->keys_before + reader->keys_read - chunk->count + nan + 1,
                     layout->type->kind == KEY_TIME ? "NaT" : "NaN");
}

/* The announced number of keys was read, so the input must have ended. The format checks that. */
static bool check_end(const struct job *job, struct reader *reader, struct error *error)
{
    uint64_t spare;
    size_t count = 0;
    if (!job->input_format->read_keys(reader, &spare, 1, &count, error))
        return false;
    if (count > 0)
        return error_set(error, "%s: the file grew while it was read", source_name(reader->source));
    return true;
}

/* Returns true if a direct consumer may take the items that are read next. They do not stay in
 * memory then, so that they cannot be checked afterwards. */
static bool can_hand_on(const struct job *job, const struct reader *reader,
                        const struct chunk *chunk)
{
    return job->input_format != &format_text && job->nan != NAN_ERROR &&
           source_can_read_at(reader->source) &&
           chunk->capacity * job->sort.item_bytes >=
               SOURCE_PEEK_MAX + job->sort.threads * TAP_PIECE_BYTES;
}

/* Updates the counters after `count` items were taken. */
static void note_taken(struct job_state *state, size_t count)
{
    state->count += count;
    state->room -= count;
    expect_taken(state);
}

/* Borrows room for at most `want` items. Fewer are requested if the CPU's engine runs out of memory
 * for an unknown count. If it has no room for even the fewest, the items taken become the part:
 * state->room is 0, and later parts are no larger. Fails if none were taken. */
static bool lend_room(struct job_state *state, size_t want, struct chunk *chunk,
                      struct error *error)
{
    struct error cause = {0};
    const size_t taken = state->count - state->part_begin;
    const bool can_be_less =
        state->job->sort.count == COUNT_UNKNOWN && state->backend == backends[0];
    while (!state->functions->lend(state->engine, want, chunk, &cause)) {
        want /= 2;
        if (can_be_less && want >= MEMORY_PART_BYTES_MIN / state->job->sort.item_bytes) {
            cause = (struct error){0};
            continue;
        }
        if (!can_be_less || taken == 0) {
            error_merge(error, &cause);
            return false;
        }
        state->part_count = taken;
        state->room = 0;
        return true;
    }
    return true;
}

/* Makes items of the keys, and lets the engine take them. chunk: the engine's loan for the first of
 * them. */
static bool take_items(struct job_state *state, const struct chunk *keys, struct chunk chunk,
                       struct error *error)
{
    const struct job *job = state->job;
    const unsigned key_bytes = job->argsort.key_bytes;
    for (size_t done = 0;;) {
        const size_t left = keys->count - done;
        chunk.count = left < chunk.capacity ? left : chunk.capacity;
        const struct argsort_taps taps = {&state->proof.taken.tap, &state->proof.made.tap};
        argsort_fill(&job->argsort, (const unsigned char *)keys->items + done * key_bytes,
                     state->count, &chunk, job->sort.threads, &taps);
        if (!state->functions->take(state->engine, chunk, error))
            return false;
        done += chunk.count;
        note_taken(state, chunk.count);
        if (done == keys->count)
            return true;
        if (!state->functions->lend(state->engine, keys->count - done, &chunk, error))
            return false;
    }
}

/* Reads keys into the chunk that the engine lent, and lets the engine take them. A direct consumer
 * may take more than the chunk's capacity. Sets *count. */
static bool read_chunk_keys(struct job_state *state, struct reader *reader, struct chunk chunk,
                            size_t *count, struct error *error)
{
    const struct job *job = state->job;
    size_t most = chunk.capacity;
    if (state->functions->consumer && can_hand_on(job, reader, &chunk))
        reader->tap->consumer = state->functions->consumer(state->engine, &most);
    const bool ok = job->input_format->read_keys(reader, chunk.items, most, &chunk.count, error) &&
                    check_nan(job, reader, &chunk, error);
    reader->tap->consumer = NULL;
    if (!ok || !state->functions->take(state->engine, chunk, error))
        return false;
    *count = chunk.count;
    if (chunk.count > 0)
        note_taken(state, chunk.count);
    return true;
}

/* As read_chunk_keys(), for items: at most `want` keys are read into `keys`, which is reused. */
static bool read_chunk_items(struct job_state *state, struct reader *reader, struct chunk chunk,
                             size_t want, struct chunk *keys, struct error *error)
{
    const struct job *job = state->job;
    if (job->sort.count == COUNT_UNKNOWN && chunk.capacity < want)
        want = chunk.capacity; /* the engine may have no memory for more */
    return job->input_format->read_keys(reader, keys->items, want, &keys->count, error) &&
           check_nan(job, reader, keys, error) &&
           argsort_check_count(&job->argsort, state->count + keys->count, error) &&
           take_items(state, keys, chunk, error);
}

/* Reads up to the end of the input or of the part. *ended: the input has ended. */
static bool read_input(struct job_state *state, struct reader *reader, struct chunk *keys,
                       bool *ended, struct error *error)
{
    const struct job *job = state->job;
    const size_t most = keys->items ? keys->capacity : CHUNK_BYTES / job->sort.item_bytes;
    for (;;) {
        const size_t left = reader->layout.count - reader->keys_read;
        *ended = reader->layout.count != COUNT_UNKNOWN && left == 0;
        if (*ended)
            return check_end(job, reader, error);
        if (state->room == 0)
            return true;
        struct chunk chunk;
        size_t want = state->room < most ? state->room : most;
        want = left < want ? left : want;
        if (!lend_room(state, want, &chunk, error))
            return false;
        if (state->room == 0)
            return true;
        if (!(keys->items ? read_chunk_items(state, reader, chunk, want, keys, error)
                          : read_chunk_keys(state, reader, chunk, &keys->count, error)))
            return false;
        *ended = keys->count == 0;
        if (*ended)
            return true;
    }
}

/* Allocates the buffer for the keys that items are made of. Other keys are read into the engine's
 * memory, and get no buffer. */
static bool allocate_keys(const struct job_state *state, struct chunk *keys, struct error *error)
{
    const struct job *job = state->job;
    *keys = (struct chunk){0};
    if (!job->argsort.index_type)
        return true;
    keys->capacity = job->keys_bytes / job->argsort.key_bytes;
    if (job->sort.count < keys->capacity)
        keys->capacity = job->sort.count + 1; /* at least 1, because malloc(0) may return NULL */
    while (!(keys->items = malloc(keys->capacity * job->argsort.key_bytes)) && keys->capacity > 1)
        keys->capacity /= 2;
    return keys->items || error_set(error, "out of memory: no room to read numbers into");
}

/* Reads the next part, from where the last one ended. */
static bool read_keys(struct job_state *state, struct error *error)
{
    const uint64_t start = job_stage_begin(STAGE_READ);
    const struct job *job = state->job;
    struct chunk keys;
    bool ok = allocate_keys(state, &keys, error), ended = true;
    for (; ok && ended && state->reader < job->reader_count; state->reader += ended) {
        struct reader *const reader = &job->readers[state->reader];
        ok = read_input(state, reader, &keys, &ended, error);
    }
    state->is_at_end = state->reader == job->reader_count;
    free(keys.items);
    job_stage_add(state, STAGE_READ, start);
    return ok;
}

bool job_give_next(struct job_state *state, size_t expected, struct chunk *chunk, size_t *given,
                   struct error *error)
{
    if (!state->functions->give(state->engine, chunk, error))
        return false;
    *given += chunk->count;
    if (*given > expected || (chunk->count == 0 && *given < expected))
        return error_set(error, "%s: gave back %zu of %zu items: nothing is written",
                         state->backend->name, *given, expected);
    return true;
}

bool job_write_proved(struct job_state *state, bool (*write)(void *context, struct error *error),
                      void *context, struct error *error)
{
    if (!write(context, error))
        return false;
    return !sink_is_trial(state->sink) ||
           ((!state->engine || state->functions->rewind(state->engine, error)) &&
            sink_end_trial(state->sink, error) && write(context, error));
}

bool job_begin_output(struct job_state *state, size_t count, struct layout *layout,
                      struct error *error)
{
    const struct format *format = state->job->output_format;
    const struct key_check *const written = &state->proof.written;
    if (!state->job->argsort.index_type)
        key_check_start_ordered(&state->proof.written, written->key_bytes, written->order);
    *layout = job_output_layout(state->job, count);
    return job_expect(state, format->file_bytes(layout), error) &&
           format->write_header(state->sink, layout, error);
}

bool job_write_chunk(struct job_state *state, const struct layout *layout,
                     const struct chunk *chunk, struct error *error)
{
    const struct job *job = state->job;
    struct key_check *const written = &state->proof.written;
    key_check_begin_chunk(written, chunk->items, chunk->count);
    if (job->argsort.index_type)
        return indices_write(&job->argsort, job->output_format, chunk, state->sink, &written->tap,
                             error);
    return job->output_format->write_keys(state->sink, layout, chunk->items, chunk->count,
                                          &written->tap, error);
}

/* ---- A sample ----
 *
 *   inputs, one after another, up to the size of the part
 *     |----|----|----|----|  stretches of equal length
 *        --    --  --    --  a few adjacent numbers of each, at a random position
 *
 * An engine that partitions keys while they are read would otherwise learn their distribution from
 * the first ones only, which may differ from the rest. Only pages in memory are read: otherwise
 * reading a thousand positions takes longer than reading everything.
 */

/* Maximum positions. 2048 take 1.2 of 360 ms: 0.8 GB of doubles, two cores of an AMD EPYC (Zen 5),
 * 2026-11. */
#define POSITIONS_MAX ((size_t)2048)

/* Bytes read at a position: a cache line, which is fetched as a whole. */
#define POSITION_BYTES ((size_t)64)

/* Minimum bytes of a stretch, and minimum positions of a useful sample. */
#define STRETCH_BYTES_MIN ((size_t)128 << 10)
#define POSITIONS_MIN ((size_t)128)

static size_t numbers_left(const struct reader *reader)
{
    return reader->layout.count - reader->keys_read;
}

/* Returns how many numbers the part will have; 0 if that is not known, or they cannot be
 * sampled. */
static size_t count_part(const struct job_state *state)
{
    const struct job *job = state->job;
    size_t count = 0;
    if (job->argsort.index_type || job->input_format == &format_text ||
        sort_spec_selects(&job->sort) || job->sort.item_bytes < 4) /* these are counted */
        return 0;
    for (size_t i = state->reader; i < job->reader_count; i++) {
        const struct reader *const reader = &job->readers[i];
        const bool is_at_end = reader->layout.count == reader->keys_read;
        if (reader->layout.count == COUNT_UNKNOWN ||
            (!is_at_end && !source_can_read_at(reader->source)))
            return 0;
        count += numbers_left(reader);
    }
    return count < state->room ? count : state->room;
}

/* Fills the sample from `positions` positions in the part. Returns how many numbers it has; 0 if
 * some are not in memory. */
static size_t fill_sample(const struct job_state *state, size_t count, size_t positions,
                          unsigned char *sample)
{
    const size_t width = state->job->sort.item_bytes, at_position = POSITION_BYTES / width;
    const size_t stretch = count / positions;
    const struct reader *reader = &state->job->readers[state->reader];
    size_t filled = 0, before = 0; /* numbers before the reader's */
    uint64_t random = count;
    for (size_t i = 0; i < positions; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const size_t at = i * stretch + (size_t)((random >> 32) % stretch);
        for (; at - before >= numbers_left(reader); reader++)
            before += numbers_left(reader);
        if (numbers_left(reader) - (at - before) < at_position)
            continue;
        if (!source_look_at(reader->source, (uint64_t)(at - before) * width,
                            sample + filled * width, POSITION_BYTES))
            return 0;
        filled += at_position;
    }
    return filled;
}

/* Takes a sample of the next part of the numbers for the spec of an engine, if they are in plain
 * files and in memory. Returns the memory of the sample, which the caller frees, or NULL. */
static void *take_sample(const struct job_state *state, struct sort_spec *spec)
{
    const size_t count = count_part(state), most = count * spec->item_bytes / STRETCH_BYTES_MIN;
    const size_t positions = most < POSITIONS_MAX ? most : POSITIONS_MAX;
    void *const sample = positions < POSITIONS_MIN ? NULL : malloc(positions * POSITION_BYTES);
    spec->sample_count = sample ? fill_sample(state, count, positions, sample) : 0;
    spec->sample = spec->sample_count > 0 ? sample : NULL;
    return sample;
}

/* ---- The part ---- */

/* Opens an engine for the next part of the numbers, or restarts the engine of the last part. */
static bool try_open_engine(struct job_state *state, struct error *error)
{
    const struct engine_functions *const functions = state->functions;
    struct sort_spec spec = *state->sort;
    state->part_begin = state->count;
    state->room = state->part_count;
    spec.most = state->room;
    if (spec.count != COUNT_UNKNOWN) {
        spec.is_given_twice &= spec.count <= state->room; /* sorted parts are given once */
        spec.count =
            spec.count - state->count < state->room ? spec.count - state->count : state->room;
    }
    if (state->engine && functions->restart && functions->restart(state->engine, &spec))
        return true;
    job_close_engine(state);
    void *const sample = take_sample(state, &spec);
    const bool is_open = functions->open(&spec, &state->engine, error);
    free(sample);
    return is_open;
}

/* As try_open_engine(), with smaller parts if the CPU's engine runs out of memory. */
static bool open_engine(struct job_state *state, struct error *error)
{
    struct error cause = {0};
    while (!try_open_engine(state, &cause)) {
        const size_t left = state->job->sort.count - state->count; /* large if it is unknown */
        const size_t part = (left < state->room ? left : state->room) / 2;
        if (state->backend != backends[0] ||
            part < MEMORY_PART_BYTES_MIN / state->sort->item_bytes) {
            error_merge(error, &cause);
            return false;
        }
        state->part_count = part;
        cause = (struct error){0};
    }
    return true;
}

/* Makes the spare backend the one that sorts. */
static void change_to_spare(struct job_state *state, const struct error *reason)
{
    const struct job *job = state->job;
    state->backend = job->spare_backend;
    state->functions = state->backend->keys;
    state->sort = &job->spare_sort;
    if (state->part_count != SIZE_MAX) /* SIZE_MAX: few items are kept, on either backend */
        state->part_count = memory_limits_part(&job->memory, state->sort, true,
                                               job->argsort.index_type ? job->keys_bytes : 0);
    state->report->spare_reason = *reason;
}

/* Opens the first engine, with the spare backend if the first one cannot begin. */
static bool open_first_engine(struct job_state *state, struct error *error)
{
    struct error cause = {0};
    if (open_engine(state, &cause))
        return true;
    if (!state->job->spare_backend) {
        error_merge(error, &cause);
        return false;
    }
    change_to_spare(state, &cause);
    return open_engine(state, error);
}

bool job_sort_part(struct job_state *state, struct error *error)
{
    return (state->count == 0 ? open_first_engine(state, error) : open_engine(state, error)) &&
           read_keys(state, error) && job_sort_engine(state, error);
}
