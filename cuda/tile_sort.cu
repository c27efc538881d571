/* tile_sort.cu - the first step of both merge sorts: one pass over memory that leaves sorted tiles.
 *
 * items -> striped registers, encoded -> block_tile_sort -> target, coalesced. A block reads its
 * whole tile before it writes, so that target may be items.
 */
#include "cuda/block_tile_sort.cuh"
#include "cuda/dispatch.cuh"
#include "cuda/launch.cuh"

template <typename K, unsigned TILE>
__global__ void __launch_bounds__(block_threads<TILE>())
    tile_sort_kernel(const K *source, K *target, size_t count, struct key_order encoding,
                     struct key_order decoding)
{
    __shared__ K tile[tile_slot<K>(TILE)];
    __shared__ unsigned splits[block_threads<TILE>()];
    const size_t first = static_cast<size_t>(blockIdx.x) * TILE;
    const unsigned in_tile = count - first < TILE ? static_cast<unsigned>(count - first) : TILE;
    K keys[KEYS_PER_THREAD];
    block_load_striped<K, TILE>(source + first, in_tile, encoding, keys);
    block_tile_sort<K, TILE>(keys, tile, splits);
    block_store_blocked<K, TILE>(keys, tile, target + first, in_tile, decoding);
}

template <typename K, unsigned TILE>
struct tile_sort_path {
    static bool run(const struct cuda_sort *sort, struct error *error, void *target,
                    const struct key_order &decoding)
    {
        const struct launch launch = {"tile_sort_kernel", launch_blocks(sort->count, TILE),
                                      block_threads<TILE>(), sort->device, sort->stream};
        return launch_kernel(launch, error, tile_sort_kernel<K, TILE>,
                             static_cast<const K *>(sort->items), static_cast<K *>(target),
                             sort->count, sort->order, decoding);
    }
};

bool tile_sort(const struct cuda_sort *sort, void *target, struct key_order decoding,
               struct error *error)
{
    return dispatch<tile_sort_path>(sort, error, target, decoding);
}
