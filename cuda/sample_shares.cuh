/* SPDX-License-Identifier: Apache-2.0 */
/* sample_shares.cuh - each block parts its share of the items by the splitters, within the room of
 * the share: so nothing is counted before it is moved, and no block waits for another.
 *
 *   items --sample_part_kernel--> scratch: each share in order of buckets, encoded;
 *                                 where each bucket begins in its share; the sums of that over all
 *                                 shares are where the buckets begin in the end
 */
#ifndef CUDA_SAMPLE_SHARES_CUH
#define CUDA_SAMPLE_SHARES_CUH

#include "cuda/dynamic_shared.cuh"
#include "cuda/sample_splitters.cuh"

/* The splitters, from 1 on (sample_splitters.cuh). */
template <typename K>
struct sample_tree {
    sample_half<K> uppers[SAMPLE_WAYS];
    sample_half<K> lowers[sample_halves<K>::bits > 0 ? SAMPLE_WAYS : 1];
    unsigned places[SAMPLE_WAYS];
};

template <typename K>
__device__ __forceinline__ void thread_plant_splitter(struct sample_tree<K> &tree, unsigned node,
                                                      K key, unsigned place)
{
    tree.uppers[node] = thread_upper(key);
    if constexpr (sample_halves<K>::bits > 0)
        tree.lowers[node] = static_cast<sample_half<K>>(key);
    tree.places[node] = place;
}

/* Whether a key, which stands at `place` among the items, goes behind the splitter of that node. Of
 * items the upper half is all of the key, and seldom that of a splitter: so the lower one is read
 * only then. */
template <typename K>
__device__ __forceinline__ bool thread_goes_behind(const struct sample_tree<K> &tree, unsigned node,
                                                   K key, unsigned place)
{
    K splitter = tree.uppers[node];
    if (sizeof(K) == sizeof(key_u128) && splitter != thread_upper(key))
        return splitter < thread_upper(key);
    if constexpr (sample_halves<K>::bits > 0)
        splitter = splitter << sample_halves<K>::bits | tree.lowers[node];
    if (splitter == key)
        return tree.places[node] <= place;
    return splitter < key;
}

template <typename K, unsigned KEYS>
struct sample_part_shared {
    union {
        struct sample_tree<K> tree;
        K share[SAMPLE_PART_THREADS * KEYS];
    };
    unsigned counts[SAMPLE_WAYS]; /* of each bucket, then where it begins */
    unsigned warp_sums[THREADS_PER_WARP];
};

/* Whether a splitter has the upper half of a neighbour. In order, every other splitter is a leaf of
 * the tree: what is before and behind it stands on its way up, where that last turned right, and
 * left. */
template <typename K>
__device__ __forceinline__ bool thread_sees_ties(const struct sample_tree<K> &tree,
                                                 unsigned ways_bits)
{
    bool is_tie = false;
    for (unsigned i = threadIdx.x; i < 1u << ways_bits >> 1; i += SAMPLE_PART_THREADS) {
        const unsigned leaf = i + (1u << ways_bits >> 1);
        const unsigned before = leaf >> __ffs(static_cast<int>(leaf));
        const unsigned behind = leaf >> __ffs(static_cast<int>(~leaf));
        const auto upper = tree.uppers[leaf];
        is_tie |= (before > 0 && tree.uppers[before] == upper) ||
                  (behind > 0 && tree.uppers[behind] == upper);
    }
    return is_tie;
}

/* The buckets of the thread's keys, of which the first one stands at `first` among the items. Where
 * no two splitters have one upper half, one look at a lower one is enough. */
template <bool HAS_TIES, typename K, unsigned KEYS>
__device__ __forceinline__ void thread_find_buckets(const struct sample_tree<K> &tree,
                                                    unsigned ways_bits, const K (&keys)[KEYS],
                                                    unsigned first, unsigned (&buckets)[KEYS])
{
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++)
        buckets[i] = 1;
#pragma unroll 1
    for (unsigned level = 0; level < ways_bits; level++)
