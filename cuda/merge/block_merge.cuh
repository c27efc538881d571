/* SPDX-License-Identifier: Apache-2.0 */
/* block_merge.cuh - merges in shared memory by all threads of a block, or by groups of them. heap
 * and column use it for their tiles, with 8 keys per thread. (block_pairs.cuh is faster if the
 * layout of the runs can be chosen.)
 */
#ifndef CUDA_BLOCK_MERGE_CUH
#define CUDA_BLOCK_MERGE_CUH

#include "cuda/merge/warp_merge.cuh"

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
