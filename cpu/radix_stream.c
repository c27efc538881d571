/* SPDX-License-Identifier: Apache-2.0 */
/* radix_stream.c - see radix_stream.h.
 */
#include "core/clock.h"
#include "cpu/radix_kernels.h"
#include "cpu/radix_partition.h"
#include "cpu/radix_stream_buckets.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a chunk for each thread: what it has of them is in its cache when it is parted. */
#define CHUNK_THREAD_BYTES ((size_t)4 << 20)

/* A bucket may have so many times the keys that it would have if all were even. */
#define UNEVEN_MAX 4

/* So many times the buckets that are wanted have room: where keys lie close together within a cell,
 * most of its buckets are empty, and cost nothing. Blocks go by the buckets, but for an unknown
 * number of keys, whose memory they would take. */
#define BUCKETS_SPARE 8
#define BUCKETS_SPARE_USUAL 2

/* Buckets of keys of 4 bytes are of so many times the keys: the fewer, the more of their lines are
 * in a cache, and what is dense is counted, for which it need not be small. 4e8 f32, two cores of
 * an AMD EPYC (Zen 5), 2026-11, user cycles by 1, 2 and 4 times: 7.1e9, 6.8e9 and 6.7e9 where they
 * are sorted by bins, 5.5e9, 5.2e9 and 4.6e9 where they are counted; in time 2 and 4 are even. */
#define KEYS_TIMES_NARROW 2

/* Buckets are sorted in cache, if only in the one behind that of a core. */
#define ROOM_BYTES_MIN ((size_t)512 << 10)
#define ROOM_BYTES_MAX ((size_t)4 << 20)
_Static_assert(ROOM_BYTES_MAX <= RADIX_STREAM_BYTES_MIN / 4, "a bucket is a piece of the output");

/* Blocks that are not full take a sixteenth of the keys' bytes, or these are as small as pays. */
#define BLOCK_BYTES_MIN ((size_t)1 << 10)
#define BLOCK_BYTES_MAX ((size_t)16 << 10)
#define BLOCK_BYTES_USUAL ((size_t)4 << 10) /* for an unknown number of keys */

/* How many are taken to come where it is not known: of so many, and about twice as many, the
 * buckets have room. */
#define COUNT_USUAL ((size_t)256 << 20)

size_t radix_stream_chunk(unsigned threads)
{
    const size_t bytes = threads * CHUNK_THREAD_BYTES;
    return bytes > RADIX_STREAM_BYTES_MIN ? bytes : RADIX_STREAM_BYTES_MIN;
}

/* ---- Memory ---- */

static void plan_stream(struct radix_stream *stream)
{
    const struct radix_task *const task = &stream->task;
    const size_t keys_times = task->item_bytes == 4 ? KEYS_TIMES_NARROW : 1;
    const unsigned wanted = radix_choose_buckets(task->count / keys_times, task->threads);
    const size_t usual = UNEVEN_MAX * (task->count * task->item_bytes / wanted);
    const size_t samples = wanted * (size_t)RADIX_SAMPLE_PER_BUCKET;
    const unsigned spare = stream->is_counted ? BUCKETS_SPARE : BUCKETS_SPARE_USUAL;
    const unsigned buckets = spare * wanted;
    stream->buckets_wanted = wanted;
    stream->plan = (struct radix_workspace_plan){
        .buckets_max = buckets < RADIX_MODEL_BUCKETS_MIN   ? RADIX_MODEL_BUCKETS_MIN
                       : buckets < RADIX_MODEL_BUCKETS_MAX ? buckets
                                                           : RADIX_MODEL_BUCKETS_MAX,
        .samples_max = samples < RADIX_SAMPLE_MAX ? samples : RADIX_SAMPLE_MAX,
        .room_bytes = usual < ROOM_BYTES_MIN   ? ROOM_BYTES_MIN
                      : usual < ROOM_BYTES_MAX ? radix_whole_lines(usual)
                                               : ROOM_BYTES_MAX};
    _Static_assert(2 * RADIX_SAMPLE_MAX * sizeof(uint64_t) <= ROOM_BYTES_MIN, "room for a sample");
}

