/* SPDX-License-Identifier: Apache-2.0 */
/* radix_tree.cuh - a sample of a segment's keys, and the tree of cells that it grows.
 *
 *   keys --sample--> its least and greatest key -> the root's cells, weighed
 *                 -> heavy and uneven cells cut and weighed, level by level
 *
 * All of it is a block's, which holds the sample in registers and the tree in shared memory.
 */
#ifndef CUDA_RADIX_TREE_CUH
#define CUDA_RADIX_TREE_CUH

#include "cuda/block/thread_scramble.cuh"
#include "cuda/radix/radix_levels.cuh"

/* What is asked of a segment's model. */
struct radix_wish {
    size_t count;         /* keys of the segment */
    unsigned sample_bits; /* the sample has 2^sample_bits keys, at most `count` */
    unsigned root_bits;   /* of the model */
    unsigned buckets;     /* the model has one more at most */
};

/* At most buckets_most buckets of `bucket_keys` or more, of which three are the fewest that can
 * part one value from what is below and above it. */
__device__ __forceinline__ struct radix_wish thread_make_wish(size_t count, size_t bucket_keys,
                                                              unsigned buckets_most,
                                                              unsigned sample_bits_most,
                                                              unsigned root_rarity_bits)
{
    const unsigned count_bits = 63 - static_cast<unsigned>(__clzll(static_cast<long long>(count)));
    const unsigned few_bits = min(max(count_bits, 4u) - 4, RADIX_SAMPLE_BITS_LEAST);
    const unsigned wanted_bits =
        max(max(count_bits, RADIX_SAMPLE_RARITY_BITS) - RADIX_SAMPLE_RARITY_BITS, few_bits);
    const size_t wanted = (count + bucket_keys - 1) / bucket_keys;
    const unsigned sample_bits = min(min(wanted_bits, sample_bits_most), count_bits);
    const unsigned root_bits = max(sample_bits, root_rarity_bits + 1) - root_rarity_bits;
    const struct radix_wish wish = {count, sample_bits, min(root_bits, RADIX_ROOT_BITS),
                                    static_cast<unsigned>(wanted < 3              ? 3
                                                          : wanted < buckets_most ? wanted
                                                                                  : buckets_most)};
    return wish;
}

constexpr unsigned LEARN_THREADS = RADIX_ROOT_CELLS;
static_assert(LEARN_THREADS <= 1024 && LEARN_THREADS % THREADS_PER_WARP == 0, "a block");
static_assert(THREADS_PER_WARP % RADIX_NODE_CELLS == 0, "a warp has the cells of some nodes");

/* Keys of the sample that a thread holds. */
template <typename K>
constexpr unsigned RADIX_OWN_BITS = radix_sample_own_bits(sizeof(K));
template <typename K>
constexpr unsigned RADIX_SAMPLE_BITS_MOST = RADIX_ROOT_BITS + RADIX_OWN_BITS<K>;

/* A thread's part of the sample. */
template <typename K>
struct radix_sample {
    K keys[1u << RADIX_OWN_BITS<K>];
    unsigned count; /* of keys */
    unsigned rows;  /* the most that a thread of the block has */
};

/* The key of that number in the sample: each stride of the segment gives one, at a place that has
 * nothing to do with its number. */
template <typename K>
__device__ __forceinline__ K thread_sample_item(const K *segment, const struct radix_wish &wish,
                                                size_t number)
{
    const size_t stride = wish.count >> wish.sample_bits;
    return segment[number * stride + thread_scramble_below(number + wish.count, stride)];
}

template <typename K>
__device__ __forceinline__ void block_sample(const K *segment, const struct radix_wish &wish,
                                             const struct key_order &encoding,
                                             struct radix_sample<K> &sample)
{
    const unsigned size = 1u << wish.sample_bits;
    sample.count = threadIdx.x < size ? (size - threadIdx.x - 1) / LEARN_THREADS + 1 : 0;
    sample.rows = (size + LEARN_THREADS - 1) / LEARN_THREADS;
#pragma unroll
    for (unsigned i = 0; i < 1u << RADIX_OWN_BITS<K>; i++) {
        if (i >= sample.rows)
            break;
        sample.keys[i] = i < sample.count
                             ? thread_sample_item(segment, wish, i * LEARN_THREADS + threadIdx.x)
                             : K{0};
    }
    thread_encode_keys(encoding, sample.keys);
}

