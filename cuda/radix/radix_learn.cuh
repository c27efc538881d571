/* SPDX-License-Identifier: Apache-2.0 */
/* radix_learn.cuh - learns a radix_model for each segment: a block each, from a sample in
 * registers.
 *
 *   keys --sample, tree (radix_tree.cuh)--> cells and their weights
 *        --positions given out in proportion to weight, in the order of the keys--> model
 *
 * A cell in which the sample has one value only, as often as two buckets have keys, gets a bucket
 * of its own: these keys need no sorting, and would make the bucket too large for their neighbours.
 * Items that share a key do need it: they make a range, which is parted by their indices.
 */
#ifndef CUDA_RADIX_LEARN_CUH
#define CUDA_RADIX_LEARN_CUH

#include "cuda/block/dynamic_shared.cuh"
#include "cuda/radix/radix_tree.cuh"

/* Turns weights into positions. Each cell has a quarter of a sample key for nothing: where the
 * sample has none, there are positions to tell keys apart nevertheless. A cell with a bucket of its
 * own takes two whole buckets, of which one or two halves are left to its neighbours; it weighs at
 * least as much. */
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

/* Which cells of a level's nodes a thread has: one of a node's, of every LEARN_THREADS. */
struct radix_level_walk {
    unsigned cell;
    unsigned end; /* of the level's cells */
};

__device__ __forceinline__ struct radix_level_walk thread_walk_level(const struct radix_tree &tree,
                                                                     unsigned level)
{
    const struct radix_level_walk walk = {radix_tree_cell(tree, tree.levels[level]) + threadIdx.x,
                                          radix_tree_cell(tree, tree.levels[level + 1])};
    return walk;
}

/* The sum of `value` over this and the cells before it in its node. All lanes call it. */
__device__ __forceinline__ uint32_t warp_scan_nodes(uint32_t value)
{
#pragma unroll
    for (unsigned distance = 1; distance < RADIX_NODE_CELLS; distance *= 2) {
        const uint32_t before = __shfl_up_sync(ALL_LANES, value, distance, RADIX_NODE_CELLS);
        if (threadIdx.x % RADIX_NODE_CELLS >= distance)
            value += before;
    }
    return value;
}

__device__ __forceinline__ unsigned radix_node_of(const struct radix_tree &tree, unsigned cell)
{
    return (cell - tree.root_cells) / RADIX_NODE_CELLS;
}

/* A cut cell has the positions of its node's cells, from the deepest level up. A level has at most
 * LEARN_THREADS cells. */
static_assert(RADIX_NODES * RADIX_NODE_CELLS <= LEARN_THREADS, "one step walks a level");
__device__ __forceinline__ void block_sum_nodes(struct radix_tree &tree)
{
    for (unsigned level = tree.level_count; level-- > 0;) {
        const struct radix_level_walk walk = thread_walk_level(tree, level);
        const bool is_in = walk.cell < walk.end;
        const uint32_t sum = warp_scan_nodes(is_in ? tree.weights[walk.cell] : 0);
        if (is_in && threadIdx.x % RADIX_NODE_CELLS == RADIX_NODE_CELLS - 1)
            tree.weights[tree.parents[radix_node_of(tree, walk.cell)]] = sum;
        __syncthreads();
    }
}

/* Positions that the keys of an uncut cell are spread over, in 2^-32 of its width; the last cell of
 * the root is as wide as the range leaves it. */
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

/* Gives a cell its first position. */
__device__ __forceinline__ void thread_place_cell(struct radix_tree &tree, unsigned cell,
                                                  uint32_t first)
{
    struct radix_entry *const entry = &tree.entries[cell];
    if (entry->first & RADIX_CUT)
        tree.firsts[radix_node_of(tree, entry->first & ~RADIX_CUT)] = first;
    else
        *entry = {tree.is_single[cell] ? first + (1u << RADIX_FRACTION_BITS) : first,
                  thread_cell_scale(tree, cell, tree.weights[cell])};
}

/* The cells of all nodes, once the root's are placed. */
__device__ __forceinline__ void block_place_nodes(struct radix_tree &tree)
{
    for (unsigned level = 0; level < tree.level_count; level++) {
        const struct radix_level_walk walk = thread_walk_level(tree, level);
        const bool is_in = walk.cell < walk.end;
        const uint32_t weight = is_in ? tree.weights[walk.cell] : 0;
        const uint32_t end = warp_scan_nodes(weight);
        if (is_in)
            thread_place_cell(tree, walk.cell,
                              tree.firsts[radix_node_of(tree, walk.cell)] + end - weight);
        __syncthreads();
    }
}

/* What a learning block has in shared memory. */
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

/* Gives all cells their positions; returns where they end. */
__device__ __forceinline__ uint32_t block_place_cells(struct radix_tree &tree, uint32_t *warp_sums)
{
    __syncthreads();
    block_sum_nodes(tree);
    uint32_t end = 0;
    const bool has_cell = threadIdx.x < tree.root_cells;
    const uint32_t first = block_exclusive_scan<LEARN_THREADS>(
        has_cell ? tree.weights[threadIdx.x] : 0, warp_sums, &end);
    if (has_cell)
        thread_place_cell(tree, threadIdx.x, first);
    __syncthreads();
    block_place_nodes(tree);
    return end;
}

/* Makes the model of each segment, and clears the segment's counts. A block for each segment; a
 * struct radix_learn_shared of dynamic shared memory. */
template <typename K>
__global__ void __launch_bounds__(LEARN_THREADS, 1)
    radix_learn_kernel(const K *source, const struct radix_segments *segments, size_t bucket_keys,
                       unsigned buckets_most, unsigned root_rarity_bits, struct key_order encoding,
                       struct radix_model<K> *models, radix_count *counts)
{
    thread_wait_for_grid();
    struct radix_learn_shared<K> &shared =
        *reinterpret_cast<struct radix_learn_shared<K> *>(block_dynamic_shared());
    struct radix_tree &tree = shared.tree;
    const size_t count = segments->keys[blockIdx.x];
    if (count == 0)
        return;
    const struct radix_wish wish = thread_make_wish(count, bucket_keys, buckets_most,
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
    const uint32_t end = block_place_cells(tree, shared.warp_sums);
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