static size_t choose_block(const struct radix_stream *stream)
{
    const size_t chains = stream->task.threads * (size_t)stream->model.buckets;
    const size_t most = stream->task.count * stream->task.item_bytes / 8 / chains;
    size_t bytes = BLOCK_BYTES_MIN;
    if (!stream->is_counted)
        return BLOCK_BYTES_USUAL;
    while (bytes < BLOCK_BYTES_MAX && 2 * bytes <= most)
        bytes *= 2;
    return bytes;
}

/* The blocks that so many keys can take: one of each chain is not full. */
static size_t count_blocks(const struct radix_stream *stream, size_t count)
{
    return count * stream->task.item_bytes / stream->pool.block_bytes +
           stream->task.threads * (size_t)stream->model.buckets + 1;
}

/* Addresses for blocks: where the number of keys is known, for all of them. */
static bool map_pool(struct radix_stream *stream, struct error *error)
{
    struct radix_pool *const pool = &stream->pool;
    pool->block_bytes = choose_block(stream);
    pool->used = 1;
    const size_t bytes = count_blocks(stream, stream->task.count) * pool->block_bytes;
    if (!(stream->is_counted ? pages_map(&stream->blocks, bytes, error)
                             : pages_reserve(&stream->blocks, SIZE_MAX, error)))
        return false;
    const size_t blocks = stream->blocks.reserved_bytes / pool->block_bytes;
    pool->data = stream->blocks.data;
    if (blocks > UINT32_MAX)
        return error_set(error, "out of memory: %zu blocks of keys", blocks);
    if (!pages_map(&stream->previous, blocks * sizeof *pool->previous, error))
        return false;
    pool->previous = (void *)stream->previous.data;
    return true;
}

/* The next `bytes` bytes of a memory that is shared out up to *end, in whole lines; NULL where that
 * is only measured. */
static void *carve(const struct pages *memory, size_t *end, size_t bytes)
{
    const size_t begin = *end;
    *end += (bytes + RADIX_LINE_BYTES - 1) / RADIX_LINE_BYTES * RADIX_LINE_BYTES;
    return memory->data ? memory->data + begin : NULL;
}

/* Shares out the memory, if it is there, and returns how much it is. */
static size_t share_out(struct radix_stream *stream)
{
    const struct pages *const memory = &stream->memory;
    const size_t buckets = stream->plan.buckets_max, room = stream->plan.room_bytes;
    size_t end = 0;
    stream->parts = carve(memory, &end, stream->task.threads * sizeof *stream->parts);
    stream->starts = carve(memory, &end, buckets * sizeof *stream->starts);
    stream->sizes = carve(memory, &end, buckets * sizeof *stream->sizes);
    stream->row.is_finished = carve(memory, &end, buckets);
    stream->fine.buckets = carve(memory, &end, RADIX_FINE_CELLS_MAX * sizeof(uint16_t));
    for (unsigned i = 0; i < stream->task.threads; i++) {
        struct stream_part part;
        part.heap.places = carve(memory, &end, buckets * sizeof *part.heap.places);
        part.heap.written = carve(memory, &end, buckets * sizeof *part.heap.written);
        part.heap.ends = carve(memory, &end, buckets * sizeof *part.heap.ends);
        part.heap.lines = carve(memory, &end, buckets * RADIX_LINE_BYTES);
        part.gathered = carve(memory, &end, room);
        part.room = carve(memory, &end, room);
        part.is_busy = false;
        if (memory->data)
            stream->parts[i] = part;
    }
    return end;
}

static bool map_memory(struct radix_stream *stream, struct error *error)
{
    if (!pages_map(&stream->memory, share_out(stream), error))
        return false;
    share_out(stream);
    return true;
}

/* ---- In ---- */

