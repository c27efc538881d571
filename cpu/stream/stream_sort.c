/* SPDX-License-Identifier: Apache-2.0 */
/* stream_sort.c - see cpu_sorts.h.
 *
 * Input: each thread scatters keys to its chains of blocks (bucket_blocks.h).
 *
 * Output ring: every bucket has an offset in an endless output, which maps to the ring modulo its
 * size. A bucket that would cross the end of the ring begins at its start. A thread sorts the next
 * bucket when the caller has taken back everything that the bucket's range of the ring held before.
 * Keys that are given twice are sorted and checked in their blocks first, then copied to the ring.
 */
#include "cpu/cpu_sorts.h"

#include "core/clock.h"
#include "core/key_map.h"
#include "core/vector_units.h"
#include "cpu/counting_sort.h"
#include "cpu/items/item_kernels.h"
#include "cpu/pages.h"
#include "cpu/partition/bucket_partition.h"
#include "cpu/stream/bucket_blocks.h"
#include "cpu/team.h"
#include "cpu/vector/vector_sort.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* State of one thread. */
struct stream_part {
    struct bucket_chains chains;
    unsigned char *gathered, *room; /* room for a bucket each */
    bool is_busy;                   /* a reading thread uses this part */
};

/* A bucket too large for a cache, sorted as an array. */
struct large_bucket {
    size_t bucket;
    struct pages keys; /* if the ring has no range for it */
};

struct stream_sort {
    struct tap tap; /* first, so that tap and stream have one address; its `observe` takes keys */
    struct sort_task task;
    bool is_counted;     /* task.count is exact; otherwise it is COUNT_USUAL */
    bool is_of_all_keys; /* the model is from a sample of all keys */
    unsigned buckets_wanted;
    struct partition_workspace_plan plan;
    struct bucket_model model;
    struct fine_table fine; /* of the model, if has_fine */
    bool has_fine;
    size_t count;           /* keys put so far */
    struct pages memory;    /* the arrays by bucket and by part */
    struct pages blocks;    /* pool.data */
    struct pages previous;  /* pool.previous */
    struct block_pool pool; /* the blocks with the keys */
    struct stream_part *parts;
    bool is_ended;         /* no more keys are put */
    pthread_mutex_t mutex; /* protects the fields below, and is_busy and count while the tap is
                            * used */
    pthread_cond_t changed;
    uint64_t busy_ns; /* sum over the threads, for taking keys from the tap and sorting buckets */

    /* Output. Indexed by bucket: */
    size_t *starts; /* offset in bytes in the endless output */
    size_t *sizes;  /* bytes */
    unsigned char *ring;
    size_t ring_bytes;
    bool is_given_twice;        /* blocks and large buckets are kept until the close */
    struct key_check *checks;   /* of each bucket, if the keys are given twice */
    struct large_bucket *large; /* in order of the buckets */
    size_t large_count;
    struct team team;
    bool has_team;
    struct finished_buckets finished; /* buckets that can be given */
    size_t next;                      /* next bucket to sort */
    size_t given;                     /* buckets before it were given */
    size_t taken_back;                /* buckets before it were taken back */
    bool is_stopped;
};

/* Maximum keys of a bucket that is sorted in cache. */
static inline size_t stream_room_count(const struct stream_sort *stream)
{
    return stream->plan.room_bytes / stream->task.item_bytes;
}

/* Bytes of a chunk per thread: they are in its cache while it scatters them. */
#define CHUNK_THREAD_BYTES ((size_t)4 << 20)

/* A bucket may have this many times the mean number of keys. */
#define UNEVEN_MAX 4

/* Maximum buckets, as a multiple of the wanted ones: for a known count, and otherwise, where
 * more buckets would take too much memory for blocks. Where keys are concentrated within a cell,
 * most of its buckets are empty and cost nothing. */
#define BUCKETS_SPARE 8
#define BUCKETS_SPARE_USUAL 2

