/* SPDX-License-Identifier: Apache-2.0 */
/* radix_choice.cuh - whether models are worth having, as the first one's tree and sample tell, the
 * tree while it grows, and then the counts of its buckets, before any key has moved; else keys are
 * sorted digit by digit (radix_digits.cuh).
 *
 * Models fail in the tiles where keys crowd at all scales. Then neighbours in a sorted sample are
 * at distances that have little to do with each other, however fine the sample: it is rough. Keys
 * with any smooth density, or spread over some places, or of few values, are not.
 */
#ifndef CUDA_RADIX_CHOICE_CUH
#define CUDA_RADIX_CHOICE_CUH

#include "cuda/radix_digit_plan.cuh"
#include "cuda/radix_tree.cuh"

#include <math.h>

/* Blocks beside the one that learns, which meanwhile find what it asks, of keys of 8 bytes and of
 * items. Who is who goes by who begins last, so that nobody waits for a block that has not begun.
 */
enum radix_learner { RADIX_LEARNS, RADIX_FINDS_ROUGHNESS, RADIX_FINDS_CODE, RADIX_LEARNERS };

/* totals->advice: what they have found. */
enum {
    RADIX_CODE_IS_KNOWN = 1,
    RADIX_FEW_DIGITS_DO = 2,  /* half of the digits, or a code, tell nearly all keys apart */
    RADIX_MOST_DIGITS_DO = 4, /* RADIX_REPEATS_DIGITS of them do */
    RADIX_REPEATS = 8,        /* some values come often */
    RADIX_FEW_VALUES = 16,    /* and most keys share them */
    RADIX_ROUGHNESS_IS_KNOWN = 32,
    RADIX_IS_ROUGH = 64,
    RADIX_SHARES_DO = 128, /* no few digits of items do, but a code of shares */
};

/* Where the advice comes, and what of it a thread has heard. */
struct radix_advice {
    const volatile unsigned *given;
    unsigned heard;
};

/* The advice, once all of `known` is. */
__device__ __forceinline__ unsigned thread_ask_advice(struct radix_advice &advice, unsigned known)
{
    while ((advice.heard & known) != known)
        advice.heard = *advice.given;
    return advice.heard;
}

/* What finding the roughness takes. */
template <typename K>
struct radix_rough_shared {
    typename radix_path<K>::bits keys[LEARN_THREADS];
    unsigned steps;     /* of two gaps beside each other, neither of which is 0 */
    unsigned roughness; /* the sum of their ratios, as logarithms in sixteenths */
};

template <typename K>
__device__ __forceinline__ typename radix_path<K>::bits thread_sample_key(K key)
{
    if constexpr (RADIX_HAS_VALUES<K>)
        return thread_item_key(key);
    else
        return key;
}

/* Sorts a key of each thread: a bitonic sort. Ends with a barrier. */
template <typename Bits>
__device__ __forceinline__ void block_sort_keys(Bits *keys)
{
    for (unsigned run = 2; run <= LEARN_THREADS; run *= 2)
        for (unsigned stride = run / 2; stride > 0; stride /= 2) {
            const unsigned other = threadIdx.x ^ stride;
            __syncthreads();
            if (other > threadIdx.x && (keys[threadIdx.x] > keys[other]) == !(threadIdx.x & run)) {
                const Bits key = keys[threadIdx.x];
                keys[threadIdx.x] = keys[other];
                keys[other] = key;
            }
        }
    __syncthreads();
}

/* One key of each stride of the array, for each thread. */
template <typename K>
__device__ __forceinline__ typename radix_path<K>::bits
thread_rough_key(const K *items, size_t count, const struct key_order &encoding)
{
    const size_t stride = count / LEARN_THREADS;
    const size_t within = thread_scramble_below(threadIdx.x + count, stride);
    K keys[1] = {items[min(threadIdx.x * stride + within, count - 1)]};
    thread_encode_keys(encoding, keys);
    return thread_sample_key(keys[0]);
}

/* RADIX_IS_ROUGH, for the whole block, if gaps between neighbours of a sample differ more than
 * chance makes them differ, even those beside each other: their ratio is 2 to the power of 2 in the
 * mean where the density of keys changes slowly, whatever it is. */
template <typename K>
__device__ __forceinline__ unsigned block_ask_gaps(const K *items, size_t count,
                                                   const struct key_order &encoding,
                                                   struct radix_rough_shared<K> &shared)
{
    const auto *const keys = shared.keys + threadIdx.x;
    shared.keys[threadIdx.x] = thread_rough_key(items, count, encoding);
    if (threadIdx.x == 0)
        shared.steps = shared.roughness = 0;
    block_sort_keys(shared.keys);
    if (threadIdx.x + 2 < LEARN_THREADS && keys[0] != keys[1] && keys[1] != keys[2]) {
        const float low = static_cast<float>(keys[1] - keys[0]);
        const float high = static_cast<float>(keys[2] - keys[1]);
        atomicAdd(&shared.steps, 1u);
        atomicAdd(&shared.roughness, static_cast<unsigned>(16 * fabsf(log2f(high) - log2f(low))));
    }
    __syncthreads();
    return shared.roughness > RADIX_ROUGHNESS_MOST * shared.steps ? RADIX_IS_ROUGH : 0;
}

