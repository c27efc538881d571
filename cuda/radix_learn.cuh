/* radix_learn.cuh - the two kernels that learn a radix_model: many blocks gather the sample, one
 * block makes the tree.
 *
 *   keys --sample_kernel--> sample, encoded
 *        --learn_kernel--> its least and greatest key -> the root's cells, weighed
 *                       -> heavy cells cut and weighed, level by level
 *                       -> positions given out in proportion to weight, in the order of the keys
 *
 * A cell that holds one value only, and as much of the sample as a bucket, gets a bucket of its
 * own: these keys need no sorting.
 */
#ifndef CUDA_RADIX_LEARN_CUH
#define CUDA_RADIX_LEARN_CUH

#include "cuda/radix_partition.cuh"

/* What is asked of a model. */
struct radix_wish {
    size_t count;         /* keys */
    unsigned sample_bits; /* the sample has 2^sample_bits keys, at most `count` */
    unsigned buckets;     /* below 2^RADIX_BUCKET_BITS; the model has one more at most */
};

/* Scrambles the bits of i (the finaliser of MurmurHash3, by A. Appleby). */
__device__ __forceinline__ uint64_t thread_scramble(uint64_t i)
{
    i ^= i >> 33;
    i *= 0xff51afd7ed558ccdu;
    i ^= i >> 33;
    i *= 0xc4ceb9fe1a85ec53u;
    return i ^ i >> 33;
}

/* Each stride of the input gives one key, at a place that has nothing to do with its number. */
template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    radix_sample_kernel(const K *source, K *sample, struct radix_wish wish,
                        struct key_order encoding)
{
    const size_t index = static_cast<size_t>(blockIdx.x) * THREADS_PER_BLOCK + threadIdx.x;
    if (index >> wish.sample_bits)
        return;
    const size_t stride = wish.count >> wish.sample_bits;
    K key[1] = {source[index * stride + thread_scramble(index + wish.count) % stride]};
    thread_encode_keys(encoding, key);
    sample[index] = key[0];
}

/* The tree while it grows, in shared memory. */
struct radix_tree {
    struct radix_entry entries[RADIX_ENTRIES];
    uint32_t weights[RADIX_ENTRIES]; /* sample keys that end in a cell; then its positions */
    uint32_t lower[RADIX_ENTRIES];   /* those of them in the lower half of the cell */
    bool is_single[RADIX_ENTRIES];   /* the cell has a bucket of its own */
    unsigned parents[RADIX_NODES];   /* the cell that a node cuts */
    unsigned levels[RADIX_NODES];    /* 1 below the root */
    uint32_t firsts[RADIX_NODES];    /* the position that a node starts with */
    unsigned nodes;                  /* asked for; may be more than there are */
};

constexpr unsigned LEARN_THREADS = RADIX_ROOT_CELLS;
static_assert(LEARN_THREADS <= 1024 && LEARN_THREADS % THREADS_PER_WARP == 0, "a block");
static_assert(RADIX_NODE_CELLS == 2 * THREADS_PER_WARP, "a lane has two cells of a node");

__device__ __forceinline__ unsigned radix_tree_nodes(const struct radix_tree &tree)
{
    return tree.nodes < RADIX_NODES ? tree.nodes : RADIX_NODES;
}

