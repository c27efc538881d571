/* SPDX-License-Identifier: Apache-2.0 */
/* stream_give.c - see cpu_sorts.h: sorts the buckets of a stream, and gives them in order.
 *
 * Output ring: every bucket has an offset in an endless output, which maps to the ring modulo its
 * size. A bucket that would cross the end of the ring begins at its start. A thread sorts the next
 * bucket when the caller has taken back everything that the bucket's range of the ring held before.
 * Keys that are given twice are sorted and checked in their blocks first. Then each thread gathers
 * a bucket, checks it again and writes it; keys that become text are copied to the ring instead.
 * Shared keys of other ranks are gathered from their memory (stream_share.c).
 */
#include "cpu/stream/stream_sort.h"

#include "core/clock.h"
#include "core/key_map.h"
#include "core/vector_units.h"
#include "cpu/counting_sort.h"
#include "cpu/items/item_kernels.h"
#include "cpu/vector/vector_sort.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

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
        if (!stream->rank_memory) /* else stream_sort_share has set them */
            stream->sizes[bucket] = stream_bucket_count(stream, bucket) * stream->task.item_bytes;
        stream->starts[bucket] = next;
        if (output_end(stream, bucket) > next + left)
            stream->starts[bucket] = next + left;
        next = output_end(stream, bucket);
    }
}

/* Gathers a large bucket, decoded; the keys of this rank with all threads. */
static bool gather_large(const struct stream_sort *stream, size_t bucket, unsigned char *keys,
                         struct error *error)
{
    unsigned char *const others =
        keys + stream_bucket_count(stream, bucket) * stream->task.item_bytes;
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
    const unsigned char *const end = stream_gather_peers(stream, bucket, others, error);
    if (end)
        key_map_decode(width, stream->task.order, others, (size_t)(end - others) / width, others);
    return end;
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
    if (!gather_large(stream, large->bucket, keys, error)) {
        pages_release(&scratch);
        return false;
    }
    struct array_sort *const sorting = array_sort_begin(&task, keys, scratch.data);
    for (size_t sorted = 0; sorted < task.count;)
        sorted = array_sort_await(sorting, sorted);
    array_sort_end(sorting);
    pages_release(&scratch);
    return true;
}

static bool sort_all_large(struct stream_sort *stream, struct error *error)
{
    size_t count = 0;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++)
        count += is_large(stream, bucket);
    if (count == 0)
        return true;
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

/* True if the bucket has no more possible values than keys. */
static bool is_dense(const struct stream_sort *stream, size_t bucket)
{
    uint64_t lowest, highest;
    bucket_model_range(&stream->model, bucket, &lowest, &highest);
    return highest - lowest < stream->sizes[bucket] / stream->task.item_bytes;
}

/* Counting sort of a dense bucket. Returns `to`, or NULL if it fails. */
static unsigned char *sort_dense(const struct stream_sort *stream, const struct stream_part *part,
                                 size_t bucket, struct key_order order, unsigned char *to,
                                 struct error *error)
{
    const struct sort_task *const task = &stream->task;
    const unsigned width = task->item_bytes;
    const size_t count = stream->sizes[bucket] / width;
    uint32_t *const counts = (void *)part->room; /* has room: there are no more values than keys */
    uint64_t lowest, highest;
    bucket_model_range(&stream->model, bucket, &lowest, &highest);
    memset(counts, 0, ((size_t)(highest - lowest) + 1) * sizeof *counts);
    for (unsigned i = 0; i < task->threads; i++) {
        const struct bucket_chains *const chains = &stream->parts[i].chains;
        for (struct block_piece piece = bucket_chain_last(&stream->pool, chains, bucket);
             piece.bytes > 0; piece = bucket_chain_previous(&stream->pool, piece))
            dense_keys_count(width, counts, lowest, piece.data, piece.bytes / width);
    }
    const unsigned char *const end = stream_gather_peers(stream, bucket, part->gathered, error);
    if (!end)
        return NULL;
    dense_keys_count(width, counts, lowest, part->gathered, (size_t)(end - part->gathered) / width);
    dense_keys_write(width, counts, lowest, order, to, count);
    return to;
}

/* Copies the bucket from the chains of all threads and ranks. */
static bool gather_bucket(const struct stream_sort *stream, size_t bucket, unsigned char *to,
                          struct error *error)
{
    for (unsigned i = 0; i < stream->task.threads; i++)
        to += bucket_chain_gather(&stream->pool, &stream->parts[i].chains, bucket, to);
    return stream_gather_peers(stream, bucket, to, error);
}

/* Sorts the bucket into `to`, decoded. Returns its keys; if `to` is NULL, they are in the memory of
 * the part, encoded. Returns NULL if the keys of other ranks cannot be read. */
