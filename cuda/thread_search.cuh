/* thread_search.cuh - binary searches by one thread in sorted runs.
 *
 * Source of the merge path: S. Odeh, O. Green, Z. Mwassi, O. Shmueli, Y. Birk, "Merge Path -
 * Parallel Merging Made Simple", IPDPS Workshops 2012.
 */
#ifndef CUDA_THREAD_SEARCH_CUH
#define CUDA_THREAD_SEARCH_CUH

#include "cuda/thread_key.cuh"

/* How many of keys[0..to) go before `key`: the smaller ones, and the equal ones too if
 * `equal_before`. The answer is known to be in from..to. */
template <typename K, typename Index>
__device__ __forceinline__ Index thread_rank(const K *keys, Index from, Index to, K key,
                                             bool equal_before)
{
    /* x <= key is x < key + 1, except for the greatest key, which nothing exceeds: so one
     * comparison a step serves both rules. */
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

/* How many of the `diagonal` first keys of the merge of a and b come from a; equal keys of a go
 * before those of b. */
template <typename K>
__device__ __forceinline__ size_t thread_merge_path(const K *a, size_t a_count, const K *b,
                                                    size_t b_count, size_t diagonal)
{
    size_t from = diagonal > b_count ? diagonal - b_count : 0;
    size_t to = diagonal < a_count ? diagonal : a_count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (b[diagonal - 1 - middle] < a[middle])
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

#endif
