/* radix_tiles.cuh - the last pass: each pack is sorted in shared memory, and what fits no tile is
 * decoded and noted.
 *
 * The model that made the buckets also foretells where in its pack a key will stand. So a tile is
 * sorted by counting its keys into bins of positions, about one key a bin, and by insertion within
 * the bins:
 *
 *   pack --read--> bin and rank of each key --scan of the bins--> --read again, from the cache-->
 *   keys in order of bins in shared memory --insertion within bins--> decoded, to items
 *
 * Reading twice costs no memory traffic and saves the registers or the shared memory that would
 * have to hold the keys meanwhile. Where the model is wrong at so small a scale (many equal keys,
 * say), one bin would take too long to insert into; such a tile is sorted by Batcher's network.
 */
#ifndef CUDA_RADIX_TILES_CUH
#define CUDA_RADIX_TILES_CUH

#include "cuda/cuda_sort.h"
#include "cuda/radix_levels.cuh"

/* Where all ordered keys are and where they go, decoded. */
template <typename K>
struct radix_move {
    const K *source;
    K *target; /* may be source */
    struct key_order decoding;
};

template <typename K>
struct radix_tile_shared {
    K keys[RADIX_TILE_ROOM<K>];
    struct radix_entry entries[RADIX_ENTRIES];
    unsigned bins[RADIX_TILE_BINS + 4]; /* keys of a bin; then the index of its first key */
    unsigned warp_sums[THREADS_PER_WARP];
};

/* From positions to the bins of a pack. */
struct radix_bins {
    uint32_t first; /* position */
    uint32_t scale;
};

constexpr unsigned RADIX_SPAN_BITS = RADIX_WAYS_BITS + RADIX_FRACTION_BITS;
static_assert(RADIX_SPAN_BITS <= 31, "a pack's positions fit the arithmetic of bins");
static_assert(RADIX_TILE_BINS <= 1u << RADIX_FRACTION_BITS, "a bucket has a position for each bin");
static_assert(RADIX_TILE_BINS % (4 * RADIX_TILE_THREADS) == 0, "bins are scanned by fours");

__device__ __forceinline__ struct radix_bins radix_bins_of(const struct radix_pack &pack)
{
    const uint64_t span = static_cast<uint64_t>(pack.buckets) << RADIX_FRACTION_BITS;
    const struct radix_bins bins = {
        pack.bucket << RADIX_FRACTION_BITS,
        static_cast<uint32_t>((static_cast<uint64_t>(RADIX_TILE_BINS) << RADIX_SPAN_BITS) / span)};
    return bins;
}

template <typename K>
__device__ __forceinline__ unsigned thread_radix_bin(const struct radix_lookup<K> &lookup,
                                                     const struct radix_bins &bins, K key)
{
    const uint32_t within = thread_radix_position(lookup, key) - bins.first;
    return __umulhi(within << (32 - RADIX_SPAN_BITS), bins.scale);
}

/* Keys that are on their way from memory to a thread at a time. */
constexpr unsigned RADIX_TILE_BATCH = 4;

/* places[i]: the bin of the thread's key i, and its rank in the bin. True if a bin is too full. */
template <typename K>
__device__ __forceinline__ bool block_bin_keys(const K *source, unsigned count,
                                               const struct radix_lookup<K> &lookup,
                                               const struct radix_bins &bins, unsigned *counters,
                                               unsigned (&places)[radix_tile_keys(sizeof(K))])
{
    bool is_full = false;
#pragma unroll
    for (unsigned batch = 0; batch < radix_tile_keys(sizeof(K)); batch += RADIX_TILE_BATCH) {
        K keys[RADIX_TILE_BATCH];
#pragma unroll
        for (unsigned i = 0; i < RADIX_TILE_BATCH; i++) {
            const unsigned index = (batch + i) * RADIX_TILE_THREADS + threadIdx.x;
            keys[i] = index < count ? source[index] : K{0};
        }
#pragma unroll
        for (unsigned i = 0; i < RADIX_TILE_BATCH; i++) {
            const unsigned index = (batch + i) * RADIX_TILE_THREADS + threadIdx.x;
            places[batch + i] = 0;
            if (index < count) {
                const unsigned bin = thread_radix_bin(lookup, bins, keys[i]);
                const unsigned rank = atomicAdd(&counters[bin], 1u);
                places[batch + i] = rank << RADIX_RANK_SHIFT | bin;
                is_full |= rank >= RADIX_BIN_LIMIT;
            }
        }
    }
    return __syncthreads_or(is_full);
}