/* True, for the whole block, if the tree tells, while it grows, that keys are better sorted by
 * digits: they crowd at all scales, so that the models of buckets fail, or the tree is deep, and
 * few digits do. `levels`: of the tree so far, with those that are cut. Begins after a barrier. */
template <typename K>
__device__ __forceinline__ bool block_is_crowded(const struct radix_tree &tree, size_t count,
                                                 unsigned levels, struct radix_advice &advice)
{
    const unsigned nodes = tree.nodes;
    if constexpr (sizeof(K) == sizeof(uint32_t))
        return nodes > RADIX_SHORT_NODES_MOST;
    if (RADIX_HAS_VALUES<K> && count <= RADIX_DEEP_LESS_COUNT && nodes >= RADIX_WIDE_NODES)
        return true;
    if (RADIX_HAS_VALUES<K> && levels >= RADIX_ITEM_LEVELS)
        return true;
    if (nodes < RADIX_ROUGH_NODES)
        return false;
    if (thread_ask_advice(advice, RADIX_ROUGHNESS_IS_KNOWN) & RADIX_IS_ROUGH)
        return true;
    return count <= RADIX_DEEP_COUNT && levels >= radix_deep_levels(sizeof(K), count) &&
           (thread_ask_advice(advice, RADIX_CODE_IS_KNOWN) & RADIX_FEW_DIGITS_DO) != 0;
}

/* True if so many keys share values that models are worse than digits: tiles of such items are
 * binned twice, and so are those of keys of 8 bytes, but for those of so few values that these have
 * buckets of their own. The tree has grown. */
template <typename K>
__device__ __forceinline__ bool block_repeats(const struct radix_tree &tree,
                                              struct radix_advice &advice)
{
    if constexpr (sizeof(K) == sizeof(uint32_t))
        return false;
    if (!RADIX_HAS_VALUES<K> && tree.nodes < RADIX_REPEATS_NODES)
        return false;
    const unsigned heard = thread_ask_advice(advice, RADIX_CODE_IS_KNOWN);
    if (RADIX_HAS_VALUES<K>)
        return (heard & RADIX_REPEATS) != 0;
    constexpr unsigned wanted = RADIX_REPEATS | RADIX_MOST_DIGITS_DO;
    return (heard & (wanted | RADIX_FEW_VALUES)) == wanted;
}

/* True, for the whole block, if the keys of the tree's crowd are better left to digits: they
 * differ, though their paths tell nothing more of them, and would all have one bucket. The tree has
 * grown.
 */
template <typename K>
__device__ __forceinline__ bool
block_leaves_crowd(const struct radix_tree &tree, const struct radix_sample<K> &sample,
                   const struct radix_cells<K> &cells, const struct radix_wish &wish,
                   const struct radix_lookup<K> &lookup, struct radix_advice &advice)
{
    __shared__ unsigned long long least, most; /* of its keys */
    if (sizeof(K) != sizeof(uint64_t) || wish.count > RADIX_DEEP_COUNT ||
        tree.crowd == RADIX_ENTRIES)
        return false;
    if (threadIdx.x == 0) {
        least = UINT64_MAX;
        most = 0;
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < 1u << RADIX_OWN_BITS<K>; i++)
        if (i < sample.rows && thread_sample_cell(cells, sample, lookup, i) == tree.crowd) {
            const unsigned long long key = thread_sample_key(sample.keys[i]);
            atomicMin(&least, key);
            atomicMax(&most, key);
        }
    __syncthreads();
    return least != most &&
           (thread_ask_advice(advice, RADIX_CODE_IS_KNOWN) & RADIX_FEW_DIGITS_DO) != 0;
}

/* Leaves the keys to another way, and nothing to do for the kernels that follow. */
__device__ __forceinline__ void
thread_leave_keys(struct radix_segments *whole, struct radix_totals *totals, unsigned long long way)
{
    whole->keys[0] = 0;
    whole->tiles[RADIX_SEGMENTS] = 0;
    totals->other_way = way;
}

/* What keys are left to that their models do not follow: their digits, or those of a code of
 * shares. */
template <typename K>
__device__ __forceinline__ unsigned long long thread_digits_note(struct radix_advice &advice)
{
    if constexpr (RADIX_HAS_PLACES<K>)
        if ((thread_ask_advice(advice, RADIX_CODE_IS_KNOWN) & RADIX_SHARES_DO) != 0)
            return RADIX_NOTE_SHARES;
    return RADIX_NOTE_DIGITS;
}