/* 4-byte keys have buckets this many times larger: fewer buckets keep more write buffers in
 * cache, and dense buckets are counted, for which they may be large. 4e8 f32, two cores of an
 * AMD EPYC (Zen 5), 2026-11, user cycles with 1, 2 and 4: 7.1e9, 6.8e9 and 6.7e9 if sorted by
 * bins, 5.5e9, 5.2e9 and 4.6e9 if counted; elapsed time of 2 and 4 is equal. */
#define BUCKET_FACTOR_NARROW 2

/* Limits for the room of a bucket, which is sorted in L2 or L3. */
#define ROOM_BYTES_MIN ((size_t)512 << 10)
#define ROOM_BYTES_MAX ((size_t)4 << 20)
_Static_assert(ROOM_BYTES_MAX <= STREAM_SORT_BYTES_MIN / 4, "a bucket is a piece of the output");

/* Limits for the size of a block. Partly filled blocks take up to a sixteenth of the keys'
 * bytes. */
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

static void plan_stream(struct stream_sort *stream)
{
    const struct sort_task *const task = &stream->task;
    const size_t bucket_factor = task->item_bytes == 4 ? BUCKET_FACTOR_NARROW : 1;
    const unsigned wanted = partition_fan_out(task->count / bucket_factor, task->threads);
    const size_t mean_limit = UNEVEN_MAX * (task->count * task->item_bytes / wanted);
    const size_t samples = wanted * (size_t)SAMPLES_PER_BUCKET;
    const unsigned spare = stream->is_counted ? BUCKETS_SPARE : BUCKETS_SPARE_USUAL;
    const unsigned buckets = spare * wanted;
    stream->buckets_wanted = wanted;
    stream->plan = (struct partition_workspace_plan){
        .buckets_max = buckets < BUCKET_MODEL_BUCKETS_MIN   ? BUCKET_MODEL_BUCKETS_MIN
                       : buckets < BUCKET_MODEL_BUCKETS_MAX ? buckets
                                                            : BUCKET_MODEL_BUCKETS_MAX,
        .samples_max = samples < SAMPLES_MAX ? samples : SAMPLES_MAX,
        .room_bytes = mean_limit < ROOM_BYTES_MIN   ? ROOM_BYTES_MIN
                      : mean_limit < ROOM_BYTES_MAX ? round_to_cache_line(mean_limit)
                                                    : ROOM_BYTES_MAX};
    _Static_assert(2 * SAMPLES_MAX * sizeof(uint64_t) <= ROOM_BYTES_MIN, "room for a sample");
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

/* Maps the pool: for all keys if their number is known, else as many addresses as available. */
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

/* ---- In ---- */

/* True if most keys of an ascending sample fall into buckets that have room. */
static bool suits_sample(const struct stream_sort *stream, const uint64_t *sample, size_t count)
{
    const double share = (double)stream_room_count(stream) / (double)stream->task.count;
    size_t excess = 0, largest = 0, begin = 0;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && bucket_model_find(&stream->model, sample[i]) ==
                             bucket_model_find(&stream->model, sample[begin]))
            continue;
        const size_t size = i - begin;
        excess += (double)size > share * (double)count ? size : 0;
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

/* Returns a part that no other thread uses; preferably the one this thread used before, whose
 * buffers are in its cache. */
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
    pthread_mutex_init(&stream->mutex, NULL); /* cannot fail on Linux; neither can the next call */
    pthread_cond_init(&stream->changed, NULL);
    plan_stream(stream);
    if (map_memory(stream, error) && learn(stream, example) && map_pool(stream, error)) {
        for (unsigned i = 0; i < task->threads; i++)
            bucket_chains_begin(&stream->parts[i].chains, stream->model.buckets);
        return true;
    }
    stream_sort_close(stream);
    *out = NULL;
    return false;
}