/* Whether most keys of an ascending sample are in buckets that will have room. */
static bool suits_sample(const struct radix_stream *stream, const uint64_t *sample, size_t count)
{
    const double share = (double)radix_stream_room_count(stream) / (double)stream->task.count;
    size_t excess = 0, largest = 0, begin = 0;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && radix_model_bucket(&stream->model, sample[i]) ==
                             radix_model_bucket(&stream->model, sample[begin]))
            continue;
        const size_t size = i - begin;
        excess += (double)size > share * (double)count ? size : 0;
        largest = size > largest ? size : largest;
        begin = i;
    }
    return excess == 0 || excess + largest <= count / 2;
}

/* False: most keys will be in buckets that have no room. */
static bool learn(struct radix_stream *stream, const struct radix_example *example)
{
    const struct radix_range range = {.from = (unsigned char *)example->keys, /* only read */
                                      .count = example->count,
                                      .order = stream->task.order};
    struct radix_evidence evidence =
        radix_take_evidence(stream->task.item_bytes, range, &stream->plan, stream->buckets_wanted,
                            (void *)stream->parts[0].gathered);
    evidence.are_even = true;
    radix_model_learn(&stream->model, &evidence);
    stream->has_fine = radix_fine_make(&stream->fine, &stream->model);
    return !example->is_of_all || suits_sample(stream, evidence.sample, evidence.count);
}

static void put_keys(struct radix_stream *stream, const struct stream_part *part, const void *keys,
                     size_t count)
{
    radix_blocks_put(&stream->pool, &part->heap, stream->task.item_bytes, keys, count,
                     stream->task.order, &stream->model, stream->has_fine ? &stream->fine : NULL);
}

/* A part that no other thread has: where it can, the one that the thread had before, whose lines
 * are in its cache. */
static struct stream_part *take_part(struct radix_stream *stream)
{
    const unsigned parts = stream->task.threads;
    unsigned number = (unsigned)omp_get_thread_num() % parts;
    pthread_mutex_lock(&stream->mutex);
    for (unsigned tried = 1; stream->parts[number].is_busy; tried++) {
        number = (number + 1) % parts;
        if (tried % parts == 0)
            pthread_cond_wait(&stream->changed, &stream->mutex);
    }
    stream->parts[number].is_busy = true;
    pthread_mutex_unlock(&stream->mutex);
    return &stream->parts[number];
}

static void take_piece(struct tap *tap, const void *keys, size_t bytes)
{
    struct radix_stream *const stream = (struct radix_stream *)tap;
    const size_t count = bytes / stream->task.item_bytes;
    struct stream_part *const part = take_part(stream);
    const uint64_t start_ns = clock_now_ns();
    put_keys(stream, part, keys, count);
    const uint64_t end_ns = clock_now_ns();
    pthread_mutex_lock(&stream->mutex);
    part->is_busy = false;
    stream->count += count;
    stream->busy_ns += end_ns - start_ns;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

bool radix_stream_open(const struct radix_task *task, const struct radix_example *example,
                       struct radix_stream **out, struct error *error)
{
    struct radix_stream *const stream = calloc(1, sizeof *stream);
    *out = stream;
    if (!stream)
        return error_set(error, "out of memory: %zu bytes are needed to sort", sizeof *stream);
    stream->task = *task;
    stream->tap = (struct tap){.see = take_piece, .unit_bytes = task->item_bytes};
    stream->is_counted = task->count != SIZE_MAX;
    stream->is_of_all = example->is_of_all;
    if (!stream->is_counted)
        stream->task.count = COUNT_USUAL;
    pthread_mutex_init(&stream->mutex, NULL); /* cannot fail on Linux, nor can the next */
    pthread_cond_init(&stream->changed, NULL);
    plan_stream(stream);
    if (map_memory(stream, error) && learn(stream, example) && map_pool(stream, error)) {
        for (unsigned i = 0; i < task->threads; i++)
            radix_blocks_begin(&stream->parts[i].heap, stream->model.buckets);
        return true;
    }
    radix_stream_close(stream);
    *out = NULL;
    return false;
}

size_t radix_stream_bucket_count(const struct radix_stream *stream, size_t bucket)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < stream->task.threads; i++)
        bytes += radix_heap_bytes(&stream->parts[i].heap, bucket);
    return bytes / stream->task.item_bytes;
}

