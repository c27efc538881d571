/* block_merge.cuh - one merge by all threads of a block, or by groups of them, in shared memory.
 */
#ifndef CUDA_BLOCK_MERGE_CUH
#define CUDA_BLOCK_MERGE_CUH

#include "cuda/thread_merge.cuh"

/* Merges runs that lie in the tile; each thread gets the 8 keys behind `diagonal`, which counts
 * from the start of its own runs and grows by 8 from thread to thread. All threads of the block
 * call it, after a barrier; `splits` has room for a word a thread. Ends with a barrier, so that the
 * tile may be written again. */
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

#endif