template <typename K>
__device__ __forceinline__ K warp_least(K key)
{
    for (int distance = THREADS_PER_WARP / 2; distance > 0; distance /= 2) {
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

/* The least `key` of all threads; `warp_keys` is shared, has room for 32, and is free again. */
template <typename K>
__device__ __forceinline__ K block_least(K key, K *warp_keys)
{
    const K least = warp_least(key);
    if (thread_lane() == 0)
        warp_keys[threadIdx.x / THREADS_PER_WARP] = least;
    __syncthreads();
    constexpr unsigned warps = LEARN_THREADS / THREADS_PER_WARP;
    const K of_all =
        warp_least(thread_lane() < warps ? warp_keys[thread_lane()] : key_infinity<K>());
    __syncthreads();
    return of_all;
}

/* Bits above the topmost one of `range`; all but one for 0. */
template <typename K>
__device__ __forceinline__ unsigned thread_leading_zeros(K range)
{
    constexpr unsigned bits = 8 * sizeof(K);
    unsigned zeros = 0;
    if constexpr (sizeof(K) > sizeof(uint64_t)) {
        const uint64_t high = static_cast<uint64_t>(range >> 64);
        zeros = static_cast<unsigned>(
            high ? __clzll(static_cast<long long>(high))
                 : 64 + __clzll(static_cast<long long>(static_cast<uint64_t>(range))));
    } else {
        zeros = static_cast<unsigned>(__clzll(static_cast<long long>(range))) - (64 - bits);
    }
    return zeros < bits ? zeros : bits - 1;
}

/* The range of the sample, and a margin for the keys just outside: of n even keys, n / sample size
 * are expected beyond each end. */
template <typename K>
__device__ __forceinline__ struct radix_lookup<K>
block_find_range(const K *sample, unsigned sample_bits, K *warp_keys) {
    K least = key_infinity<K>(), greatest = 0;
    for (unsigned i = threadIdx.x; i < 1u << sample_bits; i += LEARN_THREADS) {
        const K key = sample[i];
        least = key < least ? key : least;
        greatest = key > greatest ? key : greatest;
    }
    least = block_least(least, warp_keys);
    greatest = static_cast<K>(~block_least(static_cast<K>(~greatest), warp_keys));
    const K margin = static_cast<K>((greatest - least) >> sample_bits << 3);
    const K lowest = least > margin ? static_cast<K>(least - margin) : K{0};
    const K room = static_cast<K>(key_infinity<K>() - greatest);
    const K highest = static_cast<K>(greatest + (room > margin ? margin : room));
    const K range = static_cast<K>(highest - lowest);
    const struct radix_lookup<K> lookup = {
        lowest, range, thread_leading_zeros(range), 0, NULL
    };
    return lookup;
}

/* Bits of a key that cells of the level do not tell apart; 0 or less: a cell has one value. */
template <typename K>
__device__ __forceinline__ int radix_bits_left(unsigned norm, unsigned level)
{
    return static_cast<int>(8 * sizeof(K)) -
           static_cast<int>(norm + RADIX_ROOT_BITS + RADIX_NODE_BITS * level);
}

/* Counts the sample's keys that end in cells from `first_cell` on. */
template <typename K>
__device__ __forceinline__ void
block_weigh(struct radix_tree &tree, const K *sample, unsigned sample_bits,
            const struct radix_lookup<K> &lookup, unsigned first_cell)
{
    for (unsigned i = threadIdx.x; i < 1u << sample_bits; i += LEARN_THREADS) {
        typename radix_path<K>::bits rest;
        const K offset = static_cast<K>(sample[i] - lookup.lowest);
        const unsigned cell =
            thread_radix_cell<K>(tree.entries, thread_radix_path(offset, lookup.norm), &rest);
        const bool is_crowded = warp_is_crowded(cell);
        const bool is_lower = rest >> (RADIX_PATH_BITS<K> - 1) == 0;
        warp_count(tree.weights, cell, cell >= first_cell, is_crowded);
        warp_count(tree.lower, cell, cell >= first_cell && is_lower, is_crowded);
    }
}

/* True if a cell is heavy, or its halves differ by more than a quarter and more than chance makes
 * likely (4 standard deviations), so that its keys are uneven inside. */
__device__ __forceinline__ bool thread_wants_cut(uint32_t weight, uint32_t lower,
                                                 unsigned sample_bits)
{
    if (weight >= 1u << sample_bits >> RADIX_HEAVY_BITS)
        return true;
    const uint32_t twice = 2 * lower;
    const uint64_t excess = twice > weight ? twice - weight : weight - twice;
    return weight >= RADIX_UNEVEN_LEAST && 4 * excess > weight && excess * excess > 16 * weight;
}

/* Cuts cells among first_cell..end_cell, all of one level, while there are nodes. */
__device__ __forceinline__ void block_cut(struct radix_tree &tree, unsigned sample_bits,
                                          unsigned first_cell, unsigned end_cell, unsigned level)
{
    for (unsigned cell = first_cell + threadIdx.x; cell < end_cell; cell += LEARN_THREADS) {
        if (!thread_wants_cut(tree.weights[cell], tree.lower[cell], sample_bits))
            continue;
        const unsigned node = atomicAdd(&tree.nodes, 1u);
        if (node >= RADIX_NODES)
            continue;
        tree.entries[cell].first = RADIX_CUT | (RADIX_ROOT_CELLS + node * RADIX_NODE_CELLS);
        tree.parents[node] = cell;
        tree.levels[node] = level + 1;
    }
}

/* Grows the tree level by level. */
template <typename K>
__device__ __forceinline__ void block_grow_tree(struct radix_tree &tree, const K *sample,
                                                unsigned sample_bits,
                                                const struct radix_lookup<K> &lookup)
{
    unsigned first_cell = 0, end_cell = RADIX_ROOT_CELLS;
    for (unsigned level = 0; first_cell < end_cell; level++) {
        block_weigh(tree, sample, sample_bits, lookup, first_cell);
        __syncthreads();
        const unsigned bits_used = RADIX_ROOT_BITS + RADIX_NODE_BITS * (level + 1);
        if (bits_used <= RADIX_PATH_BITS<K> && radix_bits_left<K>(lookup.norm, level) > 0)
            block_cut(tree, sample_bits, first_cell, end_cell, level);
        __syncthreads();
        first_cell = end_cell;
        end_cell = RADIX_ROOT_CELLS + radix_tree_nodes(tree) * RADIX_NODE_CELLS;
    }
}

/* Turns weights into positions. A cell with a bucket of its own takes two whole buckets, of which
 * one or two halves are left to its neighbours; it weighs at least as much. */
template <typename K>
__device__ __forceinline__ void block_share_positions(struct radix_tree &tree,
                                                      const struct radix_wish &wish, unsigned norm)
{
    const unsigned end_cell = RADIX_ROOT_CELLS + radix_tree_nodes(tree) * RADIX_NODE_CELLS;
    for (unsigned cell = threadIdx.x; cell < end_cell; cell += LEARN_THREADS) {
        const unsigned level =
            cell < RADIX_ROOT_CELLS ? 0 : tree.levels[(cell - RADIX_ROOT_CELLS) / RADIX_NODE_CELLS];
        const uint64_t share = static_cast<uint64_t>(tree.weights[cell]) * wish.buckets;
        const bool is_cut = tree.entries[cell].first & RADIX_CUT;
        const bool is_single = !is_cut && radix_bits_left<K>(norm, level) <= 0 &&
                               share >= uint64_t{2} << wish.sample_bits;
        tree.is_single[cell] = is_single;
        if (is_single)
            tree.weights[cell] = 2u << RADIX_FRACTION_BITS;
        else
            tree.weights[cell] = static_cast<uint32_t>(
                is_cut ? 0 : (share << RADIX_FRACTION_BITS) >> wish.sample_bits);
    }
}

/* A cut cell has the positions of its node's cells. Nodes come after their parents' nodes. One warp
 * calls it. */
__device__ __forceinline__ void warp_sum_nodes(struct radix_tree &tree)
{
    for (unsigned node = radix_tree_nodes(tree); node-- > 0;) {
        const unsigned cell = RADIX_ROOT_CELLS + node * RADIX_NODE_CELLS + 2 * thread_lane();
        const uint32_t sum = warp_inclusive_scan(tree.weights[cell] + tree.weights[cell + 1]);
        if (thread_lane() == THREADS_PER_WARP - 1)
            tree.weights[tree.parents[node]] = sum;
        __syncwarp();
    }
}

/* Gives a cell its first position. */
__device__ __forceinline__ void thread_place_cell(struct radix_tree &tree, unsigned cell,
                                                  uint32_t first)
{
    struct radix_entry *const entry = &tree.entries[cell];
    if (entry->first & RADIX_CUT) {
        tree.firsts[((entry->first & ~RADIX_CUT) - RADIX_ROOT_CELLS) / RADIX_NODE_CELLS] = first;
        entry->scale = 0;
    } else {
        entry->first = tree.is_single[cell] ? first + (1u << RADIX_FRACTION_BITS) : first;
        entry->scale = tree.is_single[cell] ? 0 : tree.weights[cell];
    }
}

/* The cells of all nodes, once the root's are placed. One warp calls it. */
__device__ __forceinline__ void warp_place_nodes(struct radix_tree &tree)
{
    for (unsigned node = 0; node < radix_tree_nodes(tree); node++) {
        const unsigned cell = RADIX_ROOT_CELLS + node * RADIX_NODE_CELLS + 2 * thread_lane();
        const uint32_t even = tree.weights[cell], odd = tree.weights[cell + 1];
        const uint32_t end = tree.firsts[node] + warp_inclusive_scan(even + odd);
        thread_place_cell(tree, cell, end - odd - even);
        thread_place_cell(tree, cell + 1, end - odd);
        __syncwarp();
    }
}

/* Makes the model, and the whole array the segment that the first partition works on. One block. */
template <typename K>
__global__ void __launch_bounds__(LEARN_THREADS)
    radix_learn_kernel(const K *sample, struct radix_wish wish, struct radix_model<K> *model,
                       struct radix_segments *whole)
{
    __shared__ struct radix_tree tree;
    __shared__ K warp_keys[THREADS_PER_WARP];
    __shared__ uint32_t warp_sums[THREADS_PER_WARP];
    for (unsigned cell = threadIdx.x; cell < RADIX_ENTRIES; cell += LEARN_THREADS) {
        tree.entries[cell] = {0, 0};
        tree.weights[cell] = tree.lower[cell] = 0;
        tree.is_single[cell] = false;
    }
    if (threadIdx.x == 0)
        tree.nodes = 0;
    const struct radix_lookup<K> lookup = block_find_range(sample, wish.sample_bits, warp_keys);
    block_grow_tree(tree, sample, wish.sample_bits, lookup);
    block_share_positions<K>(tree, wish, lookup.norm);
    __syncthreads();
    if (threadIdx.x < THREADS_PER_WARP)
        warp_sum_nodes(tree);
    __syncthreads();
    uint32_t end = 0;
    const uint32_t first =
        block_exclusive_scan<LEARN_THREADS>(tree.weights[threadIdx.x], warp_sums, &end);
    thread_place_cell(tree, threadIdx.x, first);
    __syncthreads();
    if (threadIdx.x < THREADS_PER_WARP)
        warp_place_nodes(tree);
    __syncthreads();
    for (unsigned cell = threadIdx.x; cell < RADIX_ENTRIES; cell += LEARN_THREADS)
        model->entries[cell] = tree.entries[cell];
    if (threadIdx.x == 0) {
        model->lowest = lookup.lowest;
        model->range = lookup.range;
        model->norm = lookup.norm;
        model->end = end;
        thread_whole_segment<RADIX_PARTITION_TILE<K>>(whole, wish.count);
    }
}

#endif
