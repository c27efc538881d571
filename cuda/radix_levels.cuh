/* SPDX-License-Identifier: Apache-2.0 */
/* radix_levels.cuh - from counts to what the next kernels work on.
 *
 *   counts of the first --radix_scan_kernel--> cursors; its buckets as segments of the next one
 *   counts of the last --radix_pack_kernel--> cursors; its buckets as packs and ranges
 *   ranges left open --radix_reopen_kernel--> segments of one more partition
 *
 * A pack is a row of neighbouring buckets that together fit a tile, so that thin buckets do not
 * cost a tile each. A dense pack is one whose buckets have few values between their bounds. A range
 * is a bucket that fits no tile: one value, or keys to part once more.
 */
#ifndef CUDA_RADIX_LEVELS_CUH
#define CUDA_RADIX_LEVELS_CUH

#include "cuda/radix_partition.cuh"

/* What a note says in place of how many ranges are open. */
constexpr unsigned long long RADIX_NOTE_DIGITS = SIZE_MAX; /* to be sorted digit by digit */
constexpr unsigned long long RADIX_NOTE_INDICES =
    SIZE_MAX - 1; /* so too; the low half is an index */
constexpr unsigned long long RADIX_NOTE_REFUSED = SIZE_MAX - 2; /* not to be sorted so */
/* To be sorted by all digits: of those that were done too many keys share a prefix. */
constexpr unsigned long long RADIX_NOTE_AGAIN = SIZE_MAX - 3;
constexpr unsigned long long RADIX_NOTE_FEW = SIZE_MAX - 4;  /* to be counted, as values are few */
constexpr unsigned long long RADIX_NOTE_MANY = SIZE_MAX - 5; /* not to be counted */
constexpr unsigned long long RADIX_NOTE_SHARES = SIZE_MAX - 6; /* by a code of shares */
constexpr unsigned long long RADIX_NOTE_LEAST = RADIX_NOTE_SHARES;

/* How the sort goes on, as a note says. */
constexpr size_t RADIX_WAY_ON = 1;    /* as it began */
constexpr size_t RADIX_WAY_OTHER = 2; /* as the note's count says: with 0 all is in order */

/* Tells the host, once the note's count is written. */
__device__ __forceinline__ void thread_tell_way(struct sort_note *note, size_t way)
{
    __threadfence_system();
    *static_cast<volatile size_t *>(&note->way) = way;
}

/* Keys that a tile has room for. */
constexpr unsigned RADIX_TILE_ROOM = RADIX_TILE_THREADS * RADIX_TILE_KEYS;

/* Keys of a range that a block copies at a time. */
constexpr unsigned RADIX_PIECE = 16 * THREADS_PER_BLOCK;

constexpr unsigned RADIX_TILE_BINS = RADIX_TILE_THREADS * RADIX_THREAD_BINS;

/* From the positions of a pack to the bins of its tile. */
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

/* A pack whose keys are lowest to lowest + values - 1. */
template <typename K>
struct radix_dense_pack {
    struct radix_pack pack;
    K lowest;
    unsigned values;
};

template <typename K>
struct radix_range {
    size_t first;
    size_t count;
    K key;                /* one of them */
    unsigned first_piece; /* pieces of the ranges before */
    unsigned differs;     /* not 0 if another key of the range does */
};

/* A range whose keys differ. */
struct radix_open {
    size_t first;
    size_t count;
};

/* How much of all is there so far. */
struct radix_totals {
    size_t count;   /* keys of the whole array; 0: it is in order, or goes another way */
    unsigned packs; /* that are not dense, or turned out not to be sorted as such */
    unsigned dense;
    unsigned left; /* packs of items that their words do not sort */
    unsigned open;
    unsigned blocks_done; /* of the kernel that goes through the ranges */
    unsigned learners;    /* blocks that have begun, where there is a choice */
    unsigned advice;      /* what they have found for each other (radix_choice.cuh) */
    /* A note, if keys are better sorted in another way, and nothing is done; else 0. */
    unsigned long long other_way;
    /* Ranges, and 2^32 times their pieces: raised together, so that pieces ascend with ranges. */
    unsigned long long ranges;
};

__device__ __forceinline__ unsigned radix_total_ranges(const struct radix_totals *totals)
{
    return static_cast<unsigned>(totals->ranges);
}

__device__ __forceinline__ unsigned radix_total_pieces(const struct radix_totals *totals)
{
    return static_cast<unsigned>(totals->ranges >> 32);
}