/* Each level takes RADIX_NODE_BITS of a path. */
constexpr unsigned RADIX_LEVELS = 64 / RADIX_NODE_BITS;

/* The tree while it grows, in shared memory. */
struct radix_tree {
    struct radix_entry entries[RADIX_ENTRIES];
    uint32_t quarters[RADIX_ENTRIES][4]; /* sample keys that end in a quarter of a cell */
    uint32_t weights[RADIX_ENTRIES];     /* positions of a cell */
    uint32_t least[RADIX_ENTRIES];       /* of the tops of its keys' paths */
    uint32_t most[RADIX_ENTRIES];
    bool is_single[RADIX_ENTRIES];     /* the cell has a bucket of its own */
    unsigned parents[RADIX_NODES];     /* the cell that a node cuts */
    uint32_t firsts[RADIX_NODES];      /* the position that a node starts with */
    unsigned levels[RADIX_LEVELS + 1]; /* nodes above each level below the root */
    unsigned level_count;
    unsigned nodes; /* asked for; may be more than there are */
    unsigned root_cells;
    unsigned last_cell; /* of the root, at the end of the range */
    uint32_t last_top;  /* of a path in it, at most */
};

__device__ __forceinline__ unsigned radix_tree_nodes(const struct radix_tree &tree)
{
    return tree.nodes < RADIX_NODES ? tree.nodes : RADIX_NODES;
}

/* The first cell of a node; of the one behind the last, the end. */
__device__ __forceinline__ unsigned radix_tree_cell(const struct radix_tree &tree, unsigned node)
{
    return tree.root_cells + node * RADIX_NODE_CELLS;
}

__device__ __forceinline__ unsigned radix_tree_end(const struct radix_tree &tree)
{
    return radix_tree_cell(tree, radix_tree_nodes(tree));
}

/* The least `key` of the threads of a warp, for all of them. */
template <typename K>
__device__ __forceinline__ K warp_least(K key)
{
    for (int distance = static_cast<int>(THREADS_PER_WARP) / 2; distance > 0; distance /= 2) {
        K other = key;
        if constexpr (sizeof(K) <= sizeof(uint64_t)) {
            other = __shfl_xor_sync(ALL_LANES, key, distance);
        } else {
            const uint64_t high =
                __shfl_xor_sync(ALL_LANES, static_cast<uint64_t>(key >> 64), distance);
            const uint64_t low = __shfl_xor_sync(ALL_LANES, static_cast<uint64_t>(key), distance);
            other = static_cast<K>(high) << 64 | low;
        }
        key = other < key ? other : key;
    }
    return key;
}

/* Bits above the topmost one of `range`; all but one for 0. */
__device__ __forceinline__ unsigned thread_leading_zeros(uint64_t range)
{
    const int zeros = __clzll(static_cast<long long>(range));
    return static_cast<unsigned>(zeros < 64 ? zeros : 63);
}

template <typename K>
struct radix_ends {
    K least;
    K greatest;
};

/* The ends of those of all threads. A barrier. */
template <typename K>
__device__ __forceinline__ struct radix_ends<K> block_find_ends(struct radix_ends<K> own,
                                                                struct radix_ends<K> *warp_ends) {
    const auto warp_ends_of = [](const struct radix_ends<K> &ends) {
        const K least = warp_least(ends.least);
        const K past = warp_least(static_cast<K>(~ends.greatest));
        return radix_ends<K>{least, static_cast<K>(~past)};
    };
    constexpr unsigned warps = LEARN_THREADS / THREADS_PER_WARP;
    own = warp_ends_of(own);
    if (thread_lane() == 0)
        warp_ends[threadIdx.x / THREADS_PER_WARP] = own;
    __syncthreads();
    return warp_ends_of(warp_ends[thread_lane() % warps]);
}

/* The range of the sample, and a margin for the keys just outside: of n even keys, n / sample size
 * are expected beyond each end. */
