/* SPDX-License-Identifier: Apache-2.0 */
/* direct_merge_sort.cu - merge sort in which each key finds its own position.
 *
 * The position of a key in the merge of two runs is its index in its own run plus its rank in the
 * partner run. A binary search finds the rank. Equal keys of the left run go first: a left key
 * counts the smaller keys of the right run, a right key counts the smaller and the equal keys of
 * the left run. So all positions differ.
 *
 * The searches share their work at three levels. A first kernel ranks the first key of every tile
 * by a search in the whole partner run. The ranks of two neighbours bound the window of the partner
 * run that the tile faces. A block copies its window to shared memory and ranks the first key of
 * every row of 32 keys in it. The ranks of two neighbours bound the search for each key of the row
 * to a few steps. A window too large to copy (skewed keys) is searched in global memory, with the
 * same bounds.
 *
 * Source: the rank-based merge in N. Satish, M. Harris, M. Garland, "Designing Efficient Sorting
 * Algorithms for Manycore GPUs", IPDPS 2009.
 */
#include "cuda/block/block_tile.cuh"
#include "cuda/block/dispatch.cuh"
#include "cuda/merge/merge_runs.cuh"

/* Runs 2 i and 2 i + 1 of a round. Either may be short; b may be empty. */
struct run_pair {
    size_t a; /* index of the first key of the pair, and of its merge */
    size_t a_count;
    size_t b;
    size_t b_count;
};

/* Returns the pair that contains the key at `position`. */
__device__ __forceinline__ struct run_pair run_pair_at(const struct run_list &list, size_t position)
{
    /* A tile is a power of two keys, and so is a run. */
    const size_t a = position & ~(2 * list.run - 1);
    const size_t b = min(a + list.run, list.count), end = min(b + list.run, list.count);
    return {a, b - a, b, end - b};
}

/* One tile of a run, and the run to merge it with. */
struct direct_tile {
    unsigned count;
    bool is_left;     /* in run a */
    bool is_last;     /* the last tile of its run */
    size_t own_place; /* position of its first key if the partner were empty */
    size_t partner;   /* index of the first key of the partner run */
    size_t partner_count;
};

/* Returns the tile whose keys start at `first`, a multiple of tile_size. */
__device__ __forceinline__ struct direct_tile direct_tile_at(const struct run_list &list,
                                                             size_t first, unsigned tile_size)
{
    const struct run_pair pair = run_pair_at(list, first);
    const bool is_left = first < pair.b;
    const size_t run_end = pair.b + (is_left ? 0 : pair.b_count);
    const size_t left = run_end - first;
    return {left < tile_size ? static_cast<unsigned>(left) : tile_size,
            is_left,
            left <= tile_size,
            is_left ? first : pair.a + (first - pair.b),
            is_left ? pair.b : pair.a,
            is_left ? pair.b_count : pair.a_count};
}

/* Returns the index of the first key of a block's tile. Tiles of the two runs alternate, so that
 * blocks that write to the same part of the output run at the same time, and their writes share the
 * cache. */
template <unsigned TILE>
__device__ __forceinline__ size_t direct_tile_first(const struct run_list &list, size_t block)
{
    const struct run_pair pair = run_pair_at(list, block * TILE);
    const size_t turn = block - pair.a / TILE;
    const size_t b_tiles = (pair.b_count + TILE - 1) / TILE; /* a has at least as many */
    if (turn >= 2 * b_tiles)
        return pair.a + (turn - b_tiles) * TILE;
    return (turn % 2 ? pair.b : pair.a) + turn / 2 * TILE;
}

/* ranks[t]: the rank of the first key of tile t in its partner run. One thread per tile. */
template <typename K, unsigned TILE>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    rank_tiles_kernel(const K *source, struct run_list list, size_t *ranks)
{
    const size_t index = static_cast<size_t>(blockIdx.x) * THREADS_PER_BLOCK + threadIdx.x;
    const size_t first = index * TILE;
    if (first >= list.count)
        return;
    const struct direct_tile tile = direct_tile_at(list, first, TILE);
    ranks[index] = thread_rank<K, size_t>(source + tile.partner, 0, tile.partner_count,
                                          source[first], !tile.is_left);
}

