/* SPDX-License-Identifier: Apache-2.0 */
/* radix_refine.cuh - bins anew for a tile of items whose keys repeat.
 *
 * Items (key above index) with equal keys share a bin of the model's and stand in no order there,
 * while their indices tell them apart. So each bin of some items is cut once more, into as many
 * bins as it has items, at even distances between its least item and its greatest: by the index
 * where keys are equal, by the key where they differ.
 *
 *   tile in order of bins --least and greatest item of each bin--> items read again
 *     --start of the bin + part of the way from its least to its greatest--> bins and ranks anew
 *
 * Like the model's, this map is monotone whatever the items; where they crowd again, it is done
 * again.
 */
#ifndef CUDA_RADIX_REFINE_CUH
#define CUDA_RADIX_REFINE_CUH

#include "cuda/radix_levels.cuh"
#include "cuda/radix_range.cuh"

static_assert(RADIX_TILE_ROOM < 1u << 16, "a start and a count share a word");

/* The items of a bin in the tile: begin..end. */
struct radix_bin_span {
    unsigned begin;
    unsigned end;
};

__device__ __forceinline__ unsigned radix_span_count(const struct radix_bin_span &span)
{
    return span.end - span.begin;
}

/* The bin of a tile of `count` items, where starts[] has the start of each above `shift` bits. */
__device__ __forceinline__ struct radix_bin_span
thread_bin_span(const unsigned *starts, unsigned shift, unsigned bin, unsigned count)
{
    const struct radix_bin_span span = {
        starts[bin] >> shift, bin + 1 < RADIX_TILE_BINS ? starts[bin + 1] >> shift : count};
    return span;
}

/* Puts the least item of the bin to its begin and the greatest to its end, in place of what was
 * there, by LANES threads of a warp. */
template <unsigned LANES, typename K>
__device__ __forceinline__ void warp_mark_span(K *tile, const struct radix_bin_span &span)
{
    K least = key_infinity<K>(), greatest = 0;
    for (unsigned i = span.begin + thread_lane() % LANES; i < span.end; i += LANES) {
        const K item = tile[tile_slot<K>(i)];
        least = item < least ? item : least;
        greatest = item > greatest ? item : greatest;
    }
    least = warp_least<LANES>(least);
    greatest = static_cast<K>(~warp_least<LANES>(static_cast<K>(~greatest)));
    __syncwarp(); /* all have read */
    if (thread_lane() % LANES == 0 && span.begin < span.end) {
        tile[tile_slot<K>(span.begin)] = least;
        tile[tile_slot<K>(span.end - 1)] = greatest;
    }
}

/* Marks those spans of the warp's lanes that `chosen` says, each by LANES of them. */
template <unsigned LANES, typename K>
__device__ __forceinline__ void warp_mark_spans(K *tile, const struct radix_bin_span &own,
                                                bool is_chosen)
{
    unsigned chosen = __ballot_sync(ALL_LANES, is_chosen);
    while (chosen != 0) {
        unsigned lane = THREADS_PER_WARP; /* whose span these threads take */
        for (unsigned i = 0; i < THREADS_PER_WARP / LANES; i++, chosen &= chosen - 1)
            if (i == thread_lane() / LANES && chosen != 0)
                lane = static_cast<unsigned>(__ffs(static_cast<int>(chosen))) - 1;
        struct radix_bin_span span = {
            __shfl_sync(ALL_LANES, own.begin, static_cast<int>(lane % THREADS_PER_WARP)),
            __shfl_sync(ALL_LANES, own.end, static_cast<int>(lane % THREADS_PER_WARP))};
        if (lane == THREADS_PER_WARP)
            span.end = span.begin;
        warp_mark_span<LANES>(tile, span);
    }
}

/* Marks all bins to be cut, the warps in turns: four bins at a time while each has no more than 16
 * items a lane. Ends with a barrier. */
template <typename K>
__device__ __attribute__((noinline)) void block_mark_spans(const unsigned *bins, unsigned count,
                                                           K *tile)
{
    constexpr unsigned few_lanes = 8;
    for (unsigned first = threadIdx.x - thread_lane(); first < RADIX_TILE_BINS;
         first += RADIX_TILE_THREADS) {
        const struct radix_bin_span own = thread_bin_span(bins, 0, first + thread_lane(), count);
        const unsigned own_count = radix_span_count(own);
        const bool has_few = own_count <= 16 * few_lanes;
        warp_mark_spans<few_lanes>(tile, own, own_count >= RADIX_REFINE_LEAST && has_few);
        warp_mark_spans<THREADS_PER_WARP>(tile, own, !has_few);
    }
    __syncthreads();
}

/* How far x is on the way from `least` to `greatest`, or to the nearer of them, in parts of 1 /
 * parts. Each step rounds monotonically. */