static size_t stream_bucket_count(const struct stream_sort *stream, size_t bucket)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < stream->task.threads; i++)
        bytes += bucket_chain_bytes(&stream->parts[i].chains, bucket);
    return bytes / stream->task.item_bytes;
}

/* Keys in buckets that are too large. */
struct excess {
    size_t buckets; /* number of such buckets */
    size_t keys;    /* keys in them; the largest bucket counts twice */
};

/* Returns the excess of buckets with more than `most` keys. */
static struct excess stream_excess(const struct stream_sort *stream, size_t most)
{
    struct excess excess = {0, 0};
    size_t largest = 0;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++) {
        const size_t count = stream_bucket_count(stream, bucket);
        if (count <= most)
            continue;
        excess.buckets++;
        excess.keys += count;
        largest = count > largest ? count : largest;
    }
    excess.keys += largest;
    return excess;
}

/* True if most keys will be in buckets with room. With a sample of all keys the counts so far
 * are final evidence; with a sample of the first keys they are extrapolated. */
bool stream_sort_suits(const struct stream_sort *stream)
{
    if (!stream->is_counted &&
        stream->count / stream->buckets_wanted > stream_room_count(stream) / 2)
        return false;
    if (stream->is_of_all_keys)
        return stream_excess(stream, stream_room_count(stream)).keys <= stream->task.count / 2;
    const double share = stream->is_counted
                             ? (double)stream_room_count(stream) / (double)stream->task.count
                             : (double)UNEVEN_MAX / stream->buckets_wanted;
    return stream_excess(stream, (size_t)(share * (double)stream->count)).keys <= stream->count / 2;
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

static void stream_end_input(struct stream_sort *stream)
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

/* ---- Sorting the buckets ---- */

static bool is_large(const struct stream_sort *stream, size_t bucket)
{
    return stream->sizes[bucket] > stream->plan.room_bytes;
}

/* Returns the end of the bucket in the endless output. A large bucket has a range there only if the
 * ring has room for all keys. */
static size_t output_end(const struct stream_sort *stream, size_t bucket)
{
    const bool has_range =
        !is_large(stream, bucket) || stream->count * stream->task.item_bytes <= stream->ring_bytes;
    return stream->starts[bucket] + (has_range ? stream->sizes[bucket] : 0);
}

static unsigned char *find_range(const struct stream_sort *stream, size_t bucket)
{
    return stream->ring + stream->starts[bucket] % stream->ring_bytes;
}

/* Sets the size and the output offset of every bucket. */
static void lay_out_buckets(struct stream_sort *stream)
{
    const size_t ring_bytes = stream->ring_bytes;
    size_t next = 0;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++) {
        const size_t left = ring_bytes - next % ring_bytes;
        stream->sizes[bucket] = stream_bucket_count(stream, bucket) * stream->task.item_bytes;
        stream->starts[bucket] = next;
        if (output_end(stream, bucket) > next + left)
            stream->starts[bucket] = next + left;
        next = output_end(stream, bucket);
    }
}

/* Gathers a large bucket with all threads, decoded. */
static void gather_large(const struct stream_sort *stream, size_t bucket, unsigned char *keys)
{
    const unsigned parts = stream->task.threads, width = stream->task.item_bytes;
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
    for (unsigned i = 0; i < parts; i++) {
        unsigned char *to = keys;
        for (unsigned part = 0; part < i; part++)
            to += bucket_chain_bytes(&stream->parts[part].chains, bucket);
        const size_t bytes =
            bucket_chain_gather(&stream->pool, &stream->parts[i].chains, bucket, to);
        key_map_decode(width, stream->task.order, to, bytes / width, to);
    }
}

static struct large_bucket *find_large(const struct stream_sort *stream, size_t bucket)
{
    struct large_bucket *large = stream->large;
    while (large->bucket != bucket)
        large++;
    return large;
}

