/* SPDX-License-Identifier: Apache-2.0 */
/* radix_look.cuh - the first read of an array: the facts by which the host chooses a strategy.
 *
 *   items --radix_look_kernel--> struct radix_facts (radix_strategy.h)
 *
 * Most blocks compare neighbours. A block first compares a few items spread over the whole
 * array, which arrays with long runs (two sorted files, an organ pipe) do not pass, then the
 * neighbours in its block range, piece by piece, and leaves with the first piece that shows
 * disorder. So random keys cost a short kernel, and sorted ones one read.
 *
 * The first block sorts a sample of the keys. Where the density of keys changes slowly, the gaps
 * between neighbours of a sorted sample are exponentially distributed, and |log2| of the ratio of
 * two gaps beside each other has a mean of 2, whatever the density is. Keys that crowd at all
 * scales, which no model follows, have a mean of 3.5 and more.
 *
 * Of items of 16 bytes the last blocks draw a larger sample, and count the keys that they have
 * already drawn: how many items share a key cannot be seen in a small sample of a large array.
 */
#ifndef CUDA_RADIX_LOOK_CUH
#define CUDA_RADIX_LOOK_CUH

#include "cuda/block/block_tile.cuh"
#include "cuda/block/thread_bits.cuh"
#include "cuda/cuda_sort.h"
#include "cuda/merge/block_pairs.cuh"
#include "cuda/radix/radix_partition.cuh"

#include <math.h>

constexpr unsigned RADIX_LOOK_SAMPLE = RADIX_LOOK_THREADS * KEYS_PER_THREAD;

/* Findings about pairs of items, as bits. */
enum { RADIX_RISES = 1, RADIX_FALLS = 2, RADIX_DISORDER = 3, RADIX_NO_INDEX = 4 };

/* Pairs that a thread compares between two barriers: 64 bytes of loads in flight. */
template <typename K>
constexpr unsigned RADIX_LOOK_PAIRS = 64 / sizeof(K);
template <typename K>
constexpr unsigned RADIX_LOOK_PIECE = RADIX_LOOK_THREADS *RADIX_LOOK_PAIRS<K>;

template <typename K>
__host__ __device__ __forceinline__ unsigned radix_look_pieces(size_t count)
{
    return static_cast<unsigned>((count + RADIX_LOOK_PIECE<K> - 1) / RADIX_LOOK_PIECE<K>);
}

/* Encodes both arrays of stored bits, and compares before[i] with next[i]. Returns RADIX_RISES if a
 * next[i] is greater, RADIX_FALLS if one is less, or both. */
template <typename K, unsigned N>
__device__ __forceinline__ unsigned thread_compare_pairs(const struct key_order &encoding,
                                                         K (&before)[N], K (&next)[N])
{
    thread_encode_keys(encoding, before);
    thread_encode_keys(encoding, next);
    unsigned found = 0;
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        found |= (before[i] < next[i] ? RADIX_RISES : 0) | (next[i] < before[i] ? RADIX_FALLS : 0);
    return found;
}

/* Returns 0 if the low halves of two items, `distance` apart, can be indices, else RADIX_NO_INDEX.
 * In 16 bytes indices rise by the distance; in 8 bytes, in the identity order, they rise. Items of
 * 4 bytes have none. */
template <typename K>
__device__ __forceinline__ unsigned thread_compare_indices(const struct key_order &encoding,
                                                           K before, K after, size_t distance)
{
    bool is_index = false;
    if constexpr (sizeof(K) == sizeof(uint64_t))
        is_index = key_order_is_identity(encoding) &&
                   static_cast<uint32_t>(before) < static_cast<uint32_t>(after);
    else if constexpr (sizeof(K) > sizeof(uint64_t))
        is_index = static_cast<uint64_t>(after) - static_cast<uint64_t>(before) == distance;
    return is_index ? 0 : RADIX_NO_INDEX;
}

/* Compares items at equal distances, from the first one to the last, each with the next one. */
template <typename K>
__device__ __forceinline__ unsigned thread_compare_spread(const K *items, size_t count,
                                                          const struct key_order &encoding)
{
    if (threadIdx.x >= RADIX_LOOK_SPREAD)
        return 0;
    const size_t last = count - 1;
    const size_t stride = last / RADIX_LOOK_SPREAD;
    const size_t index = threadIdx.x * stride;
    const size_t next = threadIdx.x + 1 < RADIX_LOOK_SPREAD ? index + stride : last;
    K before[1] = {items[index]}, after[1] = {items[next]};
    const unsigned indices = thread_compare_indices(encoding, before[0], after[0], next - index);
    return thread_compare_pairs(encoding, before, after) | indices;
}