/* The segments of one thread each: firsts, keys and tiles. All RADIX_SEGMENTS threads of the block
 * call it. */
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

/* counts of the whole array's buckets -> cursors, and the buckets as segments; of an empty array
 * nobody has made counts. One block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_WAYS)
    radix_scan_kernel(const struct radix_segments *whole, radix_count *counts,
                      struct radix_segments *segments)
{
    thread_wait_for_grid();
    __shared__ radix_count key_sums[THREADS_PER_WARP];
    __shared__ unsigned tile_sums[THREADS_PER_WARP];
    const radix_count count = whole->keys[0] > 0 ? counts[threadIdx.x] : 0;
    radix_count keys = 0;
    const radix_count first = block_exclusive_scan<RADIX_WAYS>(count, key_sums, &keys);
    counts[threadIdx.x] = first;
    block_set_segments<K>(segments, first, count, tile_sums);
}

/* open[0..count) as segments; the packs so far are done with. One block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_SEGMENTS)
    radix_reopen_kernel(const struct radix_open *open, unsigned count, bool is_first,
                        struct radix_segments *segments, struct radix_totals *totals)
{
    thread_wait_for_grid();
    __shared__ unsigned warp_sums[THREADS_PER_WARP];
    const struct radix_open range = threadIdx.x < count ? open[threadIdx.x] : radix_open{0, 0};
    block_set_segments<K>(segments, range.first, range.count, warp_sums);
    if (threadIdx.x == 0) {
        if (is_first)
            *totals = {};
        totals->packs = 0;
        totals->dense = 0;
        totals->left = 0;
    }
}

/* True if the bucket of this thread starts a pack: it or the one before could make a pack too large
 * when shared, or a multiple of `aim` keys lies between their starts. So a pack of several buckets
 * has less than aim keys and a last bucket of at most room - aim. */
__device__ __forceinline__ bool thread_starts_pack(radix_count start, radix_count count,
                                                   radix_count count_before, unsigned aim)
{
    if (threadIdx.x == 0 || count > RADIX_TILE_ROOM - aim || count_before > RADIX_TILE_ROOM - aim)
        return true;
    return start / aim != (start - count_before) / aim;
}

/* The most packs of so many keys in so many segments: the first of each segment, one for each
 * multiple of `aim`, and one at and one behind each bucket that could make a pack too large. */
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

/* The bins of buckets begin..end of a model whose keys have positions up to `last`: if there are
 * keys in these buckets, some position is. */
__device__ __forceinline__ struct radix_bins thread_make_bins(unsigned begin, unsigned end,
                                                              uint32_t last)
{
    const uint32_t first = begin << RADIX_FRACTION_BITS, behind = end << RADIX_FRACTION_BITS;
    const uint32_t span = first > last ? 1 : (behind <= last ? behind : last + 1) - first;
    const uint64_t scale = (static_cast<uint64_t>(RADIX_TILE_BINS) << 32) / span;
    const struct radix_bins bins = {first,
                                    scale < UINT32_MAX ? static_cast<uint32_t>(scale) : UINT32_MAX};
    return bins;
}

/* True if packs of the model may be dense, by their mean. */
template <typename K>
__device__ __forceinline__ bool thread_may_be_dense(const struct radix_model<K> &model)
{
    return sizeof(K) <= sizeof(uint64_t) &&
           model.bounds.range / RADIX_WAYS < 4 * RADIX_DENSE_VALUES;
}

/* The greatest key whose position is below `position`, one that is not 0. Where there is none, the
 * greatest key of all, which is 0 - 1. */
template <typename K>
__device__ __forceinline__ K thread_last_key_below(const struct radix_model<K> &model,
                                                   uint32_t position)
{
    if (position > model.end)
        return key_infinity<K>();
    const struct radix_lookup<K> lookup = thread_lookup(model);
    K keys[1] = {lookup.bounds.lowest};
    uint32_t found[1];
    thread_radix_positions(lookup, keys, found);
    if (found[0] >= position)
        return static_cast<K>(lookup.bounds.lowest - 1);
    K last = 0; /* less lowest */
    for (K bit = static_cast<K>(K{1} << (8 * sizeof(K) - 1) >> lookup.norm); bit > 0; bit >>= 1) {
        const K next = last | bit;
        keys[0] = static_cast<K>(lookup.bounds.lowest + next);
        if (next > lookup.bounds.range)
            continue;
        thread_radix_positions(lookup, keys, found);
        if (found[0] < position)
            last = next;
    }
    return static_cast<K>(lookup.bounds.lowest + last);
}

