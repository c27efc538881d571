/* SPDX-License-Identifier: Apache-2.0 */
/* part.c - a part of the numbers: reads it into an engine, which sorts it.
 *
 *   sample -> open the engine -> { lend -> read, or make items -> take }* -> sort
 *
 * All kinds of jobs use it: in memory, in parts (external_*.c) and with other ranks
 * (pipeline_group.c). It calls none of them. part_lines.c does the same for lines.
 */
#include "formats/array/format.h"
#include "job/job_state.h"

#include <stdlib.h>

/* Bytes of one loan from the engine when keys are read. Large enough to divide a read among
 * threads, small enough for the first upload to start early. */
#define CHUNK_BYTES ((size_t)64 << 20)

bool job_check_nan(const struct job *job, const struct reader *reader, const struct chunk *chunk,
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
    return job->input_format->is_array && job->nan != NAN_ERROR &&
           source_can_read_at(reader->source) &&
           chunk->capacity * job->sort.item_bytes >=
               SOURCE_PEEK_MAX + job->sort.threads * TAP_PIECE_BYTES;
}

static void note_taken(struct job_state *state, size_t count)
{
    state->count += count;
    job_expect_taken(state);
}

/* Borrows room for at most `want` items. Fewer are requested if the CPU's engine runs out of memory
 * for an unknown count. If it has no room for even the fewest, the items taken become the part:
 * no more fit in it, and later parts are no larger. Fails if none were taken. */
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
        state->is_part_reduced = true;
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
                    job_check_nan(job, reader, &chunk, error);
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
           job_check_nan(job, reader, keys, error) &&
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
        struct chunk chunk;
        const size_t room = job_part_room(state), some = room < most ? room : most;
        const size_t want = left < some ? left : some;
        if (want > 0 && !lend_room(state, want, &chunk, error))
            return false;
        if (job_part_room(state) == 0)
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

/* Opens an engine for the next part of the numbers, or restarts the engine of the last part. */
static bool try_open_engine(struct job_state *state, struct error *error)
{
    const struct engine_functions *const functions = state->functions;
    struct sort_spec spec = *state->sort;
    state->part_begin = state->count;
    spec.most = state->part_count;
    spec.shared_given = state->part_begin == 0 ? state->shared_given : 0;
    if (spec.count != COUNT_UNKNOWN) {
        const size_t left = spec.count - state->count;
        spec.is_given_twice &= spec.count <= state->part_count; /* sorted parts are given once */
        spec.count = left < state->part_count ? left : state->part_count;
    }
    if (state->engine && functions->restart && functions->restart(state->engine, &spec))
        return true;
    job_close_engine(state);
    void *const sample = job_sample_part(state, &spec);
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
        const size_t part = (left < state->part_count ? left : state->part_count) / 2;
        if (state->backend != backends[0] ||
            part < MEMORY_PART_BYTES_MIN / state->sort->item_bytes) {
            error_merge(error, &cause);
            return false;
        }
        state->part_count = part;
        state->is_part_reduced = true;
        cause = (struct error){0};
    }
    return true;
}

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

bool job_read_part(struct job_state *state, struct error *error)
{
    return (state->count == 0 ? open_first_engine(state, error) : open_engine(state, error)) &&
           read_keys(state, error);
}

bool job_sort_part(struct job_state *state, struct error *error)
{
    return job_read_part(state, error) && job_sort_engine(state, error);
}
