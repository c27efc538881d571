/* SPDX-License-Identifier: Apache-2.0 */
/* radix_range.cuh - what the range of some keys is asked: its ends among the threads of a warp, and
 * how far its top bit is from the top.
 */
#ifndef CUDA_RADIX_RANGE_CUH
#define CUDA_RADIX_RANGE_CUH

#include "cuda/block_scan.cuh"
#include "cuda/thread_key.cuh"

/* The least `key` of each LANES threads of a warp, a power of two, for all of them. */
template <unsigned LANES, typename K>
__device__ __forceinline__ K warp_least(K key)
{
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        K other = key;
        if constexpr (sizeof(K) <= sizeof(uint64_t)) {
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

/* Bits above the topmost one of `range`; all but one for 0. */
template <typename K>
__device__ __forceinline__ unsigned thread_leading_zeros(K range)
{
    constexpr unsigned bits = 8 * sizeof(K);
    unsigned zeros = 0;
    if constexpr (sizeof(K) > sizeof(uint64_t)) {
        const uint64_t high = static_cast<uint64_t>(range >> 64);
        zeros = static_cast<unsigned>(
            high ? __clzll(static_cast<long long>(high))
                 : 64 + __clzll(static_cast<long long>(static_cast<uint64_t>(range))));
    } else {
        zeros = static_cast<unsigned>(__clzll(static_cast<long long>(range))) - (64 - bits);
    }
    return zeros < bits ? zeros : bits - 1;
}

#endif