/* Returns where the bucket's sorted keys are given. */
static unsigned char *find_given(const struct stream_sort *stream, size_t bucket)
{
    unsigned char *const keys =
        is_large(stream, bucket) ? find_large(stream, bucket)->keys.data : NULL;
    return keys ? keys : find_range(stream, bucket);
}

static bool sort_large(const struct stream_sort *stream, struct large_bucket *large,
                       struct error *error)
{
    struct sort_task task = stream->task;
    struct pages scratch = {0};
    size_t scratch_bytes = 0;
    task.count = stream->sizes[large->bucket] / task.item_bytes;
    if (!array_sort_scratch_bytes(&task, &scratch_bytes))
        return error_set(error, "out of memory: the scratch for %zu keys exceeds any", task.count);
    const bool has_range = output_end(stream, large->bucket) > stream->starts[large->bucket];
    if ((!has_range && !pages_map(&large->keys, stream->sizes[large->bucket], error)) ||
        !pages_map(&scratch, scratch_bytes, error))
        return false;
    unsigned char *const keys = find_given(stream, large->bucket);
    gather_large(stream, large->bucket, keys);
    struct array_sort *const sorting = array_sort_begin(&task, keys, scratch.data);
    for (size_t sorted = 0; sorted < task.count;)
        sorted = array_sort_await(sorting, sorted);
    array_sort_end(sorting);
    pages_release(&scratch);
    return true;
}

static bool sort_all_large(struct stream_sort *stream, size_t count, struct error *error)
{
    stream->large = calloc(count, sizeof *stream->large);
    if (!stream->large)
        return error_set(error, "out of memory: %zu large buckets", count);
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++) {
        if (!is_large(stream, bucket))
            continue;
        struct large_bucket *const large = &stream->large[stream->large_count++];
        large->bucket = bucket;
        if (!sort_large(stream, large, error))
            return false;
    }
    return true;
}

/* Counting sort of a bucket that has no more possible values than keys; false for any other. */
static bool sort_dense(const struct stream_sort *stream, const struct stream_part *part,
                       size_t bucket, struct key_order order, unsigned char *to)
{
    const struct sort_task *const task = &stream->task;
    const unsigned width = task->item_bytes;
    const size_t count = stream->sizes[bucket] / width;
    uint32_t *const counts = (void *)part->room; /* has room for the keys */
    uint64_t lowest, highest;
    bucket_model_range(&stream->model, bucket, &lowest, &highest);
    if (highest - lowest >= count)
        return false;
    memset(counts, 0, ((size_t)(highest - lowest) + 1) * sizeof *counts);
    for (unsigned i = 0; i < task->threads; i++) {
        const struct bucket_chains *const chains = &stream->parts[i].chains;
        for (struct block_piece piece = bucket_chain_last(&stream->pool, chains, bucket);
             piece.bytes > 0; piece = bucket_chain_previous(&stream->pool, piece))
            dense_keys_count(width, counts, lowest, piece.data, piece.bytes / width);
    }
    dense_keys_write(width, counts, lowest, order, to, count);
    return true;
}

/* Copies the bucket from the chains of all threads. */
static void gather_bucket(const struct stream_sort *stream, size_t bucket, unsigned char *to)
{
    for (unsigned i = 0; i < stream->task.threads; i++)
        to += bucket_chain_gather(&stream->pool, &stream->parts[i].chains, bucket, to);
}

/* Sorts the bucket into `to`, decoded. Returns its keys; if `to` is NULL, they are in the memory of
 * the part, encoded. */
