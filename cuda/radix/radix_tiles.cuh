/* SPDX-License-Identifier: Apache-2.0 */
/* radix_tiles.cuh - the last pass of the sort by models: sorts each pack in shared memory. Buckets
 * that are too large for a tile (ranges) are only decoded, and listed as open if their keys differ.
 *
 * The model that made the buckets also predicts the position of each key in its pack. A tile is
 * therefore sorted by counting its keys into bins of positions, with about one bin per key, and
 * then by small sorting networks over windows of neighbouring keys:
 *
 *   pack --read--> bin and rank of each key --scan of the bins--> --read again-->
 *   keys in order of bins in shared memory --windows, until sorted--> decoded, to items
 *
 * A key is never farther from its final position than the number of keys in its bin. If all bins
 * hold fewer than W keys, two steps sort the tile: sort windows of 2 W neighbours, then windows
 * shifted by W. The reason: the keys on the wrong side of any position are within W of it, so a
 * single window holds them all. Equal keys need no moves, however many share a bin.
 *
 * The fallbacks, for fuller bins:
 *
 *   - If some bins are fuller, the windows are sorted a few more times.
 *   - If the model is wrong at this small scale (for example, one value a thousand times among
 *     others), splitters from the tile define new bins, with a separate bin for the keys equal to
 *     each splitter.
 *   - If that fails too, a bitonic network sorts the whole tile.
 */
#ifndef CUDA_RADIX_TILES_CUH
#define CUDA_RADIX_TILES_CUH

#include "core/auto_model.h"
#include "cuda/block/block_tile.cuh"
#include "cuda/cuda_sort.h"
#include "cuda/radix/radix_levels.cuh"

/* Where the encoded keys are read, and where they are written after decoding. */
template <typename K>
struct radix_move {
    const K *source;
    K *target; /* may be source */
    struct key_order decoding;
};

static_assert(RADIX_TILE_BINS <= 1u << RADIX_RANK_SHIFT, "a ranked bin has room for a bin");
static_assert(RADIX_TILE_ROOM <= 1u << RADIX_RANK_SHIFT, "a ranked bin has room for a rank");
static_assert(RADIX_THREAD_BINS % 4 == 0, "bins are scanned by fours");

/* Windows begin at multiples of RADIX_WINDOW (8); shifted windows begin half a window later. */
constexpr unsigned RADIX_WINDOW = KEYS_PER_THREAD;
constexpr unsigned RADIX_WINDOW_SHIFT = RADIX_WINDOW / 2;

static_assert(2 * RADIX_SPLITTERS < RADIX_TILE_BINS, "bins between splitters, and equal to one");

template <typename K>
struct radix_tile_shared {
    unsigned bins[RADIX_TILE_BINS]; /* key count of a bin; later the index of its first key */
    K keys[tile_slot<K>(RADIX_TILE_ROOM + RADIX_WINDOW + RADIX_WINDOW_SHIFT) + 1];
    struct radix_model<K> model;
    K splitters[tile_slot<K>(RADIX_SPLITTERS)];
    unsigned warp_sums[THREADS_PER_WARP];
};

static_assert(sizeof(struct radix_tile_shared<key_u128>) <= RADIX_ITEM_SHARED_BYTES,
              "auto chooses radix where it fits");

/* Returns the bin of a key among the ascending splitters: an even bin lies between two splitters,
 * an odd bin holds the keys equal to a splitter. */
template <typename K>
__device__ __forceinline__ unsigned thread_split(const K *splitters, K key)
{
    const struct tile_keys<K> keys = {
        splitters, 0
    };
    const unsigned rank = thread_rank<K, unsigned>(keys, 0, RADIX_SPLITTERS, key, false);
    return 2 * rank + (rank < RADIX_SPLITTERS && keys[rank] == key ? 1 : 0);
}

/* Stores the bin of keys[i] in found[i]: by the splitters if `is_split`, else by the model. */
template <typename K>
__device__ __forceinline__ void
thread_find_bins(const struct radix_tile_shared<K> &shared, const struct radix_bins &bins,
                 const K (&keys)[RADIX_BATCH], bool is_split, unsigned (&found)[RADIX_BATCH])
{
    if (is_split) {
        for (unsigned i = 0; i < RADIX_BATCH; i++)
            found[i] = thread_split(shared.splitters, keys[i]);
        return;
    }
    thread_radix_positions(thread_lookup(shared.model), keys, found);
#pragma unroll
    for (unsigned i = 0; i < RADIX_BATCH; i++)
        found[i] = __umulhi(found[i] - bins.first, bins.scale);
}

