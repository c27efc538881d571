/* SPDX-License-Identifier: Apache-2.0 */
/* column_sort.cu - tiles of columns of 32 keys: each column is sorted by radix sort, then all
 * columns of the tile are merged by one of four methods. Segmented merges of the tiles follow.
 *
 * Sorting columns: each thread of a warp holds one key of a column, and a warp holds 8 columns in
 * its registers. A pass handles one bit, from the lowest on. A ballot shows every thread the keys
 * of the column with the bit set. The counts of zeros and ones before its key give the key's
 * position. The keys are exchanged through shared memory. If no column of the warp has both a zero
 * and a one, the pass ends after the ballots. So bits that all keys share cost only these.
 *
 * The four merges, to be compared with each other:
 *   single   one thread compares the heads of all columns and takes the least, for every key
 *   min      a warp holds the heads, and finds the least by a reduction through shuffles
 *   pairs    columns merge in pairs, then runs of two columns, and so on: each key finds its rank
 *            in the partner run by binary search, and is stored at its position
 *   block    in pairs as well, cut into a row of keys per thread by merge path: the rounds of
 *            block_pairs.cuh, from 32 keys on
 * The first two are serial in the keys of a tile, and compare TILE / 32 heads per key. The other
 * two have log2 (TILE / 32) rounds, in which all threads work.
 *
 * Data: items -> striped registers, encoded -> columns in shared memory -> merge -> tile -> target.
 *
 * Source: the radix sort of columns in shared memory by the threads of a block, with its merges, of
 * S. Cook, "CUDA Programming", 2012; the split by a ballot as in M. Harris, M. Garland, "Optimizing
 * Parallel Prefix Operations for the Fermi Architecture", GPU Computing Gems 2011.
 */
#include "cuda/block/block_scan.cuh"
#include "cuda/block/block_tile.cuh"
#include "cuda/block/dispatch.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/merge/block_pairs.cuh"

/* One key per thread of a warp. */
constexpr unsigned COLUMN_KEYS = THREADS_PER_WARP;

/* Column c consists of keys 32 c .. 32 c + 31 of the tile. */
template <typename K>
__device__ __forceinline__ K column_key(const K *tile, unsigned column, unsigned row)
{
    return tile[tile_slot<K>(column * COLUMN_KEYS + row)];
}

/* Does one pass, by one bit, on the 8 columns in the warp's registers, which are striped: each
 * register is a column. At the end no thread of the warp reads the tile. */
template <typename K, unsigned TILE>
__device__ __forceinline__ void warp_split_columns(K (&keys)[KEYS_PER_THREAD], K *tile, K bit)
{
    const unsigned lane = thread_lane();
    const unsigned before = (1u << lane) - 1;
    unsigned ones[KEYS_PER_THREAD];
    bool is_mixed = false;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
        ones[i] = __ballot_sync(ALL_LANES, (keys[i] & bit) != 0);
        is_mixed = is_mixed || (ones[i] != 0 && ones[i] != ALL_LANES);
    }
    if (!is_mixed)
        return;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
        const unsigned zeros = COLUMN_KEYS - __popc(ones[i]);
        const unsigned row =
            (keys[i] & bit) != 0 ? zeros + __popc(ones[i] & before) : __popc(~ones[i] & before);
        tile[tile_slot<K>(thread_striped_index<TILE>(i) - lane + row)] = keys[i];
    }
    __syncwarp();
    thread_load_striped<K, TILE>(tile, keys);
    __syncwarp();
}

/* Sorts the columns and stores them in the tile. Ends with a barrier. */
template <typename K, unsigned TILE>
__device__ __forceinline__ void block_sort_columns(K (&keys)[KEYS_PER_THREAD], K *tile)
{
    for (K bit = 1; bit != 0; bit = static_cast<K>(bit << 1))
        warp_split_columns<K, TILE>(keys, tile, bit);
    thread_store_striped<K, TILE>(keys, tile);
    __syncthreads();
}

/* The destination of a merge: the tile in global memory. */
template <typename K>
struct column_target {
    K *keys;
    unsigned count; /* up to TILE; keys past the end are key_max */
    struct key_order decoding;
};

/* ---- single: one thread ---- */

template <typename K, unsigned TILE>
struct column_merge_single {
    static constexpr unsigned columns = TILE / COLUMN_KEYS;