static unsigned char *sort_bucket(const struct stream_sort *stream, const struct stream_part *part,
                                  size_t bucket, unsigned char *to)
{
    const struct key_order order = to ? stream->task.order : key_order_identity();
    const unsigned width = stream->task.item_bytes;
    const size_t count = stream->sizes[bucket] / width;
    unsigned char *const out = to ? to : part->gathered;
    if (sort_dense(stream, part, bucket, order, out))
        return out;
    gather_bucket(stream, bucket, part->gathered);
    if (has_vector_units()) {
        vector_sort(width, part->gathered, part->room, count, out, key_order_identity(), order);
        return out;
    }
    unsigned char *const sorted = lsd_radix_sort(width, part->gathered, part->room, count);
    if (!to)
        return sorted;
    key_map_decode(width, order, sorted, count, to);
    return to;
}

/* True if there is a bucket to sort and its range of the ring is free. */
static bool can_sort_next(const struct stream_sort *stream)
{
    const size_t next = stream->next;
    return next < stream->model.buckets &&
           output_end(stream, next) - stream->starts[stream->taken_back] <= stream->ring_bytes;
}

/* Sorts the next bucket with the part's memory. Called with the mutex held; releases it
 * meanwhile. */
static void sort_next(struct stream_sort *stream, const struct stream_part *part)
{
    const size_t bucket = stream->next++;
    pthread_mutex_unlock(&stream->mutex);
    const uint64_t start_ns = clock_now_ns();
    if (stream->sizes[bucket] > 0 && !is_large(stream, bucket))
        sort_bucket(stream, part, bucket, find_range(stream, bucket));
    const uint64_t end_ns = clock_now_ns();
    pthread_mutex_lock(&stream->mutex);
    stream->busy_ns += end_ns - start_ns;
    finished_buckets_add(&stream->finished, bucket);
    pthread_cond_broadcast(&stream->changed);
}

static void sort_buckets(const struct member *member, void *context)
{
    struct stream_sort *const stream = context;
    if (member->number == 0)
        return; /* the caller sorts with member 0's part in stream_sort_give */
    pthread_mutex_lock(&stream->mutex);
    while (!stream->is_stopped && stream->next < stream->model.buckets)
        if (can_sort_next(stream))
            sort_next(stream, &stream->parts[member->number]);
        else
            pthread_cond_wait(&stream->changed, &stream->mutex);
    pthread_mutex_unlock(&stream->mutex);
}

/* Sorts the buckets in their blocks, except large ones, which are sorted, and checks all. */
static void sort_in_blocks(struct stream_sort *stream, struct key_check *check)
{
    const struct sort_task *const task = &stream->task;
#pragma omp parallel for num_threads(task->threads) schedule(dynamic)
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++) {
        struct key_check *const own = &stream->checks[bucket];
        key_check_start_ordered(own, task->item_bytes, task->order);
        if (is_large(stream, bucket)) {
            const unsigned char *const keys = find_given(stream, bucket);
            key_check_begin_chunk(own, keys, stream->sizes[bucket] / task->item_bytes);
            tap_observe(&own->tap, keys, stream->sizes[bucket]);
        } else if (stream->sizes[bucket] > 0) {
            const struct stream_part *const part = &stream->parts[omp_get_thread_num()];
            const unsigned char *keys = sort_bucket(stream, part, bucket, NULL);
            for (unsigned i = 0; i < task->threads; i++)
                keys += bucket_chain_overwrite(&stream->pool, &stream->parts[i].chains, bucket,
                                               keys, own);
        }
    }
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++)
        key_check_append(check, &stream->checks[bucket]);
    stream->finished.first_open = stream->model.buckets;
}

void stream_sort_start(struct stream_sort *stream, void *room, size_t room_bytes,
                       struct key_check *check, bool *suits)
{
    struct error shortage = {0}; /* of memory for large buckets: an array of all keys needs less */
    stream_end_input(stream);
    const struct excess excess = stream_excess(stream, stream_room_count(stream));
    *suits = excess.keys <= stream->count / 2;
    if (!*suits)
        return;
    stream->is_given_twice = check != NULL;
    stream->ring = room;
    stream->ring_bytes = room_bytes;
    lay_out_buckets(stream);
    if (excess.buckets > 0 && !sort_all_large(stream, excess.buckets, &shortage)) {
        *suits = false;
        return;
    }
    stream->finished.buckets = stream->model.buckets;
    stream->has_team = !check;
    if (check)
        sort_in_blocks(stream, check);
    else
        team_begin(&stream->team, stream->task.threads, sort_buckets, stream);
}