/* Compares the items of a piece, each with the next one. */
template <typename K>
__device__ __forceinline__ unsigned
thread_compare_piece(const K *items, size_t count, unsigned piece, const struct key_order &encoding)
{
    const size_t first = static_cast<size_t>(piece) * RADIX_LOOK_PIECE<K> + threadIdx.x;
    K before[RADIX_LOOK_PAIRS<K>], after[RADIX_LOOK_PAIRS<K>];
#pragma unroll
    for (unsigned i = 0; i < RADIX_LOOK_PAIRS<K>; i++) {
        const size_t index = first + i * RADIX_LOOK_THREADS;
        const bool is_pair = index + 1 < count;
        before[i] = is_pair ? items[index] : K{0};
        after[i] = is_pair ? items[index + 1] : K{0};
    }
    return thread_compare_pairs(encoding, before, after);
}

/* Unites the findings of the block. A barrier. */
__device__ __forceinline__ unsigned block_unite_found(unsigned found)
{
    const bool rises = __syncthreads_or((found & RADIX_RISES) != 0);
    const bool falls = __syncthreads_or((found & RADIX_FALLS) != 0);
    const bool no_index = __syncthreads_or((found & RADIX_NO_INDEX) != 0);
    return (rises ? RADIX_RISES : 0) | (falls ? RADIX_FALLS : 0) | (no_index ? RADIX_NO_INDEX : 0);
}

/* ---- the sample ---- */

/* Shared memory of the block that sorts the sample. */
struct radix_look_shared {
    uint64_t keys[RADIX_LOOK_SAMPLE];
    unsigned splits[RADIX_LOOK_THREADS];
};

/* Returns key `number` of a sample of `sample` keys, one from each stride of the array. */
template <typename K>
__device__ __forceinline__ uint64_t thread_look_key(const K *items, size_t count,
                                                    const struct key_order &encoding,
                                                    unsigned sample, unsigned number)
{
    const size_t stride = count / sample;
    K keys[1] = {items[number * stride + thread_hash_below(~number, stride)]};
    thread_encode_keys(encoding, keys);
    return thread_upper_key(keys[0]);
}

__device__ __forceinline__ unsigned thread_roughness(uint64_t low_gap, uint64_t high_gap)
{
    const float low = static_cast<float>(low_gap), high = static_cast<float>(high_gap);
    return static_cast<unsigned>(16 * fabsf(log2f(high) - log2f(low)));
}

/* Draws key `number` of a sample of `sample` keys, if there is one, and adds to facts->repeats how
 * often the block has drawn a key that was drawn before. `keys_drawn` is a hash table of twice as
 * many slots, a power of two, all 0. A key that finds no slot in RADIX_LOOK_PROBES is no repeat, so
 * that keys that were chosen to collide take a limited time. */
template <typename K>
__device__ __forceinline__ void
block_draw_repeats(const K *items, size_t count, const struct key_order &encoding, unsigned sample,
                   unsigned number, unsigned long long *keys_drawn, struct radix_facts *facts)
{
    bool is_repeat = false;
    if (number < sample) {
        /* 0 marks an empty slot, so the key 0 counts as 1. */
        const unsigned long long drawn = thread_look_key(items, count, encoding, sample, number);
        const unsigned long long key = drawn != 0 ? drawn : 1;
        unsigned long long found = 0;
        const uint64_t first = thread_hash(key);
        for (unsigned i = 0; i < RADIX_LOOK_PROBES; i++) {
            found = atomicCAS(keys_drawn + ((first + i) & (2 * sample - 1)), 0ull, key);
            if (found == 0 || found == key)
                break;
        }
        is_repeat = found == key;
    }
    const int repeats = __syncthreads_count(is_repeat);
    if (threadIdx.x == 0)
        atomicAdd(&facts->repeats, static_cast<unsigned>(repeats));
}

/* Finds what a sample shows of an array of RADIX_LOOK_SAMPLE items or more. Items of 8 bytes that
 * are a key above an index need no sample: their upper digits are sorted, or all digits if the
 * indices prove out of order. */
