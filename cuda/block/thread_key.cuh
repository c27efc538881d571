/* SPDX-License-Identifier: Apache-2.0 */
/* thread_key.cuh - a key in a thread's registers: order map, padding and comparator.
 *
 * Keys are unsigned integers: uint8_t to uint64_t, and key_u128 for struct key_index (key above
 * index), whose order needs no map.
 */
#ifndef CUDA_THREAD_KEY_CUH
#define CUDA_THREAD_KEY_CUH

#include "core/key_order.h"
#include "cuda/tuning.h"

#include <cuda_runtime.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 key_u128;

/* Returns the greatest key, which stands for positions past the end of the data. A real key with
 * the same bits cannot be distinguished from it, and need not be. */
template <typename K>
__device__ __forceinline__ K key_infinity()
{
    return static_cast<K>(~K{0});
}

/* The branch is uniform over the grid, so passes that need no map pay a single test. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_encode_keys(const struct key_order &order, K (&keys)[N])
{
    if constexpr (sizeof(K) <= sizeof(uint64_t)) {
        if (key_order_is_identity(order))
            return;
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            keys[i] = static_cast<K>(key_order_encode(order, 8 * sizeof(K), keys[i]));
    }
}

template <typename K, unsigned N>
__device__ __forceinline__ void thread_decode_keys(const struct key_order &order, K (&keys)[N])
{
    if constexpr (sizeof(K) <= sizeof(uint64_t)) {
        if (key_order_is_identity(order))
            return;
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            keys[i] = static_cast<K>(key_order_decode(order, 8 * sizeof(K), keys[i]));
    }
}

template <typename K>
__device__ __forceinline__ K thread_decode_key(const struct key_order &order, K key)
{
    if constexpr (sizeof(K) <= sizeof(uint64_t)) {
        if (!key_order_is_identity(order))
            return static_cast<K>(key_order_decode(order, 8 * sizeof(K), key));
    }
    return key;
}

/* Returns the one of keys a and b that is not `kept`: a + b - kept, word by word, with wrap-around.
 * Networks are bound by the units that compare and select; multiplications use others. The factor
 * is 1, but the compiler must not know it, so it comes from the launch (gridDim.z). This saves 5 to
 * 7 % of merges of keys of 8 and 16 bytes (nvcc 13.0, sm_90). */
template <typename K>
__device__ __forceinline__ K thread_other_key(K a, K b, K kept)
{
    const unsigned one = gridDim.z;
    K other = 0;
#pragma unroll
    for (unsigned shift = 0; shift < 8 * sizeof(K); shift += 32) {
        const unsigned sum =
            static_cast<unsigned>(a >> shift) * one + static_cast<unsigned>(b >> shift);
        other |= static_cast<K>(sum * one - static_cast<unsigned>(kept >> shift)) << shift;
    }
    return other;
}

/* The comparator of all networks: moves the smaller key to `low`. */
template <typename K>
__device__ __forceinline__ void thread_compare_exchange(K &low, K &high)
{
    const K smaller = high < low ? high : low;
    if constexpr (sizeof(K) >= sizeof(uint64_t))
        high = thread_other_key(low, high, smaller);
    else
        high = high < low ? low : high;
    low = smaller;
}

/* As thread_compare_exchange, but moves the greater key to `low` if is_turned. */
template <typename K>
__device__ __forceinline__ void thread_compare_exchange_turned(K &low, K &high, bool is_turned)
{
    const bool is_swapped = (high < low) != is_turned;
    const K kept = is_swapped ? high : low;
    if constexpr (sizeof(K) >= sizeof(uint64_t))
        high = thread_other_key(low, high, kept);
    else
        high = is_swapped ? low : high;
    low = kept;
}

#endif
