/* SPDX-License-Identifier: Apache-2.0 */
/* block_merge.cuh - merges in shared memory by all threads of a warp or of a block. heap and column
 * use it for their tiles, with 8 keys per thread. (block_pairs.cuh is faster if the layout of the
 * runs can be chosen.)
 *
 * The merge path gives a thread its 8 keys: consecutive keys of run a and consecutive keys of run
 * b. Read forwards from a and backwards from b, they are a bitonic sequence, which a network of 12
 * comparators sorts. That takes 8 independent loads and no branch, where the usual serial merge is
 * a chain of 8 loads and comparisons. The network is not stable, which does not matter, because
 * keys are whole items.
 *
 * Source of the merge path: S. Odeh, O. Green, Z. Mwassi, O. Shmueli, Y. Birk, "Merge Path -
 * Parallel Merging Made Simple", IPDPS Workshops 2012.
 */
#ifndef CUDA_BLOCK_MERGE_CUH
#define CUDA_BLOCK_MERGE_CUH

#include "cuda/block/block_tile.cuh"

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

/* Keys in the registers of a warp. */
constexpr unsigned KEYS_PER_WARP = THREADS_PER_WARP * KEYS_PER_THREAD;

/* In: 8 consecutive keys in each thread, sorted in runs of `run` keys, 8 times a power of two. Out:
 * the warp's 256 keys are sorted. All threads of the warp call it. `tile` is the block's; no thread
 * may be reading the warp's part of it. */
template <typename K>
__device__ __forceinline__ void warp_merge_runs(K (&keys)[KEYS_PER_THREAD], K *tile, unsigned run)
{
    const unsigned first = threadIdx.x * KEYS_PER_THREAD;
    for (; run < KEYS_PER_WARP; run *= 2) {
        thread_store_blocked(keys, tile);
        __syncwarp();
        const unsigned diagonal = first % (2 * run);
        const unsigned a = first - diagonal;
        const struct tile_runs runs = {a, run, a + run, run};
        const unsigned split = thread_tile_merge_path(tile, runs, diagonal);
        const unsigned neighbour = __shfl_down_sync(0xffffffffu, split, 1);
        const bool is_last = diagonal + KEYS_PER_THREAD == 2 * run;
        thread_merge(tile, runs, diagonal, split, is_last ? run : neighbour, keys);
        __syncwarp(); /* all lanes have read, before the next round writes */
    }
}

/* Merges two runs of the tile. Each thread gets the 8 keys of the merge from `diagonal` on, which
 * counts from the start of its own pair of runs and grows by 8 from thread to thread. All threads
 * of the block call it, after a barrier; `splits` has room for a word per thread. Ends with a
 * barrier, so the tile may be overwritten. */
template <typename K>
__device__ __forceinline__ void block_merge(const K *tile, unsigned *splits,
                                            const struct tile_runs &runs, unsigned diagonal,
                                            K (&keys)[KEYS_PER_THREAD])
{
    const unsigned split = thread_tile_merge_path(tile, runs, diagonal);
    splits[threadIdx.x] = split;
    __syncthreads();
    const bool is_last = diagonal + KEYS_PER_THREAD == runs.a_count + runs.b_count;
    const unsigned next_split = is_last ? runs.a_count : splits[threadIdx.x + 1];
    thread_merge(tile, runs, diagonal, split, next_split, keys);
    __syncthreads();
}

/* In: 8 consecutive keys in each thread, sorted in runs of RUN keys, 8 times a power of two. Out:
 * the tile is sorted, in blocked order. `tile` has room for tile_slot<K>(TILE) keys and `splits`
 * for a word per thread. No thread may be reading the tile before, and none is afterwards. */
template <typename K, unsigned TILE, unsigned RUN>
__device__ __forceinline__ void block_merge_runs(K (&keys)[KEYS_PER_THREAD], K *tile,
                                                 unsigned *splits)
{
    warp_merge_runs(keys, tile, RUN);
    const unsigned first = threadIdx.x * KEYS_PER_THREAD;
    for (unsigned run = RUN > KEYS_PER_WARP ? RUN : KEYS_PER_WARP; run < TILE; run *= 2) {
        thread_store_blocked(keys, tile);
        __syncthreads();
        const unsigned diagonal = first % (2 * run);
        const unsigned a = first - diagonal;
        const struct tile_runs runs = {a, run, a + run, run};
        block_merge(tile, splits, runs, diagonal, keys);
    }
}

#endif
