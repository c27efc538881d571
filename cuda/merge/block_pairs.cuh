/* SPDX-License-Identifier: Apache-2.0 */
/* block_pairs.cuh - merges paired runs (paired_runs.cuh) in shared memory, in place, by all threads
 * of a warp or of a block. Each thread makes one row of the output.
 */
#ifndef CUDA_BLOCK_PAIRS_CUH
#define CUDA_BLOCK_PAIRS_CUH

#include "cuda/merge/paired_runs.cuh"

/* Keys in the rows of a warp. */
template <typename K>
constexpr unsigned KEYS_OF_WARP = ROW<K> *THREADS_PER_WARP;

/* Returns the position of the thread's output row: a descending merge fills its range from the end.
 */
template <typename K>
__device__ __forceinline__ unsigned thread_output_row(const struct paired_runs &pair,
                                                      unsigned diagonal, bool is_descending)
{
    return pair.first + (is_descending ? pair.count - ROW<K> - diagonal : diagonal);
}

/* Sorts the thread's keys into its row of the tile. Every other row descends. */
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

/* Merges pairs, one output row per thread. `pair` is the thread's pair. `diagonal` counts from its
 * start and grows by a row from thread to thread. All threads of the block call it, even those
 * without a row, after a barrier; it ends without one. `splits` has a word per thread.
 * `is_of_warp`: each pair lies within the keys of one warp, so warp barriers are enough. `keys` is
 * room for the thread's row: it belongs to the caller, because the compiler spills it if it is not
 * initialized. */
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

/* Writes the first `count` keys of the tile, decoded. The tile has ROW<K> keys for each of the
 * block's `threads`, without the bits `common` to all keys. */
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
