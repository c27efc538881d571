/* SPDX-License-Identifier: Apache-2.0 */
/* stream_sort.c - see cpu_sorts.h: the memory of a stream, and its input.
 *
 *   keys -> a sample, or the first chunk -> model -> each thread scatters keys to its chains of
 *   blocks (bucket_blocks.h) -> stream_give.c
 */
#include "cpu/stream/stream_sort.h"

#include "core/clock.h"
#include "core/key_map.h"

#include <omp.h>
#include <stdlib.h>

/* Bytes of a chunk per thread: they are in its cache while it scatters them. */
#define CHUNK_THREAD_BYTES ((size_t)4 << 20)

/* A bucket may have this many times the mean number of keys. */
#define UNEVEN_MAX 4

/* Maximum buckets, as a multiple of the wanted ones: for a known and for an unknown count. With an
 * unknown count more buckets would take too much memory for blocks. Where keys are concentrated
 * within a cell, most of its buckets are empty and cost nothing. */
#define BUCKETS_SPARE 8
#define BUCKETS_SPARE_USUAL 2

/* Buckets have this many times as many keys if these have 4 bytes: fewer buckets keep more write
 * buffers in cache, and dense buckets are counted, which suits large ones. 4e8 f32, two cores of an
 * AMD EPYC (Zen 5), 2026-11, user cycles with 1, 2 and 4: 7.1e9, 6.8e9 and 6.7e9 if sorted by
 * bins, 5.5e9, 5.2e9 and 4.6e9 if counted; elapsed time of 2 and 4 is equal. */
#define BUCKET_FACTOR_NARROW 2

/* Limits for the room of a bucket, which is sorted in L2 or L3. */
#define ROOM_BYTES_MIN ((size_t)512 << 10)
#define ROOM_BYTES_MAX ((size_t)4 << 20)
_Static_assert(ROOM_BYTES_MAX <= STREAM_SORT_BYTES_MIN / 4, "a bucket is a piece of the output");

/* Limits for the size of a block. On average a chain's last block is half empty, so that blocks
 * take up to a sixteenth more than the keys; with buffers a stream takes a tenth more. */
#define BLOCK_BYTES_MIN ((size_t)1 << 10)
#define BLOCK_BYTES_MAX ((size_t)16 << 10)
#define BLOCK_BYTES_USUAL ((size_t)4 << 10) /* for an unknown number of keys */

/* Assumed number of keys if it is unknown. The buckets have room for up to about twice as many. */
#define COUNT_USUAL ((size_t)256 << 20)

size_t stream_sort_chunk(unsigned threads)
{
    const size_t bytes = threads * CHUNK_THREAD_BYTES;
    return bytes > STREAM_SORT_BYTES_MIN ? bytes : STREAM_SORT_BYTES_MIN;
}

/* ---- Memory ---- */

/* Plans the buckets. Returns false for more than 8 GiB of keys, which would need more room than
 * ROOM_BYTES_MAX. With half of the room, 5 % of 1e9 f64 were in large buckets: 10 to 13 s by 4
 * threads of a Xeon, 2026-11, and 9.2 to 9.6 in an array. */
static bool plan_stream(struct stream_sort *stream)
{
    const struct sort_task *const task = &stream->task;
    const size_t bucket_factor = task->item_bytes == 4 ? BUCKET_FACTOR_NARROW : 1,
                 count = stream->planned_count;
    const unsigned wanted = partition_fan_out(count / bucket_factor, task->threads);
    const size_t mean_limit = UNEVEN_MAX * (count * task->item_bytes / wanted);
    const size_t room =
        mean_limit < ROOM_BYTES_MIN ? ROOM_BYTES_MIN : round_to_cache_line(mean_limit);
    const size_t samples = wanted * (size_t)SAMPLES_PER_BUCKET;
    const size_t most = room / (2 * sizeof(uint64_t)); /* the sample is sorted in that room */
    const unsigned spare = stream->is_counted ? BUCKETS_SPARE : BUCKETS_SPARE_USUAL;
    const unsigned buckets = spare * wanted;
    stream->buckets_wanted = wanted;
    stream->plan = (struct partition_workspace_plan){
        .buckets_max = buckets < BUCKET_MODEL_BUCKETS_MIN   ? BUCKET_MODEL_BUCKETS_MIN
                       : buckets < BUCKET_MODEL_BUCKETS_MAX ? buckets
                                                            : BUCKET_MODEL_BUCKETS_MAX,
        .samples_max = samples < most ? samples : most,
        .room_bytes = room};
    return mean_limit <= ROOM_BYTES_MAX;
}

static size_t choose_block(const struct stream_sort *stream)
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

/* Returns the maximum number of blocks for `count` keys: one per chain is partly filled. */
static size_t count_blocks(const struct stream_sort *stream, size_t count)
{
    return count * stream->task.item_bytes / stream->pool.block_bytes +
           stream->task.threads * (size_t)stream->model.buckets + 1;
}

