/* block_tile_sort.cuh - sorts one tile by a block: 8 keys a thread by a network in registers, then
 * merge rounds in shared memory, first within warps, then across them.
 *
 * Data: registers in any arrangement -> runs of 8 -> runs of 256 in warps -> the tile, blocked.
 * Source: merge sort by merge path as in S. Baxter, "moderngpu" (2013), and Odeh et al. 2012.
 */
#ifndef CUDA_BLOCK_TILE_SORT_CUH
#define CUDA_BLOCK_TILE_SORT_CUH

#include "cuda/block_merge.cuh"
#include "cuda/block_tile.cuh"
#include "cuda/warp_merge.cuh"

/* In: 8 consecutive keys in each thread, sorted in runs of RUN: 8 times a power of two. Out: the
 * tile is sorted, and blocked. `tile` has tile_slot<K>(TILE) keys and `splits` a word a thread; no
 * thread reads the tile any more, before and after. */
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

/* Sorts the TILE keys that the block's registers hold in any arrangement. Out: blocked. */
template <typename K, unsigned TILE>
__device__ __forceinline__ void block_tile_sort(K (&keys)[KEYS_PER_THREAD], K *tile,
                                                unsigned *splits)
{
    thread_sort(keys);
    block_merge_runs<K, TILE, KEYS_PER_THREAD>(keys, tile, splits);
}

#endif
