/* SPDX-License-Identifier: Apache-2.0 */
/* radix_partition.cuh - partitions every segment of an array into up to RADIX_WAYS buckets, by a
 * model of each segment, or by one model of all.
 *
 *   segments --radix_count_kernel--> number of keys in each bucket
 *            --(scan: radix_levels.cuh)--> cursors, where the next key of each bucket goes
 *            --radix_partition_kernel--> the array in order of buckets
 *
 * A large array is partitioned twice by one model, first into parts and then each part into
 * buckets: the number of a part is the upper bits of a position, and that of a bucket in it the
 * bits below. Both are counted at once.
 *
 * A segment is the whole array, or a part or bucket of an earlier partition, cut into tiles. A
 * block of the count kernel takes consecutive tiles, so that it seldom enters a new segment, whose
 * model it must load. The blocks of the partition kernel take tiles in turn (grid-stride), so that
 * all blocks write to few segments at once. Cache lines that no single tile fills are then
 * completed in the L2 cache before they go to memory. With consecutive tiles the kernel took 11.6
 * ms for 1e9 64-bit keys, in place of 7.5.
 *
 * The order of equal keys is free, so no block waits for another. Counters in shared memory give
 * each key of a tile its rank in its bucket. One atomic per bucket and tile reserves the space in
 * the target. The keys are ordered by bucket in shared memory and written in runs, one run per
 * bucket. Meanwhile the next tile is loaded into registers.
 */
#ifndef CUDA_RADIX_PARTITION_CUH
#define CUDA_RADIX_PARTITION_CUH

#include "cuda/block/block_scan.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/block/thread_key.cuh"

#include <stddef.h>

/* ---- a model: a monotone map from keys to positions in the sorted order ----
 *
 * A plain radix digit splits the range of the keys into equal widths; real keys, especially
 * doubles, are concentrated in few of them. Here a tree of cells follows the keys: the root cuts
 * the range into equal cells, a cell with many keys is cut again, and within a cell positions grow
 * evenly. So a lookup is a subtraction, a shift and, nearly always, one load:
 *
 *   key - lowest, its top bit shifted to the top --> root cell [--> cell of a node ...]
 *   position = first of the cell + rest of the bits * positions of the cell
 *
 * A position is a fixed-point number: its whole part is the number of a bucket, its fraction orders
 * keys within the bucket. Any such map is monotone, whatever the sample: a bad sample can make
 * buckets uneven, never wrong.
 *
 * The idea of a learned, monotone first cut is that of Kristo et al., "The Case for a Learned
 * Sorting Algorithm" (SIGMOD 2020); this tree takes the place of their linear models.
 */

constexpr unsigned RADIX_ROOT_CELLS = 1u << RADIX_ROOT_BITS; /* at most */
constexpr unsigned RADIX_NODE_CELLS = 1u << RADIX_NODE_BITS;
constexpr unsigned RADIX_ENTRIES = RADIX_ROOT_CELLS + RADIX_NODES * RADIX_NODE_CELLS;

/* True for a struct key_index of 16 bytes. A key with an index in one word is sorted as a key. */
template <typename K>
constexpr bool RADIX_IS_ITEM = sizeof(K) > sizeof(uint64_t);

/* A position has 31 bits. The low RADIX_FRACTION_BITS are the position within a bucket, the bits
 * above them the number of the bucket. */
constexpr unsigned RADIX_FRACTION_BITS = 31 - RADIX_WAYS_BITS;

/* Set in `first` of a cell that is cut again; the other bits are where its node's entries start. */
constexpr uint32_t RADIX_CUT = 1u << 31;

struct __align__(8) radix_entry
{
    uint32_t first; /* position */
    uint32_t scale; /* positions in the cell */
};

/* The path of a key in the tree, from the top bits down: its offset from the lowest key, shifted so
 * that the top bit of the range is at the top. */
