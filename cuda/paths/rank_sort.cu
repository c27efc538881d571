/* SPDX-License-Identifier: Apache-2.0 */
/* rank_sort.cu - each key counts the keys that go before it, and the count is its position.
 *
 * A block holds TILE keys of its own in registers, 8 per thread, and streams all keys of the array
 * through shared memory, a tile at a time. All threads read the same streamed key at the same time,
 * which shared memory serves as one access, and each compares it with its 8 keys. Finally every key
 * is written to its position. One launch does it all.
 *
 * Equal keys keep the order of their indices: a key counts the smaller and equal keys before it,
 * and only the smaller keys after it. So all positions differ.
 *
 * It makes n^2 comparisons for any keys, and so is for small arrays: RANK_SORT_COUNT_MAX.
 *
 * Data: items -> scratch (a copy, as blocks write while others still read) -> items. A single block
 * reads everything before it writes, so up to TILE keys need no copy. Each load encodes, which is
 * cheap beside the TILE comparisons that follow; the store decodes.
 *
 * Source: sorting by counting comparisons: D. E. Knuth, "The Art of Computer Programming", volume
 * 3, section 5.2, algorithm C; as an enumeration sort for parallel machines D. E. Muller, F. P.
 * Preparata, "Bounds to complexities of networks for sorting and for switching", JACM 1975.
 */
#include "cuda/block/block_tile.cuh"
#include "cuda/block/dispatch.cuh"
#include "cuda/block/launch.cuh"

static_assert(RANK_SORT_COUNT_MAX <= UINT_MAX, "a rank is an unsigned");

/* The streamed keys equal to an own key that go before it: */
enum rank_ties {
    RANK_COUNT_EQUAL,   /* all: the streamed tile is before the block's own */
    RANK_COUNT_EARLIER, /* those of lower index: the streamed tile is the block's own */
    RANK_COUNT_SMALLER  /* none: the streamed tile is after the block's own */
};

/* Adds to ranks[i] the number of keys of the streamed tile that go before keys[i]. */
template <typename K, unsigned TILE, enum rank_ties TIES>
__device__ __forceinline__ void thread_count_before(const K *tile, const K (&keys)[KEYS_PER_THREAD],
                                                    unsigned (&ranks)[KEYS_PER_THREAD])
{
#pragma unroll 4
    for (unsigned j = 0; j < TILE; j++) {
        const K streamed = tile[j];
#pragma unroll
        for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
            if constexpr (TIES == RANK_COUNT_EQUAL)
                ranks[i] += !(keys[i] < streamed);
            else if constexpr (TIES == RANK_COUNT_SMALLER)
                ranks[i] += streamed < keys[i];
            else
                ranks[i] +=
                    j < thread_striped_index<TILE>(i) ? !(keys[i] < streamed) : streamed < keys[i];
        }
    }
}

/* Copies the tile that starts at `first` to shared memory, encoded. A barrier before and after.
 * Keys past the end are key_max, which goes before no key of an earlier tile or of its own. */
template <typename K, unsigned TILE>
__device__ __forceinline__ void block_stream_tile(const K *source, size_t count, size_t first,
                                                  const struct key_order &encoding, K *tile)
{
    const unsigned in_tile = count - first < TILE ? static_cast<unsigned>(count - first) : TILE;
    K keys[KEYS_PER_THREAD];
    block_load_striped<K, TILE>(source + first, in_tile, encoding, keys);
    __syncthreads(); /* all threads have read the previous tile */
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        tile[thread_striped_index<TILE>(i)] = keys[i];
    __syncthreads();
}

/* Writes the sorted keys from source to target. One block per tile. A single block may have target
 * equal to source. */
template <typename K, unsigned TILE>
__global__ void __launch_bounds__(block_threads<TILE>())
    rank_sort_kernel(const K *source, K *target, size_t count, struct key_order order)
{
    __shared__ K tile[TILE];
    const size_t own = static_cast<size_t>(blockIdx.x) * TILE;
    const unsigned in_own = count - own < TILE ? static_cast<unsigned>(count - own) : TILE;
    K keys[KEYS_PER_THREAD];
    unsigned ranks[KEYS_PER_THREAD] = {};
    block_load_striped<K, TILE>(source + own, in_own, order, keys);
    for (size_t first = 0; first < count; first += TILE) {
        block_stream_tile<K, TILE>(source, count, first, order, tile);
        if (first < own)
            thread_count_before<K, TILE, RANK_COUNT_EQUAL>(tile, keys, ranks);
        else if (first > own)
            thread_count_before<K, TILE, RANK_COUNT_SMALLER>(tile, keys, ranks);
        else
            thread_count_before<K, TILE, RANK_COUNT_EARLIER>(tile, keys, ranks);
    }
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        if (thread_striped_index<TILE>(i) < in_own)
            target[ranks[i]] = thread_decode_key(order, keys[i]);
}

template <typename K, unsigned TILE>
static bool rank_start(const struct cuda_sort *sort, struct error *error)
{
    const size_t blocks = launch_blocks(sort->count, TILE);
    const K *source = static_cast<const K *>(sort->items);
    if (blocks > 1) {
        source = static_cast<const K *>(sort->scratch);
        if (!cuda_copy(*sort, sort->scratch, sort->items, sort->count * sizeof(K), error))
            return false;
    }
    return launch_kernel(launch_for(*sort, "rank_sort_kernel", blocks, block_threads<TILE>()),
                         error, rank_sort_kernel<K, TILE>, source, static_cast<K *>(sort->items),
                         sort->count, sort->order);
}

bool rank_sort(const struct cuda_sort *sort, struct error *error)
{
    return dispatch(sort, error, [&](auto key, auto tile) {
        return rank_start<decltype(key), tile()>(sort, error);
    });
}
