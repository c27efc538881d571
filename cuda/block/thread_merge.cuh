/* SPDX-License-Identifier: Apache-2.0 */
/* thread_merge.cuh - a thread's part of a merge in shared memory: 8 keys.
 *
 * The merge path gives the thread's 8 keys: consecutive keys of run a and consecutive keys of run
 * b. Read forwards from a and backwards from b, they are a bitonic sequence, which a network of 12
 * comparators sorts. That takes 8 independent loads and no branch, where the usual serial merge is
 * a chain of 8 loads and comparisons. The network is not stable, which does not matter, because
 * keys are whole items.
 *
 * Source of the merge path: S. Odeh, O. Green, Z. Mwassi, O. Shmueli, Y. Birk, "Merge Path -
 * Parallel Merging Made Simple", IPDPS Workshops 2012.
 */
#ifndef CUDA_THREAD_MERGE_CUH
#define CUDA_THREAD_MERGE_CUH

#include "cuda/block/thread_network.cuh"

/* Returns the position of key i of a tile in shared memory. After each row of banks one word (or
 * one key, if that is wider) is unused. So 32 threads access 32 banks with a stride of one key and
 * with a stride of KEYS_PER_THREAD. */
template <typename K>
__host__ __device__ __forceinline__ constexpr unsigned tile_slot(unsigned i)
{
    constexpr unsigned keys_per_row = BANK_ROW_BYTES / sizeof(K);
    constexpr unsigned keys_of_padding = sizeof(K) < 4 ? 4 / sizeof(K) : 1;
    return i + i / keys_per_row * keys_of_padding;
}

/* Two sorted runs in a tile, as indices in the tile. */
struct tile_runs {
    unsigned a;
    unsigned a_count;
    unsigned b;
    unsigned b_count;
};

/* Returns the number of keys of a among the first `diagonal` keys of the merge. Equal keys of a go
 * before those of b. */
template <typename K>
__device__ __forceinline__ unsigned
thread_tile_merge_path(const K *tile, const struct tile_runs &runs, unsigned diagonal)
{
    unsigned from = diagonal > runs.b_count ? diagonal - runs.b_count : 0;
    unsigned to = diagonal < runs.a_count ? diagonal : runs.a_count;
    while (from < to) {
        const unsigned middle = (from + to) / 2;
        const K a = tile[tile_slot<K>(runs.a + middle)];
        const K b = tile[tile_slot<K>(runs.b + diagonal - 1 - middle)];
        if (b < a)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

/* Loads and sorts the 8 keys of the merge from `diagonal` on. `split` and `next_split` are the
 * numbers of keys of a before this diagonal and before the one 8 keys later. */
template <typename K>
__device__ __forceinline__ void thread_merge(const K *tile, const struct tile_runs &runs,
                                             unsigned diagonal, unsigned split, unsigned next_split,
                                             K (&keys)[KEYS_PER_THREAD])
{
    const unsigned from_a = next_split - split;
    const unsigned a = runs.a + split;
    const unsigned b_last = runs.b + diagonal - split + KEYS_PER_THREAD - 1;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        keys[i] = tile[tile_slot<K>(i < from_a ? a + i : b_last - i)];
    thread_bitonic_merge(keys);
}

/* Stores the thread's keys in the tile in blocked order. */
template <typename K>
__device__ __forceinline__ void thread_store_blocked(const K (&keys)[KEYS_PER_THREAD], K *tile)
{
    const unsigned first = threadIdx.x * KEYS_PER_THREAD;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        tile[tile_slot<K>(first + i)] = keys[i];
}

/* Loads the thread's keys from the tile in blocked order. */
template <typename K>
__device__ __forceinline__ void thread_load_blocked(const K *tile, K (&keys)[KEYS_PER_THREAD])
{
    const unsigned first = threadIdx.x * KEYS_PER_THREAD;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        keys[i] = tile[tile_slot<K>(first + i)];
}

#endif