/* Counts become first indices. Ends with a barrier. */
__device__ __forceinline__ void block_scan_bins(unsigned *bins, unsigned *warp_sums)
{
    constexpr unsigned own = RADIX_TILE_BINS / RADIX_TILE_THREADS / 4;
    uint4 *const fours = reinterpret_cast<uint4 *>(bins) + threadIdx.x * own;
    uint4 counts[own];
    unsigned sum = 0, total = 0;
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
    if (threadIdx.x == 0)
        bins[RADIX_TILE_BINS] = total;
    __syncthreads();
}

/* Puts the keys to their places in shared memory. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void
block_place_keys(const K *source, unsigned count, const unsigned *bins,
                 const unsigned (&places)[radix_tile_keys(sizeof(K))], K *keys)
{
#pragma unroll
    for (unsigned i = 0; i < radix_tile_keys(sizeof(K)); i++) {
        const unsigned index = i * RADIX_TILE_THREADS + threadIdx.x;
        const unsigned bin = places[i] & ((1u << RADIX_RANK_SHIFT) - 1);
        if (index < count)
            keys[bins[bin] + (places[i] >> RADIX_RANK_SHIFT)] = source[index];
    }
    __syncthreads();
}

/* Sorts keys[first..end) by insertion. */
template <typename K>
__device__ __forceinline__ void thread_insertion_sort(K *keys, unsigned first, unsigned end)
{
    for (unsigned i = first + 1; i < end; i++) {
        const K key = keys[i];
        unsigned place = i;
        for (; place > first && key < keys[place - 1]; place--)
            keys[place] = keys[place - 1];
        keys[place] = key;
    }
}

/* Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_repair_bins(K *keys, const unsigned *bins)
{
    for (unsigned bin = threadIdx.x; bin < RADIX_TILE_BINS; bin += RADIX_TILE_THREADS)
        thread_insertion_sort(keys, bins[bin], bins[bin + 1]);
    __syncthreads();
}

/* Batcher's bitonic sorter on keys[0..count), in the form whose comparators all point the same way:
 * those that reach behind the end have nothing to do. Begins and ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_network_sort(K *keys, unsigned count)
{
    __syncthreads();
    for (unsigned run = 1; run < count; run *= 2)
        for (unsigned stride = run; stride > 0; stride /= 2) {
            for (unsigned i = threadIdx.x; i < count; i += RADIX_TILE_THREADS) {
                const unsigned partner = stride == run ? i ^ (2 * run - 1) : i ^ stride;
                if (partner > i && partner < count && keys[partner] < keys[i]) {
                    const K key = keys[i];
                    keys[i] = keys[partner];
                    keys[partner] = key;
                }
            }
            __syncthreads();
        }
}

/* Sorts the pack into shared memory. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_sort_pack(struct radix_tile_shared<K> &shared,
                                                const K *source, const struct radix_pack &pack,
                                                const struct radix_lookup<K> &lookup)
{
    for (unsigned i = threadIdx.x; i < RADIX_TILE_BINS; i += RADIX_TILE_THREADS)
        shared.bins[i] = 0;
    __syncthreads();
    unsigned places[radix_tile_keys(sizeof(K))];
    if (block_bin_keys(source, pack.count, lookup, radix_bins_of(pack), shared.bins, places)) {
        for (unsigned i = threadIdx.x; i < pack.count; i += RADIX_TILE_THREADS)
            shared.keys[i] = source[i];
        block_network_sort(shared.keys, pack.count);
        return;
    }
    block_scan_bins(shared.bins, shared.warp_sums);
    block_place_keys(source, pack.count, shared.bins, places, shared.keys);
    block_repair_bins(shared.keys, shared.bins);
}

/* Each range remembers a key before any is decoded. */
template <typename K>
__device__ __forceinline__ void thread_mark_ranges(const struct radix_totals *totals,
                                                   struct radix_range<K> *ranges, const K *source)
{
    const unsigned count = totals->ranges;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        ranges[i].key = source[ranges[i].first];
}

