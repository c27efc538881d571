/* radix_partition.cuh - parts every segment of an array into RADIX_WAYS buckets.
 *
 *   segments --radix_count_kernel--> keys of each bucket
 *            --(scan: radix_levels.cuh)--> cursors, where the next key of each bucket goes
 *            --radix_partition_kernel--> the array in order of buckets
 *
 * A segment is the whole array in the first partition, a bucket of the first one in the second. It
 * is cut into tiles; a block takes tile after tile, and never knows more than one segment at a
 * time.
 *
 * Order among equals is free, so no block needs to wait for another: the keys of a tile get their
 * ranks in the buckets from counters in shared memory, and one atomic for each bucket and tile
 * reserves their place in the target. Through shared memory they leave in runs, a run a bucket.
 */
#ifndef CUDA_RADIX_PARTITION_CUH
#define CUDA_RADIX_PARTITION_CUH

#include "cuda/dynamic_shared.cuh"
#include "cuda/radix_model.cuh"
#include "cuda/warp_count.cuh"

typedef unsigned long long radix_count; /* as atomics want it */

/* A cut of an array into consecutive pieces. */
struct radix_segments {
    unsigned count;
    radix_count first[RADIX_WAYS + 1]; /* index of a segment's first key; the end behind the last */
    unsigned tiles[RADIX_WAYS + 1]; /* tiles in the segments before; all of them behind the last */
};

__device__ __forceinline__ unsigned radix_tiles_of(radix_count count, unsigned tile)
{
    return static_cast<unsigned>((count + tile - 1) / tile);
}

/* The whole array as one segment. One thread calls it. */
template <unsigned TILE>
__device__ __forceinline__ void thread_whole_segment(struct radix_segments *segments, size_t count)
{
    segments->count = 1;
    segments->first[0] = 0;
    segments->first[1] = count;
    segments->tiles[0] = 0;
    segments->tiles[1] = radix_tiles_of(count, TILE);
}

/* Which of the two digits of a bucket's number a partition looks at. */
struct radix_digit {
    unsigned shift;
};

template <typename K>
constexpr unsigned RADIX_PARTITION_KEYS = radix_partition_keys(sizeof(K));
template <typename K>
constexpr unsigned RADIX_PARTITION_TILE = RADIX_PARTITION_THREADS *RADIX_PARTITION_KEYS<K>;

template <typename K>
__device__ __forceinline__ unsigned thread_radix_digit(const struct radix_lookup<K> &lookup,
                                                       const struct radix_digit &digit, K key)
{
    return thread_radix_position(lookup, key) >> (RADIX_FRACTION_BITS + digit.shift) &
           (RADIX_WAYS - 1);
}

/* The tile that a block works on. */
struct radix_place {
    unsigned segment;
    size_t first; /* index of its first key */
    unsigned count;
};

/* What a block needs to know of the segments, in shared memory. */
struct radix_map {
    unsigned tiles[RADIX_WAYS + 1];
    unsigned segments;
};

/* All threads of the block call it; the map is there after a barrier. */
__device__ __forceinline__ void block_load_map(struct radix_map &map,
                                               const struct radix_segments *segments)
{
    const unsigned count = segments->count;
    for (unsigned i = threadIdx.x; i <= count; i += blockDim.x)
        map.tiles[i] = segments->tiles[i];
    if (threadIdx.x == 0)
        map.segments = count;
}

__device__ __forceinline__ unsigned radix_map_end(const struct radix_map &map)
{
    return map.tiles[map.segments];
}