/* Adds the pack of each thread below pack_count to the dense ones or the others; the keys of thread
 * i's are greater than last_keys[i - 1] and at most last_keys[i]. Begins after a barrier. */
template <typename K>
__device__ __forceinline__ void
block_add_packs(const struct radix_pack &pack, unsigned pack_count, const K *last_keys,
                struct radix_totals *totals, struct radix_pack *packs,
                struct radix_dense_pack<K> *dense_packs, unsigned *pack_sums)
{
    __shared__ unsigned first_pack, first_dense;
    const K lowest = threadIdx.x > 0 ? static_cast<K>(last_keys[threadIdx.x - 1] + 1) : K{0};
    const K span = static_cast<K>(last_keys[threadIdx.x] - lowest);
    const bool is_pack = threadIdx.x < pack_count;
    const bool is_dense = dense_packs && is_pack && pack.count > 0 && span < RADIX_DENSE_VALUES;
    unsigned dense_count = 0;
    const unsigned dense =
        block_exclusive_scan<RADIX_WAYS>(is_dense ? 1u : 0u, pack_sums, &dense_count);
    if (threadIdx.x == 0) {
        first_pack = atomicAdd(&totals->packs, pack_count - dense_count);
        first_dense = atomicAdd(&totals->dense, dense_count);
    }
    __syncthreads();
    if (is_dense)
        dense_packs[first_dense + dense] = {pack, lowest, static_cast<unsigned>(span) + 1};
    else if (is_pack)
        packs[first_pack + threadIdx.x - dense] = pack;
}

/* counts[segment] -> cursors, packs and ranges. A block for each segment, a thread for each
 * bucket. dense_packs: NULL if none are wanted. */
template <typename K>
__global__ void __launch_bounds__(RADIX_WAYS)
    radix_pack_kernel(radix_count *counts, const struct radix_segments *segments,
                      const struct radix_model<K> *models, unsigned aim,
                      struct radix_totals *totals, struct radix_pack *packs,
                      struct radix_dense_pack<K> *dense_packs, struct radix_range<K> *ranges)
{
    thread_wait_for_grid();
    __shared__ radix_count key_sums[THREADS_PER_WARP];
    __shared__ unsigned pack_sums[THREADS_PER_WARP];
    __shared__ radix_count own_counts[RADIX_WAYS];
    __shared__ radix_count starts[RADIX_WAYS + 1];
    __shared__ unsigned buckets[RADIX_WAYS + 1];
    __shared__ K last_keys[RADIX_WAYS];
    const unsigned bucket = threadIdx.x;
    const radix_count segment_first = segments->first[blockIdx.x];
    const struct radix_model<K> &model = models[blockIdx.x];
    if (segments->keys[blockIdx.x] == 0)
        return;
    radix_count *const cursor = &counts[static_cast<size_t>(blockIdx.x) * RADIX_WAYS + bucket];
    const radix_count count = *cursor;
    own_counts[bucket] = count;
    radix_count keys = 0;
    unsigned pack_count = 0;
    const radix_count start = block_exclusive_scan<RADIX_WAYS>(count, key_sums, &keys);
    *cursor = segment_first + start;
    const radix_count before = bucket > 0 ? own_counts[bucket - 1] : 0;
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
    }
    __syncthreads();
    struct radix_pack pack = {};
    const bool may_be_dense = dense_packs && thread_may_be_dense(model);
    last_keys[bucket] = key_infinity<K>();
    if (bucket < pack_count) {
        const radix_count in_pack = starts[bucket + 1] - starts[bucket];
        const bool fits = in_pack <= RADIX_TILE_ROOM;
        const unsigned end = buckets[bucket + 1];
        pack = {segment_first + starts[bucket], fits ? static_cast<unsigned>(in_pack) : 0,
                blockIdx.x, thread_make_bins(buckets[bucket], end, model.end)};
        if (!fits)
            thread_add_range(totals, ranges, pack.first, in_pack);
        if constexpr (!RADIX_HAS_VALUES<K>)
            if (may_be_dense && end < RADIX_WAYS)
                last_keys[bucket] = thread_last_key_below(model, end << RADIX_FRACTION_BITS);
    }
    __syncthreads();
    block_add_packs(pack, pack_count, last_keys, totals, packs, may_be_dense ? dense_packs : NULL,
                    pack_sums);
}

#endif
