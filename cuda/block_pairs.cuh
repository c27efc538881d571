/* SPDX-License-Identifier: Apache-2.0 */
/* block_pairs.cuh - merges of paired runs (paired_runs.cuh) in shared memory, in place, by all
 * threads of a warp or of a block: each makes a row of the output.
 */
#ifndef CUDA_BLOCK_PAIRS_CUH
#define CUDA_BLOCK_PAIRS_CUH

#include "cuda/paired_runs.cuh"

/* Keys that the rows of a warp's threads hold. */
template <typename K>
constexpr unsigned KEYS_OF_WARP = ROW<K> *THREADS_PER_WARP;

/* The row of the output that the thread puts its keys to: a merge that descends fills its range
 * from the end. */
template <typename K>
__device__ __forceinline__ unsigned thread_output_row(const struct paired_runs &pair,
                                                      unsigned diagonal, bool is_descending)
{
    return pair.first + (is_descending ? pair.count - ROW<K> - diagonal : diagonal);
}

/* Sorts the thread's keys into its row of the tile; every other row descends. */
template <typename K>
__device__ __forceinline__ void thread_sort_row(K (&keys)[ROW<K>], K *tile)
{
    constexpr unsigned half = ROW<K> / 2;
    thread_sort<0, half>(keys);
    thread_sort<half, half>(keys);
#pragma unroll
    for (unsigned i = 0; i < half / 2; i++) {
        const K kept = keys[half + i];
        keys[half + i] = keys[ROW<K> - 1 - i];
        keys[ROW<K> - 1 - i] = kept;
    }
    thread_row_merge(keys, threadIdx.x % 2 == 1, tile, threadIdx.x * ROW<K>);
}

/* Merges pairs, a row of the output a thread. `pair` is the thread's; `diagonal` counts from the
 * start of its pair and grows by a row from thread to thread. All threads of the block call it,
 * those too that have no row, after a barrier, and it ends without one; `splits` has a word a
 * thread. Barriers of a warp do if it `is_of_warp`: each pair lies within the keys of one. In
 * `keys` the thread's row passes through; they are the caller's, as the compiler spills them if
 * they begin undefined. */
template <typename K>
__device__ __forceinline__ void
block_merge_pairs(K *tile, unsigned *splits, const struct paired_runs &pair, unsigned diagonal,
                  bool is_descending, bool is_of_warp, bool has_row, K (&keys)[ROW<K>])
{
    const bool is_last = diagonal + ROW<K> == pair.count;
    unsigned split = 0;
    if (has_row)
        splits[threadIdx.x] = split = thread_pair_split(tile, pair, diagonal);
    is_of_warp ? __syncwarp() : __syncthreads();
    if (has_row)
        thread_pair_load(tile, pair, diagonal, split,
                         is_last ? pair.a_count : splits[threadIdx.x + 1], keys);
    is_of_warp ? __syncwarp() : __syncthreads();
    if (has_row)
        thread_row_merge(keys, is_descending, tile,
                         thread_output_row<K>(pair, diagonal, is_descending));
}

/* Writes the first `count` keys of the tile, decoded; the tile has ROW<K> keys for each of the
 * block's `threads`, without the bits that are `common` to all. */
template <typename K, typename T>
__device__ __forceinline__ void block_store_tile(const T *tile, unsigned threads, K *target,
                                                 unsigned count, const struct key_order &decoding,
                                                 K common = K{0})
{
    K keys[ROW<K>];
#pragma unroll
    for (unsigned i = 0; i < ROW<K>; i++)
        keys[i] = common | tile[i * threads + threadIdx.x];
    thread_decode_keys(decoding, keys);
#pragma unroll
    for (unsigned i = 0; i < ROW<K>; i++)
        if (i * threads + threadIdx.x < count)
            target[i * threads + threadIdx.x] = keys[i];
}

#endif
