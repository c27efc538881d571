/* SPDX-License-Identifier: Apache-2.0 */
/* thread_key.cuh - keys in a thread's registers: order map, padding, comparator, sorting networks;
 * and a binary search for a key.
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

/* Returns the greatest key, which pads the data. A real key with the same bits cannot be
 * distinguished from it, and need not be. */
template <typename K>
__device__ __forceinline__ K key_max()
{
    return static_cast<K>(~K{0});
}

/* A word of keys, which a thread reads or writes at once. */
template <typename K>
constexpr unsigned KEYS_OF_WORD = sizeof(uint4) / sizeof(K);
template <typename K>
union key_word {
    uint4 word;
    K keys[KEYS_OF_WORD<K>];
};

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

template <typename K>
__device__ __forceinline__ K thread_decode_key(const struct key_order &order, K key)
{
    if constexpr (sizeof(K) <= sizeof(uint64_t)) {
        if (!key_order_is_identity(order))
            return static_cast<K>(key_order_decode(order, 8 * sizeof(K), key));
    }
    return key;
}

/* Reads keys `first`, first + step ... of source[0..count), encoded. Past the end they are key_max.
 */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_load_strided(const K *source, unsigned count, unsigned first,
                                                    unsigned step, const struct key_order &encoding,
                                                    K (&keys)[N])
{
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        keys[i] = first + i * step < count ? source[first + i * step] : K{0};
    thread_encode_keys(encoding, keys);
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        if (first + i * step >= count)
            keys[i] = key_max<K>();
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

/* ---- sorting networks ----
 *
 * All indices are constants after loops are unrolled, so the arrays stay in registers.
 *
 * Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968: the odd-even merge
 * sort, and the bitonic sorter in the normalised form whose comparators all point the same way. */

/* Sorts keys[FIRST .. FIRST + COUNT) by Batcher's odd-even merge sort; COUNT is a power of two. For
 * 8 keys it has 19 comparators, the minimum, in 6 layers. */
template <unsigned FIRST, unsigned COUNT, typename K, unsigned N>
__device__ __forceinline__ void thread_sort(K (&keys)[N])
{
#pragma unroll
    for (unsigned run = 1; run < COUNT; run *= 2)
#pragma unroll
        for (unsigned stride = run; stride > 0; stride /= 2)
#pragma unroll
            for (unsigned i = stride % run; i + stride < COUNT; i++)
                if (((i - stride % run) & stride) == 0 && i / (2 * run) == (i + stride) / (2 * run))
                    thread_compare_exchange(keys[FIRST + i], keys[FIRST + i + stride]);
}

/* Does one step of a bitonic merge: compares keys `stride` apart. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_half_clean(K (&keys)[N], unsigned stride)
{
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        if ((i & stride) == 0)
            thread_compare_exchange(keys[i], keys[i + stride]);
}

/* Does the first step of a stage: compares key i with its mirror image. Two ascending halves become
 * two bitonic halves, and the smaller keys are in the lower one. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_mirror(K (&keys)[N])
{
#pragma unroll
    for (unsigned i = 0; i < N / 2; i++)
        thread_compare_exchange(keys[i], keys[N - 1 - i]);
}

/* Does the first `steps` (1..log2 N) steps of a stage on N keys (mirror) or of a merge (no mirror).
 */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_bitonic_steps(K (&keys)[N], bool mirror, unsigned steps)
{
    if (mirror)
        thread_mirror(keys);
    else
        thread_half_clean(keys, N / 2);
#pragma unroll
    for (unsigned stride = N / 4, step = 1; stride > 0; stride /= 2, step++)
        if (step < steps)
            thread_half_clean(keys, stride);
}

/* Sorts a bitonic sequence, but leaves key number i of the order in keys[i ^ turn], turn < N. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_bitonic_merge_turned(K (&keys)[N], unsigned turn)
{
#pragma unroll
    for (unsigned stride = N / 2; stride > 0; stride /= 2) {
        const bool is_turned = (turn & stride) != 0;
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            if ((i & stride) == 0)
                thread_compare_exchange_turned(keys[i], keys[i + stride], is_turned);
    }
}

/* ---- binary search ---- */

/* Returns the number of keys in keys[0..to) that go before `key`: the smaller keys, and the equal
 * ones too if `equal_before`. The result is known to be in from..to. */
template <typename K, typename Index, typename Keys>
__device__ __forceinline__ Index thread_rank(const Keys &keys, Index from, Index to, K key,
                                             bool equal_before)
{
    /* x <= key is the same as x < key + 1, unless key is the greatest value, which nothing exceeds.
     * So one comparison per step serves both rules. */
    if (equal_before) {
        if (key == key_max<K>())
            return to;
        key++;
    }
    while (from < to) {
        const Index middle = from + (to - from) / 2;
        if (keys[middle] < key)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

#endif