/* The same of keys of which the sample has told nothing, nor of any code then. */
template <typename K>
__device__ __forceinline__ unsigned long long thread_doubt_note(size_t count,
                                                                struct radix_advice &advice)
{
    return RADIX_HAS_PLACES<K> && count >= RADIX_SHARES_DOUBT_LEAST ? RADIX_NOTE_SHARES
                                                                    : thread_digits_note<K>(advice);
}

/* True if so many digits, of all there are, tell nearly all keys apart, or a code does. */
__device__ __forceinline__ bool thread_digits_do(const struct radix_digit_plan *plan, size_t count,
                                                 unsigned digits)
{
    return plan->code.is_path != 0 ||
           plan->collisions[RADIX_DIGITS_MOST - digits] <= radix_collisions_most(count);
}

/* The thread's key of a second sample, taken at other places. */
template <typename K>
__device__ __forceinline__ K thread_second_key(const K *items, size_t count,
                                               const struct key_order &encoding)
{
    K keys[1] = {items[thread_scramble_below(threadIdx.x, count)]};
    thread_encode_keys(encoding, keys);
    return keys[0];
}

/* True if so many keys are left to their digits where the sample has misled: those of 8 bytes only
 * if they are not too many, and few digits do. */
template <typename K>
__device__ __forceinline__ bool thread_may_doubt(size_t count, struct radix_advice &advice)
{
    if (sizeof(K) != sizeof(uint64_t))
        return true;
    return count <= RADIX_DEEP_COUNT &&
           (thread_ask_advice(advice, RADIX_CODE_IS_KNOWN) & RADIX_FEW_DIGITS_DO) != 0;
}

/* The cell of the root that a key would be in. */
template <typename K>
__device__ __forceinline__ unsigned thread_root_cell(const struct radix_lookup<K> &lookup, K key)
{
    return static_cast<unsigned>(thread_sample_path(lookup, key) >>
                                 (RADIX_PATH_BITS<K> - lookup.root_bits));
}

/* True, for the whole block, if the sample has misled: more than half of a second one, of several
 * values, is in one cell of the root, which the first had no reason to cut. `cell`: of the thread's
 * second key. The tree has grown; it counts them in its weights, which are not in use yet. */
template <typename K>
__device__ __forceinline__ bool
block_is_misled(struct radix_tree &tree, unsigned cell, const K *items, size_t count,
                const struct key_order &encoding, struct radix_advice &advice)
{
    __shared__ unsigned crowd;
    __shared__ unsigned long long least, most; /* of its keys */
    if (threadIdx.x < tree.root_cells)
        tree.weights[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        crowd = RADIX_ENTRIES;
        least = UINT64_MAX;
        most = 0;
    }
    __syncthreads();
    atomicAdd(&tree.weights[cell], 1u);
    __syncthreads();
    if (threadIdx.x < tree.root_cells && tree.weights[threadIdx.x] > LEARN_THREADS / 2 &&
        (tree.entries[threadIdx.x].first & RADIX_CUT) == 0)
        crowd = threadIdx.x;
    __syncthreads();
    if (crowd == cell) {
        const unsigned long long key = thread_sample_key(thread_second_key(items, count, encoding));
        atomicMin(&least, key);
        atomicMax(&most, key);
    }
    __syncthreads();
    return least < most && thread_may_doubt<K>(count, advice);
}

/* Leaves keys to their digits of which the samples have told nothing: more than half of them, of
 * several values, are in one bucket. One block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_WAYS)
    radix_doubt_kernel(const K *source, struct radix_segments *whole,
                       const struct radix_model<K> *model, struct key_order encoding,
                       const radix_count *counts, struct radix_totals *totals)
{
    thread_wait_for_grid();
    __shared__ struct radix_model<K> shared;
    __shared__ unsigned crowd;                 /* the bucket */
    __shared__ unsigned long long least, most; /* of its keys */
    const size_t count = whole->keys[0];
    if (count == 0)
        return;
    struct radix_advice advice = {&totals->advice, 0};
    if (!thread_may_doubt<K>(count, advice))
        return;
    if (threadIdx.x == 0) {
        crowd = RADIX_WAYS;
        least = UINT64_MAX;
        most = 0;
    }
    __syncthreads();
    if (counts[threadIdx.x] > count / 2)
        crowd = threadIdx.x;
    __syncthreads();
    if (crowd == RADIX_WAYS)
        return;
    block_load_model<K, RADIX_WAYS>(model, shared);
    __syncthreads();
    const K keys[1] = {thread_second_key(source, count, encoding)};
    uint32_t positions[1];
    thread_radix_positions(thread_lookup(shared), keys, positions);
    if (positions[0] >> RADIX_FRACTION_BITS == crowd) {
        const unsigned long long key = thread_sample_key(keys[0]);
        atomicMin(&least, key);
        atomicMax(&most, key);
    }
    __syncthreads();
    if (least < most && threadIdx.x == 0)
        thread_leave_keys(whole, totals, thread_doubt_note<K>(count, advice));
}

#endif