struct radix_stream_excess radix_stream_excess(const struct radix_stream *stream, size_t most)
{
    struct radix_stream_excess excess = {0, 0};
    size_t largest = 0;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++) {
        const size_t count = radix_stream_bucket_count(stream, bucket);
        if (count <= most)
            continue;
        excess.buckets++;
        excess.keys += count;
        largest = count > largest ? count : largest;
    }
    excess.keys += largest;
    return excess;
}

/* Whether most keys will be in buckets that have room: if they go on as they are, or, where the
 * model is of all of them, whatever they are like at first. */
bool radix_stream_suits(const struct radix_stream *stream)
{
    if (!stream->is_counted &&
        stream->count / stream->buckets_wanted > radix_stream_room_count(stream) / 2)
        return false;
    if (stream->is_of_all)
        return radix_stream_excess(stream, radix_stream_room_count(stream)).keys <=
               stream->task.count / 2;
    const double share = stream->is_counted
                             ? (double)radix_stream_room_count(stream) / (double)stream->task.count
                             : (double)UNEVEN_MAX / stream->buckets_wanted;
    return radix_stream_excess(stream, (size_t)(share * (double)stream->count)).keys <=
           stream->count / 2;
}

bool radix_stream_put(struct radix_stream *stream, const void *keys, size_t count, bool *suits,
                      struct error *error)
{
    const struct radix_task *const task = &stream->task;
    const unsigned parts = task->threads;
    if (!pages_commit(&stream->blocks,
                      count_blocks(stream, stream->count + count) * stream->pool.block_bytes,
                      error))
        return false;
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
    for (unsigned i = 0; i < parts; i++) {
        const size_t begin = team_share_begin(count, i, parts);
        put_keys(stream, &stream->parts[i], (const unsigned char *)keys + begin * task->item_bytes,
                 team_share_begin(count, i + 1, parts) - begin);
    }
    stream->count += count;
    *suits = radix_stream_suits(stream);
    return true;
}

struct tap *radix_stream_tap(struct radix_stream *stream)
{
    return stream->is_counted ? &stream->tap : NULL;
}

size_t radix_stream_count(const struct radix_stream *stream)
{
    return stream->count;
}

void radix_stream_end_input(struct radix_stream *stream)
{
    for (unsigned i = 0; !stream->is_ended && i < stream->task.threads; i++)
        radix_blocks_end(&stream->pool, &stream->parts[i].heap, stream->model.buckets);
    stream->is_ended = true;
}

/* Of one thread. */
static void undo_part(const struct radix_stream *stream, const struct radix_heap *heap,
                      unsigned char *keys)
{
    const unsigned width = stream->task.item_bytes;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++) {
        const size_t bytes = radix_blocks_gather(&stream->pool, heap, bucket, keys);
        radix_decode(width, keys, keys, bytes / width, stream->task.order);
        keys += bytes;
    }
}

static size_t part_bytes(const struct radix_stream *stream, unsigned part)
{
    size_t bytes = 0;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++)
        bytes += radix_heap_bytes(&stream->parts[part].heap, bucket);
    return bytes;
}

void radix_stream_undo(struct radix_stream *stream, void *keys)
{
    const unsigned parts = stream->task.threads;
    radix_stream_end_input(stream);
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
    for (unsigned i = 0; i < parts; i++) {
        size_t begin = 0;
        for (unsigned before = 0; before < i; before++)
            begin += part_bytes(stream, before);
        undo_part(stream, &stream->parts[i].heap, (unsigned char *)keys + begin);
    }
}

void radix_stream_close(struct radix_stream *stream)
{
    if (!stream)
        return;
    if (stream->has_team) {
        pthread_mutex_lock(&stream->mutex);
        stream->is_stopped = true;
        pthread_cond_broadcast(&stream->changed);
        pthread_mutex_unlock(&stream->mutex);
        team_end(&stream->team);
    }
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->mutex);
    for (size_t i = 0; i < stream->large_count; i++)
        pages_release(&stream->large[i].keys);
    free(stream->large);
    pages_release(&stream->previous);
    pages_release(&stream->blocks);
    pages_release(&stream->memory);
    free(stream);
}
