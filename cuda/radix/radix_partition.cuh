/* SPDX-License-Identifier: Apache-2.0 */
/* radix_partition.cuh - parts every segment of an array into RADIX_WAYS buckets, each segment by a
 * model of its own.
 *
 *   segments --radix_count_kernel--> keys of each bucket
 *            --(scan: radix_levels.cuh)--> cursors, where the next key of each bucket goes
 *            --radix_partition_kernel--> the array in order of buckets
 *
 * A segment is the whole array, or a bucket of an earlier partition. It is cut into tiles. Counting
 * blocks take consecutive tiles, so that they seldom meet a new segment, whose model they must
 * load. Partitioning blocks take turns: so all of them write to few segments at a time, and lines
 * that no tile fills alone are filled in the L2 cache before they go to memory (with consecutive
 * tiles 11.6 ms for 1e9 64-bit keys, in place of 7.5).
 *
 * Order among equals is free, so no block needs to wait for another: the keys of a tile get their
 * ranks in the buckets from counters in shared memory, and one atomic for each bucket and tile
 * reserves their place in the target. Through shared memory they leave in runs, a run a bucket.
 * Meanwhile the next tile is on its way into registers.
 */
#ifndef CUDA_RADIX_PARTITION_CUH
#define CUDA_RADIX_PARTITION_CUH

#include "cuda/block/dynamic_shared.cuh"
#include "cuda/block/grid_wait.cuh"
#include "cuda/block/warp_count.cuh"
#include "cuda/radix/radix_model.cuh"

typedef unsigned long long radix_count; /* as atomics want it */

constexpr unsigned RADIX_SEGMENTS = RADIX_WAYS;

/* Pieces of an array; those that there are not have no keys. */
struct radix_segments {
    radix_count first[RADIX_SEGMENTS]; /* index of a segment's first key */
    radix_count keys[RADIX_SEGMENTS];
    unsigned tiles[RADIX_SEGMENTS + 1]; /* tiles in the segments before; behind the last: all */
};

template <typename K>
constexpr unsigned RADIX_PARTITION_KEYS = radix_partition_keys(sizeof(K));
template <typename K>
constexpr unsigned RADIX_PARTITION_TILE = RADIX_PARTITION_THREADS *RADIX_PARTITION_KEYS<K>;

template <typename K>
__host__ __device__ __forceinline__ unsigned radix_tiles_of(size_t count)
{
    return static_cast<unsigned>((count + RADIX_PARTITION_TILE<K> - 1) / RADIX_PARTITION_TILE<K>);
}

constexpr unsigned RADIX_RANK_SHIFT = 16; /* a place is a rank above a bucket or bin */
constexpr unsigned RADIX_PLACE_MASK = (1u << RADIX_RANK_SHIFT) - 1;

/* Behind the buckets is one for what a thread holds behind the tile's end, so that no step needs to
 * tell it from a key: it is counted and arranged like one, and never written. */
constexpr unsigned RADIX_COUNTERS = RADIX_WAYS + 1;

/* buckets[i]: that of keys[i], a striped tile of `count` keys. */
template <typename K>
__device__ __forceinline__ void thread_radix_buckets(const struct radix_lookup<K> &lookup,
                                                     unsigned count,
                                                     const K (&keys)[RADIX_PARTITION_KEYS<K>],
                                                     unsigned (&buckets)[RADIX_PARTITION_KEYS<K>])
{
    static_assert(RADIX_PARTITION_KEYS<K> % RADIX_BATCH == 0, "whole batches");
#pragma unroll
    for (unsigned first = 0; first < RADIX_PARTITION_KEYS<K>; first += RADIX_BATCH) {
        K batch[RADIX_BATCH];
        uint32_t positions[RADIX_BATCH];
#pragma unroll
        for (unsigned i = 0; i < RADIX_BATCH; i++)
            batch[i] = keys[first + i];
        thread_radix_positions(lookup, batch, positions);
#pragma unroll
        for (unsigned i = 0; i < RADIX_BATCH; i++)
            buckets[first + i] = (first + i) * RADIX_PARTITION_THREADS + threadIdx.x < count
                                     ? positions[i] >> RADIX_FRACTION_BITS
                                     : RADIX_WAYS;
    }
}

