/* SPDX-License-Identifier: Apache-2.0 */
/* warp_merge.cuh - the rounds of a merge sort within a warp, which need no block barrier. */
#ifndef CUDA_WARP_MERGE_CUH
#define CUDA_WARP_MERGE_CUH

#include "cuda/block/thread_merge.cuh"

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

#endif
