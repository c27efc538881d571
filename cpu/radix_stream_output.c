/* SPDX-License-Identifier: Apache-2.0 */
/* radix_stream_output.c - see radix_stream.h.
 *
 * The ring: every bucket has its place in an endless row of output, whose places stand for those in
 * the ring modulo its size; one that would go over the end of the ring begins at its start. A
 * bucket is taken in its turn, when all that its place was used for has been taken back.
 */
#include "core/clock.h"
#include "core/vector_units.h"
#include "cpu/dense_keys.h"
#include "cpu/radix_kernels.h"
#include "cpu/radix_stream_buckets.h"
#include "cpu/vector_sort.h"

#include <stdlib.h>
#include <string.h>

static bool is_large(const struct radix_stream *stream, size_t bucket)
{
    return stream->sizes[bucket] > stream->plan.room_bytes;
}

/* Where the bucket ends in the row. */
static size_t row_end(const struct radix_stream *stream, size_t bucket)
{
    return stream->starts[bucket] + (is_large(stream, bucket) ? 0 : stream->sizes[bucket]);
}

/* Gives every bucket its place in the row. */
static void place_buckets(struct radix_stream *stream)
{
    const size_t ring_bytes = radix_stream_chunk(stream->task.threads);
    size_t next = 0;
    for (size_t bucket = 0; bucket < stream->model.buckets; bucket++) {
        const size_t left = ring_bytes - next % ring_bytes;
        stream->sizes[bucket] = radix_stream_bucket_count(stream, bucket) * stream->task.item_bytes;
        stream->starts[bucket] = next;
        if (row_end(stream, bucket) > next + left)
            stream->starts[bucket] = next + left;
        next = row_end(stream, bucket);
    }
}

/* Gathers a bucket by all threads, as stored bits. */
static void gather_large(const struct radix_stream *stream, size_t bucket, unsigned char *keys)
{
    const unsigned parts = stream->task.threads, width = stream->task.item_bytes;
#pragma omp parallel for num_threads(parts) if (parts > 1) schedule(static, 1)
    for (unsigned i = 0; i < parts; i++) {
        unsigned char *to = keys;
        for (unsigned part = 0; part < i; part++)
            to += radix_heap_bytes(&stream->parts[part].heap, bucket);
        const size_t bytes = radix_blocks_gather(&stream->pool, &stream->parts[i].heap, bucket, to);
        radix_decode(width, to, to, bytes / width, stream->task.order);
    }
}

static bool sort_large(const struct radix_stream *stream, struct large_bucket *large,
                       struct error *error)
{
    struct radix_task task = stream->task;
    struct pages scratch = {0};
    size_t scratch_bytes = 0;
    task.count = stream->sizes[large->bucket] / task.item_bytes;
    if (!radix_sort_scratch_bytes(&task, &scratch_bytes))
        return error_set(error, "out of memory: the scratch for %zu keys exceeds any", task.count);
    if (!pages_map(&large->keys, stream->sizes[large->bucket], error) ||
        !pages_map(&scratch, scratch_bytes, error))
        return false;
    gather_large(stream, large->bucket, large->keys.data);
    struct radix_sorting *const sorting = radix_sort_begin(&task, large->keys.data, scratch.data);
    for (size_t sorted = 0; sorted < task.count;)
        sorted = radix_sort_await(sorting, sorted);
    radix_sort_end(sorting);
    pages_release(&scratch);
    return true;
}

static bool sort_all_large(struct radix_stream *stream, size_t count, struct error *error)
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

/* By counting, where the bucket has no more values than keys; else false. */
static bool sort_dense(const struct radix_stream *stream, const struct stream_part *part,
                       size_t bucket, unsigned char *to)
{
    const struct radix_task *const task = &stream->task;
    const unsigned width = task->item_bytes;
    const size_t count = stream->sizes[bucket] / width;
    uint32_t *const counts = (void *)part->room; /* has room for the keys */
    uint64_t lowest, highest;
    radix_model_range(&stream->model, bucket, &lowest, &highest);
    if (highest - lowest >= count)
        return false;
    const size_t values = (size_t)(highest - lowest) + 1;
    memset(counts, 0, dense_keys_counts(values) * sizeof *counts);
    for (unsigned i = 0; i < task->threads; i++) {
        const struct radix_heap *const heap = &stream->parts[i].heap;
        for (struct radix_piece piece = radix_blocks_last(&stream->pool, heap, bucket);
             piece.bytes > 0; piece = radix_blocks_before(&stream->pool, piece))
            dense_keys_count(width, counts, values, lowest, piece.data, piece.bytes / width);
    }
    dense_keys_write(width, counts, values, lowest, task->order, to, count);
    return true;
}

static void sort_bucket(const struct radix_stream *stream, const struct stream_part *part,
                        size_t bucket)
{
    const struct radix_task *const task = &stream->task;
    const unsigned width = task->item_bytes;
    unsigned char *const to =
        stream->ring + stream->starts[bucket] % radix_stream_chunk(task->threads);
    size_t bytes = 0;
    if (sort_dense(stream, part, bucket, to))
        return;
    for (unsigned i = 0; i < task->threads; i++)
        bytes += radix_blocks_gather(&stream->pool, &stream->parts[i].heap, bucket,
                                     part->gathered + bytes);
    const size_t count = bytes / width;
    if (has_vector_units())
        vector_sort(width, part->gathered, part->room, count, to, key_order_identity(),
                    task->order);
    else
        radix_decode(width, to, radix_sort_in_cache(width, part->gathered, part->room, count),
                     count, task->order);
}