/* Counts the keys of the pack into bins. ranked[i] receives the ranked bin of the thread's key i.
 * Indices past the end of the pack read its first key, which is then not counted. Returns true if
 * this thread found a full bin. */
template <typename K>
__device__ __forceinline__ bool block_bin_keys(struct radix_tile_shared<K> &shared, const K *source,
                                               const struct radix_pack &pack, bool is_split,
                                               unsigned (&ranked)[RADIX_TILE_KEYS])
{
    bool is_contended = false, is_full = false;
#pragma unroll
    for (unsigned first = 0; first < RADIX_TILE_KEYS; first += RADIX_BATCH) {
        if (first * RADIX_TILE_THREADS >= pack.count)
            break;
        K keys[RADIX_BATCH];
        unsigned found[RADIX_BATCH];
#pragma unroll
        for (unsigned i = 0; i < RADIX_BATCH; i++) {
            const unsigned index = (first + i) * RADIX_TILE_THREADS + threadIdx.x;
            keys[i] = source[index < pack.count ? index : 0];
        }
        thread_find_bins(shared, pack.bins, keys, is_split, found);
        is_contended = first == 0 ? warp_is_contended(found[0]) : is_contended;
#pragma unroll
        for (unsigned i = 0; i < RADIX_BATCH; i++) {
            const bool counted = (first + i) * RADIX_TILE_THREADS + threadIdx.x < pack.count;
            const unsigned rank = is_contended
                                      ? warp_count_together(shared.bins, found[i], counted)
                                      : atomicAdd(&shared.bins[found[i]], counted ? 1u : 0u);
            ranked[first + i] = rank << RADIX_RANK_SHIFT | found[i];
            is_full |= counted && rank >= radix_bin_limit(sizeof(K));
        }
    }
    return is_full;
}

__device__ __forceinline__ void block_clear_bins(unsigned *bins)
{
    for (unsigned i = threadIdx.x; i < RADIX_TILE_BINS / 4; i += RADIX_TILE_THREADS)
        reinterpret_cast<uint4 *>(bins)[i] = {0, 0, 0, 0};
}

/* Replaces the counts in bins[] by the index of each bin's first key. Returns, in all threads,
 * whether `is_full` is true in any thread. Begins and ends with a barrier. */
__device__ __forceinline__ bool block_scan_bins(unsigned *bins, unsigned *warp_sums, bool is_full)
{
    constexpr unsigned own = RADIX_THREAD_BINS / 4;
    uint4 *const fours = reinterpret_cast<uint4 *>(bins) + threadIdx.x * own;
    uint4 counts[own];
    unsigned sum = 0, total = 0;
    const bool any_full = __syncthreads_or(is_full);
#pragma unroll
    for (unsigned i = 0; i < own; i++) {
        counts[i] = fours[i];
        sum += counts[i].x + counts[i].y + counts[i].z + counts[i].w;
    }
    unsigned first = block_exclusive_scan<RADIX_TILE_THREADS>(sum, warp_sums, &total);
#pragma unroll
    for (unsigned i = 0; i < own; i++) {
        const uint4 firsts = {first, first + counts[i].x, first + counts[i].x + counts[i].y,
                              first + counts[i].x + counts[i].y + counts[i].z};
        first = firsts.w + counts[i].w;
        fours[i] = firsts;
    }
    __syncthreads();
    return any_full;
}

/* Copies the keys to shared memory in order of bins, followed by padding (key_max) for
 * the last windows. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_place_keys(const K *source, unsigned count,
                                                 const unsigned *bins,
                                                 const unsigned (&ranked)[RADIX_TILE_KEYS], K *tile)
{
#pragma unroll
    for (unsigned first = 0; first < RADIX_TILE_KEYS; first += RADIX_BATCH) {
        if (first * RADIX_TILE_THREADS >= count)
            break;
        K keys[RADIX_BATCH];
#pragma unroll
        for (unsigned i = 0; i < RADIX_BATCH; i++) {
            const unsigned index = (first + i) * RADIX_TILE_THREADS + threadIdx.x;
            keys[i] = index < count ? source[index] : K{0};
        }
#pragma unroll
        for (unsigned i = 0; i < RADIX_BATCH; i++) {
            const unsigned own = ranked[first + i];
            const unsigned slot =
                tile_slot<K>(bins[own & RADIX_BIN_MASK] + (own >> RADIX_RANK_SHIFT));
            if ((first + i) * RADIX_TILE_THREADS + threadIdx.x < count)
                tile[slot] = keys[i];
        }
    }
    if (threadIdx.x < RADIX_WINDOW + RADIX_WINDOW_SHIFT)
        tile[tile_slot<K>(count + threadIdx.x)] = key_max<K>();
    __syncthreads();
}

/* Sorts all windows that begin `shift` keys after a multiple of RADIX_WINDOW. */
template <typename K>
__device__ __forceinline__ void block_sort_windows(K *tile, unsigned count, unsigned shift)
{
    for (unsigned first = threadIdx.x * RADIX_WINDOW + shift; first < count;
         first += RADIX_TILE_THREADS * RADIX_WINDOW) {
        K keys[KEYS_PER_THREAD];
#pragma unroll
        for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
            keys[i] = tile[tile_slot<K>(first + i)];
        thread_sort<0, KEYS_PER_THREAD>(keys);
#pragma unroll
        for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
            tile[tile_slot<K>(first + i)] = keys[i];
    }
}