/* The tile, at or behind the segment last found; it must be one of the map's. */
template <unsigned TILE>
__device__ __forceinline__ void thread_find_tile(const struct radix_map &map,
                                                 const struct radix_segments *segments,
                                                 unsigned tile, struct radix_place &place)
{
    while (tile >= map.tiles[place.segment + 1])
        place.segment++;
    place.first = segments->first[place.segment] +
                  static_cast<size_t>(tile - map.tiles[place.segment]) * TILE;
    const size_t left = segments->first[place.segment + 1] - place.first;
    place.count = left < TILE ? static_cast<unsigned>(left) : TILE;
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

/* Adds the block's counters to those of the segment and clears them. Between barriers. */
__device__ __forceinline__ void block_flush_counts(unsigned *counters, radix_count *counts,
                                                   unsigned segment)
{
    for (unsigned i = threadIdx.x; i < RADIX_WAYS; i += RADIX_PARTITION_THREADS) {
        if (counters[i] > 0)
            atomicAdd(&counts[static_cast<size_t>(segment) * RADIX_WAYS + i],
                      static_cast<radix_count>(counters[i]));
        counters[i] = 0;
    }
}

/* counts[segment][digit] += the keys that have it. A block counts consecutive tiles, and hands its
 * counters over where the segment ends. */
template <typename K>
__global__ void __launch_bounds__(RADIX_PARTITION_THREADS)
    radix_count_kernel(const K *__restrict__ source, const struct radix_segments *segments,
                       const struct radix_model<K> *model, struct radix_digit digit,
                       struct key_order encoding, radix_count *counts)
{
    __shared__ struct radix_entry entries[RADIX_ENTRIES];
    __shared__ struct radix_map map;
    __shared__ unsigned counters[RADIX_WAYS];
    const struct radix_lookup<K> lookup =
        block_load_model<K, RADIX_PARTITION_THREADS>(model, entries);
    block_load_map(map, segments);
    for (unsigned i = threadIdx.x; i < RADIX_WAYS; i += RADIX_PARTITION_THREADS)
        counters[i] = 0;
    __syncthreads();
    const unsigned share = (radix_map_end(map) + gridDim.x - 1) / gridDim.x;
    const unsigned end = min(radix_map_end(map), (blockIdx.x + 1) * share);
    struct radix_place place = {};
    unsigned counted = 0; /* the segment that the counters are of */
    for (unsigned tile = blockIdx.x * share; tile < end; tile++) {
        thread_find_tile<RADIX_PARTITION_TILE<K>>(map, segments, tile, place);
        if (place.segment != counted) {
            __syncthreads();
            block_flush_counts(counters, counts, counted);
            __syncthreads();
            counted = place.segment;
        }
        K keys[RADIX_PARTITION_KEYS<K>];
        block_load_tile(source, place, keys);
        thread_encode_keys(encoding, keys);
        const bool is_crowded = warp_is_crowded(thread_radix_digit(lookup, digit, keys[0]));
#pragma unroll
        for (unsigned i = 0; i < RADIX_PARTITION_KEYS<K>; i++)
            warp_count(counters, thread_radix_digit(lookup, digit, keys[i]),
                       i * RADIX_PARTITION_THREADS + threadIdx.x < place.count, is_crowded);
    }
    __syncthreads();
    block_flush_counts(counters, counts, counted);
}

/* The shared memory of a partitioning block. */
template <typename K>
struct radix_partition_shared {
    K keys[RADIX_PARTITION_TILE<K>];
    struct radix_entry entries[RADIX_ENTRIES];
    radix_count targets[RADIX_WAYS]; /* of a bucket's key: the target less its index in keys */
    unsigned counters[RADIX_WAYS];   /* keys of a bucket; then the index of the first in keys */
    unsigned warp_sums[THREADS_PER_WARP];
    struct radix_map map;
    uint16_t digits[RADIX_PARTITION_TILE<K>];
};

constexpr unsigned RADIX_RANK_SHIFT = 16; /* a place is a rank above a digit or bin */

/* places[i]: the bucket of keys[i], and its rank among the tile's keys of that bucket. */
template <typename K>
__device__ __forceinline__ void
block_rank_tile(const struct radix_lookup<K> &lookup, const struct radix_digit &digit,
                unsigned count, const K (&keys)[RADIX_PARTITION_KEYS<K>], unsigned *counters,
                unsigned (&places)[RADIX_PARTITION_KEYS<K>])
{
    const bool is_crowded = warp_is_crowded(thread_radix_digit(lookup, digit, keys[0]));
#pragma unroll
    for (unsigned i = 0; i < RADIX_PARTITION_KEYS<K>; i++) {
        const unsigned bucket = thread_radix_digit(lookup, digit, keys[i]);
        const bool counted = i * RADIX_PARTITION_THREADS + threadIdx.x < count;
        const unsigned rank = warp_count(counters, bucket, counted, is_crowded);
        places[i] = rank << RADIX_RANK_SHIFT | bucket;
    }
}

/* Reserves room in the target for each bucket of the tile. */
template <typename K>
__device__ __forceinline__ void block_reserve(struct radix_partition_shared<K> &shared,
                                              radix_count *cursors)
{
    constexpr unsigned own = (RADIX_WAYS + RADIX_PARTITION_THREADS - 1) / RADIX_PARTITION_THREADS;
    unsigned counts[own], sum = 0, total = 0;
#pragma unroll
    for (unsigned i = 0; i < own; i++) {
        const unsigned bucket = threadIdx.x * own + i;
        counts[i] = bucket < RADIX_WAYS ? shared.counters[bucket] : 0;
        sum += counts[i];
    }
    unsigned first = block_exclusive_scan<RADIX_PARTITION_THREADS>(sum, shared.warp_sums, &total);
#pragma unroll
    for (unsigned i = 0; i < own; i++) {
        const unsigned bucket = threadIdx.x * own + i;
        if (bucket < RADIX_WAYS) {
            shared.counters[bucket] = first;
            if (counts[i] > 0)
                shared.targets[bucket] =
                    atomicAdd(&cursors[bucket], static_cast<radix_count>(counts[i])) - first;
            first += counts[i];
        }
    }
}

template <typename K>
__device__ __forceinline__ void
block_scatter_tile(struct radix_partition_shared<K> &shared, unsigned count,
                   const K (&keys)[RADIX_PARTITION_KEYS<K>],
                   const unsigned (&places)[RADIX_PARTITION_KEYS<K>])
{
#pragma unroll
    for (unsigned i = 0; i < RADIX_PARTITION_KEYS<K>; i++) {
        if (i * RADIX_PARTITION_THREADS + threadIdx.x >= count)
            continue;
        const unsigned bucket = places[i] & ((1u << RADIX_RANK_SHIFT) - 1);
        const unsigned index = shared.counters[bucket] + (places[i] >> RADIX_RANK_SHIFT);
        shared.keys[index] = keys[i];
        shared.digits[index] = static_cast<uint16_t>(bucket);
    }
}

/* cursors[segment][digit]: where the next such key goes. */
template <typename K>
__global__ void __launch_bounds__(RADIX_PARTITION_THREADS, RADIX_PARTITION_BLOCKS)
    radix_partition_kernel(const K *__restrict__ source, K *__restrict__ target,
                           const struct radix_segments *segments,
                           const struct radix_model<K> *model, struct radix_digit digit,
                           struct key_order encoding, radix_count *cursors)
{
    struct radix_partition_shared<K> &shared =
        *reinterpret_cast<struct radix_partition_shared<K> *>(block_dynamic_shared());
    const struct radix_lookup<K> lookup =
        block_load_model<K, RADIX_PARTITION_THREADS>(model, shared.entries);
    block_load_map(shared.map, segments);
    for (unsigned i = threadIdx.x; i < RADIX_WAYS; i += RADIX_PARTITION_THREADS)
        shared.counters[i] = 0;
    __syncthreads();
    const unsigned end = radix_map_end(shared.map);
    struct radix_place place = {};
    for (unsigned tile = blockIdx.x; tile < end; tile += gridDim.x) {
        K keys[RADIX_PARTITION_KEYS<K>];
        unsigned places[RADIX_PARTITION_KEYS<K>];
        thread_find_tile<RADIX_PARTITION_TILE<K>>(shared.map, segments, tile, place);
        block_load_tile(source, place, keys);
        const unsigned count = place.count;
        thread_encode_keys(encoding, keys);
        block_rank_tile(lookup, digit, count, keys, shared.counters, places);
        __syncthreads();
        block_reserve(shared, cursors + static_cast<size_t>(place.segment) * RADIX_WAYS);
        __syncthreads();
        block_scatter_tile(shared, count, keys, places);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < RADIX_WAYS; i += RADIX_PARTITION_THREADS)
            shared.counters[i] = 0;
#pragma unroll
        for (unsigned i = 0; i < RADIX_PARTITION_KEYS<K>; i++) {
            const unsigned index = i * RADIX_PARTITION_THREADS + threadIdx.x;
            if (index < count)
                target[shared.targets[shared.digits[index]] + index] = shared.keys[index];
        }
        __syncthreads();
    }
}

#endif
