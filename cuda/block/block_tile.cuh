/* SPDX-License-Identifier: Apache-2.0 */
/* block_tile.cuh - moves a tile between global memory, registers and shared memory; and a sorting
 * network over a tile.
 *
 * Striped order: thread t holds keys t, t + threads, t + 2 threads ... so that accesses to global
 * memory are coalesced.
 */
#ifndef CUDA_BLOCK_TILE_CUH
#define CUDA_BLOCK_TILE_CUH

#include "cuda/block/thread_key.cuh"

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

/* The keys of a tile from `first` on, for thread_rank. */
template <typename K>
struct tile_keys {
    const K *tile;
    unsigned first;
    __device__ __forceinline__ K operator[](unsigned i) const
    {
        return tile[tile_slot<K>(first + i)];
    }
};

template <unsigned TILE>
__host__ __device__ constexpr unsigned block_threads()
{
    return TILE / KEYS_PER_THREAD;
}

/* Returns the index in the tile of the thread's key i in striped order. */
template <unsigned TILE>
__device__ __forceinline__ unsigned thread_striped_index(unsigned i)
{
    return i * block_threads<TILE>() + threadIdx.x;
}

/* Reads source[0..count), count <= TILE, in striped order, encoded. Keys past the end are key_max.
 */
template <typename K, unsigned TILE>
__device__ __forceinline__ void block_load_striped(const K *source, unsigned count,
                                                   const struct key_order &encoding,
                                                   K (&keys)[KEYS_PER_THREAD])
{
    thread_load_strided(source, count, threadIdx.x, block_threads<TILE>(), encoding, keys);
}

/* Stores striped keys in the tile in shared memory. */
template <typename K, unsigned TILE>
__device__ __forceinline__ void thread_store_striped(const K (&keys)[KEYS_PER_THREAD], K *tile)
{
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        tile[tile_slot<K>(thread_striped_index<TILE>(i))] = keys[i];
}

/* Loads striped keys from the tile in shared memory. */
template <typename K, unsigned TILE>
__device__ __forceinline__ void thread_load_striped(const K *tile, K (&keys)[KEYS_PER_THREAD])
{
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        keys[i] = tile[tile_slot<K>(thread_striped_index<TILE>(i))];
}

/* Writes striped keys, decoded, to target[0..count), count <= TILE. */
template <typename K, unsigned TILE>
__device__ __forceinline__ void block_store_striped(const K (&keys)[KEYS_PER_THREAD], K *target,
                                                    unsigned count,
                                                    const struct key_order &decoding)
{
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
        const unsigned index = thread_striped_index<TILE>(i);
        if (index < count)
            target[index] = thread_decode_key(decoding, keys[i]);
    }
}

/* Sorts tile[first .. first + count) by Batcher's bitonic network, in the form whose comparators
 * all point the same way, so that those that reach past the end can be skipped. The THREADS threads
 * of a warp or of the block call it together, after a barrier of theirs; it ends with one. Not
 * inlined, so that it takes no registers from the common path of its callers. */
template <unsigned THREADS, typename K>
__device__ __attribute__((noinline)) void group_network_sort(K *tile, unsigned first,
                                                             unsigned count)
{
    for (unsigned run = 1; run < count; run *= 2)
        for (unsigned stride = run; stride > 0; stride /= 2) {
            for (unsigned pair = threadIdx.x % THREADS;; pair += THREADS) {
                const unsigned i = 2 * (pair & ~(stride - 1)) | (pair & (stride - 1));
                const unsigned partner = stride == run ? i ^ (2 * run - 1) : i ^ stride;
                if (i >= count)
                    break;
                if (partner < count)
                    thread_compare_exchange(tile[tile_slot<K>(first + i)],
                                            tile[tile_slot<K>(first + partner)]);
            }
            THREADS == THREADS_PER_WARP ? __syncwarp() : __syncthreads();
        }
}

#endif