template <typename K>
__device__ __forceinline__ struct radix_bounds<K> thread_make_bounds(K least, K greatest,
                                                                     unsigned sample_bits) {
    if constexpr (RADIX_IS_ITEM<K>) {
        const uint64_t key = thread_upper_key(least);
        const bool by_index = key == thread_upper_key(greatest);
        const struct radix_bounds<uint64_t> words = thread_make_bounds(
            by_index ? static_cast<uint64_t>(least) : key,
            by_index ? static_cast<uint64_t>(greatest) : thread_upper_key(greatest), sample_bits);
        const struct radix_bounds<K> bounds = {
            words.lowest, words.range, key, by_index
        };
        return bounds;
    } else {
        const K margin = static_cast<K>((greatest - least) >> sample_bits << 3);
        const K lowest = least > margin ? static_cast<K>(least - margin) : K{0};
        const K room = static_cast<K>(key_infinity<K>() - greatest);
        const K highest = static_cast<K>(greatest + (room > margin ? margin : room));
        const struct radix_bounds<K> bounds = {
            lowest, static_cast<K>(highest - lowest)
        };
        return bounds;
    }
}

template <typename K>
__device__ __forceinline__ radix_path thread_sample_path(const struct radix_lookup<K> &lookup,
                                                         K key)
{
    return thread_offset(lookup.bounds, key) << lookup.norm;
}

template <typename K>
__device__ __forceinline__ struct radix_lookup<K>
block_find_range(const struct radix_sample<K> &sample, const struct radix_wish &wish,
                 const struct radix_entry *entries, struct radix_ends<K> *warp_ends) {
    struct radix_ends<K> own = {
        key_infinity<K>(), 0
    };
#pragma unroll
    for (unsigned i = 0; i < 1u << RADIX_OWN_BITS<K>; i++) {
        if (i >= sample.rows)
            break;
        const K key = sample.keys[i];
        own.least = i < sample.count && key < own.least ? key : own.least;
        own.greatest = i < sample.count && key > own.greatest ? key : own.greatest;
    }
    const struct radix_ends<K> ends = block_find_ends(own, warp_ends);
    const struct radix_bounds<K> bounds =
        thread_make_bounds(ends.least, ends.greatest, wish.sample_bits);
    const struct radix_lookup<K> lookup = {
        bounds, thread_leading_zeros(bounds.range), 0, wish.root_bits, entries
    };
    return lookup;
}

/* Finds where in the root the range ends. */
template <typename K>
__device__ __forceinline__ void thread_set_last_cell(struct radix_tree &tree,
                                                     const struct radix_lookup<K> &lookup)
{
    radix_path rest;
    tree.last_cell = thread_radix_cell(
        lookup, static_cast<radix_path>(lookup.bounds.range << lookup.norm), &rest);
    tree.last_top = thread_path_top(rest);
}

/* Raises or lowers a bound in shared memory; only few keys of a cell move it. */
__device__ __forceinline__ void thread_widen(struct radix_tree &tree, unsigned cell, uint32_t top)
{
    if (top < tree.least[cell])
        atomicMin(&tree.least[cell], top);
    if (top > tree.most[cell])
        atomicMax(&tree.most[cell], top);
}

/* The cell that the thread's key i of the sample ends in; RADIX_ENTRIES where there is none. */
template <typename K>
__device__ __forceinline__ unsigned thread_sample_cell(const struct radix_sample<K> &sample,
                                                       const struct radix_lookup<K> &lookup,
                                                       unsigned i)
{
    radix_path rest;
    return i < sample.count
               ? thread_radix_cell(lookup, thread_sample_path(lookup, sample.keys[i]), &rest)
               : RADIX_ENTRIES;
}

/* The path after its first `bits` bits. */
__device__ __forceinline__ radix_path thread_path_rest(radix_path path, unsigned bits)
{
    return bits < RADIX_PATH_BITS ? path << bits : 0;
}

/* Counts the sample's keys that are in cells from `first_cell` on, after the first `bits` bits of
 * their paths. */