/* Ranks the thread's striped keys of a tile within window[0..window_count) of the partner run, and
 * writes them to place[index + rank]. All threads of the block call it. `row_ranks` has a word for
 * each row of 32 keys and one more. */
template <typename K, unsigned TILE, typename Index>
__device__ __forceinline__ void block_place_keys(const K *own, const struct direct_tile &tile,
                                                 const K *window, Index window_count,
                                                 Index *row_ranks, const K (&keys)[KEYS_PER_THREAD],
                                                 K *place, const struct key_order &decoding)
{
    constexpr unsigned rows = TILE / THREADS_PER_WARP;
    for (unsigned row = threadIdx.x; row <= rows; row += block_threads<TILE>()) {
        const unsigned index = row * THREADS_PER_WARP;
        row_ranks[row] = index < tile.count ? thread_rank<K, Index>(window, 0, window_count,
                                                                    own[index], !tile.is_left)
                                            : window_count;
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
        const unsigned index = thread_striped_index<TILE>(i);
        const unsigned row = index / THREADS_PER_WARP;
        if (index < tile.count)
            place[index + thread_rank<K, Index>(window, row_ranks[row], row_ranks[row + 1], keys[i],
                                                !tile.is_left)] =
                thread_decode_key(decoding, keys[i]);
    }
}

/* Merges runs from source to target, with the ranks of rank_tiles_kernel. One block per tile. */
template <typename K, unsigned TILE>
__global__ void __launch_bounds__(block_threads<TILE>())
    direct_merge_kernel(const K *__restrict__ source, K *__restrict__ target, struct run_list list,
                        const size_t *__restrict__ ranks, struct key_order decoding)
{
    constexpr unsigned window_capacity = TILE / 16 * DIRECT_MERGE_WINDOW_SIXTEENTHS;
    __shared__ K window[window_capacity];
    __shared__ size_t row_ranks[TILE / THREADS_PER_WARP + 1];
    const size_t first = direct_tile_first<TILE>(list, blockIdx.x);
    const struct direct_tile tile = direct_tile_at(list, first, TILE);
    const size_t rank = ranks[first / TILE];
    const size_t next_rank = tile.is_last ? tile.partner_count : ranks[first / TILE + 1];
    const size_t window_count = next_rank - rank;
    const K *const partner = source + tile.partner + rank;
    K *const place = target + tile.own_place + rank;
    K keys[KEYS_PER_THREAD];
    block_load_striped<K, TILE>(source + first, tile.count, key_order_identity(), keys);
    if (window_count > window_capacity) {
        block_place_keys<K, TILE, size_t>(source + first, tile, partner, window_count, row_ranks,
                                          keys, place, decoding);
        return;
    }
    for (unsigned i = threadIdx.x; i < window_count; i += block_threads<TILE>())
        window[i] = partner[i];
    __syncthreads();
    block_place_keys<K, TILE, unsigned>(
        source + first, tile, window, static_cast<unsigned>(window_count),
        reinterpret_cast<unsigned *>(row_ranks), keys, place, decoding);
}

template <typename K, unsigned TILE>
static bool direct_merge_round(const struct cuda_sort *sort, const struct merge_round &round,
                               struct error *error)
{
    const size_t tiles = launch_blocks(sort->count, TILE);
    size_t *const ranks = static_cast<size_t *>(sort->workspace);
    const K *const source = static_cast<const K *>(round.source);
    return launch_kernel(launch_for(*sort, "rank_tiles_kernel",
                                    launch_blocks(tiles, THREADS_PER_BLOCK), THREADS_PER_BLOCK),
                         error, rank_tiles_kernel<K, TILE>, source, round.list, ranks) &&
           launch_kernel(launch_for(*sort, "direct_merge_kernel", tiles, block_threads<TILE>()),
                         error, direct_merge_kernel<K, TILE>, source,
                         static_cast<K *>(round.target), round.list, ranks, round.decoding);
}

bool direct_merge_sort(const struct cuda_sort *sort, struct error *error)
{
    return dispatch(sort, error, [&](auto key, auto tile) {
        const auto merge_round = [&](const struct merge_round &round) {
            return direct_merge_round<decltype(key), tile()>(sort, round, error);
        };
        return merge_runs(sort, tile_sort, 1, merge_round, error);
    });
}
