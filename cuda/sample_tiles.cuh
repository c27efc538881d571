/* sample_tiles.cuh - neighbouring buckets become a tile, which a block fetches from all shares and
 * sorts.
 *
 *   scratch, begins and totals --sample_tile_kernel--> items, sorted and decoded
 *
 * Every block finds out by itself where each bucket starts, and so which tiles there are.
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

template <typename K>
struct sample_tile_shared {
    K keys[SAMPLE_TILE_KEYS];
    unsigned splits[SAMPLE_TILE_THREADS<K>];
    unsigned starts[SAMPLE_WAYS + 1];     /* of the buckets, among all keys */
    uint16_t froms[SAMPLE_SHARES_MOST];   /* where the tile's piece of each share is there */
    uint16_t tos[SAMPLE_SHARES_MOST + 1]; /* and in the tile */
    uint16_t longs[SAMPLE_TILE_KEYS / SAMPLE_PIECE_SHORT]; /* shares of the pieces that are long */
    unsigned long_count;
    unsigned warp_sums[THREADS_PER_WARP];
    unsigned greatest; /* bucket */
};

/* Where each bucket starts, and how many keys the greatest one has. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_find_starts(const struct sample_job<K> &job,
                                                  struct sample_tile_shared<K> *shared)
{
    constexpr unsigned threads = SAMPLE_TILE_THREADS<K>, own_most = SAMPLE_WAYS / threads;
    const unsigned own_ways = (1u << job.ways_bits) / threads, first = threadIdx.x * own_ways;
    unsigned counts[own_most], sum = 0, most = 0, total = 0;
    if (threadIdx.x == 0)
        shared->greatest = 0;
#pragma unroll
    for (unsigned i = 0; i < own_most; i++) {
        counts[i] = i < own_ways ? job.work.totals[first + i] : 0;
        sum += counts[i];
        most = max(most, counts[i]);
    }
#pragma unroll
    for (int distance = 1; distance < static_cast<int>(THREADS_PER_WARP); distance *= 2)
        most = max(most, __shfl_xor_sync(ALL_LANES, most, distance));
    unsigned start = block_exclusive_scan<threads>(sum, shared->warp_sums, &total);
    if (thread_lane() == 0)
        atomicMax(&shared->greatest, most);
#pragma unroll
    for (unsigned i = 0; i < own_most; i++) {
        if (i < own_ways)
            shared->starts[first + i] = start;
        start += counts[i];
    }
    if (threadIdx.x == 0)
        shared->starts[1u << job.ways_bits] = total;
    __syncthreads();
}

/* The first bucket that starts at `place` or behind. */
__device__ __forceinline__ unsigned sample_bucket_from(const unsigned *starts, unsigned ways_bits,
                                                       unsigned place)
{
    unsigned bucket = 0;
    for (unsigned step = 1u << ways_bits >> 1; step > 0; step /= 2)
        if (starts[bucket + step - 1] < place)
            bucket += step;
    return bucket + (starts[bucket] < place ? 1 : 0);
}

/* Finds the pieces of buckets first .. last - 1 of all shares. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_find_pieces(const struct sample_job<K> &job, unsigned first,
                                                  unsigned last,
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
            from = begins[first];
            end = last >> job.ways_bits == 0 ? begins[last]
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
 * together; and fills up to `room` keys. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_fetch_pieces(const struct sample_job<K> &job, unsigned count,
                                                   unsigned room,
                                                   struct sample_tile_shared<K> *shared)
{
    constexpr unsigned threads = SAMPLE_TILE_THREADS<K>;
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

/* Sorts `rows` rows of the tile, a thread each. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_sort_rows(unsigned rows, struct sample_tile_shared<K> *shared)
{
    const bool is_row = threadIdx.x < rows;
    const unsigned row = threadIdx.x * ROW<K>, room = rows * ROW<K>;
    K keys[ROW<K>];
    if (is_row)
#pragma unroll
        for (unsigned i = 0; i < ROW<K>; i++)
            keys[i] = shared->keys[i * rows + threadIdx.x];
    __syncthreads();
    if (is_row)
        thread_sort_row(keys, shared->keys);
    __syncwarp();
    for (unsigned run = ROW<K>; run < room; run *= 2) {
        const bool is_of_warp = 2 * run <= KEYS_OF_WARP<K>;
        const unsigned start = row & ~(2 * run - 1), diagonal = row - start, left = room - start;
        const struct paired_runs pair = {start, min(2 * run, left), min(run, left)};
        const bool is_descending = (row & (2 * run)) != 0 && 2 * run < room;
        unsigned split = 0;
        if (is_row)
            shared->splits[threadIdx.x] = split = thread_pair_split(shared->keys, pair, diagonal);
        is_of_warp ? __syncwarp() : __syncthreads();
        if (is_row)
            thread_pair_load(shared->keys, pair, diagonal, split,
                             diagonal + ROW<K> == pair.count ? pair.a_count
                                                             : shared->splits[threadIdx.x + 1],
                             keys);
        is_of_warp ? __syncwarp() : __syncthreads();
        if (is_row)
            thread_row_merge(keys, is_descending, shared->keys,
                             thread_output_row<K>(pair, diagonal, is_descending));
        2 * run < KEYS_OF_WARP<K> ? __syncwarp() : __syncthreads();
    }
    __syncthreads();
}

/* Buckets that start within the same `aim` keys make a tile: it has fewer than aim keys, and those
 * of one bucket more. All blocks have as many tiles. If a bucket is too large for that, nothing is
 * done, and the note is `misled`. A struct sample_tile_shared of dynamic shared memory. */
template <typename K>
__global__ void __launch_bounds__(SAMPLE_TILE_THREADS<K>, sample_tile_blocks(sizeof(K)))
    sample_tile_kernel(struct sample_job<K> job, size_t misled, struct sort_note *note)
{
    auto *const shared = reinterpret_cast<struct sample_tile_shared<K> *>(block_dynamic_shared());
    thread_wait_for_grid();
    if (!sample_has_work(job))
        return;
    block_find_starts(job, shared);
    if (shared->greatest > SAMPLE_BUCKET_MOST) {
        if (blockIdx.x == 0 && threadIdx.x == 0)
            note->count = misled;
        return;
    }
    const unsigned most = (SAMPLE_TILE_KEYS - shared->greatest + 1) * gridDim.x;
    const unsigned tiles = (job.count + most - 1) / most * gridDim.x;
    const unsigned aim = (job.count + tiles - 1) / tiles;
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const unsigned first = sample_bucket_from(shared->starts, job.ways_bits, tile * aim);
        const unsigned last = sample_bucket_from(shared->starts, job.ways_bits, (tile + 1) * aim);
        const unsigned start = shared->starts[first], count = shared->starts[last] - start;
        if (count == 0)
            continue;
        const unsigned rows = (count + ROW<K> - 1) / ROW<K>;
        block_find_pieces(job, first, last, shared);
        block_fetch_pieces(job, count, rows * ROW<K>, shared);
        block_sort_rows(rows, shared);
        block_store_tile(shared->keys, SAMPLE_TILE_THREADS<K>, job.items + start, count, job.order);
        __syncthreads();
    }
}

#endif