/* Whether the next bucket can be sorted: there is one, and its place is free. */
static bool has_turn(const struct radix_stream *stream)
{
    const size_t next = stream->next;
    return next < stream->model.buckets &&
           row_end(stream, next) - stream->starts[stream->taken_back] <=
               radix_stream_chunk(stream->task.threads);
}

/* Sorts the next bucket, by the memory of a part; unlocked meanwhile. */
static void take_turn(struct radix_stream *stream, const struct stream_part *part)
{
    const size_t bucket = stream->next++;
    pthread_mutex_unlock(&stream->mutex);
    const uint64_t start_ns = clock_now_ns();
    if (row_end(stream, bucket) > stream->starts[bucket])
        sort_bucket(stream, part, bucket);
    const uint64_t end_ns = clock_now_ns();
    pthread_mutex_lock(&stream->mutex);
    stream->busy_ns += end_ns - start_ns;
    radix_row_finish(&stream->row, bucket);
    pthread_cond_broadcast(&stream->changed);
}

static void sort_buckets(const struct member *member, void *context)
{
    struct radix_stream *const stream = context;
    if (member->number == 0)
        return; /* the caller's, which comes by itself */
    pthread_mutex_lock(&stream->mutex);
    while (!stream->is_stopped && stream->next < stream->model.buckets)
        if (has_turn(stream))
            take_turn(stream, &stream->parts[member->number]);
        else
            pthread_cond_wait(&stream->changed, &stream->mutex);
    pthread_mutex_unlock(&stream->mutex);
}

void radix_stream_sort(struct radix_stream *stream, void *room, bool *suits)
{
    struct error shortage = {0}; /* of memory for large buckets: an array of all needs less */
    radix_stream_end_input(stream);
    const struct radix_stream_excess excess =
        radix_stream_excess(stream, radix_stream_room_count(stream));
    *suits = excess.keys <= stream->count / 2;
    if (!*suits)
        return;
    place_buckets(stream);
    if (excess.buckets > 0 && !sort_all_large(stream, excess.buckets, &shortage)) {
        *suits = false;
        return;
    }
    stream->ring = room;
    stream->row.buckets = stream->model.buckets;
    stream->has_team = true;
    team_begin(&stream->team, stream->task.threads, sort_buckets, stream);
}

/* ---- Out ---- */

/* Whether the bucket stands right behind the one before it in the ring, and what stands from
 * `begin` on is not too much with it. */
static bool continues_piece(const struct radix_stream *stream, size_t begin, size_t bucket)
{
    const size_t ring_bytes = radix_stream_chunk(stream->task.threads);
    const size_t start = stream->starts[bucket];
    return !is_large(stream, bucket - 1) && !is_large(stream, bucket) &&
           start == row_end(stream, bucket - 1) && start % ring_bytes > 0 &&
           row_end(stream, bucket) - stream->starts[begin] <= ring_bytes / 4;
}

/* The bucket behind those that are given in one piece from `begin` on: finished, one behind the
 * other, and no more than a quarter of the ring, as a bucket is, so that one has room while two
 * pieces are with the caller, even if it does not fit before the end of the ring. */
static size_t find_piece_end(const struct radix_stream *stream, size_t begin)
{
    size_t end = begin;
    while (end < stream->row.first_open && (end == begin || continues_piece(stream, begin, end)))
        end++;
    return end;
}

uint64_t radix_stream_sort_ns(struct radix_stream *stream)
{
    pthread_mutex_lock(&stream->mutex);
    const uint64_t busy_ns = stream->busy_ns;
    pthread_mutex_unlock(&stream->mutex);
    return busy_ns / stream->task.threads;
}

static struct large_bucket *find_large(const struct radix_stream *stream, size_t bucket)
{
    struct large_bucket *large = stream->large;
    while (large->bucket != bucket)
        large++;
    return large;
}

void radix_stream_give(struct radix_stream *stream, void **keys, size_t *count)
{
    const size_t ring_bytes = radix_stream_chunk(stream->task.threads);
    size_t bytes = 0;
    pthread_mutex_lock(&stream->mutex);
    while (bytes == 0 && stream->given < stream->model.buckets) {
        const size_t begin = stream->given, end = find_piece_end(stream, begin);
        if (end > begin) {
            *keys = is_large(stream, begin) ? find_large(stream, begin)->keys.data
                                            : stream->ring + stream->starts[begin] % ring_bytes;
            for (; stream->given < end; stream->given++)
                bytes += stream->sizes[stream->given];
        } else if (has_turn(stream)) {
            take_turn(stream, &stream->parts[0]);
        } else {
            pthread_cond_wait(&stream->changed, &stream->mutex);
        }
    }
    *count = bytes / stream->task.item_bytes;
    const bool is_last = stream->given == stream->model.buckets;
    pthread_mutex_unlock(&stream->mutex);
    if (is_last) /* so all are sorted */
        pages_release(&stream->blocks);
}

void radix_stream_take_back(struct radix_stream *stream, size_t count)
{
    size_t left = count * stream->task.item_bytes;
    pthread_mutex_lock(&stream->mutex);
    while (stream->taken_back < stream->given && stream->sizes[stream->taken_back] <= left) {
        if (is_large(stream, stream->taken_back))
            pages_release(&find_large(stream, stream->taken_back)->keys);
        left -= stream->sizes[stream->taken_back++];
    }
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}
