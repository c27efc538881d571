/* SPDX-License-Identifier: Apache-2.0 */
/* radix_levels.cuh - turns counts into the input of the next kernels.
 *
 *   counts of the first partition --radix_scan_kernel--> cursors; parts; buckets as open ranges
 *   counts of the last partition --radix_pack_kernel--> cursors; buckets as packs and ranges
 *   the array, or open ranges --radix_open_kernel--> segments of a partition
 *
 * A pack is a row of neighbouring buckets that together fit a tile, so that thin buckets do not
 * cost a tile each. A range is a bucket that fits no tile: one value, or keys to partition once
 * more. Open ranges are what the next partition takes: buckets of the first partition, or ranges
 * whose keys differ.
 */
#ifndef CUDA_RADIX_LEVELS_CUH
#define CUDA_RADIX_LEVELS_CUH

#include "cuda/radix/radix_partition.cuh"

/* Keys that a tile has room for. */
constexpr unsigned RADIX_TILE_ROOM = RADIX_TILE_THREADS * RADIX_TILE_KEYS;

/* Number of keys of a range that a block copies at once. */
constexpr unsigned RADIX_PIECE = 16 * THREADS_PER_BLOCK;

constexpr unsigned RADIX_TILE_BINS = RADIX_TILE_THREADS * RADIX_THREAD_BINS;

/* The map from the positions of a pack to the bins of its tile. */
struct radix_bins {
    uint32_t first; /* position */
    uint32_t scale; /* bins for 2^32 positions */
};

struct radix_pack {
    size_t first; /* index of its first key */
    unsigned count;
    unsigned segment;
    struct radix_bins bins;
};

template <typename K>
struct radix_range {
    size_t first;
    size_t count;
    K key;                /* one of its keys */
    unsigned first_piece; /* number of pieces of the ranges before it */
    unsigned differs;     /* not 0 if another key of the range does */
};

/* Ranges that the next partition takes as its segments. */
struct radix_open {
    atomic_count *first; /* index of the first key of each */
    atomic_count *keys;
};

/* The numbers of packs, ranges and pieces so far. */
struct radix_totals {
    unsigned packs;
    unsigned left; /* packs of items of 16 bytes that radix_items_kernel cannot sort */
    unsigned open;
    unsigned blocks_done; /* blocks of radix_ranges_kernel that are done */
    /* Ranges, and 2^32 times their pieces: raised together, so that pieces ascend with ranges. */
    unsigned long long ranges;
};

/* Stores a segment for each thread, and the number of tiles before each. All RADIX_SEGMENTS threads
 * of the block call it. */
template <typename K>
__device__ __forceinline__ void block_set_segments(struct radix_segments *segments, size_t first,
                                                   size_t keys, unsigned *warp_sums)
{
    unsigned tiles = 0;
    const unsigned first_tile =
        block_exclusive_scan<RADIX_SEGMENTS>(radix_tiles_of<K>(keys), warp_sums, &tiles);
    segments->first[threadIdx.x] = first;
    segments->keys[threadIdx.x] = keys;
    segments->tiles[threadIdx.x] = first_tile;
    if (threadIdx.x == 0)
        segments->tiles[RADIX_SEGMENTS] = tiles;
}

/* Turns the counts of the buckets of all parts, 2^bits of each, into cursors, and the first
 * `listed` buckets, the only ones with keys, into open ranges. The parts become segments, with a
 * cursor for each. One block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_WAYS)
    radix_scan_kernel(atomic_count *counts, unsigned parts, unsigned bits, unsigned listed,
                      atomic_count *part_cursors, struct radix_segments *segments,
                      struct radix_open open)
{
    thread_wait_for_dependency();
    __shared__ atomic_count key_sums[THREADS_PER_WARP];
    __shared__ unsigned tile_sums[THREADS_PER_WARP];
    const unsigned buckets = parts << bits;
    atomic_count before = 0;
    for (unsigned bucket = threadIdx.x; bucket - threadIdx.x < buckets; bucket += RADIX_WAYS) {
        const atomic_count keys = bucket < buckets ? counts[bucket] : 0;
        atomic_count all = 0;
        const atomic_count first = before + block_exclusive_scan<RADIX_WAYS>(keys, key_sums, &all);
        if (bucket < buckets)
            counts[bucket] = first;
        if (bucket < listed) {
            open.first[bucket] = first;
            open.keys[bucket] = keys;
        }
        before += all;
        __syncthreads();
    }
    const unsigned part = threadIdx.x;
    const atomic_count first = part < parts ? counts[part << bits] : before;
    const atomic_count end = part + 1 < parts ? counts[(part + 1) << bits] : before;
    part_cursors[part] = first;
    block_set_segments<K>(segments, first, end - first, tile_sums);
}

/* Sets the segments of the next partition: the first `count` of `open`, or, without open.keys, the
 * whole array of `all` items. Resets the numbers of packs, and if `is_first` all totals. One
 * block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_SEGMENTS)
    radix_open_kernel(struct radix_open open, unsigned count, size_t all, bool is_first,
                      struct radix_segments *segments, struct radix_totals *totals)
{
    thread_wait_for_dependency();
    __shared__ unsigned warp_sums[THREADS_PER_WARP];
    const bool is_listed = open.keys && threadIdx.x < count;
    const bool is_whole = !open.keys && threadIdx.x == 0;
    block_set_segments<K>(segments, is_listed ? open.first[threadIdx.x] : 0,
                          is_listed  ? open.keys[threadIdx.x]
                          : is_whole ? all
                                     : 0,
                          warp_sums);
    if (threadIdx.x == 0) {
        if (is_first)
            *totals = {};
        totals->packs = 0;
        totals->left = 0;
    }
}

/* Returns true if the bucket of this thread starts a pack. That is so if it or the bucket before it
 * is too large to share a pack, or if a multiple of `aim` keys lies between their starts. So in a
 * pack of several buckets, fewer than `aim` keys are before the last bucket, which has at most
 * RADIX_TILE_ROOM - aim. */