/* ---- Out ---- */

/* True if the bucket directly follows the previous one in the ring, and a piece from bucket
 * `begin` to its end is not too large. */
static bool continues_piece(const struct stream_sort *stream, size_t begin, size_t bucket)
{
    const size_t eighths = stream->is_given_twice ? 3 : 2;
    const size_t piece_bytes = stream_sort_chunk(stream->task.threads) / 8 * eighths;
    const size_t start = stream->starts[bucket];
    return !is_large(stream, bucket - 1) && !is_large(stream, bucket) &&
           start == output_end(stream, bucket - 1) && start % stream->ring_bytes > 0 &&
           output_end(stream, bucket) - stream->starts[begin] <= piece_bytes;
}

/* Returns the end of the piece of finished, contiguous buckets from `begin` on. A piece is at
 * most a quarter of a ring of one chunk, as a bucket is, so that a bucket has room while the caller
 * holds two, even if it does not fit before the ring's end. Two of three eighths have room too. */
static size_t find_piece_end(const struct stream_sort *stream, size_t begin)
{
    size_t end = begin;
    while (end < stream->finished.first_open &&
           (end == begin || continues_piece(stream, begin, end)))
        end++;
    return end;
}

uint64_t stream_sort_busy_ns(struct stream_sort *stream)
{
    pthread_mutex_lock(&stream->mutex);
    const uint64_t busy_ns = stream->busy_ns;
    pthread_mutex_unlock(&stream->mutex);
    return busy_ns / stream->task.threads;
}

/* Copies stored buckets to their ranges of the ring, with all threads. */
static void gather_piece(const struct stream_sort *stream, size_t begin, size_t end)
{
#pragma omp parallel for num_threads(stream->task.threads) schedule(dynamic)
    for (size_t bucket = begin; bucket < end; bucket++)
        gather_bucket(stream, bucket, find_range(stream, bucket));
}

void stream_sort_give(struct stream_sort *stream, void **keys, size_t *count)
{
    size_t bytes = 0;
    pthread_mutex_lock(&stream->mutex);
    while (bytes == 0 && stream->given < stream->model.buckets) {
        const size_t begin = stream->given, end = find_piece_end(stream, begin);
        if (end > begin) {
            *keys = find_given(stream, begin);
            if (stream->is_given_twice && !is_large(stream, begin))
                gather_piece(stream, begin, end);
            for (; stream->given < end; stream->given++)
                bytes += stream->sizes[stream->given];
        } else if (can_sort_next(stream)) {
            sort_next(stream, &stream->parts[0]);
        } else {
            pthread_cond_wait(&stream->changed, &stream->mutex);
        }
    }
    *count = bytes / stream->task.item_bytes;
    const bool is_last = stream->given == stream->model.buckets;
    pthread_mutex_unlock(&stream->mutex);
    if (is_last && !stream->is_given_twice) /* all buckets are sorted */
        pages_release(&stream->blocks);
}

void stream_sort_take_back(struct stream_sort *stream, size_t count)
{
    size_t left = count * stream->task.item_bytes;
    pthread_mutex_lock(&stream->mutex);
    while (stream->taken_back < stream->given && stream->sizes[stream->taken_back] <= left) {
        if (is_large(stream, stream->taken_back) && !stream->is_given_twice)
            pages_release(&find_large(stream, stream->taken_back)->keys);
        left -= stream->sizes[stream->taken_back++];
    }
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

void stream_sort_rewind(struct stream_sort *stream)
{
    stream->given = stream->taken_back = 0;
}

void stream_sort_close(struct stream_sort *stream)
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