template <typename K>
__device__ __forceinline__ void
block_weigh(struct radix_tree &tree, const struct radix_sample<K> &sample,
            const struct radix_lookup<K> &lookup, unsigned first_cell, unsigned bits)
{
#pragma unroll
    for (unsigned i = 0; i < 1u << RADIX_OWN_BITS<K>; i++) {
        if (i >= sample.rows)
            break;
        const unsigned cell = thread_sample_cell(sample, lookup, i);
        const uint32_t top =
            thread_path_top(thread_path_rest(thread_sample_path(lookup, sample.keys[i]), bits));
        const bool counted = cell >= first_cell && cell < RADIX_ENTRIES;
        const unsigned quarter = 4 * cell + (top >> 30);
        warp_count(tree.quarters[0], quarter, counted, warp_is_crowded(quarter));
        if (counted)
            thread_widen(tree, cell, top);
    }
}

/* True if all keys of the sample in the cell are one, as far as can be seen. */
__device__ __forceinline__ bool thread_has_one_value(const struct radix_tree &tree, unsigned cell)
{
    return tree.least[cell] == tree.most[cell];
}

__device__ __forceinline__ unsigned thread_cell_weight(const struct radix_tree &tree, unsigned cell)
{
    const uint32_t *const quarters = tree.quarters[cell];
    return quarters[0] + quarters[1] + quarters[2] + quarters[3];
}

/* True if the cell is heavy and its parts still have keys enough to tell their weights, or if its
 * quarters differ by more than chance makes likely: Pearson's sum of squares over their mean is
 * above 25 for even keys once in 60,000 cells. The last cell of the root is cut by the end of the
 * range already. */
__device__ __forceinline__ bool thread_wants_cut(const struct radix_tree &tree, unsigned cell,
                                                 unsigned sample_bits)
{
    const unsigned weight = thread_cell_weight(tree, cell);
    if (weight >= RADIX_HEAVY_LEAST && weight >> (sample_bits - RADIX_HEAVY_BITS) > 0)
        return true;
    if (weight < RADIX_UNEVEN_LEAST || cell == tree.last_cell)
        return false;
    uint64_t squares = 0;
    for (unsigned i = 0; i < 4; i++)
        squares += static_cast<uint64_t>(tree.quarters[cell][i]) * tree.quarters[cell][i];
    return 4 * squares > static_cast<uint64_t>(weight) * (weight + 25);
}

/* Cuts cells among first_cell..end_cell, all of one level, while there are nodes. */
__device__ __forceinline__ void block_cut(struct radix_tree &tree, unsigned sample_bits,
                                          unsigned first_cell, unsigned end_cell)
{
    for (unsigned cell = first_cell + threadIdx.x; cell < end_cell; cell += LEARN_THREADS) {
        if (thread_has_one_value(tree, cell) || !thread_wants_cut(tree, cell, sample_bits))
            continue;
        const unsigned node = atomicAdd(&tree.nodes, 1u);
        if (node >= RADIX_NODES)
            continue;
        tree.entries[cell].first = RADIX_CUT | radix_tree_cell(tree, node);
        tree.parents[node] = cell;
    }
}

/* Grows the tree level by level. */
template <typename K>
__device__ __forceinline__ void
block_grow_tree(struct radix_tree &tree, const struct radix_sample<K> &sample, unsigned sample_bits,
                const struct radix_lookup<K> &lookup)
{
    unsigned first_cell = 0, end_cell = tree.root_cells, level = 0;
    for (; first_cell < end_cell; level++) {
        const unsigned bits = lookup.root_bits + RADIX_NODE_BITS * level; /* of a path, so far */
        block_weigh(tree, sample, lookup, first_cell, bits);
        if (threadIdx.x == 0)
            tree.levels[level] = radix_tree_nodes(tree);
        __syncthreads();
        if (bits + RADIX_NODE_BITS <= RADIX_PATH_BITS)
            block_cut(tree, sample_bits, first_cell, end_cell);
        __syncthreads();
        first_cell = end_cell;
        end_cell = radix_tree_end(tree);
    }
    if (threadIdx.x == 0)
        tree.level_count = level - 1;
}

#endif