__device__ __forceinline__ bool thread_starts_pack(atomic_count start, atomic_count count,
                                                   atomic_count count_before, unsigned aim)
{
    if (threadIdx.x == 0 || count > RADIX_TILE_ROOM - aim || count_before > RADIX_TILE_ROOM - aim)
        return true;
    return start / aim != (start - count_before) / aim;
}

/* Returns the maximum number of packs for `count` keys in `segments` segments: the first of each
 * segment, one for each multiple of `aim`, and one at and one after each bucket that could make a
 * pack too large. */
static inline size_t radix_packs_at_most(size_t count, size_t aim, size_t segments)
{
    return segments + count / aim + 2 * (count / (RADIX_TILE_ROOM - aim + 1));
}

template <typename K>
__device__ __forceinline__ void thread_add_range(struct radix_totals *totals,
                                                 struct radix_range<K> *ranges, size_t first,
                                                 size_t count)
{
    const unsigned long long pieces = (count + RADIX_PIECE - 1) / RADIX_PIECE;
    const unsigned long long before = atomicAdd(&totals->ranges, pieces << 32 | 1);
    ranges[static_cast<unsigned>(before)] = {first, count, K{0},
                                             static_cast<unsigned>(before >> 32), 0};
}

/* Returns the bins of buckets begin..end of a model whose keys have positions up to `last`. Buckets
 * after that position have no keys. */
__device__ __forceinline__ struct radix_bins thread_make_bins(unsigned begin, unsigned end,
                                                              uint32_t last)
{
    const uint32_t first = begin << RADIX_FRACTION_BITS, end_position = end << RADIX_FRACTION_BITS;
    const uint32_t span =
        first > last ? 1 : (end_position <= last ? end_position : last + 1) - first;
    const uint64_t scale = (static_cast<uint64_t>(RADIX_TILE_BINS) << 32) / span;
    return {first, scale < UINT32_MAX ? static_cast<uint32_t>(scale) : UINT32_MAX};
}

/* counts[segment] -> cursors, packs and ranges. A block for each segment, a thread for each
 * bucket. */
template <typename K>
__global__ void __launch_bounds__(RADIX_WAYS)
    radix_pack_kernel(atomic_count *counts, const struct radix_segments *segments,
                      const struct radix_model<K> *models, unsigned aim,
                      struct radix_totals *totals, struct radix_pack *packs,
                      struct radix_range<K> *ranges)
{
    thread_wait_for_dependency();
    __shared__ atomic_count key_sums[THREADS_PER_WARP];
    __shared__ unsigned pack_sums[THREADS_PER_WARP];
    __shared__ atomic_count own_counts[RADIX_WAYS];
    __shared__ atomic_count starts[RADIX_WAYS + 1];
    __shared__ unsigned buckets[RADIX_WAYS + 1];
    __shared__ unsigned first_pack;
    const unsigned bucket = threadIdx.x;
    const atomic_count segment_first = segments->first[blockIdx.x];
    if (segments->keys[blockIdx.x] == 0)
        return;
    atomic_count *const cursor = &counts[static_cast<size_t>(blockIdx.x) * RADIX_WAYS + bucket];
    const atomic_count count = *cursor;
    own_counts[bucket] = count;
    atomic_count keys = 0;
    unsigned pack_count = 0;
    const atomic_count start = block_exclusive_scan<RADIX_WAYS>(count, key_sums, &keys);
    *cursor = segment_first + start;
    const atomic_count before = bucket > 0 ? own_counts[bucket - 1] : 0;
    const bool starts_pack = thread_starts_pack(start, count, before, aim);
    const unsigned pack_before =
        block_exclusive_scan<RADIX_WAYS>(starts_pack ? 1u : 0u, pack_sums, &pack_count);
    if (starts_pack) {
        starts[pack_before] = start;
        buckets[pack_before] = bucket;
    }
    if (bucket == 0) {
        starts[pack_count] = keys;
        buckets[pack_count] = RADIX_WAYS;
        first_pack = atomicAdd(&totals->packs, pack_count);
    }
    __syncthreads();
    if (bucket >= pack_count)
        return;
    const atomic_count in_pack = starts[bucket + 1] - starts[bucket];
    const atomic_count first = segment_first + starts[bucket];
    const bool fits = in_pack <= RADIX_TILE_ROOM;
    packs[first_pack + bucket] = {
        first, fits ? static_cast<unsigned>(in_pack) : 0, blockIdx.x,
        thread_make_bins(buckets[bucket], buckets[bucket + 1], models[blockIdx.x].end)};
    if (!fits)
        thread_add_range(totals, ranges, first, in_pack);
}

#endif
