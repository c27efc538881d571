/* radix_levels.cuh - from counts to what the next kernels work on.
 *
 *   one segment, the array --count--> radix_scan_kernel: cursors; the buckets as segments
 *   buckets as segments    --count--> radix_pack_kernel: cursors; the buckets as packs and ranges
 *
 * A pack is a row of neighbouring buckets that together fit a tile, so that thin buckets do not
 * cost a tile each. A range is a bucket that fits no tile.
 */
#ifndef CUDA_RADIX_LEVELS_CUH
#define CUDA_RADIX_LEVELS_CUH

#include "cuda/radix_partition.cuh"

template <typename K>
constexpr unsigned RADIX_TILE_ROOM = RADIX_TILE_THREADS *radix_tile_keys(sizeof(K));

struct radix_pack {
    size_t first; /* index of its first key */
    unsigned count;
    unsigned bucket; /* its first one */
    unsigned buckets;
};

template <typename K>
struct radix_range {
    size_t first;
    size_t count;
    K key;            /* one of them */
    unsigned differs; /* not 0 if another key of the range does */
};

/* How many packs and ranges there are so far. */
struct radix_totals {
    unsigned packs;
    unsigned ranges;
};

/* counts of the whole array's buckets -> cursors, and the buckets as segments. One block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_WAYS)
    radix_scan_kernel(radix_count *counts, struct radix_segments *segments)
{
    __shared__ radix_count key_sums[THREADS_PER_WARP];
    __shared__ unsigned tile_sums[THREADS_PER_WARP];
    const radix_count count = counts[threadIdx.x];
    radix_count keys = 0;
    unsigned tiles = 0;
    const unsigned own_tiles = radix_tiles_of(count, RADIX_PARTITION_TILE<K>);
    const radix_count first = block_exclusive_scan<RADIX_WAYS>(count, key_sums, &keys);
    const unsigned first_tile = block_exclusive_scan<RADIX_WAYS>(own_tiles, tile_sums, &tiles);
    counts[threadIdx.x] = first;
    segments->first[threadIdx.x] = first;
    segments->tiles[threadIdx.x] = first_tile;
    if (threadIdx.x == 0) {
        segments->count = RADIX_WAYS;
        segments->first[RADIX_WAYS] = keys;
        segments->tiles[RADIX_WAYS] = tiles;
    }
}

/* True if the bucket of this thread starts a pack: it or the one before could make a pack too large
 * when shared, or a multiple of `aim` keys lies between their starts. So a pack of several buckets
 * has less than aim keys and a last bucket of at most room - aim. */
__device__ __forceinline__ bool thread_starts_pack(radix_count start, radix_count count,
                                                   radix_count count_before, unsigned aim,
                                                   unsigned room)
{
    if (threadIdx.x == 0 || count > room - aim || count_before > room - aim)
        return true;
    return start / aim != (start - count_before) / aim;
}

/* counts[segment] -> cursors, packs and ranges. A block for each segment, a thread for each
 * bucket. */
template <typename K>
__global__ void __launch_bounds__(RADIX_WAYS)
    radix_pack_kernel(radix_count *counts, const struct radix_segments *segments, unsigned aim,
                      struct radix_totals *totals, struct radix_pack *packs,
                      struct radix_range<K> *ranges)
{
    __shared__ radix_count key_sums[THREADS_PER_WARP];
    __shared__ unsigned pack_sums[THREADS_PER_WARP];
    __shared__ radix_count own_counts[RADIX_WAYS];
    __shared__ radix_count starts[RADIX_WAYS + 1];
    __shared__ unsigned buckets[RADIX_WAYS + 1];
    __shared__ unsigned first_pack;
    const unsigned bucket = threadIdx.x;
    const radix_count segment_first = segments->first[blockIdx.x];
    const size_t first_bucket = static_cast<size_t>(blockIdx.x) * RADIX_WAYS;
    const radix_count count = counts[first_bucket + bucket];
    own_counts[bucket] = count;
    radix_count keys = 0;
    unsigned pack_count = 0;
    const radix_count start = block_exclusive_scan<RADIX_WAYS>(count, key_sums, &keys);
    counts[first_bucket + bucket] = segment_first + start;
    const radix_count before = bucket > 0 ? own_counts[bucket - 1] : 0;
    const bool starts_pack = thread_starts_pack(start, count, before, aim, RADIX_TILE_ROOM<K>);
    const unsigned pack =
        block_exclusive_scan<RADIX_WAYS>(starts_pack ? 1u : 0u, pack_sums, &pack_count);
    if (starts_pack) {
        starts[pack] = start;
        buckets[pack] = bucket;
    }
    if (bucket == 0) {
        starts[pack_count] = keys;
        buckets[pack_count] = RADIX_WAYS;
        first_pack = keys > 0 ? atomicAdd(&totals->packs, pack_count) : 0;
    }
    __syncthreads();
    if (keys == 0 || bucket >= pack_count)
        return;
    const radix_count in_pack = starts[bucket + 1] - starts[bucket];
    const size_t first = segment_first + starts[bucket];
    const bool fits = in_pack <= RADIX_TILE_ROOM<K>;
    packs[first_pack + bucket] = {first, fits ? static_cast<unsigned>(in_pack) : 0,
                                  static_cast<unsigned>(first_bucket) + buckets[bucket],
                                  buckets[bucket + 1] - buckets[bucket]};
    if (!fits)
        ranges[atomicAdd(&totals->ranges, 1u)] = {first, in_pack, K{0}, 0};
}

#endif
