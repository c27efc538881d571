/* SPDX-License-Identifier: Apache-2.0 */
/* radix_learn.cuh - learns a radix_model for each segment: a block each, with the sample in
 * registers and the tree in shared memory.
 *
 *   keys --sample--> its least and greatest key -> the root's cells, weighed
 *        --heavy and uneven cells cut and weighed, level by level--> tree
 *        --positions assigned in proportion to weight, in the order of the keys--> model
 *
 * A cell in which the sample has one value only, as often as two buckets have keys, gets a bucket
 * of its own: these keys need no sorting, and would make a shared bucket too large. Items that
 * share a key do need sorting: they make a range, which is partitioned by their indices.
 */
#ifndef CUDA_RADIX_LEARN_CUH
#define CUDA_RADIX_LEARN_CUH

#include "cuda/block/shared_memory.cuh"
#include "cuda/block/thread_bits.cuh"
#include "cuda/radix/radix_levels.cuh"

/* The wanted size of a segment's model. */
struct radix_wish {
    size_t count;         /* keys of the segment */
    uint64_t seed;        /* of the positions of the sample */
    unsigned sample_bits; /* the sample has 2^sample_bits keys, at most `count` */
    unsigned root_bits;   /* of the model */
    unsigned buckets;     /* the model has one more at most */
};

/* Returns a wish for at most buckets_most buckets of `bucket_keys` keys or more, and at least
 * three: one for a frequent value, and one on each side of it. */
__device__ __forceinline__ struct radix_wish
thread_make_wish(size_t count, uint64_t seed, size_t bucket_keys, unsigned buckets_most,
                 unsigned sample_bits_most, unsigned root_rarity_bits)
{
    const unsigned count_bits = 63 - static_cast<unsigned>(__clzll(static_cast<long long>(count)));
    const unsigned few_bits = min(max(count_bits, 4u) - 4, RADIX_SAMPLE_BITS_LEAST);
    const unsigned wanted_bits =
        max(max(count_bits, RADIX_SAMPLE_RARITY_BITS) - RADIX_SAMPLE_RARITY_BITS, few_bits);
    const size_t wanted = (count + bucket_keys - 1) / bucket_keys;
    const unsigned sample_bits = min(min(wanted_bits, sample_bits_most), count_bits);
    const unsigned root_bits = max(sample_bits, root_rarity_bits + 1) - root_rarity_bits;
    return {count, seed, sample_bits, min(root_bits, RADIX_ROOT_BITS),
            static_cast<unsigned>(wanted < 3              ? 3
                                  : wanted < buckets_most ? wanted
                                                          : buckets_most)};
}

constexpr unsigned LEARN_THREADS = RADIX_ROOT_CELLS;
static_assert(LEARN_THREADS <= 1024 && LEARN_THREADS % THREADS_PER_WARP == 0, "a block");

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
    unsigned rows;  /* the greatest `count` of a thread of the block */
};

/* Returns key `number` of the sample, which has a key of each stride of the segment, at a
 * pseudo-random position in it. */
