/* SPDX-License-Identifier: Apache-2.0 */
/* block_scan.cuh - prefix sums over the threads of a block: by shuffles within each warp, then over
 * the sums of the warps.
 */
#ifndef CUDA_BLOCK_SCAN_CUH
#define CUDA_BLOCK_SCAN_CUH

#include "cuda/tuning.h"

#include <cuda_runtime.h>

constexpr unsigned ALL_LANES = 0xffffffffu;

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

/* Returns the sum of `value` over the lower threads; *total becomes the sum over all threads. All
 * THREADS threads call it, a multiple of a warp and at most 1024. `warp_sums` is in shared memory,
 * has room for 32 sums, and may be reused after the next barrier. */
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

#endif
