/* SPDX-License-Identifier: Apache-2.0 */
/* tile_sort.cu - the first step of direct-merge, segmented-merge and small_sort(): one pass over
 * memory that makes sorted tiles.
 *
 * A block takes one or several tiles. Each thread sorts a row of keys in registers. Then pairs of
 * runs merge in shared memory until a run is a tile, first within warps and then across them.
 *
 * Data: items -> registers, encoded -> rows -> tiles in shared memory -> target, coalesced. A block
 * reads all its keys before it writes, so target may be items.
 */
#include "cuda/block/dispatch.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/merge/block_pairs.cuh"

template <typename K>
constexpr unsigned TILE_SORT_THREADS = TILE_SORT_KEYS / ROW<K>;

template <typename K>
struct tile_sort_shared {
    K keys[TILE_SORT_KEYS];
    unsigned splits[TILE_SORT_THREADS<K>];
};

/* Writes sorted tiles from source to target, which may be the same. A tile is ROW<K> times a power
 * of two, at most TILE_SORT_KEYS. A block takes one or several tiles, and a struct tile_sort_shared
 * of dynamic shared memory. */
template <typename K>
__global__ void __launch_bounds__(TILE_SORT_THREADS<K>, tile_sort_blocks(sizeof(K)))
    tile_sort_kernel(const K *source, K *target, size_t count, unsigned tile_size,
                     struct key_order encoding, struct key_order decoding)
{
    auto *const shared = reinterpret_cast<struct tile_sort_shared<K> *>(block_dynamic_shared());
    const size_t first = static_cast<size_t>(blockIdx.x) * TILE_SORT_KEYS;
    const size_t left = count - first;
    const unsigned own = left < TILE_SORT_KEYS ? static_cast<unsigned>(left) : TILE_SORT_KEYS;
    /* A thread reads keys of its own tile, neighbouring threads of a tile neighbouring keys. */
    const unsigned threads = tile_size / ROW<K>; /* threads per tile, a power of two */
    const unsigned in_tile = threadIdx.x & (threads - 1);
    K keys[ROW<K>];
    thread_load_strided(source + first, own, (threadIdx.x - in_tile) * ROW<K> + in_tile, threads,
                        encoding, keys);
    thread_sort_row(keys, shared->keys);
    __syncwarp();
    block_merge_runs(shared->keys, shared->splits, ROW<K>, tile_size, true, keys);
    block_store_tile(shared->keys, TILE_SORT_THREADS<K>, target + first, own, decoding);
}

bool tile_sort(const struct cuda_sort *sort, void *target, struct key_order decoding,
               struct error *error)
{
    return dispatch_width(sort, error, [&](auto key) {
        using K = decltype(key);
        return launch_kernel(launch_for(*sort, "tile_sort_kernel",
                                        launch_blocks(sort->count, TILE_SORT_KEYS),
                                        TILE_SORT_THREADS<K>, sizeof(struct tile_sort_shared<K>)),
                             error, tile_sort_kernel<K>, static_cast<const K *>(sort->items),
                             static_cast<K *>(target), sort->count,
                             static_cast<unsigned>(sort->tile_size), sort->order, decoding);
    });
}