typedef uint64_t radix_path;
constexpr unsigned RADIX_PATH_BITS = 64;

/* Returns the key of an item of 16 bytes; otherwise the item, which is the key. */
template <typename K>
__device__ __forceinline__ auto thread_upper_key(K item)
{
    if constexpr (RADIX_IS_ITEM<K>)
        return static_cast<uint64_t>(item >> 64);
    else
        return item;
}

/* Only keys whose offset is at most `range` are looked up. */
template <typename K>
struct radix_bounds {
    K lowest;
    K range;
};

/* For items, the model uses only the key. If all sampled keys are equal, it uses the index instead,
 * and items with another key are out of bounds. */
template <>
struct radix_bounds<key_u128> {
    uint64_t lowest;
    uint64_t range;
    uint64_t key; /* if by_index */
    bool by_index;
};

template <typename K>
__device__ __forceinline__ radix_path thread_offset(const struct radix_bounds<K> &bounds, K key)
{
    if constexpr (RADIX_IS_ITEM<K>)
        return static_cast<uint64_t>(bounds.by_index ? key : key >> 64) - bounds.lowest;
    else
        return static_cast<K>(key - bounds.lowest);
}

/* True if the key, which has this offset, is outside the bounds. */
template <typename K>
__device__ __forceinline__ bool thread_is_outside(const struct radix_bounds<K> &bounds, K key,
                                                  radix_path offset)
{
    bool is_outside = offset > bounds.range;
    if constexpr (RADIX_IS_ITEM<K>)
        is_outside |= bounds.by_index && static_cast<uint64_t>(key >> 64) != bounds.key;
    return is_outside;
}

/* True if a key outside the bounds is below them. */
template <typename K>
__device__ __forceinline__ bool thread_is_below(const struct radix_bounds<K> &bounds, K key)
{
    if constexpr (RADIX_IS_ITEM<K>) {
        const uint64_t high = static_cast<uint64_t>(key >> 64);
        if (!bounds.by_index)
            return high < bounds.lowest;
        return high < bounds.key ||
               (high == bounds.key && static_cast<uint64_t>(key) < bounds.lowest);
    } else {
        return key < bounds.lowest;
    }
}

template <typename K>
struct radix_model {
    struct radix_bounds<K> bounds;
    unsigned norm; /* the shift that brings the top bit of the range to the top */
    uint32_t end;  /* the position of all keys above the bounds */
    unsigned root_bits;
    unsigned entry_count;
    struct radix_entry entries[RADIX_ENTRIES]; /* the root's, then those of node after node */
};

/* A model in shared memory, with its bounds in registers. */
template <typename K>
struct radix_lookup {
    struct radix_bounds<K> bounds;
    unsigned norm;
    uint32_t end;
    unsigned root_bits;
    const struct radix_entry *entries;
};

/* The top 32 bits of a path. */
__device__ __forceinline__ uint32_t thread_path_top(radix_path path)
{
    return static_cast<uint32_t>(path >> 32);
}