template <typename K>
__device__ __forceinline__ K thread_sample_item(const K *segment, const struct radix_wish &wish,
                                                size_t number)
{
    const size_t stride = wish.count >> wish.sample_bits;
    return segment[number * stride + thread_hash_below(number + wish.seed, stride)];
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

/* The tree while it grows, in shared memory. */
struct radix_tree {
    struct radix_entry entries[RADIX_ENTRIES];
    uint32_t quarters[RADIX_ENTRIES][4]; /* sample keys that end in a quarter of a cell */
    uint32_t weights[RADIX_ENTRIES];     /* number of positions of a cell */
    union {                              /* at first, then once the tree is complete: */
        uint32_t least[RADIX_ENTRIES];   /* least top of the paths of a cell's sample keys */
        uint32_t offsets[RADIX_ENTRIES]; /* positions of the cells before it in its node or root */
    };
    uint32_t most[RADIX_ENTRIES];  /* greatest top of them */
    bool is_single[RADIX_ENTRIES]; /* the cell has a bucket of its own */
    unsigned parents[RADIX_NODES]; /* the cell that a node cuts */
    unsigned nodes;                /* requested; may exceed RADIX_NODES */
    unsigned root_cells;
    unsigned last_cell; /* of the root, at the end of the range */
    uint32_t last_top;  /* greatest top of a path in that cell */
};

/* Returns the first cell of a node; for the node after the last one, the end of all cells. */
__device__ __forceinline__ unsigned radix_tree_cell(const struct radix_tree &tree, unsigned node)
{
    return tree.root_cells + node * RADIX_NODE_CELLS;
}

__device__ __forceinline__ unsigned radix_tree_end(const struct radix_tree &tree)
{
    return radix_tree_cell(tree, min(tree.nodes, RADIX_NODES));
}

/* Returns the number of leading zeros of `range`, at most 63. */
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

/* Returns the least and greatest key of all threads. Contains a barrier. */
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

/* Returns the bounds of the sample, widened on both sides by eight times the mean distance of its
 * keys, for the keys just outside. Of n evenly spread keys, n / sample size are beyond each end. */
template <typename K>
__device__ __forceinline__ struct radix_bounds<K> thread_make_bounds(K least, K greatest,
                                                                     unsigned sample_bits) {
    if constexpr (RADIX_IS_ITEM<K>) {
        const uint64_t key = thread_upper_key(least);
        const bool by_index = key == thread_upper_key(greatest);
        const struct radix_bounds<uint64_t> words = thread_make_bounds(
            by_index ? static_cast<uint64_t>(least) : key,
            by_index ? static_cast<uint64_t>(greatest) : thread_upper_key(greatest), sample_bits);
        return {words.lowest, words.range, key, by_index};
    } else {
        const K margin = static_cast<K>((greatest - least) >> sample_bits << 3);
        const K lowest = least > margin ? static_cast<K>(least - margin) : K{0};
        const K room = static_cast<K>(key_max<K>() - greatest);
        const K highest = static_cast<K>(greatest + (room > margin ? margin : room));
        return {lowest, static_cast<K>(highest - lowest)};
    }
}

template <typename K>
__device__ __forceinline__ struct radix_lookup<K>
block_find_range(const struct radix_sample<K> &sample, const struct radix_wish &wish,
                 const struct radix_entry *entries, struct radix_ends<K> *warp_ends) {
    struct radix_ends<K> own = {
        key_max<K>(), 0
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
    return {bounds, thread_leading_zeros(bounds.range), 0, wish.root_bits, entries};
}

/* Finds the last cell of the root within the range. */
template <typename K>
__device__ __forceinline__ void thread_set_last_cell(struct radix_tree &tree,
                                                     const struct radix_lookup<K> &lookup)
{
    const radix_path path = static_cast<radix_path>(lookup.bounds.range << lookup.norm);
    tree.last_cell = static_cast<unsigned>(path >> (RADIX_PATH_BITS - lookup.root_bits));
    tree.last_top = thread_path_top(path << lookup.root_bits);
}

/* Raises or lowers a bound in shared memory; only few keys of a cell move it. */
__device__ __forceinline__ void thread_widen(struct radix_tree &tree, unsigned cell, uint32_t top)
{
    if (top < tree.least[cell])
        atomicMin(&tree.least[cell], top);
    if (top > tree.most[cell])
        atomicMax(&tree.most[cell], top);
}

/* Moves the sample's keys whose cells are cut one level down, and counts them there. cells[]: the
 * cell of each key. `first_cell`: the first of the new level. If it is 0, all keys move to the
 * cells of the root. `bits`: the bits of a path that lead to the new level. */
template <typename K>
__device__ __forceinline__ void
block_weigh(struct radix_tree &tree, const struct radix_sample<K> &sample,
            const struct radix_lookup<K> &lookup, unsigned first_cell, unsigned bits,
            uint16_t (&cells)[1u << RADIX_OWN_BITS<K>])
{
    bool is_contended = false;
#pragma unroll
    for (unsigned i = 0; i < 1u << RADIX_OWN_BITS<K>; i++) {
        if (i >= sample.rows)
            break;
        const radix_path path = thread_offset(lookup.bounds, sample.keys[i]) << lookup.norm;
        const uint32_t first = first_cell == 0 ? RADIX_CUT : tree.entries[cells[i]].first;
        const unsigned own_bits = first_cell == 0 ? bits : RADIX_NODE_BITS;
        if (first & RADIX_CUT)
            cells[i] = static_cast<uint16_t>(
                (first & ~RADIX_CUT) + (path << (bits - own_bits) >> (RADIX_PATH_BITS - own_bits)));
        const uint32_t top = thread_path_top(bits < RADIX_PATH_BITS ? path << bits : 0);
        const bool counted = i < sample.count && (first & RADIX_CUT);
        const unsigned quarter =
            counted ? 4 * cells[i] + (top >> 30) : 4 * RADIX_ENTRIES + threadIdx.x;
        is_contended = i == 0 ? warp_is_contended(quarter) : is_contended;
        if (is_contended)
            warp_count_together(tree.quarters[0], quarter, counted);
        else if (counted)
            atomicAdd(tree.quarters[0] + quarter, 1u);
        if (counted)
            thread_widen(tree, cells[i], top);
    }
}

/* Returns true if all keys of the sample in the cell have the same bits, as far as the tree has
 * stored them. */
__device__ __forceinline__ bool thread_has_one_value(const struct radix_tree &tree, unsigned cell)
{
    return tree.least[cell] == tree.most[cell];
}

__device__ __forceinline__ unsigned thread_cell_weight(const struct radix_tree &tree, unsigned cell)
{
    const uint32_t *const quarters = tree.quarters[cell];
    return quarters[0] + quarters[1] + quarters[2] + quarters[3];
}

/* Returns true if the cell is heavy and has enough sample keys to weigh its parts, or if its
 * quarters differ more than chance makes likely: Pearson's sum of squares over their mean is above
 * 25 for even keys once in 60,000 cells. The last cell of the root is cut by the end of the range
 * already. */
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
    unsigned first_cell = 0, end_cell = tree.root_cells;
    unsigned bits = lookup.root_bits; /* of a path, so far */
    uint16_t cells[1u << RADIX_OWN_BITS<K>] = {};
    for (; first_cell < end_cell; bits += RADIX_NODE_BITS) {
        block_weigh(tree, sample, lookup, first_cell, bits, cells);
        __syncthreads();
        if (bits + RADIX_NODE_BITS <= RADIX_PATH_BITS)
            block_cut(tree, sample_bits, first_cell, end_cell);
        __syncthreads();
        first_cell = end_cell;
        end_cell = radix_tree_end(tree);
    }
}

/* ---- from the tree to the model ---- */

/* Turns weights into positions. Each cell gets a quarter of a sample key in addition, so that keys
 * in a cell without a sample key have different positions too. A cell with a bucket of its own
 * takes two whole buckets, parts of which belong to its neighbours. */
__device__ __forceinline__ void block_share_positions(struct radix_tree &tree,
                                                      const struct radix_wish &wish)
{
    const unsigned end_cell = radix_tree_end(tree);
    const uint64_t all = (uint64_t{4} << wish.sample_bits) + end_cell;
    for (unsigned cell = threadIdx.x; cell < end_cell; cell += LEARN_THREADS) {
        const bool is_cut = tree.entries[cell].first & RADIX_CUT;
        const unsigned weight = thread_cell_weight(tree, cell);
        const uint64_t share = (uint64_t{4} * weight + 1) * wish.buckets;
        const bool is_single = !is_cut && thread_has_one_value(tree, cell) && share >= 2 * all;
        tree.is_single[cell] = is_single;
        tree.weights[cell] =
            is_single ? 2u << RADIX_FRACTION_BITS
                      : static_cast<uint32_t>(is_cut ? 0 : (share << RADIX_FRACTION_BITS) / all);
    }
}

/* Returns the scale of an uncut cell: the positions in its width, or 0 if it has a bucket of its
 * own. The last cell of the root ends with the range, and so before its width. */
__device__ __forceinline__ uint32_t thread_cell_scale(const struct radix_tree &tree, unsigned cell,
                                                      uint32_t weight)
{
    if (tree.is_single[cell])
        return 0;
    if (cell != tree.last_cell)
        return weight;
    const uint64_t scale = (static_cast<uint64_t>(weight) << 32) / (uint64_t{tree.last_top} + 1);
    return scale < UINT32_MAX ? static_cast<uint32_t>(scale) : UINT32_MAX;
}

/* The shared memory of a learning block. */
template <typename K>
struct radix_learn_shared {
    struct radix_tree tree;
    struct radix_ends<K> warp_ends[THREADS_PER_WARP];
    uint32_t warp_sums[THREADS_PER_WARP];
};

__device__ __forceinline__ void block_clear_tree(struct radix_tree &tree, unsigned root_bits)
{
    for (unsigned cell = threadIdx.x; cell < RADIX_ENTRIES; cell += LEARN_THREADS) {
        tree.entries[cell] = {0, 0};
        for (unsigned quarter = 0; quarter < 4; quarter++)
            tree.quarters[cell][quarter] = 0;
        tree.most[cell] = 0;
        tree.least[cell] = UINT32_MAX;
    }
    if (threadIdx.x == 0) {
        tree.nodes = 0;
        tree.root_cells = 1u << root_bits;
    }
}

/* Returns the cell that the node of `cell` cuts. `cell` is not one of the root. */
__device__ __forceinline__ unsigned radix_parent(const struct radix_tree &tree, unsigned cell)
{
    return tree.parents[(cell - tree.root_cells) / RADIX_NODE_CELLS];
}

static_assert(RADIX_NODE_CELLS == THREADS_PER_WARP, "a warp has the cells of a node");
static_assert(RADIX_NODES * RADIX_NODE_CELLS <= LEARN_THREADS, "each cell of a node has a thread");

/* Adds the weight of each uncut cell to all cut cells above it. Then finds the offset of each cell
 * in its node, and returns the number of all positions. A thread handles a cell of the root, and a
 * warp handles a node. */
__device__ __forceinline__ uint32_t block_find_offsets(struct radix_tree &tree, uint32_t *warp_sums)
{
    const unsigned cell = tree.root_cells + threadIdx.x;
    const bool is_in = cell < radix_tree_end(tree), is_root = threadIdx.x < tree.root_cells;
    if (is_in && !(tree.entries[cell].first & RADIX_CUT))
        for (unsigned above = cell; above >= tree.root_cells;) {
            above = radix_parent(tree, above);
            atomicAdd(&tree.weights[above], tree.weights[cell]);
        }
    __syncthreads();
    const uint32_t weight = is_in ? tree.weights[cell] : 0;
    const uint32_t offset = warp_inclusive_scan(weight) - weight;
    uint32_t all = 0;
    const uint32_t root_offset = block_exclusive_scan<LEARN_THREADS>(
        is_root ? tree.weights[threadIdx.x] : 0, warp_sums, &all);
    if (is_in)
        tree.offsets[cell] = offset;
    if (is_root)
        tree.offsets[threadIdx.x] = root_offset;
    return all;
}

/* Gives each uncut cell its first position: the sum of the offsets from the root down to it. */
__device__ __forceinline__ void block_place_cells(struct radix_tree &tree)
{
    const unsigned end_cell = radix_tree_end(tree);
    for (unsigned cell = threadIdx.x; cell < end_cell; cell += LEARN_THREADS) {
        if (tree.entries[cell].first & RADIX_CUT)
            continue;
        uint32_t first = tree.offsets[cell];
        for (unsigned above = cell; above >= tree.root_cells;) {
            above = radix_parent(tree, above);
            first += tree.offsets[above];
        }
        tree.entries[cell] = {tree.is_single[cell] ? first + (1u << RADIX_FRACTION_BITS) : first,
                              thread_cell_scale(tree, cell, tree.weights[cell])};
    }
}

/* Makes the model of each segment that has keys, and clears the segment's counts. `salt` decides on
 * the positions of the samples. One block per segment. Needs a struct radix_learn_shared of dynamic
 * shared memory. */
template <typename K>
__global__ void __launch_bounds__(LEARN_THREADS, 1)
    radix_learn_kernel(const K *source, const struct radix_segments *segments, size_t bucket_keys,
                       unsigned buckets_most, unsigned root_rarity_bits, struct key_order encoding,
                       unsigned salt, struct radix_model<K> *models, atomic_count *counts)
{
    thread_wait_for_dependency();
    struct radix_learn_shared<K> &shared =
        *reinterpret_cast<struct radix_learn_shared<K> *>(block_dynamic_shared());
    struct radix_tree &tree = shared.tree;
    const size_t count = segments->keys[blockIdx.x];
    if (count == 0)
        return;
    const uint64_t seed = thread_hash(static_cast<uint64_t>(salt) + 1) + count;
    const struct radix_wish wish = thread_make_wish(count, seed, bucket_keys, buckets_most,
                                                    RADIX_SAMPLE_BITS_MOST<K>, root_rarity_bits);
    struct radix_sample<K> sample;
    block_sample(source + segments->first[blockIdx.x], wish, encoding, sample);
    block_clear_tree(tree, wish.root_bits);
    for (unsigned i = threadIdx.x; i < RADIX_WAYS; i += LEARN_THREADS)
        counts[static_cast<size_t>(blockIdx.x) * RADIX_WAYS + i] = 0;
    const struct radix_lookup<K> lookup =
        block_find_range(sample, wish, tree.entries, shared.warp_ends);
    if (threadIdx.x == 0)
        thread_set_last_cell(tree, lookup);
    block_grow_tree(tree, sample, wish.sample_bits, lookup);
    block_share_positions(tree, wish);
    __syncthreads();
    const uint32_t end = block_find_offsets(tree, shared.warp_sums);
    __syncthreads();
    block_place_cells(tree);
    __syncthreads();
    struct radix_model<K> *const model = &models[blockIdx.x];
    const unsigned tree_end = radix_tree_end(tree);
    for (unsigned cell = threadIdx.x; cell < tree_end; cell += LEARN_THREADS)
        model->entries[cell] = tree.entries[cell];
    if (threadIdx.x == 0) {
        model->bounds = lookup.bounds;
        model->norm = lookup.norm;
        model->end = end;
        model->root_bits = lookup.root_bits;
        model->entry_count = tree_end;
    }
}

#endif
