/* SPDX-License-Identifier: Apache-2.0 */
/* block_scan.cuh - prefix sums over the threads of a block, by shuffles within each warp and then
 * over the sums of the warps; and counters that the lanes of a warp increment together.
 */
#ifndef CUDA_BLOCK_SCAN_CUH
#define CUDA_BLOCK_SCAN_CUH

#include "cuda/tuning.h"

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

constexpr unsigned ALL_LANES = 0xffffffffu;

typedef unsigned long long atomic_count; /* the 64-bit type that atomicAdd accepts */

__device__ __forceinline__ unsigned thread_lane()
{
    return threadIdx.x % THREADS_PER_WARP;
}

/* Returns the sum of `value` over this lane and the lower lanes. All lanes of the warp call it. */
template <typename T>
__device__ __forceinline__ T warp_inclusive_scan(T value)
{
#pragma unroll
    for (unsigned distance = 1; distance < THREADS_PER_WARP; distance *= 2) {
        const T before = __shfl_up_sync(ALL_LANES, value, distance);
        if (thread_lane() >= distance)
            value += before;
    }
    return value;
}

/* Returns the least `key` of all lanes. All lanes of the warp call it. */
template <typename K>
__device__ __forceinline__ K warp_least(K key)
{
#pragma unroll
    for (int distance = static_cast<int>(THREADS_PER_WARP) / 2; distance > 0; distance /= 2) {
        K other = key;
        if constexpr (sizeof(K) < sizeof(unsigned)) {
            other =
                static_cast<K>(__shfl_xor_sync(ALL_LANES, static_cast<unsigned>(key), distance));
        } else if constexpr (sizeof(K) <= sizeof(uint64_t)) {
            other = __shfl_xor_sync(ALL_LANES, key, distance);
        } else {
            const uint64_t high =
                __shfl_xor_sync(ALL_LANES, static_cast<uint64_t>(key >> 64), distance);
            const uint64_t low = __shfl_xor_sync(ALL_LANES, static_cast<uint64_t>(key), distance);
            other = static_cast<K>(high) << 64 | low;
        }
        key = other < key ? other : key;
    }
    return key;
}

/* Returns the sum of `value` over the lower threads; *total becomes the sum over all threads. All
 * THREADS threads call it, a multiple of a warp and at most 1024; it has a barrier. `warp_sums` is
 * in shared memory, has room for 32 sums, and may be reused after the next barrier. */
template <unsigned THREADS, typename T>
__device__ __forceinline__ T block_exclusive_scan(T value, T *warp_sums, T *total)
{
    constexpr unsigned warps = THREADS / THREADS_PER_WARP;
    const unsigned warp = threadIdx.x / THREADS_PER_WARP;
    const T inclusive = warp_inclusive_scan(value);
    if (thread_lane() == THREADS_PER_WARP - 1)
        warp_sums[warp] = inclusive;
    __syncthreads();
    const T sum = thread_lane() < warps ? warp_sums[thread_lane()] : T{0};
    const T sums = warp_inclusive_scan(sum);
    *total = __shfl_sync(ALL_LANES, sums, static_cast<int>(warps - 1));
    return inclusive - value + __shfl_sync(ALL_LANES, sums - sum, static_cast<int>(warp));
}

/* Replaces each of values[0..count) by the sum of the values before it; *total becomes the sum of
 * all. One block, because the values are few: one for each tile or group. */
constexpr unsigned BLOCK_SCAN_THREADS = 1024;
constexpr unsigned BLOCK_SCAN_VALUES = 8; /* per thread and step */
template <typename T>
static __global__ void __launch_bounds__(BLOCK_SCAN_THREADS)
    scan_kernel(T *values, size_t count, T *total)
{
    __shared__ T warp_sums[THREADS_PER_WARP];
    T before = 0;
    for (size_t first = 0; first < count; first += BLOCK_SCAN_THREADS * BLOCK_SCAN_VALUES) {
        const size_t begin = first + threadIdx.x * BLOCK_SCAN_VALUES;
        T own[BLOCK_SCAN_VALUES], sum = 0, all = 0;
#pragma unroll
        for (unsigned i = 0; i < BLOCK_SCAN_VALUES; i++) {
            own[i] = begin + i < count ? values[begin + i] : T{0};
            sum += own[i];
        }
        T running = before + block_exclusive_scan<BLOCK_SCAN_THREADS>(sum, warp_sums, &all);
#pragma unroll
        for (unsigned i = 0; i < BLOCK_SCAN_VALUES; i++) {
            if (begin + i < count)
                values[begin + i] = running;
            running += own[i];
        }
        before += all;
        __syncthreads(); /* warp_sums is reused */
    }
    if (threadIdx.x == 0)
        *total = before;
}

/* ---- counters in shared memory ----
 *
 * Atomics are fast while the lanes increment different counters. If many lanes increment the same
 * one (sorted input, few values), they are serialized. Then one lane adds for all lanes with the
 * same counter. */

/* Minimum number of lanes with the same counter for a warp to count as contended. Below it, atomics
 * cost less than finding the lanes. On an H200, 1e8 doubles of a Zipf distribution took 5.95 ms to
 * sort with 4, 5.51 with 8 and 5.41 with 14. */
constexpr int CONTENDED_LANES = 14;

/* Returns true, for the whole warp, if many lanes have the same digit as one of four probed lanes.
 * That finds nine of ten contended warps. __match_any_sync would find all of them, but takes a step
 * for each distinct digit: a block that learns a model from 2^12 keys spent a third of its time
 * there, 10 of 27 us (H200, 2026-11-23). */
constexpr int CONTENTION_PROBES = 4;
__device__ __forceinline__ bool warp_is_contended(unsigned digit)
{
    constexpr int distance = THREADS_PER_WARP / CONTENTION_PROBES;
    int most = 0;
#pragma unroll
    for (int lane = distance / 2; lane < static_cast<int>(THREADS_PER_WARP); lane += distance) {
        const bool is_same = digit == __shfl_sync(ALL_LANES, digit, lane);
        most = max(most, __popc(__ballot_sync(ALL_LANES, is_same)));
    }
    return most >= CONTENDED_LANES;
}

/* Adds 1 to counters[digit] if `counted`. Returns the value of the counter before, as if the lanes
 * had added one after another; undefined if not counted. All lanes of the warp call it. */
__device__ __forceinline__ unsigned warp_count_together(unsigned *counters, unsigned digit,
                                                        bool counted)
{
    const unsigned peers = __match_any_sync(ALL_LANES, counted ? digit : ~0u);
    const unsigned before = peers & ((1u << thread_lane()) - 1);
    const int leader = __ffs(static_cast<int>(peers)) - 1;
    unsigned old = 0;
    if (counted && before == 0)
        old = atomicAdd(&counters[digit], static_cast<unsigned>(__popc(peers)));
    return __shfl_sync(ALL_LANES, old, leader) + static_cast<unsigned>(__popc(before));
}

#endif