/* Finds the cells of the paths that continue below the root. All paths descend together, so that
 * their loads do not wait for each other. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_descend(const struct radix_lookup<K> &lookup,
                                               const K (&keys)[N], struct radix_entry (&entries)[N],
                                               uint32_t (&tops)[N])
{
    unsigned seen_bits = lookup.root_bits;
    bool is_cut = true;
    while (is_cut) {
        is_cut = false;
#pragma unroll
        for (unsigned i = 0; i < N; i++) {
            if (!(entries[i].first & RADIX_CUT))
                continue;
            const radix_path path = thread_offset(lookup.bounds, keys[i])
                                    << lookup.norm << seen_bits;
            entries[i] =
                lookup.entries[(entries[i].first & ~RADIX_CUT) +
                               static_cast<unsigned>(path >> (RADIX_PATH_BITS - RADIX_NODE_BITS))];
            tops[i] = thread_path_top(path << RADIX_NODE_BITS);
            is_cut |= entries[i].first & RADIX_CUT;
        }
        seen_bits += RADIX_NODE_BITS;
    }
}

/* Sets positions[i] to the position of keys[i]. The common case has no branch, so that loads
 * overlap: the root is looked up for all keys, with the top 32 bits of the path, which are enough
 * for it. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_radix_positions(const struct radix_lookup<K> &lookup,
                                                       const K (&keys)[N], uint32_t (&positions)[N])
{
    struct radix_entry entries[N];
    uint32_t tops[N], cuts = 0;
    bool is_outside = false;
#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        const radix_path offset = thread_offset(lookup.bounds, keys[i]);
        is_outside |= thread_is_outside(lookup.bounds, keys[i], offset);
        const uint32_t top = thread_path_top(offset << lookup.norm);
        entries[i] = lookup.entries[top >> (32 - lookup.root_bits)];
        tops[i] = top << lookup.root_bits;
    }
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        cuts |= entries[i].first;
    if (cuts & RADIX_CUT)
        thread_descend(lookup, keys, entries, tops);
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        positions[i] = entries[i].first + __umulhi(tops[i], entries[i].scale);
    if (is_outside)
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            if (thread_is_outside(lookup.bounds, keys[i], thread_offset(lookup.bounds, keys[i])))
                positions[i] = thread_is_below(lookup.bounds, keys[i]) ? 0 : lookup.end;
}

/* Keys that are looked up together, as registers allow. */
constexpr unsigned RADIX_BATCH = 4;

/* A thread's part of a model while it is copied to shared memory: one word. Most models have at
 * most one word per thread. */
struct radix_model_word {
    uint2 word;
    unsigned entry_count;
};

template <typename K>
union radix_model_words {
    struct radix_model<K> model;
    uint2 words[sizeof(struct radix_model<K>) / sizeof(uint2)];
};

template <typename K>
__device__ __forceinline__ struct radix_model_word
thread_fetch_model(const struct radix_model<K> *model)
{
    return {reinterpret_cast<const union radix_model_words<K> *>(model)->words[threadIdx.x],
            model->entry_count};
}

/* Stores the words that all THREADS threads have fetched, and the rest of a larger model, in shared
 * memory. They are visible after a barrier. */
template <typename K, unsigned THREADS>
__device__ __forceinline__ void block_store_model(const struct radix_model_word &part,
                                                  const struct radix_model<K> *model,
                                                  struct radix_model<K> &shared)
{
    constexpr unsigned head = offsetof(struct radix_model<K>, entries) / sizeof(uint2);
    static_assert(head + RADIX_ENTRIES >= THREADS, "there are as many words");
    reinterpret_cast<union radix_model_words<K> *>(&shared)->words[threadIdx.x] = part.word;
    for (unsigned i = THREADS - head + threadIdx.x; i < part.entry_count; i += THREADS)
        shared.entries[i] = model->entries[i];
}

/* Copies a model to shared memory, where it is visible after a barrier. */
template <typename K, unsigned THREADS>
__device__ __forceinline__ void block_load_model(const struct radix_model<K> *model,
                                                 struct radix_model<K> &shared)
{
    block_store_model<K, THREADS>(thread_fetch_model(model), model, shared);
}

template <typename K>
__device__ __forceinline__ struct radix_lookup<K>
thread_lookup(const struct radix_model<K> &shared) {
    return {shared.bounds, shared.norm, shared.end, shared.root_bits, shared.entries};
}

/* ---- partition ---- */

constexpr unsigned RADIX_SEGMENTS = RADIX_WAYS;

/* The segments of an array. Unused segments have no keys. */
struct radix_segments {
    atomic_count first[RADIX_SEGMENTS]; /* index of a segment's first key */
    atomic_count keys[RADIX_SEGMENTS];
    unsigned tiles[RADIX_SEGMENTS + 1]; /* tiles before each segment; last entry: all */
};