/* Maps the pool: for all keys if their number is known, else reserves addresses for about the
 * physical memory. */
static bool map_pool(struct stream_sort *stream, struct error *error)
{
    struct block_pool *const pool = &stream->pool;
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

/* Returns the next `bytes` of memory from *end on, rounded to whole write buffers, and advances
 * *end. Returns NULL if the memory is not mapped yet, to measure it. */
static void *next_region(const struct pages *memory, size_t *end, size_t bytes)
{
    const size_t begin = *end;
    *end += (bytes + WRITE_BUFFER_BYTES - 1) / WRITE_BUFFER_BYTES * WRITE_BUFFER_BYTES;
    return memory->data ? memory->data + begin : NULL;
}

/* Divides the memory if it is mapped. Returns its size in bytes. */
static size_t divide_memory(struct stream_sort *stream)
{
    const struct pages *const memory = &stream->memory;
    const size_t buckets = stream->plan.buckets_max, room = stream->plan.room_bytes;
    size_t end = 0;
    stream->parts = next_region(memory, &end, stream->task.threads * sizeof *stream->parts);
    stream->starts = next_region(memory, &end, buckets * sizeof *stream->starts);
    stream->sizes = next_region(memory, &end, buckets * sizeof *stream->sizes);
    stream->checks = next_region(memory, &end, buckets * sizeof *stream->checks);
    stream->finished.is_finished = next_region(memory, &end, buckets);
    stream->fine.buckets = next_region(memory, &end, FINE_TABLE_CELLS_MAX * sizeof(uint16_t));
    for (unsigned i = 0; i < stream->task.threads; i++) {
        struct stream_part part;
        part.chains.cursors = next_region(memory, &end, buckets * sizeof *part.chains.cursors);
        part.chains.written = next_region(memory, &end, buckets * sizeof *part.chains.written);
        part.chains.ends = next_region(memory, &end, buckets * sizeof *part.chains.ends);
        part.chains.write_buffers = next_region(memory, &end, buckets * WRITE_BUFFER_BYTES);
        part.gathered = next_region(memory, &end, room);
        part.room = next_region(memory, &end, room);
        part.is_busy = false;
        if (memory->data)
            stream->parts[i] = part;
    }
    return end;
}

static bool map_memory(struct stream_sort *stream, struct error *error)
{
    if (!pages_map(&stream->memory, divide_memory(stream), error))
        return false;
    divide_memory(stream);
    return true;
}

/* ---- Input ---- */

/* True if most keys of an ascending sample fall into buckets that have room. */
static bool suits_sample(const struct stream_sort *stream, const uint64_t *sample, size_t count)
{
    const double part = (double)stream_room_count(stream) / (double)stream->planned_count;
    size_t excess = 0, largest = 0, begin = 0;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && bucket_model_find(&stream->model, sample[i]) ==
                             bucket_model_find(&stream->model, sample[begin]))
            continue;
        const size_t size = i - begin;
        excess += (double)size > part * (double)count ? size : 0;
        largest = size > largest ? size : largest;
        begin = i;
    }
    return excess == 0 || excess + largest <= count / 2;
}

/* Learns the model. Returns false if a sample of all keys shows that most fall into buckets
 * without room. */
static bool learn(struct stream_sort *stream, const struct stream_example *example)
{
    const struct item_range range = {.from = (unsigned char *)example->keys, /* only read */
                                     .count = example->count,
                                     .order = stream->task.order};
    struct model_input input =
        sample_for_model(stream->task.item_bytes, range, &stream->plan, stream->buckets_wanted,
                         (void *)stream->parts[0].gathered);
    input.are_even = true;
    bucket_model_learn(&stream->model, &input);
    stream->has_fine = fine_table_build(&stream->fine, &stream->model);
    return !example->is_of_all_keys || suits_sample(stream, input.sample, input.count);
}

static void put_keys(struct stream_sort *stream, const struct stream_part *part, const void *keys,
                     size_t count)
{
    bucket_chains_put(&stream->pool, &part->chains, stream->task.item_bytes, keys, count,
                      stream->task.order, &stream->model, stream->has_fine ? &stream->fine : NULL);
}

/* Waits for a part that no other thread uses, and returns it; preferably the one this thread used
 * before, whose buffers are in its cache. */
static struct stream_part *acquire_part(struct stream_sort *stream)
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