#pragma unroll
        for (unsigned i = 0; i < KEYS; i++) {
            const bool is_behind = HAS_TIES ? thread_goes_behind(tree, buckets[i], keys[i],
                                                                 first + i * SAMPLE_PART_THREADS)
                                            : tree.uppers[buckets[i]] < thread_upper(keys[i]);
            buckets[i] = 2 * buckets[i] + (is_behind ? 1 : 0);
        }
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++) {
        const unsigned next = buckets[i] >> __ffs(static_cast<int>(~buckets[i]));
        buckets[i] -= 1u << ways_bits;
        if (!HAS_TIES && next > 0 && tree.uppers[next] == thread_upper(keys[i]) &&
            thread_goes_behind(tree, next, keys[i], first + i * SAMPLE_PART_THREADS))
            buckets[i]++;
    }
}

/* counts -> where each bucket begins in the share. Begins and ends with a barrier. */
template <typename K, unsigned KEYS>
__device__ __forceinline__ void block_place_buckets(unsigned ways_bits,
                                                    struct sample_part_shared<K, KEYS> *shared)
{
    constexpr unsigned own_most = SAMPLE_WAYS / SAMPLE_PART_THREADS;
    const unsigned own_ways = (1u << ways_bits) / SAMPLE_PART_THREADS;
    const unsigned first = threadIdx.x * own_ways;
    unsigned counts[own_most], sum = 0, total = 0;
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < own_most; i++) {
        counts[i] = i < own_ways ? shared->counts[first + i] : 0;
        sum += counts[i];
    }
    unsigned begin = block_exclusive_scan<SAMPLE_PART_THREADS>(sum, shared->warp_sums, &total);
#pragma unroll
    for (unsigned i = 0; i < own_most; i++) {
        if (i < own_ways)
            shared->counts[first + i] = begin;
        begin += counts[i];
    }
    __syncthreads();
}

/* A block a share; a struct sample_part_shared of dynamic shared memory. */
template <typename K, unsigned KEYS>
__global__ void __launch_bounds__(SAMPLE_PART_THREADS, SAMPLE_PART_BLOCKS)
    sample_part_kernel(struct sample_job<K> job)
{
    auto *const shared =
        reinterpret_cast<struct sample_part_shared<K, KEYS> *>(block_dynamic_shared());
    thread_wait_for_grid();
    if (!sample_has_work(job))
        return;
    const unsigned start = blockIdx.x * job.share, count = min(job.share, job.count - start);
    K keys[KEYS];
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++) {
        const unsigned index = i * SAMPLE_PART_THREADS + threadIdx.x;
        keys[i] = index < count ? job.items[start + index] : K{0};
    }
    for (unsigned i = threadIdx.x; i < 1u << job.ways_bits; i += SAMPLE_PART_THREADS) {
        shared->counts[i] = 0;
        thread_plant_splitter(shared->tree, i, job.work.splitters.keys[i],
                              job.work.splitters.places[i]);
    }
    thread_encode_keys(job.order, keys);
    __syncthreads();
    unsigned buckets[KEYS];
    if (__syncthreads_or(thread_sees_ties(shared->tree, job.ways_bits)))
        thread_find_buckets<true>(shared->tree, job.ways_bits, keys, start + threadIdx.x, buckets);
    else
        thread_find_buckets<false>(shared->tree, job.ways_bits, keys, start + threadIdx.x, buckets);
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++) {
        const bool is_key = i * SAMPLE_PART_THREADS + threadIdx.x < count;
        const unsigned rank = is_key ? atomicAdd(&shared->counts[buckets[i]], 1u) : 0;
        buckets[i] |= rank << SAMPLE_WAYS_BITS_MOST;
    }
    block_place_buckets(job.ways_bits, shared);
    uint16_t *const begins = job.work.begins + (static_cast<size_t>(blockIdx.x) << job.ways_bits);
    for (unsigned i = threadIdx.x; i < 1u << job.ways_bits; i += SAMPLE_PART_THREADS) {
        begins[i] = static_cast<uint16_t>(shared->counts[i]);
        if (shared->counts[i] > 0)
            atomicAdd(&job.work.starts[i], shared->counts[i]);
    }
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++)
        if (i * SAMPLE_PART_THREADS + threadIdx.x < count)
            shared->share[shared->counts[buckets[i] % SAMPLE_WAYS] +
                          (buckets[i] >> SAMPLE_WAYS_BITS_MOST)] = keys[i];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++) {
        const unsigned index = i * SAMPLE_PART_THREADS + threadIdx.x;
        if (index < count)
            job.scratch[start + index] = shared->share[index];
    }
}

#endif