template <typename K>
constexpr unsigned RADIX_PARTITION_KEYS = radix_partition_keys(sizeof(K));
template <typename K>
constexpr unsigned RADIX_PARTITION_TILE = RADIX_PARTITION_THREADS *RADIX_PARTITION_KEYS<K>;

template <typename K>
__host__ __device__ __forceinline__ unsigned radix_tiles_of(size_t count)
{
    return static_cast<unsigned>((count + RADIX_PARTITION_TILE<K> - 1) / RADIX_PARTITION_TILE<K>);
}

/* A ranked bin is the bucket or bin of a key, with the rank of the key in it above. */
constexpr unsigned RADIX_RANK_SHIFT = 16;
constexpr unsigned RADIX_BIN_MASK = (1u << RADIX_RANK_SHIFT) - 1;

/* Counters of a block: one per bucket, and one more for the slots of a thread past the tile's end.
 * These slots are counted and arranged like keys, so that no step needs to distinguish them, but
 * they are never written. */
constexpr unsigned RADIX_COUNTERS = RADIX_WAYS + 1;

/* The bits of a position that are the number of a bucket: `count` bits from `shift` on. The bits
 * above them, if any, are the number of a part, which is a segment of its own. */
struct radix_bucket_bits {
    unsigned shift;
    unsigned count;
};

/* All bits above the fraction. */
constexpr struct radix_bucket_bits RADIX_WHOLE_BUCKETS = {RADIX_FRACTION_BITS, RADIX_WAYS_BITS};

/* Stores in buckets[i] the bits `mask` of the position of keys[i] from `shift` on, for a striped
 * tile of `count` keys; and `none` for the slots past the end. */
template <typename K>
__device__ __forceinline__ void
thread_radix_buckets(const struct radix_lookup<K> &lookup, unsigned shift, unsigned mask,
                     unsigned none, unsigned count, const K (&keys)[RADIX_PARTITION_KEYS<K>],
                     unsigned (&buckets)[RADIX_PARTITION_KEYS<K>])
{
    static_assert(RADIX_PARTITION_KEYS<K> % RADIX_BATCH == 0, "whole batches");
#pragma unroll
    for (unsigned first = 0; first < RADIX_PARTITION_KEYS<K>; first += RADIX_BATCH) {
        K batch[RADIX_BATCH];
        uint32_t positions[RADIX_BATCH];
#pragma unroll
        for (unsigned i = 0; i < RADIX_BATCH; i++)
            batch[i] = keys[first + i];
        thread_radix_positions(lookup, batch, positions);
#pragma unroll
        for (unsigned i = 0; i < RADIX_BATCH; i++)
            buckets[first + i] = (first + i) * RADIX_PARTITION_THREADS + threadIdx.x < count
                                     ? positions[i] >> shift & mask
                                     : none;
    }
}

/* Counts the keys by bucket. Makes a ranked bin of buckets[i] by adding the rank of key i in its
 * bucket. */