__device__ __forceinline__ unsigned thread_part_of_way(uint64_t least, uint64_t greatest,
                                                       uint64_t x, unsigned parts)
{
    const uint64_t range = greatest > least ? greatest - least : 1;
    const uint64_t from_least = x > least ? x - least : 0;
    const int norm = __clzll(static_cast<long long>(range));
    const uint32_t all = static_cast<uint32_t>(range << norm >> 32);
    const uint32_t way =
        static_cast<uint32_t>((from_least < range ? from_least : range) << norm >> 32);
    const float parts_per_step = static_cast<float>(parts) / static_cast<float>(all);
    const unsigned part = static_cast<unsigned>(static_cast<float>(way) * parts_per_step);
    return part < parts ? part : parts - 1;
}

/* The part of the bin, of so many, that the item goes to: by the index if there is one key alone;
 * else those with the least and with the greatest key get 7 of 16 parts each, by the index too, and
 * what is between gets the rest. As two keys share a bin far more often than three, the parts are
 * even as a rule. */
template <typename K>
__device__ __forceinline__ unsigned thread_part_of_bin(K least, K greatest, K item, unsigned parts)
{
    const uint64_t key = static_cast<uint64_t>(item >> 64);
    const uint64_t least_key = static_cast<uint64_t>(least >> 64);
    const uint64_t greatest_key = static_cast<uint64_t>(greatest >> 64);
    const unsigned end_parts = parts * 7 / 16;
    if (least_key == greatest_key)
        return thread_part_of_way(static_cast<uint64_t>(least), static_cast<uint64_t>(greatest),
                                  static_cast<uint64_t>(item), parts);
    if (key > least_key && key < greatest_key)
        return end_parts + thread_part_of_way(least_key, greatest_key, key, parts - 2 * end_parts);
    return (key == least_key ? 0 : parts - end_parts) +
           thread_part_of_way(static_cast<uint64_t>(least), static_cast<uint64_t>(greatest),
                              static_cast<uint64_t>(item), end_parts);
}

/* Replaces each word of the thread's bins by what `change` makes of it. */
template <typename Change>
__device__ __forceinline__ void thread_change_bins(unsigned *bins, const Change &change)
{
    uint4 *const fours = reinterpret_cast<uint4 *>(bins) + threadIdx.x * (RADIX_THREAD_BINS / 4);
#pragma unroll
    for (unsigned i = 0; i < RADIX_THREAD_BINS / 4; i++) {
        const uint4 four = fours[i];
        fours[i] = {change(four.x), change(four.y), change(four.z), change(four.w)};
    }
}

/* From first indices and a tile in order of bins to counts of finer bins, and places[] in them;
 * true if the thread has met a full bin again. Begins after a barrier; what follows is one. */
template <typename K>
__device__ __forceinline__ bool block_refine_bins(const K *source, unsigned count, unsigned *bins,
                                                  K *tile, unsigned (&places)[RADIX_TILE_KEYS])
{
    block_mark_spans(bins, count, tile);
    /* The first index of a bin stays, above the count of the finer bin of that number. */
    thread_change_bins(bins, [](unsigned start) { return start << RADIX_RANK_SHIFT; });
    __syncthreads();
    const unsigned scale =
        (RADIX_TILE_BINS << 16) / (count > RADIX_TILE_BINS ? count : RADIX_TILE_BINS);
    bool is_crowded = false, is_full = false;
#pragma unroll
    for (unsigned i = 0; i < RADIX_TILE_KEYS; i++) {
        const unsigned index = i * RADIX_TILE_THREADS + threadIdx.x;
        if (i * RADIX_TILE_THREADS >= count)
            break;
        const bool counted = index < count;
        const K item = source[counted ? index : 0];
        const struct radix_bin_span span =
            thread_bin_span(bins, RADIX_RANK_SHIFT, places[i] & RADIX_PLACE_MASK, count);
        unsigned place = span.begin;
        if (counted && radix_span_count(span) >= RADIX_REFINE_LEAST)
            place +=
                thread_part_of_bin(tile[tile_slot<K>(span.begin)], tile[tile_slot<K>(span.end - 1)],
                                   item, span.end - span.begin);
        const unsigned bin = place * scale >> 16;
        is_crowded = i == 0 ? warp_is_crowded(bin) : is_crowded;
        const unsigned rank = warp_count(bins, bin, counted, is_crowded) & RADIX_PLACE_MASK;
        places[i] = rank << RADIX_RANK_SHIFT | bin;
        is_full |= counted && rank >= radix_bin_limit(sizeof(K));
    }
    __syncthreads();
    thread_change_bins(bins, [](unsigned word) { return word & RADIX_PLACE_MASK; });
    return is_full;
}

#endif
