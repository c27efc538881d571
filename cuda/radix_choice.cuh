/* radix_choice.cuh - whether models are worth having, as the first one's tree and sample tell
 * before any key has moved; else keys are sorted digit by digit (radix_digits.cuh).
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

/* True, for the whole block, if the low halves of the sample's keys rise from one end of the array
 * to the other, as indices below keys do: these need no digits. Begins after a barrier. */
__device__ __forceinline__ bool block_has_indices(struct radix_questions<uint64_t> &questions,
                                                  const struct radix_sample<uint64_t> &sample)
{
    questions.keys[threadIdx.x] = thread_choose_key(sample);
    __syncthreads();
    const unsigned next = threadIdx.x + sample.rows; /* its key is further on */
    const bool falls = next<LEARN_THREADS &&static_cast<uint32_t>(
        questions.keys[threadIdx.x])> static_cast<uint32_t>(questions.keys[next]);
    return !__syncthreads_or(falls);
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

/* The note for the way that suits keys like these, for the whole block; 0: they are worth learning.
 * Where they crowd at all scales the models of the buckets fail. Items of which many share keys
 * have their tiles binned twice, but for those of so few keys that these have positions of their
 * own; so it is with very many keys of 8 bytes. The tree has grown, and what the values took for
 * that is free. */
template <typename K>
__device__ __forceinline__ unsigned long long
block_choose_way(const struct radix_tree &tree, struct radix_values<K> &values,
                 struct radix_questions<K> &questions, const struct radix_sample<K> &sample,
                 const struct radix_wish &wish, bool is_identity)
{
    __syncthreads();
    if constexpr (sizeof(K) == sizeof(uint32_t)) {
        return tree.nodes > RADIX_SHORT_NODES_MOST ? RADIX_NOTE_DIGITS : 0;
    } else {
        if constexpr (sizeof(K) == sizeof(uint64_t))
            if (is_identity && block_has_indices(questions, sample))
                return RADIX_NOTE_INDICES;
        if (tree.nodes >= RADIX_ROUGH_NODES && block_is_rough(questions, sample))
            return RADIX_NOTE_DIGITS;
        unsigned repeats = 0;
        if constexpr (RADIX_HAS_VALUES<K>) {
            if (tree.level_count >= RADIX_ITEM_LEVELS)
                return RADIX_NOTE_DIGITS;
            repeats = block_count_repeats(questions, sample, values.sketch,
                                          RADIX_SKETCH_TABLES << RADIX_SKETCH_BITS);
        } else if (wish.count >= RADIX_REPEATS_COUNT && tree.nodes >= RADIX_REPEATS_NODES) {
            repeats = block_count_repeats(questions, sample, questions.marks, RADIX_MARKS);
        }
        const unsigned most = RADIX_REPEATS_EIGHTHS << (wish.sample_bits - 3);
        return repeats >= RADIX_REPEATS_LEAST && repeats < most ? RADIX_NOTE_DIGITS : 0;
    }
}

#endif