static void tap_put_keys(struct tap *tap, const void *keys, size_t bytes)
{
    struct stream_sort *const stream = (struct stream_sort *)tap;
    const size_t count = bytes / stream->task.item_bytes;
    struct stream_part *const part = acquire_part(stream);
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

bool stream_sort_open(const struct sort_task *task, const struct stream_example *example,
                      struct stream_sort **out, struct error *error)
{
    struct stream_sort *const stream = calloc(1, sizeof *stream);
    *out = stream;
    if (!stream)
        return error_set(error, "out of memory: %zu bytes are needed to sort", sizeof *stream);
    stream->task = *task;
    stream->tap = (struct tap){.observe = tap_put_keys, .unit_bytes = task->item_bytes};
    stream->is_counted = task->count != SIZE_MAX;
    stream->is_of_all_keys = example->is_of_all_keys;
    if (!stream->is_counted)
        stream->task.count = COUNT_USUAL;
    stream->planned_count = example->shared_count > 0 ? example->shared_count : stream->task.count;
    pthread_mutex_init(&stream->mutex, NULL); /* cannot fail on Linux; neither can the next call */
    pthread_cond_init(&stream->changed, NULL);
    if (plan_stream(stream) && map_memory(stream, error) && learn(stream, example) &&
        map_pool(stream, error)) {
        for (unsigned i = 0; i < task->threads; i++)
            bucket_chains_begin(&stream->parts[i].chains, stream->model.buckets);
        return true;
    }
    stream_sort_close(stream);
    *out = NULL;
    return false;
}

size_t stream_bucket_count(const struct stream_sort *stream, size_t bucket)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < stream->task.threads; i++)
        bytes += bucket_chain_bytes(&stream->parts[i].chains, bucket);
    return bytes / stream->task.item_bytes;
}

size_t stream_excess(const struct stream_sort *stream, size_t most)
{
    size_t excess = 0, largest = 0;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++) {
        const size_t count = stream_bucket_count(stream, bucket);
        if (count <= most)
            continue;
        excess += count;
        largest = count > largest ? count : largest;
    }
    return excess + largest;
}

/* True if most keys will be in buckets with room. With a sample of all keys the counts so far
 * decide, as they can only grow; with a sample of the first keys they are extrapolated. False if an
 * unknown number of keys exceeds what the buckets have room for. */
bool stream_sort_suits(const struct stream_sort *stream)
{
    if (!stream->is_counted &&
        stream->count / stream->buckets_wanted > stream_room_count(stream) / 2)
        return false;
    if (stream->is_of_all_keys)
        return stream_excess(stream, stream_room_count(stream)) <= stream->task.count / 2;
    const double part = stream->is_counted
                            ? (double)stream_room_count(stream) / (double)stream->task.count
                            : (double)UNEVEN_MAX / stream->buckets_wanted;
    return stream_excess(stream, (size_t)(part * (double)stream->count)) <= stream->count / 2;
}

bool stream_sort_put(struct stream_sort *stream, const void *keys, size_t count, bool *suits,
                     struct error *error)
{
    const struct sort_task *const task = &stream->task;
    const unsigned parts = task->threads;
    if (!pages_commit(&stream->blocks,
                      count_blocks(stream, stream->count + count) * stream->pool.block_bytes,
                      error))
        return false;
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
    for (unsigned i = 0; i < parts; i++) {
        const size_t begin = team_range_begin(count, i, parts);
        put_keys(stream, &stream->parts[i], (const unsigned char *)keys + begin * task->item_bytes,
                 team_range_begin(count, i + 1, parts) - begin);
    }
    stream->count += count;
    *suits = stream_sort_suits(stream);
    return true;
}

struct tap *stream_sort_tap(struct stream_sort *stream)
{
    return stream->is_counted ? &stream->tap : NULL;
}

size_t stream_sort_count(const struct stream_sort *stream)
{
    return stream->count;
}

void stream_end_input(struct stream_sort *stream)
{
    for (unsigned i = 0; !stream->is_ended && i < stream->task.threads; i++)
        bucket_chains_flush(&stream->pool, &stream->parts[i].chains, stream->model.buckets);
    stream->is_ended = true;
}

/* Copies one thread's keys back, decoded. */
static void undo_part(const struct stream_sort *stream, const struct bucket_chains *chains,
                      unsigned char *keys)
{
    const unsigned width = stream->task.item_bytes;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++) {
        const size_t bytes = bucket_chain_gather(&stream->pool, chains, bucket, keys);
        key_map_decode(width, stream->task.order, keys, bytes / width, keys);
        keys += bytes;
    }
}

static size_t part_bytes(const struct stream_sort *stream, unsigned part)
{
    size_t bytes = 0;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++)
        bytes += bucket_chain_bytes(&stream->parts[part].chains, bucket);
    return bytes;
}

void stream_sort_undo(struct stream_sort *stream, void *keys)
{
    const unsigned parts = stream->task.threads;
    stream_end_input(stream);
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
    for (unsigned i = 0; i < parts; i++) {
        size_t begin = 0;
        for (unsigned before = 0; before < i; before++)
            begin += part_bytes(stream, before);
        undo_part(stream, &stream->parts[i].chains, (unsigned char *)keys + begin);
    }
}

void stream_sort_close(struct stream_sort *stream)
{
    if (!stream)
        return;
    stream_stop_team(stream);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->mutex);
    for (size_t i = 0; i < stream->large_count; i++)
        pages_release(&stream->large[i].keys);
    free(stream->large);
    stream_free_peers(stream);
    pages_release(&stream->previous);
    pages_release(&stream->blocks);
    pages_release(&stream->memory);
    free(stream);
}
