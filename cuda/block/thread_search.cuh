/* SPDX-License-Identifier: Apache-2.0 */
/* thread_search.cuh - binary search by one thread in a sorted run. */
#ifndef CUDA_THREAD_SEARCH_CUH
#define CUDA_THREAD_SEARCH_CUH

#include "cuda/block/thread_key.cuh"

/* Returns the number of keys in keys[0..to) that go before `key`: the smaller keys, and the equal
 * ones too if `equal_before`. The result is known to be in from..to. */
template <typename K, typename Index>
__device__ __forceinline__ Index thread_rank(const K *keys, Index from, Index to, K key,
                                             bool equal_before)
{
    /* x <= key is the same as x < key + 1, unless key is the greatest value, which nothing exceeds.
     * So one comparison per step serves both rules. */
    if (equal_before) {
        if (key == key_infinity<K>())
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
