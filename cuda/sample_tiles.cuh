/* SPDX-License-Identifier: Apache-2.0 */
/* sample_tiles.cuh - neighbouring buckets become a tile, which a block fetches from all shares and
 * sorts.
 *
 *   scratch, begins and starts --sample_tile_kernel--> items, sorted and decoded
 *
 * Every block finds out by itself which tiles there are.
 */
#ifndef CUDA_SAMPLE_TILES_CUH
#define CUDA_SAMPLE_TILES_CUH

#include "cuda/async_copy.cuh"
#include "cuda/block_pairs.cuh"
#include "cuda/cuda_sort.h"
#include "cuda/dynamic_shared.cuh"
#include "cuda/sample_splitters.cuh"

template <typename K>
constexpr unsigned SAMPLE_TILE_THREADS = SAMPLE_TILE_KEYS / ROW<K>;

/* Whether tiles whose keys have one upper half are sorted by the lower ones alone. Not of 8 bytes:
 * it saved 5 % where there are such tiles, and cost 2 to 5 % where there are none. */
template <typename K>
constexpr bool SAMPLE_SORTS_LOWERS = sizeof(K) == sizeof(key_u128);

/* Neighbouring buckets of so many keys, which go to the items from `start` on. */
struct sample_tile {
    unsigned start;
    uint16_t count;
    uint16_t first_bucket;
    uint16_t end_bucket;
    bool is_alike; /* all keys have one upper half, and SAMPLE_SORTS_LOWERS */
};

template <typename K>
struct sample_tile_shared {
    union {
        struct {
            unsigned starts[SAMPLE_WAYS + 1];       /* of the buckets, among all keys */
            uint16_t firsts[SAMPLE_TILES_MOST + 1]; /* buckets of the tiles */
        } plan;
        K keys[SAMPLE_TILE_KEYS];
        sample_half<K> lowers[SAMPLE_TILE_KEYS];
    };
    unsigned splits[SAMPLE_TILE_THREADS<K>];
    struct sample_tile own[SAMPLE_OWN_TILES_MOST];
    uint16_t froms[SAMPLE_SHARES_MOST];   /* where the tile's piece of each share is there */
    uint16_t tos[SAMPLE_SHARES_MOST + 1]; /* and in the tile */
    uint16_t longs[SAMPLE_TILE_KEYS / SAMPLE_PIECE_SHORT]; /* shares of the pieces that are long */
    unsigned long_count;
    unsigned warp_sums[THREADS_PER_WARP];
};

/* The tile that a bucket is part of: of so many equal ones, that in which its middle lies.
 * `tiles_per_half` is for half a key. */
__device__ __forceinline__ unsigned sample_tile_of(const unsigned *starts, unsigned bucket,
                                                   float tiles_per_half, unsigned tiles)
{
    const float halves = static_cast<float>(starts[bucket] + starts[bucket + 1]);
    return min(static_cast<unsigned>(halves * tiles_per_half), tiles - 1);
}

/* Makes so many tiles; whether all of them have room. Begins and ends with a barrier. */
template <typename K>
__device__ __forceinline__ bool block_try_tiles(const struct sample_job<K> &job, unsigned tiles,
                                                struct sample_tile_shared<K> *shared)
{
    constexpr unsigned threads = SAMPLE_TILE_THREADS<K>;
    const unsigned ways = 1u << job.ways_bits;
    const float scale = static_cast<float>(tiles) / static_cast<float>(2 * job.count);
    unsigned *const starts = shared->plan.starts;
    uint16_t *const firsts = shared->plan.firsts;
    __syncthreads();
    for (unsigned i = threadIdx.x; i <= ways; i += threads) {
        const unsigned from = i > 0 ? sample_tile_of(starts, i - 1, scale, tiles) + 1 : 0;
        const unsigned to = i < ways ? sample_tile_of(starts, i, scale, tiles) : tiles;
        for (unsigned tile = from; tile <= to; tile++)
            firsts[tile] = static_cast<uint16_t>(i);
    }
    __syncthreads();
    bool has_room = true;
    for (unsigned tile = threadIdx.x; tile < tiles; tile += threads)
        has_room &= starts[firsts[tile + 1]] - starts[firsts[tile]] <= SAMPLE_TILE_KEYS;
    return !__syncthreads_or(!has_room);
}