/* Returns, in all threads, whether the tile is sorted. The shifted windows must have been sorted
 * last: only the keys on either side of their borders are compared. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ bool block_is_sorted(const K *tile, unsigned count)
{
    bool is_wrong = false;
    for (unsigned first = threadIdx.x * RADIX_WINDOW + RADIX_WINDOW_SHIFT; first < count;
         first += RADIX_TILE_THREADS * RADIX_WINDOW)
        is_wrong |= tile[tile_slot<K>(first)] < tile[tile_slot<K>(first - 1)];
    return !__syncthreads_or(is_wrong);
}

/* Chooses RADIX_SPLITTERS keys of the tile at equal distances as splitters, and sorts them. Call it
 * after a barrier; it ends with one. Not inlined: few tiles need this code, and it should not take
 * registers from the common path. */
template <typename K>
__device__ __attribute__((noinline)) void block_choose_splitters(const K *tile, unsigned count,
                                                                 K *splitters)
{
    for (unsigned i = threadIdx.x; i < RADIX_SPLITTERS; i += RADIX_TILE_THREADS)
        splitters[tile_slot<K>(i)] = tile[tile_slot<K>(i * count / RADIX_SPLITTERS)];
    __syncthreads();
    group_network_sort<RADIX_TILE_THREADS>(splitters, 0, RADIX_SPLITTERS);
}

/* Sorts the tile, whose keys are in order of bins, by at most `rounds` rounds of windows and
 * shifted windows. Returns, in all threads, whether the tile is sorted then. Sets the bins to zero.
 * Ends with a barrier. */
template <typename K>
__device__ __forceinline__ bool block_sort_bins(unsigned *bins, K *tile, unsigned count,
                                                unsigned rounds)
{
    block_clear_bins(bins);
    for (unsigned round = 0; round < rounds; round++) {
        block_sort_windows(tile, count, 0);
        __syncthreads();
        block_sort_windows(tile, count, RADIX_WINDOW_SHIFT);
        __syncthreads();
        if (block_is_sorted(tile, count))
            return true;
    }
    return false;
}

/* Sorts the pack into shared.keys. On entry the bins must be zero, and a barrier must have followed
 * their clearing; the same holds on return.
 *
 * If a bin of the model is full (radix_bin_limit), only one round of windows is tried. One round
 * shows whether the full bins hold equal keys; if not, it is better to choose splitters at once. */
template <typename K>
__device__ __forceinline__ void block_sort_pack(struct radix_tile_shared<K> &shared,
                                                const K *source, const struct radix_pack &pack)
{
    for (bool is_split = false;; is_split = true) {
        unsigned ranked[RADIX_TILE_KEYS];
        const bool own_full = block_bin_keys(shared, source, pack, is_split, ranked);
        const bool is_full = block_scan_bins(shared.bins, shared.warp_sums, own_full);
        block_place_keys(source, pack.count, shared.bins, ranked, shared.keys);
        const unsigned rounds = is_full && !is_split ? 1 : RADIX_TILE_ROUNDS;
        if (block_sort_bins(shared.bins, shared.keys, pack.count, rounds))
            return;
        if (is_split)
            break;
        block_choose_splitters(shared.keys, pack.count, shared.splitters);
    }
    group_network_sort<RADIX_TILE_THREADS>(shared.keys, 0, pack.count);
}

/* Stores the first key of each range in the range, before any key is decoded: radix_ranges_kernel
 * compares the other keys with it. */
