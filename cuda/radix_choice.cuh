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

#include "cuda/radix_tree.cuh"

#include <math.h>

/* Marks of keys of 8 bytes: few, as it is for values that come often that they are asked. */
constexpr unsigned RADIX_MARKS = 2 * LEARN_THREADS;

/* Room for what is asked of the sample. */
template <typename K>
struct radix_questions {
    union {
        typename radix_path<K>::bits keys[LEARN_THREADS]; /* some of the sample's */
        unsigned marks[RADIX_MARKS];
    };
    unsigned steps;     /* of two gaps beside each other, neither of which is 0 */
    unsigned roughness; /* the sum of their ratios, as logarithms in sixteenths */
    unsigned repeats;   /* keys seen before, as far as is noticed */
};

template <typename K>
__device__ __forceinline__ typename radix_path<K>::bits thread_sample_key(K key)
{
    if constexpr (RADIX_HAS_VALUES<K>)
        return thread_item_key(key);
    else
        return key;
}

/* One of the thread's keys, so that those of all threads are from everywhere. */
template <typename K>
__device__ __forceinline__ typename radix_path<K>::bits
thread_choose_key(const struct radix_sample<K> &sample)
{
    K key = sample.keys[0];
#pragma unroll
    for (unsigned i = 1; i < 1u << RADIX_OWN_BITS<K>; i++)
        if (i < sample.count && threadIdx.x % sample.rows == i)
            key = sample.keys[i];
    return thread_sample_key(key);
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

/* True, for the whole block, if gaps between neighbours of the sample differ more than chance makes
 * them differ, even those beside each other: their ratio is 2 to the power of 2 in the mean where
 * the density of keys changes slowly, whatever it is. Begins after a barrier. */
template <typename K>
__device__ __forceinline__ bool block_is_rough(struct radix_questions<K> &questions,
                                               const struct radix_sample<K> &sample)
{
    const auto *const keys = questions.keys + threadIdx.x;
    questions.keys[threadIdx.x] = thread_choose_key(sample);
    if (threadIdx.x == 0)
        questions.steps = questions.roughness = 0;
    block_sort_keys(questions.keys);
    if (threadIdx.x + 2 < LEARN_THREADS && keys[0] != keys[1] && keys[1] != keys[2]) {
        const float low = static_cast<float>(keys[1] - keys[0]);
        const float high = static_cast<float>(keys[2] - keys[1]);
        atomicAdd(&questions.steps, 1u);
        atomicAdd(&questions.roughness,
                  static_cast<unsigned>(16 * fabsf(log2f(high) - log2f(low))));
    }
    __syncthreads();
    return questions.roughness > RADIX_ROUGHNESS_MOST * questions.steps;
}

/* How many keys of the sample have been seen before, for the whole block, as far as is noticed:
 * each leaves a mark in a table of a power of two, if its place is free. Begins after a barrier and
 * ends with one. */
template <typename K>
__device__ __forceinline__ unsigned block_count_repeats(struct radix_questions<K> &questions,
                                                        const struct radix_sample<K> &sample,
                                                        unsigned *table, unsigned size)
{
    for (unsigned i = threadIdx.x; i < size; i += LEARN_THREADS)
        table[i] = 0;
    if (threadIdx.x == 0)
        questions.repeats = 0;
    __syncthreads();
    unsigned repeats = 0;
#pragma unroll
    for (unsigned i = 0; i < 1u << RADIX_OWN_BITS<K>; i++) {
        if (i >= sample.count)
            break;
        const uint64_t hash = thread_scramble(thread_sample_key<K>(sample.keys[i]));
        const unsigned mark = static_cast<unsigned>(hash) | 1;
        repeats += atomicCAS(&table[hash >> 32 & (size - 1)], 0u, mark) == mark;
    }
    if (repeats > 0)
        atomicAdd(&questions.repeats, repeats);
    __syncthreads();
    return questions.repeats;
}

/* True, for the whole block, if the tree tells, while it grows, that keys crowd at all scales, so
 * that the models of buckets fail: it is of no use to go on then. `levels`: of the tree so far,
 * with those that are cut; `is_asked`: whether the sample has been. Begins after a barrier. */
template <typename K>
__device__ __forceinline__ bool
block_is_crowded(const struct radix_tree &tree, struct radix_questions<K> &questions,
                 const struct radix_sample<K> &sample, unsigned levels, bool *is_asked)
{
    const unsigned nodes = tree.nodes;
    if constexpr (sizeof(K) == sizeof(uint32_t))
        return nodes > RADIX_SHORT_NODES_MOST;
    if (RADIX_HAS_VALUES<K> && levels >= RADIX_ITEM_LEVELS)
        return true;
    if (*is_asked || nodes < RADIX_ROUGH_NODES)
        return false;
    *is_asked = true;
    return block_is_rough(questions, sample);
}

/* True, for the whole block, if so many keys share values that models are worse than digits: tiles
 * of such items are binned twice; so are those of very many keys of 8 bytes, but for those of so
 * few values that these have buckets of their own. The tree has grown, and what the values took for
 * that is free. */
template <typename K>
__device__ __forceinline__ bool
block_repeats(const struct radix_tree &tree, struct radix_values<K> &values,
              struct radix_questions<K> &questions, const struct radix_sample<K> &sample,
              const struct radix_wish &wish)
{
    __syncthreads();
    if constexpr (RADIX_HAS_VALUES<K>) {
        return block_count_repeats(questions, sample, values.sketch,
                                   RADIX_SKETCH_TABLES << RADIX_SKETCH_BITS) >= RADIX_REPEATS_LEAST;
    } else if constexpr (sizeof(K) == sizeof(uint64_t)) {
        if (wish.count < RADIX_REPEATS_COUNT || tree.nodes < RADIX_REPEATS_NODES)
            return false;
        const unsigned repeats =
            block_count_repeats(questions, sample, questions.marks, RADIX_MARKS);
        const unsigned most = RADIX_REPEATS_EIGHTHS << (wish.sample_bits - 3);
        return repeats >= RADIX_REPEATS_LEAST && repeats < most;
    }
    return false;
}

/* Leaves the keys to another way, and nothing to do for the kernels that follow. */
__device__ __forceinline__ void
thread_leave_keys(struct radix_segments *whole, struct radix_totals *totals, unsigned long long way)
{
    whole->keys[0] = 0;
    whole->tiles[RADIX_SEGMENTS] = 0;
    totals->other_way = way;
}

/* Leaves keys to their digits of which the sample has told nothing: more than half of them, of
 * several values, are in one bucket. One block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_WAYS)
    radix_doubt_kernel(const K *source, struct radix_segments *whole,
                       const struct radix_model<K> *model, struct key_order encoding,
                       const radix_count *counts, struct radix_totals *totals)
{
    thread_wait_for_grid();
    typedef typename radix_path<K>::bits bits;
    __shared__ struct radix_model<K> shared;
    __shared__ unsigned crowd; /* the bucket */
    __shared__ bits crowd_key; /* one of its keys */
    const size_t count = whole->keys[0];
    if (threadIdx.x == 0)
        crowd = RADIX_WAYS;
    __syncthreads();
    if (count > 0 && counts[threadIdx.x] > count / 2)
        crowd = threadIdx.x;
    __syncthreads();
    if (crowd == RADIX_WAYS)
        return;
    block_load_model<K, RADIX_WAYS>(model, shared);
    __syncthreads();
    K keys[1] = {source[thread_scramble(threadIdx.x) % count]};
    uint32_t positions[1];
    thread_encode_keys(encoding, keys);
    thread_radix_positions(thread_lookup(shared), keys, positions);
    const bool is_in = positions[0] >> RADIX_FRACTION_BITS == crowd;
    const bits key = thread_sample_key(keys[0]);
    if (is_in)
        crowd_key = key; /* that of any thread */
    __syncthreads();
    if (__syncthreads_or(is_in && key != crowd_key) && threadIdx.x == 0)
        thread_leave_keys(whole, totals, RADIX_NOTE_DIGITS);
}

#endif
