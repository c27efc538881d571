/* radix_code.cuh - what keys of 8 bytes, and those of items, are sorted by in few digits: a code
 * that is never less for a greater key, and that nearly all keys have alone.
 *
 *   items --radix_code_kernel, a sample--> neighbours that a prefix would not part; a path, maybe
 *
 * A prefix is such a code where keys are spread, over places of whatever density. Where they crowd,
 * and most of all around one place, the path to it, a code tells how far down a key follows: where
 * it leaves the path, to which side, and its bits from there on. It is a float, as it were, that
 * has its zero at the path's end. So numbers of all lengths, and those of which half agree in their
 * first bytes, take half of their digits.
 */
#ifndef CUDA_RADIX_CODE_CUH
#define CUDA_RADIX_CODE_CUH

#include "cuda/dynamic_shared.cuh"
#include "cuda/radix_digit_plan.cuh"
#include "cuda/radix_tree.cuh"

static_assert((RADIX_CODE_SAMPLE & (RADIX_CODE_SAMPLE - 1)) == 0, "sorted by a bitonic network");

/* The sample's key of that number: one of each stride, not those that radix_learn.cuh takes. */
template <typename K>
__device__ __forceinline__ uint64_t thread_code_sample(const K *items, size_t count,
                                                       const struct key_order &encoding,
                                                       unsigned number)
{
    const double share = static_cast<double>(count) / RADIX_CODE_SAMPLE;
    const size_t first = static_cast<size_t>(share * number);
    const size_t stride = count / RADIX_CODE_SAMPLE;
    const size_t place = stride > 0 ? first + thread_scramble(number) % stride : first;
    K keys[1] = {items[min(place, count - 1)]};
    thread_encode_keys(encoding, keys);
    return thread_item_word(keys[0]);
}

/* Sorts the sample: a bitonic sort. Begins and ends with a barrier. */
__device__ __forceinline__ void block_sort_sample(uint64_t *keys)
{
    for (unsigned run = 2; run <= RADIX_CODE_SAMPLE; run *= 2)
        for (unsigned stride = run / 2; stride > 0; stride /= 2) {
            __syncthreads();
            for (unsigned i = threadIdx.x; i < RADIX_CODE_SAMPLE; i += RADIX_CODE_THREADS) {
                const unsigned other = i ^ stride;
                if (other > i && (keys[i] > keys[other]) == !(i & run)) {
                    const uint64_t key = keys[i];
                    keys[i] = keys[other];
                    keys[other] = key;
                }
            }
        }
    __syncthreads();
}

/* collisions[]: neighbours that differ in that digit first, from the top. Returns the digits that
 * are not all one, a bit each. Ends with a barrier. */
__device__ __forceinline__ unsigned block_count_collisions(const uint64_t *keys,
                                                           unsigned *collisions)
{
    uint64_t varied = 0;
    for (unsigned i = threadIdx.x + 1; i < RADIX_CODE_SAMPLE; i += RADIX_CODE_THREADS) {
        const uint64_t other = keys[i - 1] ^ keys[i];
        varied |= other;
        if (other != 0)
            atomicAdd(
                &collisions[(63 - static_cast<unsigned>(__clzll(static_cast<long long>(other)))) /
                            RADIX_DIGIT_BITS],
                1u);
    }
    unsigned live = 0;
    for (unsigned digit = 0; digit < RADIX_DIGITS_MOST; digit++)
        live |=
            __syncthreads_or((varied >> digit * RADIX_DIGIT_BITS & 0xff) != 0) ? 1u << digit : 0;
    return live;
}

/* True if the digits of a code without the path, the first ones that live, do as few passes. */
__device__ __forceinline__ bool thread_is_prefix_good(const unsigned *collisions, unsigned live,
                                                      unsigned most)
{
    unsigned digit = RADIX_DIGITS_MOST, sum = 0;
    for (unsigned passes = 0; digit > 0 && passes < RADIX_CODE_DIGITS; digit--)
        passes += live >> (digit - 1) & 1;
    while (digit > 0)
        sum += collisions[--digit];
    return sum <= most;
}

/* The path to where most keys are: of the two halves of what it leads to the one with more keys,
 * again and again. keys: the sample, sorted. */
__device__ __forceinline__ uint64_t thread_find_path(const uint64_t *keys)
{
    unsigned begin = 0, end = RADIX_CODE_SAMPLE;
    while (keys[begin] != keys[end - 1]) {
        const unsigned zeros =
            static_cast<unsigned>(__clzll(static_cast<long long>(keys[begin] ^ keys[end - 1])));
        const uint64_t bit = uint64_t{1} << (63 - zeros);
        unsigned from = begin, to = end - 1; /* the first key that has the bit */
        while (from < to) {
            const unsigned middle = (from + to) / 2;
            if (keys[middle] & bit)
                to = middle;
            else
                from = middle + 1;
        }
        if (end - from > from - begin)
            begin = from;
        else
            end = from;
    }
    return keys[begin];
}

/* plan->collisions, and the code, if it is to be that of a path. One block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_CODE_THREADS)
    radix_code_kernel(const K *__restrict__ items, const struct radix_segments *whole,
                      struct key_order encoding, struct radix_digit_plan *plan)
{
    __shared__ unsigned found[RADIX_DIGITS_MOST]; /* collisions */
    __shared__ unsigned left;                     /* of the path's code */
    __shared__ uint64_t path;
    uint64_t *const keys = reinterpret_cast<uint64_t *>(block_dynamic_shared());
    const size_t count = whole->keys[0];
    if (count == 0)
        return;
    for (unsigned i = threadIdx.x; i < RADIX_CODE_SAMPLE; i += RADIX_CODE_THREADS)
        keys[i] = thread_code_sample(items, count, encoding, i);
    if (threadIdx.x < RADIX_DIGITS_MOST)
        found[threadIdx.x] = 0;
    block_sort_sample(keys);
    const unsigned live = block_count_collisions(keys, found);
    if (threadIdx.x < RADIX_DIGITS_MOST)
        plan->collisions[threadIdx.x] = found[threadIdx.x];
    if (thread_is_prefix_good(found, live, radix_collisions_most(count)))
        return;
    if (threadIdx.x == 0) {
        path = thread_find_path(keys);
        left = 0;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x + 1; i < RADIX_CODE_SAMPLE; i += RADIX_CODE_THREADS)
        if (keys[i - 1] != keys[i] &&
            thread_path_code(keys[i - 1], path) == thread_path_code(keys[i], path))
            atomicAdd(&left, 1u);
    __syncthreads();
    if (threadIdx.x == 0 && left <= radix_collisions_most(count))
        plan->code = {path, 0, 1};
}

#endif