template <typename K>
__device__ __forceinline__ void
block_look_at_sample(const K *items, size_t count, const struct key_order &encoding,
                     struct radix_look_shared &shared, struct radix_facts *facts)
{
    if (sizeof(K) == sizeof(uint64_t) &&
        !(block_unite_found(thread_compare_spread(items, count, encoding)) & RADIX_NO_INDEX))
        return;
    constexpr unsigned rows = RADIX_LOOK_SAMPLE / ROW<uint64_t>;
    const bool has_row = threadIdx.x < rows;
    uint64_t keys[ROW<uint64_t>];
    if (has_row) {
#pragma unroll
        for (unsigned i = 0; i < ROW<uint64_t>; i++)
            keys[i] =
                thread_look_key(items, count, encoding, RADIX_LOOK_SAMPLE, i * rows + threadIdx.x);
        thread_sort_row(keys, shared.keys);
    }
    __syncwarp();
    block_merge_runs(shared.keys, shared.splits, ROW<uint64_t>, RADIX_LOOK_SAMPLE, has_row, keys);
    const auto key_at = [&](unsigned place) {
        return shared.keys[min(place, RADIX_LOOK_SAMPLE - 1)];
    };
    struct radix_facts own = {};
    unsigned long long bits = 0;
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
        const unsigned place = thread_striped_index<RADIX_LOOK_SAMPLE>(i);
        const auto is_key = [&](unsigned other) {
            return place + other < RADIX_LOOK_SAMPLE && key_at(place + other) == key_at(place);
        };
        bits |= key_at(place) ^ key_at(0);
        const uint64_t low_gap = key_at(place + 1) - key_at(place);
        const uint64_t high_gap = key_at(place + 2) - key_at(place + 1);
        if (low_gap != 0 && high_gap != 0) {
            own.gaps++;
            own.roughness += thread_roughness(low_gap, high_gap);
        }
        if (place > 0 && key_at(place - 1) == key_at(place))
            continue;
        own.values++;
        own.once += is_key(1) ? 0 : 1;
        own.twice += is_key(1) && !is_key(2) ? 1 : 0;
        own.heavy += is_key(15) ? 1 : 0;
    }
    atomicAdd(&facts->values, own.values);
    atomicAdd(&facts->once, own.once);
    atomicAdd(&facts->twice, own.twice);
    atomicAdd(&facts->heavy, own.heavy);
    atomicAdd(&facts->gaps, own.gaps);
    atomicAdd(&facts->roughness, own.roughness);
    atomicOr(&facts->bits, bits);
    if (threadIdx.x == 0)
        facts->sampled = RADIX_LOOK_SAMPLE;
}

/* Adds what it finds to *facts, which the host has cleared. With has_sample, the first block sorts
 * a sample. The next `blocks` blocks compare items. The others draw `drawn` keys into the hash
 * table of block_draw_repeats. */
template <typename K>
__global__ void __launch_bounds__(RADIX_LOOK_THREADS,
                                  blocks_with_room(RADIX_LOOK_THREADS, RADIX_LOOK_BLOCKS))
    radix_look_kernel(const K *items, size_t count, struct key_order encoding, unsigned blocks,
                      bool has_sample, unsigned drawn, unsigned long long *keys_drawn,
                      struct radix_facts *facts)
{
    thread_wait_for_dependency();
    __shared__ struct radix_look_shared shared;
    if (has_sample && blockIdx.x == 0) {
        block_look_at_sample(items, count, encoding, shared, facts);
        return;
    }
    const unsigned block = blockIdx.x - (has_sample ? 1 : 0);
    if (block >= blocks) {
        block_draw_repeats(items, count, encoding, drawn,
                           (block - blocks) * RADIX_LOOK_THREADS + threadIdx.x, keys_drawn, facts);
        return;
    }
    const uint64_t pieces = radix_look_pieces<K>(count);
    const unsigned end = static_cast<unsigned>(pieces * (block + 1) / blocks);
    unsigned piece = static_cast<unsigned>(pieces * block / blocks);
    unsigned found = block_unite_found(thread_compare_spread(items, count, encoding));
    while (piece < end && !__syncthreads_or((found & RADIX_DISORDER) == RADIX_DISORDER))
        found |= thread_compare_piece(items, count, piece++, encoding);
    found = block_unite_found(found);
    if (threadIdx.x > 0)
        return;
    if (found & RADIX_RISES)
        facts->rises = 1;
    if (found & RADIX_FALLS)
        facts->falls = 1;
    if (found & RADIX_NO_INDEX)
        facts->no_index = 1;
}

/* ---- reversed arrays ---- */

/* Swaps the items with their mirror images. Any number of blocks. */
template <typename K>
__global__ void __launch_bounds__(RADIX_LOOK_THREADS,
                                  blocks_with_room(RADIX_LOOK_THREADS, RADIX_LOOK_BLOCKS))
    radix_reverse_kernel(K *items, size_t count)
{
    thread_wait_for_dependency();
    const size_t half = count / 2;
    const size_t stride = static_cast<size_t>(gridDim.x) * RADIX_LOOK_PIECE<K>;
    size_t first = static_cast<size_t>(blockIdx.x) * RADIX_LOOK_PIECE<K> + threadIdx.x;
    for (; first < half; first += stride) {
        K low[RADIX_LOOK_PAIRS<K>], high[RADIX_LOOK_PAIRS<K>];
#pragma unroll
        for (unsigned i = 0; i < RADIX_LOOK_PAIRS<K>; i++) {
            const size_t index = first + i * RADIX_LOOK_THREADS;
            if (index < half) {
                low[i] = items[index];
                high[i] = items[count - 1 - index];
            }
        }
#pragma unroll
        for (unsigned i = 0; i < RADIX_LOOK_PAIRS<K>; i++) {
            const size_t index = first + i * RADIX_LOOK_THREADS;
            if (index < half) {
                items[index] = high[i];
                items[count - 1 - index] = low[i];
            }
        }
    }
}

#endif