/* Whether the splitters around those buckets tell that all their keys have one upper half. */
template <typename K>
__device__ __forceinline__ bool thread_sees_alike(const struct sample_job<K> &job, unsigned first,
                                                  unsigned end)
{
    if (!SAMPLE_SORTS_LOWERS<K> || first == 0 || first == end || end >> job.ways_bits > 0)
        return false;
    const K *const splitters = job.work.splitters.keys;
    return thread_upper(splitters[sample_tree_node(first, job.ways_bits)]) ==
           thread_upper(splitters[sample_tree_node(end, job.ways_bits)]);
}

/* Makes tiles of the buckets, as many for each block, and as few as have room. Finds the block's
 * own ones, and returns how many they are; 0 if buckets are too large. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ unsigned block_find_tiles(const struct sample_job<K> &job,
                                                     struct sample_tile_shared<K> *shared)
{
    const unsigned ways = 1u << job.ways_bits, least = SAMPLE_TILE_AIM * gridDim.x;
    const unsigned most = min(SAMPLE_TILES_MOST / gridDim.x, SAMPLE_OWN_TILES_MOST);
    for (unsigned i = threadIdx.x; i <= ways; i += SAMPLE_TILE_THREADS<K>)
        shared->plan.starts[i] = i < ways ? job.work.starts[i] : job.count;
    static_assert(SAMPLE_OWN_TILES_MOST <= SAMPLE_TILE_THREADS<K>, "a thread finds each");
    unsigned own = (job.count + least - 1) / least;
    while (own <= most && !block_try_tiles(job, own * gridDim.x, shared))
        own++;
    if (threadIdx.x < own && own <= most) {
        const unsigned tile = threadIdx.x * gridDim.x + blockIdx.x;
        const uint16_t first = shared->plan.firsts[tile], end = shared->plan.firsts[tile + 1];
        const unsigned start = shared->plan.starts[first];
        const uint16_t count = static_cast<uint16_t>(shared->plan.starts[end] - start);
        shared->own[threadIdx.x] = {start, count, first, end, thread_sees_alike(job, first, end)};
    }
    __syncthreads();
    return own <= most ? own : 0;
}

/* Finds the tile's pieces of all shares. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_find_pieces(const struct sample_job<K> &job,
                                                  const struct sample_tile &tile,
                                                  struct sample_tile_shared<K> *shared)
{
    constexpr unsigned threads = SAMPLE_TILE_THREADS<K>;
    unsigned before = 0;
    for (unsigned base = 0; base < job.shares; base += threads) {
        const unsigned share = base + threadIdx.x;
        unsigned from = 0, end = 0, sum = 0;
        if (share < job.shares) {
            const uint16_t *const begins =
                job.work.begins + (static_cast<size_t>(share) << job.ways_bits);
            from = begins[tile.first_bucket];
            end = tile.end_bucket >> job.ways_bits == 0
                      ? begins[tile.end_bucket]
                      : min(job.share, job.count - share * job.share);
        }
        const unsigned to =
            before + block_exclusive_scan<threads>(end - from, shared->warp_sums, &sum);
        if (share < job.shares) {
            shared->froms[share] = static_cast<uint16_t>(from);
            shared->tos[share] = static_cast<uint16_t>(to);
        }
        before += sum;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        shared->tos[job.shares] = static_cast<uint16_t>(before);
        shared->long_count = 0;
    }
    __syncthreads();
}

/* Copies keys `from` .. `to` - 1 of a share's piece, every `step`-th of them. */
template <typename K>
__device__ __forceinline__ void thread_fetch(const struct sample_job<K> &job, unsigned share,
                                             unsigned from, unsigned to, unsigned step,
                                             struct sample_tile_shared<K> *shared)
{
    const K *const piece = job.scratch + share * job.share + shared->froms[share];
    K *const target = shared->keys + shared->tos[share];
    for (unsigned i = from; i < to; i += step)
        thread_copy_async(target + i, piece + i);
}