    /* Returns the column with the least head; the first of several. */
    static __device__ __forceinline__ unsigned least_head(const K *tile, const unsigned *rows)
    {
        unsigned least = columns;
        K least_key = key_max<K>();
        for (unsigned column = 0; column < columns; column++) {
            if (rows[column] == COLUMN_KEYS)
                continue;
            const K key = column_key(tile, column, rows[column]);
            if (least == columns || key < least_key) {
                least = column;
                least_key = key;
            }
        }
        return least;
    }

    /* rows[c]: position of the head in column c. */
    static __device__ __forceinline__ void merge(K *tile, unsigned *rows,
                                                 const struct column_target<K> &target)
    {
        if (threadIdx.x < columns)
            rows[threadIdx.x] = 0;
        __syncthreads();
        if (threadIdx.x > 0)
            return;
        for (unsigned i = 0; i < target.count; i++) {
            const unsigned least = least_head(tile, rows);
            const K key = column_key(tile, least, rows[least]++);
            target.keys[i] = thread_decode_key(target.decoding, key);
        }
    }
};

/* ---- min: a warp reduces ---- */

/* A thread holds the heads of column `lane` and of every 32nd column from there on. */
template <typename K, unsigned TILE>
struct column_heads {
    static constexpr unsigned columns = TILE / COLUMN_KEYS;
    static constexpr unsigned per_thread =
        columns > THREADS_PER_WARP ? columns / THREADS_PER_WARP : 1;
    K keys[per_thread];
    unsigned rows[per_thread]; /* COLUMN_KEYS: the column is empty, and its key key_max */
};

template <typename K, unsigned TILE>
__device__ __forceinline__ void thread_load_head(const K *tile, unsigned column, unsigned row,
                                                 K *key)
{
    const bool is_there = column < column_heads<K, TILE>::columns && row < COLUMN_KEYS;
    *key = is_there ? column_key(tile, column, row) : key_max<K>();
}

/* Returns the least head of all columns, and removes it from the first thread that has it. */
template <typename K, unsigned TILE>
__device__ __forceinline__ K warp_take_least(const K *tile, struct column_heads<K, TILE> *heads)
{
    constexpr unsigned per_thread = column_heads<K, TILE>::per_thread;
    const unsigned lane = thread_lane();
    K own = heads->keys[0];
#pragma unroll
    for (unsigned j = 1; j < per_thread; j++)
        own = heads->keys[j] < own ? heads->keys[j] : own;
    const K least = warp_least(own);
    const unsigned owners = __ballot_sync(ALL_LANES, own == least);
    bool is_to_take = lane + 1 == static_cast<unsigned>(__ffs(static_cast<int>(owners)));
#pragma unroll
    for (unsigned j = 0; j < per_thread; j++)
        if (is_to_take && heads->keys[j] == least) {
            is_to_take = false;
            heads->rows[j]++;
            thread_load_head<K, TILE>(tile, lane + j * THREADS_PER_WARP, heads->rows[j],
                                      &heads->keys[j]);
        }
    return least;
}

/* An empty column may be chosen once all remaining keys are key_max, but then the result is the
 * same. */
template <typename K, unsigned TILE>
struct column_merge_min {
    static __device__ __forceinline__ void merge(K *tile, unsigned *,
                                                 const struct column_target<K> &target)
    {
        if (threadIdx.x >= THREADS_PER_WARP)
            return;
        struct column_heads<K, TILE> heads;
#pragma unroll
        for (unsigned j = 0; j < column_heads<K, TILE>::per_thread; j++) {
            heads.rows[j] = 0;
            thread_load_head<K, TILE>(tile, threadIdx.x + j * THREADS_PER_WARP, 0, &heads.keys[j]);
        }
        for (unsigned i = threadIdx.x; i - threadIdx.x < target.count; i += THREADS_PER_WARP) {
            K kept = key_max<K>();
            for (unsigned lane = 0; lane < THREADS_PER_WARP; lane++) {
                const K least = warp_take_least(tile, &heads);
                kept = lane == threadIdx.x ? least : kept;
            }
            if (i < target.count)
                target.keys[i] = thread_decode_key(target.decoding, kept);
        }
    }
};

/* ---- pairs: each key finds its rank ---- */

