/* SPDX-License-Identifier: Apache-2.0 */
/* radix_learn.cuh - learns a radix_model for each segment: a block each, from a sample in
 * registers.
 *
 *   keys --sample, tree (radix_tree.cuh)--> cells and their weights
 *        --positions given out in proportion to weight, in the order of the keys--> model
 *
 * A cell in which the sample has one value only, as often as two buckets have keys, gets a bucket
 * of its own: these keys need no sorting, and would make the bucket too large for their neighbours.
 * Items that share a key do need it; their indices part them (radix_values.cuh).
 */
#ifndef CUDA_RADIX_LEARN_CUH
#define CUDA_RADIX_LEARN_CUH

#include "cuda/radix_choice.cuh"
#include "cuda/radix_code.cuh"

/* Turns weights into positions. Each cell has a quarter of a sample key for nothing: where the
 * sample has none, there are positions to tell keys apart nevertheless. A cell with a bucket of its
 * own takes two whole buckets, of which one or two halves are left to its neighbours; it weighs at
 * least as much. */
template <typename K>
__device__ __forceinline__ void block_share_positions(struct radix_tree &tree,
                                                      struct radix_values<K> &values,
                                                      const struct radix_wish &wish)
{
    const unsigned end_cell = radix_tree_end(tree);
    const uint64_t all = (uint64_t{4} << wish.sample_bits) + end_cell;
    for (unsigned cell = threadIdx.x; cell < end_cell; cell += LEARN_THREADS) {
        const bool is_cut = tree.entries[cell].first & RADIX_CUT;
        unsigned weight = thread_cell_weight(tree, cell);
        if constexpr (RADIX_HAS_VALUES<K>)
            weight += thread_share_value(values, cell, is_cut, wish.buckets, all);
        const uint64_t share = (uint64_t{4} * weight + 1) * wish.buckets;
        const bool is_single = !is_cut && thread_has_one_value(tree, cell) && share >= 2 * all;
        tree.is_single[cell] = is_single;
        if (is_single)
            tree.weights[cell] = 2u << RADIX_FRACTION_BITS;
        else
            tree.weights[cell] =
                static_cast<uint32_t>(is_cut ? 0 : (share << RADIX_FRACTION_BITS) / all);
        if constexpr (RADIX_HAS_VALUES<K>)
            tree.weights[cell] += values.positions[cell];
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
template <typename K>
__device__ __forceinline__ void thread_place_cell(struct radix_tree &tree,
                                                  struct radix_values<K> &values, unsigned cell,
                                                  uint32_t first)
{
    struct radix_entry *const entry = &tree.entries[cell];
    if (entry->first & RADIX_CUT) {
        tree.firsts[radix_node_of(tree, entry->first & ~RADIX_CUT)] = first;
        return;
    }
    uint32_t weight = tree.weights[cell];
    if constexpr (RADIX_HAS_VALUES<K>)
        weight -= values.positions[cell];
    *entry = {tree.is_single[cell] ? first + (1u << RADIX_FRACTION_BITS) : first,
              thread_cell_scale(tree, cell, weight)};
    if constexpr (RADIX_HAS_VALUES<K>)
        if (values.slots[cell] > 0)
            *entry = thread_place_value(values, cell, radix_tree_end(tree), *entry);
}

/* The cells of all nodes, once the root's are placed. */
template <typename K>
__device__ __forceinline__ void block_place_nodes(struct radix_tree &tree,
                                                  struct radix_values<K> &values)
{
    for (unsigned level = 0; level < tree.level_count; level++) {
        const struct radix_level_walk walk = thread_walk_level(tree, level);
        const bool is_in = walk.cell < walk.end;
        const uint32_t weight = is_in ? tree.weights[walk.cell] : 0;
        const uint32_t end = warp_scan_nodes(weight);
        if (is_in)
            thread_place_cell(tree, values, walk.cell,
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
    struct radix_values<K> values;
    struct radix_cells<K> cells;
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
        tree.crowd = RADIX_ENTRIES;
        tree.root_cells = 1u << root_bits;
    }
}

/* Gives all cells their positions; returns where they end. */
template <typename K>
__device__ __forceinline__ uint32_t block_place_cells(struct radix_tree &tree,
                                                      struct radix_values<K> &values,
                                                      uint32_t *warp_sums)
{
    __syncthreads();
    block_sum_nodes(tree);
    uint32_t end = 0;
    const bool has_cell = threadIdx.x < tree.root_cells;
    const uint32_t first = block_exclusive_scan<LEARN_THREADS>(
        has_cell ? tree.weights[threadIdx.x] : 0, warp_sums, &end);
    if (has_cell)
        thread_place_cell(tree, values, threadIdx.x, first);
    __syncthreads();
    block_place_nodes(tree, values);
    return end;
}

static_assert(LEARN_THREADS == RADIX_CODE_THREADS, "blocks of one kernel");

/* What learning blocks have in shared memory where there is a choice. */
template <typename K>
union radix_learners_shared {
    struct radix_learn_shared<K> learn;
    struct radix_rough_shared<K> rough;
    struct radix_code_shared code;
};

/* Finds something for the block that learns; false if this is the one. */
template <typename K>
__device__ __forceinline__ bool block_advises(const K *items, const struct key_order &encoding,
                                              union radix_learners_shared<K> &shared,
                                              struct radix_totals *totals,
                                              struct radix_digit_plan *digits)
{
    __shared__ unsigned learner;
    const size_t count = totals->count;
    if (threadIdx.x == 0)
        learner = gridDim.x - 1 - atomicAdd(&totals->learners, 1u);
    __syncthreads();
    if (learner == RADIX_LEARNS)
        return false;
    if (count == 0)
        return true;
    unsigned advice = 0;
    if (learner == RADIX_FINDS_ROUGHNESS) {
        advice = RADIX_ROUGHNESS_IS_KNOWN | block_ask_gaps(items, count, encoding, shared.rough);
    } else {
        const unsigned repeats = block_find_code(items, count, encoding, shared.code, digits);
        advice = RADIX_CODE_IS_KNOWN | (repeats >= RADIX_REPEATS_LEAST ? RADIX_REPEATS : 0) |
                 (repeats >= RADIX_REPEATS_MOST ? RADIX_FEW_VALUES : 0);
        if (threadIdx.x == 0)
            advice |=
                (thread_digits_do(digits, count, RADIX_CODE_DIGITS) ? RADIX_FEW_DIGITS_DO : 0) |
                (thread_digits_do(digits, count, RADIX_REPEATS_DIGITS) ? RADIX_MOST_DIGITS_DO : 0) |
                (digits->code.is_shares ? RADIX_SHARES_DO : 0);
    }
    if (threadIdx.x == 0)
        atomicOr(&totals->advice, advice);
    return true;
}

/* Makes the model of each segment, and clears the segment's counts. A block for each segment; a
 * struct radix_learn_shared of dynamic shared memory. If it CHOOSES, the segment is the whole
 * array, and keys that are better sorted digit by digit are not learned: it is made empty, and the
 * totals say why. Of 8 bytes and of items there are RADIX_LEARNERS blocks then, and a union
 * radix_learners_shared. */
template <typename K, bool CHOOSES>
__global__ void __launch_bounds__(LEARN_THREADS, 1)
    radix_learn_kernel(const K *source, struct radix_segments *segments, size_t bucket_keys,
                       unsigned root_rarity_bits, struct key_order encoding,
                       struct radix_model<K> *models, radix_count *counts,
                       struct radix_totals *totals, struct radix_digit_plan *digits,
                       struct sort_note *note)
{
    thread_wait_for_grid();
    if constexpr (CHOOSES && RADIX_HAS_CODE<K>)
        if (block_advises(
                source, encoding,
                *reinterpret_cast<union radix_learners_shared<K> *>(block_dynamic_shared()), totals,
                digits))
            return;
    struct radix_learn_shared<K> &shared =
        *reinterpret_cast<struct radix_learn_shared<K> *>(block_dynamic_shared());
    struct radix_tree &tree = shared.tree;
    struct radix_values<K> &values = shared.values;
    const unsigned segment = CHOOSES ? 0 : blockIdx.x;
    const size_t count = segments->keys[segment];
    if (count == 0)
        return;
    const struct radix_wish wish =
        thread_make_wish(count, bucket_keys, RADIX_SAMPLE_BITS_MOST<K>, root_rarity_bits);
    struct radix_sample<K> sample;
    block_sample(source + segments->first[segment], wish, encoding, sample);
    constexpr bool doubts = CHOOSES && RADIX_HAS_CODE<K>;
    const K second = doubts ? thread_second_key(source, count, encoding) : K{0};
    block_clear_tree(tree, wish.root_bits);
    if constexpr (RADIX_HAS_VALUES<K>)
        block_clear_values(values, LEARN_THREADS);
    for (unsigned i = threadIdx.x; i < RADIX_WAYS; i += LEARN_THREADS)
        counts[static_cast<size_t>(segment) * RADIX_WAYS + i] = 0;
    const struct radix_lookup<K> lookup =
        block_find_range(sample, wish, tree.entries, shared.warp_ends);
    const unsigned second_cell = doubts ? thread_root_cell(lookup, second) : 0;
    if (threadIdx.x == 0)
        thread_set_last_cell(tree, lookup);
    if constexpr (RADIX_HAS_VALUES<K>)
        block_note_sample(values, sample, lookup);
    struct radix_advice advice = {&totals->advice, 0};
    const auto is_enough = [&](unsigned levels) {
        return CHOOSES && block_is_crowded<K>(tree, count, levels, advice);
    };
    const bool is_grown =
        block_grow_tree(tree, values, sample, shared.cells, wish.sample_bits, lookup, is_enough);
    const bool leaves =
        CHOOSES && (!is_grown || block_repeats<K>(tree, advice) ||
                    block_leaves_crowd(tree, sample, shared.cells, wish, lookup, advice));
    if (leaves || (doubts && block_is_misled(tree, second_cell, source, count, encoding, advice))) {
        if (threadIdx.x == 0) {
            const unsigned long long way =
                leaves ? thread_digits_note<K>(advice) : thread_doubt_note<K>(count, advice);
            thread_leave_keys(segments, totals, way);
            note->count = way;
            thread_tell_way(note, RADIX_WAY_OTHER);
        }
        return;
    }
    if (CHOOSES && threadIdx.x == 0)
        thread_tell_way(note, RADIX_WAY_ON);
    block_share_positions(tree, values, wish);
    if constexpr (RADIX_HAS_VALUES<K>)
        block_widen_values(values, sample, shared.cells, lookup);
    const uint32_t end = block_place_cells(tree, values, shared.warp_sums);
    struct radix_model<K> *const model = &models[segment];
    const unsigned tree_end = radix_tree_end(tree);
    unsigned entry_count = tree_end;
    for (unsigned cell = threadIdx.x; cell < tree_end; cell += LEARN_THREADS)
        model->entries[cell] = tree.entries[cell];
    if constexpr (RADIX_HAS_VALUES<K>) {
        entry_count += radix_value_count(values) * RADIX_VALUE_ENTRIES;
        for (unsigned i = tree_end + threadIdx.x; i < entry_count; i += LEARN_THREADS)
            model->entries[i] = values.entries[i - tree_end];
    }
    if (threadIdx.x == 0) {
        model->bounds = lookup.bounds;
        model->norm = lookup.norm;
        model->end = end;
        model->root_bits = lookup.root_bits;
        model->entry_count = entry_count;
    }
}

#endif