/* Counts the keys by buckets[i], which becomes the key's place. */
template <unsigned N>
__device__ __forceinline__ void warp_count_buckets(unsigned *counters, unsigned (&buckets)[N])
{
    if (warp_is_crowded(buckets[0])) {
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            buckets[i] |= warp_count_together(counters, buckets[i], true) << RADIX_RANK_SHIFT;
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        buckets[i] |= atomicAdd(&counters[buckets[i]], 1u) << RADIX_RANK_SHIFT;
}

/* What is the block's of `count` pieces of work: begin..end. */
struct radix_share {
    unsigned begin;
    unsigned end;
};

__device__ __forceinline__ struct radix_share block_share(unsigned count,
                                                          unsigned blocks = gridDim.x)
{
    const uint64_t total = count;
    const struct radix_share share = {static_cast<unsigned>(total * blockIdx.x / blocks),
                                      static_cast<unsigned>(total * (blockIdx.x + 1) / blocks)};
    return share;
}

/* The tile that a block works on. */
struct radix_place {
    unsigned segment;
    size_t first; /* index of its first key */
    unsigned count;
};

/* The tile, in the segment last found or behind it. The lanes of each warp look at 32 segments at a
 * time. */
template <typename K>
__device__ __forceinline__ void warp_find_tile(const struct radix_segments *segments, unsigned tile,
                                               struct radix_place &place)
{
    unsigned skipped = THREADS_PER_WARP;
    while (skipped == THREADS_PER_WARP) {
        const unsigned next = place.segment + 1 + thread_lane();
        const bool is_behind = next < RADIX_SEGMENTS && segments->tiles[next] <= tile;
        skipped = static_cast<unsigned>(__popc(__ballot_sync(ALL_LANES, is_behind)));
        place.segment += skipped;
    }
    const size_t before =
        static_cast<size_t>(tile - segments->tiles[place.segment]) * RADIX_PARTITION_TILE<K>;
    const size_t left = segments->keys[place.segment] - before;
    place.first = segments->first[place.segment] + before;
    place.count =
        left < RADIX_PARTITION_TILE<K> ? static_cast<unsigned>(left) : RADIX_PARTITION_TILE<K>;
}

/* Reads the tile, striped; what lies behind its end is any key. */
template <typename K>
__device__ __forceinline__ void block_load_tile(const K *source, const struct radix_place &place,
                                                K (&keys)[RADIX_PARTITION_KEYS<K>])
{
#pragma unroll
    for (unsigned i = 0; i < RADIX_PARTITION_KEYS<K>; i++) {
        const unsigned index = i * RADIX_PARTITION_THREADS + threadIdx.x;
        keys[i] = index < place.count ? source[place.first + index] : K{0};
    }
}

__device__ __forceinline__ void block_clear_counters(unsigned *counters)
{
    for (unsigned i = threadIdx.x; i < RADIX_COUNTERS; i += RADIX_PARTITION_THREADS)
        counters[i] = 0;
}

/* Adds the block's counters to those of the segment and clears them. Between barriers. */
__device__ __forceinline__ void block_flush_counts(unsigned *counters, radix_count *counts)
{
    for (unsigned i = threadIdx.x; i < RADIX_WAYS; i += RADIX_PARTITION_THREADS) {
        if (counters[i] > 0)
            atomicAdd(&counts[i], static_cast<radix_count>(counters[i]));
        counters[i] = 0;
    }
}

/* counts[segment][bucket] += the keys in it. The counters are handed over where a segment ends. Any
 * number of blocks. */
template <typename K>
__global__ void __launch_bounds__(RADIX_PARTITION_THREADS, RADIX_COUNT_BLOCKS)
    radix_count_kernel(const K *__restrict__ source, const struct radix_segments *segments,
                       const struct radix_model<K> *models, struct key_order encoding,
                       radix_count *counts)
{
    thread_wait_for_grid();
    __shared__ struct radix_model<K> model;
    __shared__ unsigned counters[RADIX_COUNTERS];
    const struct radix_share share = block_share(segments->tiles[RADIX_SEGMENTS]);
    if (share.begin >= share.end)
        return;
    struct radix_place place = {};
    warp_find_tile<K>(segments, share.begin, place);
    block_load_model<K, RADIX_PARTITION_THREADS>(models + place.segment, model);
    block_clear_counters(counters);
    unsigned counted = place.segment;
    __syncthreads();
    for (unsigned tile = share.begin; tile < share.end; tile++) {
        warp_find_tile<K>(segments, tile, place);
        K keys[RADIX_PARTITION_KEYS<K>];
        block_load_tile(source, place, keys);
        if (place.segment != counted) {
            __syncthreads();
            block_flush_counts(counters, counts + static_cast<size_t>(counted) * RADIX_WAYS);
            block_load_model<K, RADIX_PARTITION_THREADS>(models + place.segment, model);
            counted = place.segment;
            __syncthreads();
        }
        thread_encode_keys(encoding, keys);
        unsigned buckets[RADIX_PARTITION_KEYS<K>];
        thread_radix_buckets(thread_lookup(model), place.count, keys, buckets);
        warp_count_buckets(counters, buckets);
    }
    __syncthreads();
    block_flush_counts(counters, counts + static_cast<size_t>(counted) * RADIX_WAYS);
}

/* The shared memory of a partitioning block. */
template <typename K>
struct radix_partition_shared {
    K keys[RADIX_PARTITION_TILE<K>];
    struct radix_model<K> model;
    radix_count targets[RADIX_COUNTERS]; /* of a bucket's key: the target less its index in keys */
    unsigned counters[RADIX_COUNTERS];   /* keys of a bucket; then the index of the first in keys */
    unsigned warp_sums[THREADS_PER_WARP];
    uint16_t buckets[RADIX_PARTITION_TILE<K>];
};

/* Room in the target for the tile's keys of the thread's buckets. */
static_assert(RADIX_WAYS == RADIX_PARTITION_THREADS, "each thread has a bucket");
struct radix_room {
    radix_count target; /* of the first key, if there are any */
    unsigned first;     /* its index in the tile, in order of buckets */
};

/* Turns counts into indices, and asks for the room; the answer is not waited for here. */
__device__ __forceinline__ struct radix_room block_reserve(unsigned *counters, unsigned *warp_sums,
                                                           radix_count *cursors)
{
    unsigned total = 0;
    const unsigned count = counters[threadIdx.x];
    struct radix_room room = {0, 0};
    if (count > 0)
        room.target = atomicAdd(&cursors[threadIdx.x], static_cast<radix_count>(count));
    room.first = block_exclusive_scan<RADIX_PARTITION_THREADS>(count, warp_sums, &total);
    counters[threadIdx.x] = room.first;
    if (threadIdx.x == 0)
        counters[RADIX_WAYS] = total;
    return room;
}

/* Puts the tile's keys into shared memory in order of buckets. */
template <typename K>
__device__ __forceinline__ void
block_arrange_tile(struct radix_partition_shared<K> &shared,
                   const K (&keys)[RADIX_PARTITION_KEYS<K>],
                   const unsigned (&places)[RADIX_PARTITION_KEYS<K>])
{
#pragma unroll
    for (unsigned i = 0; i < RADIX_PARTITION_KEYS<K>; i++) {
        const unsigned bucket = places[i] & RADIX_PLACE_MASK;
        const unsigned index = shared.counters[bucket] + (places[i] >> RADIX_RANK_SHIFT);
        shared.keys[index] = keys[i];
        shared.buckets[index] = static_cast<uint16_t>(bucket);
    }
}

template <typename K>
__device__ __forceinline__ void block_scatter_tile(const struct radix_partition_shared<K> &shared,
                                                   unsigned count, K *target)
{
#pragma unroll
    for (unsigned i = 0; i < RADIX_PARTITION_KEYS<K>; i++) {
        const unsigned index = i * RADIX_PARTITION_THREADS + threadIdx.x;
        const radix_count place = shared.targets[shared.buckets[index]] + index;
        const K key = shared.keys[index];
        if (index < count)
            target[place] = key;
    }
}

/* source -> target, encoded, in order of buckets. cursors[segment][bucket]: where the next such key
 * goes. Any number of blocks; a struct radix_partition_shared of dynamic shared memory. */
template <typename K>
__global__ void __launch_bounds__(RADIX_PARTITION_THREADS, RADIX_PARTITION_BLOCKS)
    radix_partition_kernel(const K *__restrict__ source, K *__restrict__ target,
                           const struct radix_segments *segments,
                           const struct radix_model<K> *models, struct key_order encoding,
                           radix_count *cursors)
{
    thread_wait_for_grid();
    struct radix_partition_shared<K> &shared =
        *reinterpret_cast<struct radix_partition_shared<K> *>(block_dynamic_shared());
    const unsigned end = segments->tiles[RADIX_SEGMENTS];
    unsigned tile = blockIdx.x;
    if (tile >= end)
        return;
    K keys[RADIX_PARTITION_KEYS<K>];
    struct radix_place place = {};
    warp_find_tile<K>(segments, tile, place);
    block_load_tile(source, place, keys);
    block_load_model<K, RADIX_PARTITION_THREADS>(models + place.segment, shared.model);
    block_clear_counters(shared.counters);
    __syncthreads();
    for (;;) {
        const unsigned count = place.count, segment = place.segment;
        unsigned places[RADIX_PARTITION_KEYS<K>];
        thread_encode_keys(encoding, keys);
        thread_radix_buckets(thread_lookup(shared.model), count, keys, places);
        warp_count_buckets(shared.counters, places);
        __syncthreads();
        const struct radix_room room = block_reserve(
            shared.counters, shared.warp_sums, cursors + static_cast<size_t>(segment) * RADIX_WAYS);
        __syncthreads();
        block_arrange_tile(shared, keys, places);
        struct radix_model_word model_word = {};
        tile += gridDim.x;
        if (tile < end) {
            warp_find_tile<K>(segments, tile, place);
            block_load_tile(source, place, keys);
            if (place.segment != segment)
                model_word = thread_fetch_model(models + place.segment);
        }
        shared.targets[threadIdx.x] = room.target - room.first;
        __syncthreads();
        block_clear_counters(shared.counters);
        block_scatter_tile(shared, count, target);
        if (tile >= end)
            return;
        if (place.segment != segment)
            block_store_model<K, RADIX_PARTITION_THREADS>(model_word, models + place.segment,
                                                          shared.model);
        __syncthreads();
    }
}

#endif