template <typename K, unsigned TILE>
struct column_merge_pairs {
    /* Merges runs of `run` keys into runs of twice as many. A barrier before and after. */
    static __device__ __forceinline__ void round(K *tile, unsigned run)
    {
        const unsigned first = threadIdx.x * KEYS_PER_THREAD;
        const unsigned in_run = first % run;
        const unsigned own = first - in_run, partner = own ^ run;
        const bool is_right = partner < own;
        const unsigned pair = is_right ? partner : own;
        K keys[KEYS_PER_THREAD];
        unsigned places[KEYS_PER_THREAD];
#pragma unroll
        for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
            keys[i] = tile[tile_slot<K>(first + i)];
        unsigned rank = 0;
#pragma unroll
        for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
            rank =
                thread_rank<K, unsigned>(tile_keys<K>{tile, partner}, rank, run, keys[i], is_right);
            places[i] = pair + in_run + i + rank;
        }
        __syncthreads();
#pragma unroll
        for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
            tile[tile_slot<K>(places[i])] = keys[i];
        __syncthreads();
    }

    static __device__ __forceinline__ void merge(K *tile, unsigned *,
                                                 const struct column_target<K> &target)
    {
        for (unsigned run = COLUMN_KEYS; run < TILE; run *= 2)
            round(tile, run);
        K keys[KEYS_PER_THREAD];
        thread_load_striped<K, TILE>(tile, keys);
        block_store_striped<K, TILE>(keys, target.keys, target.count, target.decoding);
    }
};

/* ---- block: merge path ---- */

template <typename K, unsigned TILE>
struct column_merge_block {
    static __device__ __forceinline__ void merge(K *tile, unsigned *splits,
                                                 const struct column_target<K> &target)
    {
        K keys[KEYS_PER_THREAD];
        thread_load_striped<K, TILE>(tile, keys);
        __syncthreads();
        /* block_merge_tile() needs a tile without gaps, in which every other column descends. */
#pragma unroll
        for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
            const unsigned index = thread_striped_index<TILE>(i);
            tile[index & COLUMN_KEYS ? index ^ (COLUMN_KEYS - 1) : index] = keys[i];
        }
        __syncthreads();
        block_merge_tile<K, TILE>(tile, splits, COLUMN_KEYS, target.keys, target.count,
                                  target.decoding);
    }
};

/* ---- the path ---- */

/* Writes sorted tiles from source to target, which may be the same. One block per tile. */
template <typename K, unsigned TILE, typename Merge>
__global__ void __launch_bounds__(block_threads<TILE>())
    column_sort_kernel(const K *source, K *target, size_t count, struct key_order encoding,
                       struct key_order decoding)
{
    __shared__ K tile[tile_slot<K>(TILE)];
    __shared__ unsigned words[block_threads<TILE>()]; /* one per thread, for the merge */
    const size_t first = static_cast<size_t>(blockIdx.x) * TILE;
    const unsigned in_tile = count - first < TILE ? static_cast<unsigned>(count - first) : TILE;
    K keys[KEYS_PER_THREAD];
    block_load_striped<K, TILE>(source + first, in_tile, encoding, keys);
    block_sort_columns<K, TILE>(keys, tile);
    const struct column_target<K> place = {
        target + first, in_tile, decoding
    };
    Merge::merge(tile, words, place);
}

template <template <typename, unsigned> class Merge>
static bool column_sort_tiles(const struct cuda_sort *sort, void *target, struct key_order decoding,
                              struct error *error)
{
    return dispatch(sort, error, [&](auto key, auto tile) {
        using K = decltype(key);
        return launch_kernel(launch_for(*sort, "column_sort_kernel",
                                        launch_blocks(sort->count, tile()),
                                        block_threads<tile()>()),
                             error, column_sort_kernel<K, tile(), Merge<K, tile()>>,
                             static_cast<const K *>(sort->items), static_cast<K *>(target),
                             sort->count, sort->order, decoding);
    });
}

bool column_single_sort(const struct cuda_sort *sort, struct error *error)
{
    return segmented_merge_runs(sort, column_sort_tiles<column_merge_single>, error);
}

bool column_min_sort(const struct cuda_sort *sort, struct error *error)
{
    return segmented_merge_runs(sort, column_sort_tiles<column_merge_min>, error);
}

bool column_pairs_sort(const struct cuda_sort *sort, struct error *error)
{
    return segmented_merge_runs(sort, column_sort_tiles<column_merge_pairs>, error);
}

bool column_block_sort(const struct cuda_sort *sort, struct error *error)
{
    return segmented_merge_runs(sort, column_sort_tiles<column_merge_block>, error);
}