static unsigned char *sort_bucket(const struct stream_sort *stream, const struct stream_part *part,
                                  size_t bucket, unsigned char *to, struct error *error)
{
    const struct key_order order = to ? stream->task.order : key_order_identity();
    const unsigned width = stream->task.item_bytes;
    const size_t count = stream->sizes[bucket] / width;
    unsigned char *const out = to ? to : part->gathered;
    if (is_dense(stream, bucket))
        return sort_dense(stream, part, bucket, order, out, error);
    if (!gather_bucket(stream, bucket, part->gathered, error))
        return NULL;
    if (has_vector_units()) {
        vector_sort(width, part->gathered, count, part->room, count, out, order);
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

/* Sorts the next bucket with the part's memory, or copies it if it was sorted in its blocks. Called
 * with the mutex held; releases it meanwhile. */
static void sort_next(struct stream_sort *stream, const struct stream_part *part)
{
    const size_t bucket = stream->next++;
    struct error failure = {0};
    pthread_mutex_unlock(&stream->mutex);
    const uint64_t start_ns = clock_now_ns();
    if (stream->is_given_twice && !is_large(stream, bucket))
        gather_bucket(stream, bucket, find_range(stream, bucket), &failure);
    else if (stream->sizes[bucket] > 0 && !is_large(stream, bucket))
        sort_bucket(stream, part, bucket, find_range(stream, bucket), &failure);
    const uint64_t end_ns = clock_now_ns();
    pthread_mutex_lock(&stream->mutex);
    error_merge(&stream->failure, &failure);
    stream->is_stopped |= stream->failure.is_set;
    stream->busy_ns += stream->is_given_twice ? 0 : end_ns - start_ns;
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

/* Checks a bucket, which is first sorted in its blocks unless it is large. */
static void check_bucket(const struct stream_sort *stream, const struct stream_part *part,
                         size_t bucket)
{
    struct key_check *const check = &stream->checks[bucket];
    const size_t bytes = stream->sizes[bucket];
    if (is_large(stream, bucket)) {
        const unsigned char *const keys = find_given(stream, bucket);
        key_check_begin_chunk(check, keys, bytes / stream->task.item_bytes);
        tap_observe(&check->tap, keys, bytes);
        return;
    }
    struct error none = {0}; /* keys that are given twice are not shared, so no read fails */
    const unsigned char *keys = sort_bucket(stream, part, bucket, NULL, &none);
    for (unsigned i = 0; i < stream->task.threads; i++)
        keys +=
            bucket_chain_overwrite(&stream->pool, &stream->parts[i].chains, bucket, keys, check);
}

/* Writes sorted keys of a bucket to the position, by at most `threads` threads, and checks them. */
static bool write_bucket(const struct stream_sort *stream, size_t bucket, const void *keys,
                         const struct item_writer *writer, uint64_t position, unsigned threads,
                         struct error *error)
{
    struct key_check *const check = &stream->checks[bucket];
    const size_t bytes = stream->sizes[bucket];
    key_check_begin_chunk(check, keys, bytes / stream->task.item_bytes);
    return writer->write(writer->context, position, keys, bytes, threads, &check->tap, error);
}

/* Checks the next bucket, or, with a writer, writes it unless it is large; until there is none, or
 * a thread has failed. */
static void check_buckets(struct stream_sort *stream, const struct stream_part *part,
                          const struct item_writer *writer, struct error *error)
{
    pthread_mutex_lock(&stream->mutex);
    while (!error->is_set && stream->next < stream->model.buckets) {
        struct error failure = {0};
        const size_t bucket = stream->next++;
        const uint64_t position = stream->position;
        stream->position += stream->sizes[bucket];
        pthread_mutex_unlock(&stream->mutex);
        key_check_start_ordered(&stream->checks[bucket], stream->task.item_bytes,
                                stream->task.order);
        if (stream->sizes[bucket] > 0 && !writer) {
            check_bucket(stream, part, bucket);
        } else if (stream->sizes[bucket] > 0 && !is_large(stream, bucket)) {
            gather_bucket(stream, bucket, part->gathered, &failure);
            write_bucket(stream, bucket, part->gathered, writer, position, 1, &failure);
        }
        pthread_mutex_lock(&stream->mutex);
        error_merge(error, &failure);
    }
    pthread_mutex_unlock(&stream->mutex);
}

/* Writes the large buckets, each by all threads. */
static void write_large(const struct stream_sort *stream, const struct item_writer *writer,
                        struct error *error)
{
    uint64_t position = writer->begin;
    for (size_t bucket = 0; !error->is_set && bucket < stream->model.buckets; bucket++) {
        if (stream->sizes[bucket] > 0 && is_large(stream, bucket))
            write_bucket(stream, bucket, find_given(stream, bucket), writer, position,
                         stream->task.threads, error);
        position += stream->sizes[bucket];
    }
}

/* Checks all buckets, or, if the writer is not NULL, writes and checks them. *check becomes the
 * check of all keys, in order. */
static bool check_all(struct stream_sort *stream, const struct item_writer *writer,
                      struct key_check *check, struct error *error)
{
    stream->next = 0;
    stream->position = writer ? writer->begin : 0;
#pragma omp parallel num_threads(stream->task.threads)
    check_buckets(stream, &stream->parts[omp_get_thread_num()], writer, error);
    if (writer)
        write_large(stream, writer, error);
    key_check_start_ordered(check, stream->task.item_bytes, stream->task.order);
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++)
        key_check_append(check, &stream->checks[bucket]);
    return !error->is_set;
}

bool stream_sort_write(struct stream_sort *stream, const struct item_writer *writer,
                       struct key_check *check, struct error *error)
{
    return check_all(stream, writer, check, error);
}

/* Starts the team, which makes the output from the first bucket on. */
static void start_team(struct stream_sort *stream)
{
    memset(stream->finished.is_finished, false, stream->model.buckets);
    stream->finished.buckets = stream->model.buckets;
    stream->finished.first_open = stream->next = stream->given = stream->taken_back = 0;
    stream->is_stopped = false;
    stream->has_team = true;
    team_begin(&stream->team, stream->task.threads, sort_buckets, stream);
}

void stream_stop_team(struct stream_sort *stream)
{
    if (!stream->has_team)
        return;
    pthread_mutex_lock(&stream->mutex);
    stream->is_stopped = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
    team_end(&stream->team);
    stream->has_team = false;
}

void stream_sort_start(struct stream_sort *stream, void *room, size_t room_bytes,
                       struct key_check *check, bool *suits)
{
    struct error shortage = {0}; /* of memory for large buckets: an array of all keys needs less */
    stream_end_input(stream);
    *suits = stream->rank_memory ||
             stream_excess(stream, stream_room_count(stream)) <= stream->count / 2;
    if (!*suits)
        return;
    stream->is_given_twice = check != NULL;
    stream->ring = room;
    stream->ring_bytes = room_bytes;
    lay_out_buckets(stream);
    if (!sort_all_large(stream, &shortage)) {
        stream->failure = shortage;
        *suits = false;
        return;
    }
    if (check)
        check_all(stream, NULL, check, &shortage);
    else
        start_team(stream);
}

/* ---- Giving the sorted keys ---- */

/* True if the bucket directly follows the previous one in the ring, neither is large, and a piece
 * from bucket `begin` to the end of `bucket` is not too large. */
static bool continues_piece(const struct stream_sort *stream, size_t begin, size_t bucket)
{
    const size_t piece_bytes = stream_sort_chunk(stream->task.threads) / 4;
    const size_t start = stream->starts[bucket];
    return !is_large(stream, bucket - 1) && !is_large(stream, bucket) &&
           start == output_end(stream, bucket - 1) && start % stream->ring_bytes > 0 &&
           output_end(stream, bucket) - stream->starts[begin] <= piece_bytes;
}

/* Returns the end of the piece of finished, contiguous buckets from `begin` on. A piece is at most
 * a quarter of a ring of one chunk, as a bucket is, so that the next bucket has room while the
 * caller holds two pieces, even if it does not fit before the ring's end. */
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

/* Drops the first keys of this rank's first bucket, which lower ranks give. */
static void skip_first(struct stream_sort *stream, void **keys, size_t *bytes)
{
    if (stream->has_skipped || *bytes == 0)
        return;
    *keys = (unsigned char *)*keys + stream->skipped;
    *bytes -= stream->skipped;
    stream->has_skipped = true;
}

bool stream_sort_give(struct stream_sort *stream, void **keys, size_t *count, struct error *error)
{
    size_t bytes = 0;
    if (!stream->has_team && !stream->failure.is_set)
        start_team(stream); /* keys that are given twice were sorted without it */
    pthread_mutex_lock(&stream->mutex);
    while (bytes == 0 && stream->given < stream->model.buckets && !stream->failure.is_set) {
        const size_t begin = stream->given, end = find_piece_end(stream, begin);
        if (end > begin) {
            *keys = find_given(stream, begin);
            for (; stream->given < end; stream->given++)
                bytes += stream->sizes[stream->given];
        } else if (can_sort_next(stream)) {
            sort_next(stream, &stream->parts[0]);
        } else {
            pthread_cond_wait(&stream->changed, &stream->mutex);
        }
    }
    skip_first(stream, keys, &bytes);
    *count = bytes / stream->task.item_bytes;
    const bool is_last = stream->given == stream->model.buckets;
    error_merge(error, &stream->failure);
    pthread_mutex_unlock(&stream->mutex);
    if (is_last && !stream->is_given_twice && !stream->rank_memory) /* all buckets are sorted */
        pages_release(&stream->blocks);
    return !error->is_set;
}

void stream_sort_take_back(struct stream_sort *stream, size_t count)
{
    size_t left = count * stream->task.item_bytes;
    pthread_mutex_lock(&stream->mutex);
    if (stream->taken_back == 0)
        left += stream->skipped;
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
    stream_stop_team(stream);
    stream->given = 0;
}