template <typename K>
__global__ void __launch_bounds__(RADIX_TILE_THREADS, RADIX_TILE_BLOCKS)
    radix_tiles_kernel(struct radix_move<K> move, const struct radix_model<K> *model,
                       const struct radix_totals *totals, const struct radix_pack *packs,
                       struct radix_range<K> *ranges)
{
    struct radix_tile_shared<K> &shared =
        *reinterpret_cast<struct radix_tile_shared<K> *>(block_dynamic_shared());
    const struct radix_lookup<K> lookup =
        block_load_model<K, RADIX_TILE_THREADS>(model, shared.entries);
    thread_mark_ranges(totals, ranges, move.source);
    const unsigned pack_count = totals->packs;
    for (unsigned index = blockIdx.x; index < pack_count; index += gridDim.x) {
        const struct radix_pack pack = packs[index];
        if (pack.count == 0)
            continue;
        block_sort_pack(shared, move.source + pack.first, pack, lookup);
        for (unsigned i = threadIdx.x; i < pack.count; i += RADIX_TILE_THREADS)
            move.target[pack.first + i] = thread_decode_key(move.decoding, shared.keys[i]);
        __syncthreads();
    }
}

/* Keys of a range that a block copies at a time. */
constexpr unsigned RADIX_COPY_KEYS = 16 * THREADS_PER_BLOCK;

/* Copies the ranges, decoded, and finds out which of them hold different keys. The pieces of all
 * ranges go round the blocks. */
template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    radix_ranges_kernel(struct radix_move<K> move, const struct radix_totals *totals,
                        struct radix_range<K> *ranges)
{
    const unsigned count = totals->ranges;
    for (unsigned index = 0; index < count; index++) {
        const struct radix_range<K> range = ranges[index];
        bool differs = false;
        for (size_t piece = (blockIdx.x + index) % gridDim.x; piece * RADIX_COPY_KEYS < range.count;
             piece += gridDim.x)
            for (unsigned i = threadIdx.x; i < RADIX_COPY_KEYS; i += THREADS_PER_BLOCK) {
                const size_t within = piece * RADIX_COPY_KEYS + i;
                if (within >= range.count)
                    break;
                const K key = move.source[range.first + within];
                differs |= key != range.key;
                move.target[range.first + within] = thread_decode_key(move.decoding, key);
            }
        if (differs)
            ranges[index].differs = 1;
    }
}

/* Adds the ranges whose keys differ to the note; `items_first` is the index of the sort's first key
 * among all. One block. */
template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    radix_note_kernel(const struct radix_totals *totals, const struct radix_range<K> *ranges,
                      size_t items_first, struct sort_note *note)
{
    __shared__ unsigned added;
    const unsigned count = totals->ranges;
    if (count == 0)
        return;
    if (threadIdx.x == 0)
        added = 0;
    __syncthreads();
    const size_t noted = note->count;
    for (unsigned i = threadIdx.x; i < count; i += THREADS_PER_BLOCK) {
        if (!ranges[i].differs)
            continue;
        const size_t place = noted + atomicAdd(&added, 1u);
        if (place < RADIX_RANGES) {
            note->ranges[place].first = items_first + ranges[i].first;
            note->ranges[place].count = ranges[i].count;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
        note->count = noted + added;
}

#endif