/* Copies the pieces, some threads each, but long ones, as equal keys make them, all threads
 * together; and fills the last row of `count` keys. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_fetch_pieces(const struct sample_job<K> &job, unsigned count,
                                                   struct sample_tile_shared<K> *shared)
{
    constexpr unsigned threads = SAMPLE_TILE_THREADS<K>;
    constexpr unsigned row = ROW<sample_half<K>>; /* a multiple of ROW<K> */
    const unsigned room = (count + row - 1) / row * row;
    const unsigned lane = threadIdx.x % SAMPLE_FETCH_LANES;
    for (unsigned share = threadIdx.x / SAMPLE_FETCH_LANES; share < job.shares;
         share += threads / SAMPLE_FETCH_LANES) {
        const unsigned keys = shared->tos[share + 1] - shared->tos[share];
        if (keys <= SAMPLE_PIECE_SHORT)
            thread_fetch(job, share, lane, keys, SAMPLE_FETCH_LANES, shared);
        else if (lane == 0)
            shared->longs[atomicAdd(&shared->long_count, 1u)] = static_cast<uint16_t>(share);
    }
    for (unsigned i = count + threadIdx.x; i < room; i += threads)
        shared->keys[i] = key_infinity<K>();
    __syncthreads();
    for (unsigned i = 0; i < shared->long_count; i++) {
        const unsigned share = shared->longs[i];
        thread_fetch(job, share, threadIdx.x, shared->tos[share + 1] - shared->tos[share], threads,
                     shared);
    }
    thread_wait_for_copies();
    __syncthreads();
}

/* Sorts `count` keys of the tile, or what of them fits a T, in rows, a thread each; from there to
 * the end of a row are the greatest. `tile` may be where the keys are. Ends with a barrier. */
template <typename T, typename K>
__device__ __forceinline__ void block_sort_rows(T *tile, unsigned count,
                                                struct sample_tile_shared<K> *shared)
{
    const unsigned rows = (count + ROW<T> - 1) / ROW<T>;
    const bool has_row = threadIdx.x < rows;
    const unsigned row = threadIdx.x * ROW<T>, room = rows * ROW<T>;
    const unsigned column = has_row ? threadIdx.x : 0; /* any: the compiler spills undefined keys */
    T keys[ROW<T>];
#pragma unroll
    for (unsigned i = 0; i < ROW<T>; i++)
        keys[i] = static_cast<T>(shared->keys[i * rows + column]);
    __syncthreads();
    if (has_row)
        thread_sort_row(keys, tile);
    __syncwarp();
    for (unsigned run = ROW<T>; run < room; run *= 2) {
        const unsigned start = row & ~(2 * run - 1), diagonal = row - start, left = room - start;
        const struct paired_runs pair = {start, min(2 * run, left), min(run, left)};
        const bool is_descending = (row & (2 * run)) != 0; /* to face the run before it */
        block_merge_pairs(tile, shared->splits, pair, diagonal, is_descending,
                          2 * run <= KEYS_OF_WARP<T>, has_row, keys);
        2 * run < KEYS_OF_WARP<T> ? __syncwarp() : __syncthreads();
    }
    __syncthreads();
}

/* Sorts a tile that was fetched, and writes it to the items. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_sort_tile(const struct sample_job<K> &job,
                                                const struct sample_tile &tile,
                                                struct sample_tile_shared<K> *shared)
{
    constexpr unsigned threads = SAMPLE_TILE_THREADS<K>;
    K *const items = job.items + tile.start;
    if (SAMPLE_SORTS_LOWERS<K> && tile.is_alike) {
        const K common = shared->keys[0] ^ static_cast<sample_half<K>>(shared->keys[0]);
        block_sort_rows(shared->lowers, tile.count, shared);
        block_store_tile(shared->lowers, threads, items, tile.count, job.order, common);
    } else {
        block_sort_rows(shared->keys, tile.count, shared);
        block_store_tile(shared->keys, threads, items, tile.count, job.order);
    }
    __syncthreads();
}

/* If buckets are too large, nothing is done, and the note is `misled`. A struct sample_tile_shared
 * of dynamic shared memory. */
template <typename K>
__global__ void __launch_bounds__(SAMPLE_TILE_THREADS<K>, sample_tile_blocks(sizeof(K)))
    sample_tile_kernel(struct sample_job<K> job, size_t misled, struct sort_note *note)
{
    auto *const shared = reinterpret_cast<struct sample_tile_shared<K> *>(block_dynamic_shared());
    thread_wait_for_grid();
    if (!sample_has_work(job))
        return;
    const unsigned own = block_find_tiles(job, shared);
    if (own == 0 && blockIdx.x == 0 && threadIdx.x == 0)
        note->count = misled;
    for (unsigned i = 0; i < own; i++) {
        const struct sample_tile tile = shared->own[i];
        if (tile.count == 0) /* behind the last bucket, shares have none that begins */
            continue;
        block_find_pieces(job, tile, shared);
        block_fetch_pieces(job, tile.count, shared);
        block_sort_tile(job, tile, shared);
    }
}

#endif
