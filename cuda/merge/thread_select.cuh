/* SPDX-License-Identifier: Apache-2.0 */
/* thread_select.cuh - cuts several sorted runs so that a given number of their keys, the least
 * ones, lie before the cuts.
 *
 * A run is divided into blocks of `step` keys, and a block is represented by its last key. The
 * blocks with the least last keys are taken. Then step is halved and the choice is repaired: some
 * runs take half a block more or less. With blocks of one key the cuts are exact. All halvings
 * together read about a dozen keys for each doubling of the runs' length. The reads of one halving
 * are independent.
 *
 * Source: P. J. Varman, S. D. Scheufler, B. R. Iyer, G. R. Ricard, "Merging Multiple Lists on
 * Hierarchical-Memory Multiprocessors", JPDC 1991.
 */
#ifndef CUDA_THREAD_SELECT_CUH
#define CUDA_THREAD_SELECT_CUH

#include "cuda/block/thread_key.cuh"

/* Up to WAYS sorted runs (ways); some may be empty. */
template <typename K, unsigned WAYS>
struct sorted_ways {
    const K *first[WAYS];
    size_t count[WAYS];
};

/* The blocks taken, and those next to the cuts. All indices into the arrays are constants after
 * loops are unrolled, so the arrays stay in registers. */
template <typename K, unsigned WAYS>
struct ways_cut {
    size_t taken[WAYS]; /* number of keys */
    K left[WAYS];       /* the last key taken, if any */
    K right[WAYS];      /* the last key of the next block, if that is whole */
};

/* Returns the way with the least next block; WAYS if no whole block is left. Of equal keys, those
 * of a lower way go first. */
template <typename K, unsigned WAYS>
__device__ __forceinline__ unsigned thread_least_right(const struct sorted_ways<K, WAYS> &ways,
                                                       const struct ways_cut<K, WAYS> &cut,
                                                       size_t step, K *key)
{
    unsigned least = WAYS;
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++)
        if (cut.taken[k] + step <= ways.count[k] && (least == WAYS || cut.right[k] < *key)) {
            least = k;
            *key = cut.right[k];
        }
    return least;
}

template <typename K, unsigned WAYS>
__device__ __forceinline__ unsigned thread_greatest_left(const struct ways_cut<K, WAYS> &cut,
                                                         K *key)
{
    unsigned greatest = WAYS;
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++)
        if (cut.taken[k] > 0 && (greatest == WAYS || !(cut.left[k] < *key))) {
            greatest = k;
            *key = cut.left[k];
        }
    return greatest;
}

template <typename K, unsigned WAYS>
__device__ __forceinline__ void thread_read_rights(const struct sorted_ways<K, WAYS> &ways,
                                                   size_t step, struct ways_cut<K, WAYS> *cut)
{
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++)
        if (cut->taken[k] + step <= ways.count[k])
            cut->right[k] = ways.first[k][cut->taken[k] + step - 1];
}

template <typename K, unsigned WAYS>
__device__ __forceinline__ void thread_take_block(const struct sorted_ways<K, WAYS> &ways,
                                                  unsigned way, size_t step,
                                                  struct ways_cut<K, WAYS> *cut)
{
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++)
        if (k == way) {
            cut->taken[k] += step;
            cut->left[k] = cut->right[k];
            if (cut->taken[k] + step <= ways.count[k])
                cut->right[k] = ways.first[k][cut->taken[k] + step - 1];
        }
}

template <typename K, unsigned WAYS>
__device__ __forceinline__ void thread_return_block(const struct sorted_ways<K, WAYS> &ways,
                                                    unsigned way, size_t step,
                                                    struct ways_cut<K, WAYS> *cut)
{
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++)
        if (k == way) {
            cut->taken[k] -= step;
            cut->right[k] = cut->left[k];
            if (cut->taken[k] > 0)
                cut->left[k] = ways.first[k][cut->taken[k] - 1];
        }
}

/* Takes blocks until `missing` of them are taken or no whole block is left. Then exchanges blocks
 * while one not taken goes before one taken. */
template <typename K, unsigned WAYS>
__device__ __forceinline__ void thread_mend_cut(const struct sorted_ways<K, WAYS> &ways,
                                                size_t step, size_t missing,
                                                struct ways_cut<K, WAYS> *cut)
{
    for (;;) {
        K next{}, last{};
        const unsigned least = thread_least_right(ways, *cut, step, &next);
        if (least == WAYS)
            return;
        if (missing > 0) {
            missing--;
        } else {
            const unsigned greatest = thread_greatest_left(*cut, &last);
            if (greatest == WAYS || last < next || (last == next && greatest <= least))
                return;
            thread_return_block(ways, greatest, step, cut);
        }
        thread_take_block(ways, least, step, cut);
    }
}

/* Sets cut->taken to the number of keys of each way among the `rank` least keys. `rank` is at most
 * the number of all keys. The result is the same for every caller, and no number falls as rank
 * grows. */
template <typename K, unsigned WAYS>
__device__ __forceinline__ void thread_select(const struct sorted_ways<K, WAYS> &ways, size_t rank,
                                              struct ways_cut<K, WAYS> *cut)
{
    unsigned ways_with_keys = 0;
#pragma unroll
    for (unsigned k = 0; k < WAYS; k++) {
        cut->taken[k] = 0;
        ways_with_keys += ways.count[k] > 0;
    }
    if (rank == 0)
        return;
    size_t taken = 0;
    for (size_t step = (size_t)1 << (63 - __clzll(static_cast<long long>(rank))); step > 0;
         step /= 2) {
        /* Each way's cut is rounded down by half a block on average. The aim is reduced by the sum,
         * so the cuts are near their final positions from the start and seldom go back. */
        const size_t rounding = ways_with_keys / 2 * (step - 1);
        const size_t aim = rank > rounding ? (rank - rounding) & ~(step - 1) : 0;
        thread_read_rights(ways, step, cut);
        thread_mend_cut(ways, step, (aim - taken) / step, cut);
        taken = 0;
#pragma unroll
        for (unsigned k = 0; k < WAYS; k++)
            taken += cut->taken[k];
    }
}

#endif