template <typename K>
__device__ __forceinline__ void thread_mark_ranges(const struct radix_totals *totals,
                                                   struct radix_range<K> *ranges, const K *source)
{
    const unsigned count = static_cast<unsigned>(totals->ranges);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        ranges[i].key = source[ranges[i].first];
}

/* Sorts the packs from move.source to move.target, decoded, and stores a key in each range. A block
 * reads a whole pack before it writes it, so the target may be the source. The grid may have any
 * number of blocks. Needs a struct radix_tile_shared of dynamic shared memory per block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_TILE_THREADS, radix_tile_blocks(sizeof(K)))
    radix_tiles_kernel(struct radix_move<K> move, const struct radix_model<K> *models,
                       const struct radix_totals *totals, const unsigned *pack_count,
                       const struct radix_pack *packs, struct radix_range<K> *ranges)
{
    thread_wait_for_dependency();
    struct radix_tile_shared<K> &shared =
        *reinterpret_cast<struct radix_tile_shared<K> *>(block_dynamic_shared());
    thread_mark_ranges(totals, ranges, move.source);
    const struct even_share share = block_even_share(*pack_count);
    block_clear_bins(shared.bins);
    unsigned segment = RADIX_SEGMENTS; /* whose model is in shared memory: none yet */
    for (unsigned number = share.begin; number < share.end; number++) {
        const struct radix_pack pack = packs[number];
        if (pack.segment != segment) {
            segment = pack.segment;
            block_load_model<K, RADIX_TILE_THREADS>(models + segment, shared.model);
            __syncthreads();
        }
        block_sort_pack(shared, move.source + pack.first, pack);
        K *const target = move.target + pack.first;
#pragma unroll
        for (unsigned i = 0; i < RADIX_TILE_KEYS; i++) {
            const unsigned index = i * RADIX_TILE_THREADS + threadIdx.x;
            if (index >= pack.count)
                break;
            target[index] = thread_decode_key(move.decoding, shared.keys[tile_slot<K>(index)]);
        }
    }
}

/* Copies and decodes the piece of the range that begins at its key `first`. Returns, in all
 * threads, whether any key of the piece differs from range.key. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ bool block_copy_piece(const struct radix_move<K> &move,
                                                 const struct radix_range<K> &range, size_t first)
{
    bool differs = false;
    for (unsigned i = threadIdx.x; i < RADIX_PIECE; i += THREADS_PER_BLOCK) {
        if (first + i >= range.count)
            break;
        const K key = move.source[range.first + first + i];
        differs |= key != range.key;
        move.target[range.first + first + i] = thread_decode_key(move.decoding, key);
    }
    return __syncthreads_or(differs);
}

/* Returns the index of the range, among `count` ranges, that contains the piece. */
template <typename K>
__device__ __forceinline__ unsigned thread_find_range(const struct radix_range<K> *ranges,
                                                      unsigned count, unsigned piece)
{
    unsigned from = 0, to = count;
    while (to - from > 1) {
        const unsigned middle = (from + to) / 2;
        if (ranges[middle].first_piece <= piece)
            from = middle;
        else
            to = middle;
    }
    return from;
}

/* Copies and decodes the ranges. Lists the ranges that hold different keys in `open`, and stores
 * their number in status->open. The grid may have any number of blocks. */
template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    radix_ranges_kernel(struct radix_move<K> move, struct radix_totals *totals,
                        struct radix_range<K> *ranges, struct radix_open open,
                        struct sort_status *status)
{
    thread_wait_for_dependency();
    const unsigned count = static_cast<unsigned>(totals->ranges);
    const struct even_share share = block_even_share(static_cast<unsigned>(totals->ranges >> 32));
    for (unsigned piece = share.begin; piece < share.end; piece++) {
        const unsigned index = thread_find_range(ranges, count, piece);
        const struct radix_range<K> range = ranges[index];
        const size_t first = static_cast<size_t>(piece - range.first_piece) * RADIX_PIECE;
        if (block_copy_piece(move, range, first) && threadIdx.x == 0 &&
            atomicExch(&ranges[index].differs, 1u) == 0) {
            const unsigned number = atomicAdd(&totals->open, 1u);
            open.first[number] = range.first;
            open.keys[number] = range.count;
        }
    }
    if (threadIdx.x > 0)
        return;
    __threadfence();
    if (atomicAdd(&totals->blocks_done, 1u) < gridDim.x - 1)
        return;
    __threadfence();
    status->open = atomicAdd(&totals->open, 0u);
}

#endif
