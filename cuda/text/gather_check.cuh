/* SPDX-License-Identifier: Apache-2.0 */
/* gather_check.cuh - checksums of a tile of the output, for the proof of output
 * (core/check/check.h): of its bytes by their positions in the text, and by their positions in the
 * output. The first, summed over all tiles, equals that of the input text if each line is in the
 * output exactly once.
 *
 *   stage -> a word of 8 bytes of the text, or of the output, per thread -> block -> two sums
 */
#ifndef CUDA_GATHER_CHECK_CUH
#define CUDA_GATHER_CHECK_CUH

#include "core/check/check_kernels.h"
#include "cuda/text/lines_measure.cuh"

#include <stdint.h>

/* A thread's part of both sums. */
struct gather_sums {
    uint64_t source, output;
};

/* Returns the 8 bytes at `at` in the stage. */
__device__ __forceinline__ uint64_t thread_load_stage(const unsigned *parts, unsigned at)
{
    const unsigned shift = 8 * (at % 4);
    const unsigned *const part = parts + at / 4;
    const unsigned a = part[0], b = part[1];
    const unsigned c = shift ? part[2] : 0;
    const unsigned low = __funnelshift_r(a, b, shift), high = __funnelshift_r(b, c, shift);
    return static_cast<uint64_t>(high) << 32 | low;
}

/* Returns the contribution of word `word` of a text to its sum, as far as the word is within bytes
 * [from, from + bytes). These bytes are in the stage from `place` on, which is at least 8. */
__device__ __forceinline__ uint64_t thread_sum_word(const unsigned *parts, uint64_t from,
                                                    unsigned place, unsigned bytes, uint64_t word)
{
    const int64_t begin = static_cast<int64_t>(8 * word - from); /* may be before the first byte */
    const unsigned skipped = begin < 0 ? static_cast<unsigned>(-begin) : 0;
    const int64_t left = static_cast<int64_t>(bytes) - begin;
    uint64_t mask = ~0ull << 8 * skipped;
    if (left < 8)
        mask &= ~0ull >> 8 * (8 - left);
    const unsigned at = static_cast<unsigned>(static_cast<int64_t>(place) + begin);
    return (thread_load_stage(parts, at) & mask) * check_text_factor(word);
}

/* Returns the sum of every step-th word of the bytes, starting with number `first`. */
__device__ __forceinline__ uint64_t thread_sum_words(const unsigned *parts, uint64_t from,
                                                     unsigned place, unsigned bytes, unsigned first,
                                                     unsigned step)
{
    uint64_t sum = 0;
    for (uint64_t word = from / 8 + first; 8 * word < from + bytes; word += step)
        sum += thread_sum_word(parts, from, place, bytes, word);
    return sum;
}

/* Adds the sums of all threads of the block to totals[0] and totals[1]. `warp_sums` is in shared
 * memory, one per warp. All threads call it once. */
template <unsigned THREADS>
__device__ __forceinline__ void block_add_sums(struct gather_sums sums,
                                               struct gather_sums *warp_sums, uint64_t *totals)
{
    for (unsigned distance = THREADS_PER_WARP / 2; distance > 0; distance /= 2) {
        sums.source += __shfl_down_sync(ALL_LANES, sums.source, distance);
        sums.output += __shfl_down_sync(ALL_LANES, sums.output, distance);
    }
    if (thread_lane() == 0)
        warp_sums[threadIdx.x / THREADS_PER_WARP] = sums;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (unsigned warp = 1; warp < THREADS / THREADS_PER_WARP; warp++) {
        sums.source += warp_sums[warp].source;
        sums.output += warp_sums[warp].output;
    }
    atomicAdd(reinterpret_cast<unsigned long long *>(totals), sums.source);
    atomicAdd(reinterpret_cast<unsigned long long *>(totals + 1), sums.output);
}

/* Lowers totals[2] to the number, counted from 1, of the first line whose key is less than the key
 * of the line before. One thread per line. */
static __global__ void __launch_bounds__(THREADS_PER_BLOCK)
    gather_order_kernel(const struct key_index *items, uint64_t count, uint64_t *totals)
{
    const uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS_PER_BLOCK + threadIdx.x;
    if (i > 0 && i < count && items[i].key < items[i - 1].key)
        atomicMin(reinterpret_cast<unsigned long long *>(totals + 2),
                  static_cast<unsigned long long>(i + 1));
}

#endif