template <unsigned N>
__device__ __forceinline__ void warp_count_buckets(unsigned *counters, unsigned (&buckets)[N])
{
    if (warp_is_contended(buckets[0])) {
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            buckets[i] |= warp_count_together(counters, buckets[i], true) << RADIX_RANK_SHIFT;
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        buckets[i] |= atomicAdd(&counters[buckets[i]], 1u) << RADIX_RANK_SHIFT;
}

/* The work items that a block handles, begin..end without end: an even share of `count` items among
 * all blocks. */
struct even_share {
    unsigned begin;
    unsigned end;
};

__device__ __forceinline__ struct even_share block_even_share(unsigned count)
{
    const uint64_t total = count;
    return {static_cast<unsigned>(total * blockIdx.x / gridDim.x),
            static_cast<unsigned>(total * (blockIdx.x + 1) / gridDim.x)};
}

/* A tile: its segment and its keys. */
struct radix_partition_tile {
    unsigned segment;
    size_t first; /* index of its first key */
    unsigned count;
};

/* Finds the tile of that number. On entry, tile.segment is a segment at or before the tile's,
 * usually the one found last. The lanes of a warp check 32 segments at once; all call it. */
template <typename K>
__device__ __forceinline__ void warp_find_tile(const struct radix_segments *segments,
                                               unsigned number, struct radix_partition_tile &tile)
{
    unsigned skipped = THREADS_PER_WARP;
    while (skipped == THREADS_PER_WARP) {
        const unsigned next = tile.segment + 1 + thread_lane();
        const bool is_up_to = next < RADIX_SEGMENTS && segments->tiles[next] <= number;
        skipped = static_cast<unsigned>(__popc(__ballot_sync(ALL_LANES, is_up_to)));
        tile.segment += skipped;
    }
    const size_t before =
        static_cast<size_t>(number - segments->tiles[tile.segment]) * RADIX_PARTITION_TILE<K>;
    const size_t left = segments->keys[tile.segment] - before;
    tile.first = segments->first[tile.segment] + before;
    tile.count =
        left < RADIX_PARTITION_TILE<K> ? static_cast<unsigned>(left) : RADIX_PARTITION_TILE<K>;
}

/* Reads the tile in striped order. Slots past its end get the key 0. */
template <typename K>
__device__ __forceinline__ void block_load_tile(const K *source,
                                                const struct radix_partition_tile &tile,
                                                K (&keys)[RADIX_PARTITION_KEYS<K>])
{
#pragma unroll
    for (unsigned i = 0; i < RADIX_PARTITION_KEYS<K>; i++) {
        const unsigned index = i * RADIX_PARTITION_THREADS + threadIdx.x;
        keys[i] = index < tile.count ? source[tile.first + index] : K{0};
    }
}

__device__ __forceinline__ void block_clear_counters(unsigned *counters, unsigned counter_count)
{
    for (unsigned i = threadIdx.x; i < counter_count; i += RADIX_PARTITION_THREADS)
        counters[i] = 0;
}

/* Adds the block's counters of `buckets` buckets to counts[], and clears them. Needs a barrier
 * before and after. */
__device__ __forceinline__ void block_flush_counts(unsigned *counters, unsigned buckets,
                                                   atomic_count *counts)
{
    for (unsigned i = threadIdx.x; i < buckets; i += RADIX_PARTITION_THREADS) {
        if (counters[i] > 0)
            atomicAdd(&counts[i], static_cast<atomic_count>(counters[i]));
        counters[i] = 0;
    }
}

/* The shared memory of a counting block. */
template <typename K>
struct radix_count_shared {
    struct radix_model<K> model;
    unsigned counters[1]; /* one more than a segment has buckets */
    static_assert(sizeof(model) + (RADIX_COUNTERS_MOST + 2) * sizeof(unsigned) <=
                      LAUNCH_SHARED_BYTES,
                  "two blocks per multiprocessor, on all devices");
};

/* Adds the number of keys in each bucket to counts[segment][bucket]. A segment has bucket_count
 * buckets, in the order of their parts if it has parts; a bucket's number is the bits of its
 * positions from `shift` on. A block adds its counters to counts[] whenever it enters a new
 * segment, and at its end. The grid may have any number of blocks. Needs a struct
 * radix_count_shared of dynamic shared memory per block, with all its counters. */
template <typename K>
__global__ void __launch_bounds__(RADIX_PARTITION_THREADS, RADIX_COUNT_BLOCKS)
    radix_count_kernel(const K *source, const struct radix_segments *segments,
                       const struct radix_model<K> *models, struct key_order encoding,
                       unsigned shift, unsigned bucket_count, atomic_count *counts)
{
    thread_wait_for_dependency();
    struct radix_count_shared<K> &shared =
        *reinterpret_cast<struct radix_count_shared<K> *>(block_dynamic_shared());
    struct radix_model<K> &model = shared.model;
    unsigned *const counters = shared.counters;
    const struct even_share share = block_even_share(segments->tiles[RADIX_SEGMENTS]);
    if (share.begin >= share.end)
        return;
    struct radix_partition_tile tile = {};
    warp_find_tile<K>(segments, share.begin, tile);
    block_load_model<K, RADIX_PARTITION_THREADS>(models + tile.segment, model);
    block_clear_counters(counters, bucket_count + 1);
    unsigned counted = tile.segment;
    __syncthreads();
    for (unsigned number = share.begin; number < share.end; number++) {
        warp_find_tile<K>(segments, number, tile);
        K keys[RADIX_PARTITION_KEYS<K>];
        block_load_tile(source, tile, keys);
        if (tile.segment != counted) {
            __syncthreads();
            block_flush_counts(counters, bucket_count,
                               counts + static_cast<size_t>(counted) * bucket_count);
            block_load_model<K, RADIX_PARTITION_THREADS>(models + tile.segment, model);
            counted = tile.segment;
            __syncthreads();
        }
        thread_encode_keys(encoding, keys);
        unsigned buckets[RADIX_PARTITION_KEYS<K>];
        thread_radix_buckets(thread_lookup(model), shift, ~0u, bucket_count, tile.count, keys,
                             buckets);
        warp_count_buckets(counters, buckets);
    }
    __syncthreads();
    block_flush_counts(counters, bucket_count,
                       counts + static_cast<size_t>(counted) * bucket_count);
}

/* The shared memory of a partitioning block. */
template <typename K>
struct radix_partition_shared {
    K keys[RADIX_PARTITION_TILE<K>];
    struct radix_model<K> model;
    atomic_count targets[RADIX_COUNTERS]; /* per bucket: index in target minus index in keys */
    unsigned counters[RADIX_COUNTERS];    /* key count of a bucket; later index of its first key */
    unsigned warp_sums[THREADS_PER_WARP];
    uint16_t buckets[RADIX_PARTITION_TILE<K>];
};

static_assert(RADIX_WAYS == RADIX_PARTITION_THREADS, "each thread has a bucket");
/* The space reserved in the target for the tile's keys of the thread's bucket. */
struct radix_room {
    atomic_count target; /* index of the first key, if there are any */
    unsigned first;      /* index of the first key in the tile ordered by bucket */
};

/* Replaces the counts by the index of each bucket's first key in the ordered tile, and reserves the
 * space with atomics on `cursors`. Does not wait for the results of the atomics. Needs a barrier
 * before and after. */
__device__ __forceinline__ struct radix_room block_reserve(unsigned *counters, unsigned *warp_sums,
                                                           atomic_count *cursors)
{
    unsigned total = 0;
    const unsigned count = counters[threadIdx.x];
    struct radix_room room = {0, 0};
    if (count > 0)
        room.target = atomicAdd(&cursors[threadIdx.x], static_cast<atomic_count>(count));
    room.first = block_exclusive_scan<RADIX_PARTITION_THREADS>(count, warp_sums, &total);
    counters[threadIdx.x] = room.first;
    if (threadIdx.x == 0)
        counters[RADIX_WAYS] = total;
    return room;
}

/* Copies the tile's keys to shared memory in order of buckets. */
template <typename K>
__device__ __forceinline__ void
block_arrange_tile(struct radix_partition_shared<K> &shared,
                   const K (&keys)[RADIX_PARTITION_KEYS<K>],
                   const unsigned (&ranked)[RADIX_PARTITION_KEYS<K>])
{
#pragma unroll
    for (unsigned i = 0; i < RADIX_PARTITION_KEYS<K>; i++) {
        const unsigned bucket = ranked[i] & RADIX_BIN_MASK;
        const unsigned index = shared.counters[bucket] + (ranked[i] >> RADIX_RANK_SHIFT);
        shared.keys[index] = keys[i];
        shared.buckets[index] = static_cast<uint16_t>(bucket);
    }
}

template <typename K>
__device__ __forceinline__ void block_scatter_tile(const struct radix_partition_shared<K> &shared,
                                                   unsigned count, K *target)
{
#pragma unroll
    for (unsigned i = 0; i < RADIX_PARTITION_KEYS<K>; i++) {
        const unsigned index = i * RADIX_PARTITION_THREADS + threadIdx.x;
        const atomic_count target_index = shared.targets[shared.buckets[index]] + index;
        const K key = shared.keys[index];
        if (index < count)
            target[target_index] = key;
    }
}

/* Copies the keys from source to target, encoded, in order of buckets within each segment.
 * cursors[segment][bucket] is the index in target of the bucket's next key, and is advanced. The
 * model of segment s is models[s], or, if all have one, models[0]. The grid may have any number of
 * blocks. Needs a struct radix_partition_shared of dynamic shared memory per block.
 *
 * A step handles a tile whose keys are in registers. Between its barriers the block
 *   finds the keys' buckets and counts them, which gives each key its rank in its bucket
 *   scans the counts, and starts the atomics that reserve the targets, a thread for each bucket
 *   orders the keys in shared memory, and starts to load the next tile into the same registers
 *   writes the ordered keys, clears the counters, and stores the next model if it differs */
template <typename K>
__global__ void __launch_bounds__(RADIX_PARTITION_THREADS, RADIX_PARTITION_BLOCKS)
    radix_partition_kernel(const K *source, K *target, const struct radix_segments *segments,
                           const struct radix_model<K> *models, bool has_one_model,
                           struct key_order encoding, struct radix_bucket_bits bits,
                           atomic_count *cursors)
{
    thread_wait_for_dependency();
    struct radix_partition_shared<K> &shared =
        *reinterpret_cast<struct radix_partition_shared<K> *>(block_dynamic_shared());
    const unsigned end = segments->tiles[RADIX_SEGMENTS];
    unsigned number = blockIdx.x;
    if (number >= end)
        return;
    K keys[RADIX_PARTITION_KEYS<K>];
    struct radix_partition_tile tile = {};
    warp_find_tile<K>(segments, number, tile);
    block_load_tile(source, tile, keys);
    block_load_model<K, RADIX_PARTITION_THREADS>(models + (has_one_model ? 0 : tile.segment),
                                                 shared.model);
    block_clear_counters(shared.counters, RADIX_COUNTERS);
    __syncthreads();
    for (;;) {
        const unsigned count = tile.count, segment = tile.segment;
        unsigned ranked[RADIX_PARTITION_KEYS<K>];
        thread_encode_keys(encoding, keys);
        thread_radix_buckets(thread_lookup(shared.model), bits.shift, (1u << bits.count) - 1,
                             RADIX_WAYS, count, keys, ranked);
        warp_count_buckets(shared.counters, ranked);
        __syncthreads();
        const struct radix_room room =
            block_reserve(shared.counters, shared.warp_sums,
                          cursors + (static_cast<size_t>(segment) << bits.count));
        __syncthreads();
        block_arrange_tile(shared, keys, ranked);
        struct radix_model_word model_word = {};
        number += gridDim.x;
        if (number < end) {
            warp_find_tile<K>(segments, number, tile);
            block_load_tile(source, tile, keys);
            if (tile.segment != segment && !has_one_model)
                model_word = thread_fetch_model(models + tile.segment);
        }
        shared.targets[threadIdx.x] = room.target - room.first;
        __syncthreads();
        block_clear_counters(shared.counters, RADIX_COUNTERS);
        block_scatter_tile(shared, count, target);
        if (number >= end)
            return;
        if (tile.segment != segment && !has_one_model)
            block_store_model<K, RADIX_PARTITION_THREADS>(model_word, models + tile.segment,
                                                          shared.model);
        __syncthreads();
    }
}

#endif
