/* SPDX-License-Identifier: Apache-2.0 */
/* radix_model.cuh - a monotone map from keys to positions in the sorted order, learned from a
 * sample.
 *
 * A plain radix digit splits the range of the keys into equal widths; real keys (doubles above all)
 * crowd into few of them. Here a tree of cells follows the keys: the root cuts the range into equal
 * cells, a cell whose keys crowd is cut again, and within a cell positions grow evenly. So a lookup
 * is a subtraction, a shift and, nearly always, one load:
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
#ifndef CUDA_RADIX_MODEL_CUH
#define CUDA_RADIX_MODEL_CUH

#include "cuda/block/thread_key.cuh"

#include <stddef.h>

constexpr unsigned RADIX_ROOT_CELLS = 1u << RADIX_ROOT_BITS; /* at most */
constexpr unsigned RADIX_NODE_CELLS = 1u << RADIX_NODE_BITS;
constexpr unsigned RADIX_ENTRIES = RADIX_ROOT_CELLS + RADIX_NODES * RADIX_NODE_CELLS;

/* Items are a key above an index. */
template <typename K>
constexpr bool RADIX_IS_ITEM = sizeof(K) > sizeof(uint64_t);

/* The bits of a position that count within a bucket; a position has 31 bits. */
constexpr unsigned RADIX_FRACTION_BITS = 31 - RADIX_WAYS_BITS;

/* Set in `first` of a cell that is cut again; the other bits then say where its node's entries
 * start. */
constexpr uint32_t RADIX_CUT = 1u << 31;

struct __align__(8) radix_entry
{
    uint32_t first; /* position */
    uint32_t scale; /* positions in the cell */
};

/* What the tree looks at, the top bits first: a key's offset from the lowest one. */
typedef uint64_t radix_path;
constexpr unsigned RADIX_PATH_BITS = 64;

/* The key of an item of 16 bytes, or the key. */
__device__ __forceinline__ uint64_t thread_upper_key(uint64_t key)
{
    return key;
}
__device__ __forceinline__ uint64_t thread_upper_key(key_u128 item)
{
    return static_cast<uint64_t>(item >> 64);
}

/* The keys that are looked up: those whose offset is at most `range`. */
template <typename K>
struct radix_bounds {
    K lowest;
    K range;
};

/* Of items (key above index) it is the key that counts, so that they cost no more than their keys;
 * or the index, if those of the sample share one key: items with another are outside. */
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

/* True if the key has this offset, but is not looked up. */
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
    uint32_t end;  /* the position of all keys above */
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

/* The cell at which the path ends, and in *rest what is left of the path. */
template <typename K>
__device__ __forceinline__ unsigned thread_radix_cell(const struct radix_lookup<K> &lookup,
                                                      radix_path path, radix_path *rest)
{
    unsigned cell = static_cast<unsigned>(path >> (RADIX_PATH_BITS - lookup.root_bits));
    path <<= lookup.root_bits;
    while (lookup.entries[cell].first & RADIX_CUT) {
        cell = (lookup.entries[cell].first & ~RADIX_CUT) +
               static_cast<unsigned>(path >> (RADIX_PATH_BITS - RADIX_NODE_BITS));
        path <<= RADIX_NODE_BITS;
    }
    *rest = path;
    return cell;
}

/* The cells that the paths end at below the root, for those that do. They go down together, so that
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

/* positions[i]: that of keys[i]. The common case has no branch, so that loads overlap: the root is
 * looked up for all, with the top 32 bits of the path, which are enough for it. */
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

/* A thread's part of a model on its way to shared memory: one word of those that most models are
 * made of. */
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
    const struct radix_model_word part = {
        reinterpret_cast<const union radix_model_words<K> *>(model)->words[threadIdx.x],
        model->entry_count};
    return part;
}

/* Puts what all THREADS threads have fetched, and what more there is, to shared memory; it is there
 * after a barrier. */
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

/* Both at once. */
template <typename K, unsigned THREADS>
__device__ __forceinline__ void block_load_model(const struct radix_model<K> *model,
                                                 struct radix_model<K> &shared)
{
    block_store_model<K, THREADS>(thread_fetch_model(model), model, shared);
}

template <typename K>
__device__ __forceinline__ struct radix_lookup<K>
thread_lookup(const struct radix_model<K> &shared) {
    const struct radix_lookup<K> lookup = {
        shared.bounds, shared.norm, shared.end, shared.root_bits, shared.entries
    };
    return lookup;
}

#endif
