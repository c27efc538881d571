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

#include "cuda/block_merge.cuh"
#include "cuda/dynamic_shared.cuh"
#include "cuda/radix_digit_plan.cuh"
#include "cuda/radix_tree.cuh"

constexpr unsigned RADIX_CODE_SAMPLE = RADIX_CODE_THREADS * KEYS_PER_THREAD;
static_assert(RADIX_CODE_SAMPLE == 1u << RADIX_CODE_SAMPLE_BITS, "a row of keys a thread");

/* The sample, and what merging it takes. */
struct radix_code_shared {
    uint64_t keys[tile_slot<uint64_t>(RADIX_CODE_SAMPLE)];
    unsigned splits[RADIX_CODE_THREADS];
    uint64_t path;
};

/* The sample's key of that number: one of each stride, not those that radix_learn.cuh takes. */
template <typename K>
__device__ __forceinline__ uint64_t thread_code_sample(const K *items, size_t count,
                                                       const struct key_order &encoding,
                                                       unsigned number)
{
    const double share = static_cast<double>(count) / RADIX_CODE_SAMPLE;
    const size_t first = static_cast<size_t>(share * number);
    const size_t stride = count >> RADIX_CODE_SAMPLE_BITS;
    const size_t place = stride > 0 ? first + thread_scramble(number) % stride : first;
    K keys[1] = {items[min(place, count - 1)]};
    thread_encode_keys(encoding, keys);
    return thread_item_word(keys[0]);
}

/* A thread's keys of the sorted sample, and the one behind them; behind the last it is the same. */
struct radix_code_row {
    uint64_t keys[KEYS_PER_THREAD + 1];
};

/* Reads the sample and sorts it. Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void
block_sort_sample(const K *items, size_t count, const struct key_order &encoding,
                  struct radix_code_shared &shared, struct radix_code_row &row)
{
    uint64_t keys[KEYS_PER_THREAD];
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        keys[i] = thread_code_sample(items, count, encoding, i * RADIX_CODE_THREADS + threadIdx.x);
    thread_sort<0, KEYS_PER_THREAD>(keys);
    block_merge_runs<uint64_t, RADIX_CODE_SAMPLE, KEYS_PER_THREAD>(keys, shared.keys,
                                                                   shared.splits);
    thread_store_blocked(keys, shared.keys);
    __syncthreads();
    const unsigned end = (threadIdx.x + 1) * KEYS_PER_THREAD;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        row.keys[i] = keys[i];
    row.keys[KEYS_PER_THREAD] = shared.keys[tile_slot<uint64_t>(min(end, RADIX_CODE_SAMPLE - 1))];
}

/* How many neighbours differ that have one code, for the whole block: code(key). */
template <typename Code>
__device__ __forceinline__ unsigned block_count_collisions(const struct radix_code_row &row,
                                                           const Code &code)
{
    int all = 0;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        all += __syncthreads_count(row.keys[i] != row.keys[i + 1] &&
                                   code(row.keys[i]) == code(row.keys[i + 1]));
    return static_cast<unsigned>(all);
}

/* How many neighbours are equal, for the whole block; the last is counted as its own. */
__device__ __forceinline__ unsigned block_count_repeats(const struct radix_code_row &row)
{
    int all = -1;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        all += __syncthreads_count(row.keys[i] == row.keys[i + 1]);
    return static_cast<unsigned>(all);
}

/* The digits that are not the same in all keys, a bit each, for the whole block. */
__device__ __forceinline__ unsigned block_find_live(const struct radix_code_row &row)
{
    uint64_t varied = 0;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        varied |= row.keys[i] ^ row.keys[i + 1];
    unsigned live = 0;
    for (unsigned digit = 0; digit < RADIX_DIGITS_MOST; digit++)
        live |=
            __syncthreads_or((varied >> digit * RADIX_DIGIT_BITS & 0xff) != 0) ? 1u << digit : 0;
    return live;
}

/* The last of the first digits that live, as many as a path's code has; 0 if there are fewer. */
__device__ __forceinline__ unsigned thread_last_digit(unsigned live)
{
    unsigned digit = RADIX_DIGITS_MOST;
    for (unsigned digits = 0; digit > 0 && digits < RADIX_CODE_DIGITS;)
        digits += live >> --digit & 1;
    return digit;
}

/* The path to where most keys are: of the two halves of what it leads to the one with more keys,
 * again and again. keys: the sorted sample in shared memory. */
__device__ __forceinline__ uint64_t thread_find_path(const uint64_t *keys)
{
    unsigned begin = 0, end = RADIX_CODE_SAMPLE;
    for (;;) {
        const uint64_t low = keys[tile_slot<uint64_t>(begin)];
        const uint64_t high = keys[tile_slot<uint64_t>(end - 1)];
        if (low == high)
            return low;
        const int zeros = __clzll(static_cast<long long>(low ^ high));
        const uint64_t bit = uint64_t{1} << (63 - zeros);
        unsigned from = begin, to = end - 1; /* the first key that has the bit */
        while (from < to) {
            const unsigned middle = (from + to) / 2;
            if (keys[tile_slot<uint64_t>(middle)] & bit)
                to = middle;
            else
                from = middle + 1;
        }
        if (end - from > from - begin)
            begin = from;
        else
            end = from;
    }
}

/* Finds plan->collisions, and the code, that of a prefix or of a path. Where there are more keys
 * than the sample can tell of, it is asked about codes without their last bits. Returns how many
 * keys of the sample have been there before. Of no keys nothing is known. */
template <typename K>
__device__ __forceinline__ unsigned
block_find_code(const K *__restrict__ items, size_t count, const struct key_order &encoding,
                struct radix_code_shared &shared, struct radix_digit_plan *plan)
{
    struct radix_code_row row;
    if (count == 0)
        return 0;
    block_sort_sample(items, count, encoding, shared, row);
    const unsigned most = radix_collisions_most(count), coarser = radix_code_coarser(count);
    const unsigned last = thread_last_digit(block_find_live(row));
    bool is_prefix = true;
    for (unsigned digit = 0; digit < RADIX_DIGITS_MOST; digit++) {
        const unsigned shift = min(digit * RADIX_DIGIT_BITS + coarser, 63u);
        const unsigned collisions =
            block_count_collisions(row, [=](uint64_t key) { return key >> shift; });
        if (threadIdx.x == 0)
            plan->collisions[digit] = collisions;
        is_prefix = digit == last ? last == 0 || collisions <= most : is_prefix;
    }
    if (threadIdx.x == 0)
        plan->code = {0, 0, 0};
    const unsigned repeats = block_count_repeats(row);
    if (is_prefix)
        return repeats;
    if (threadIdx.x == 0)
        shared.path = thread_find_path(shared.keys);
    __syncthreads();
    const uint64_t path = shared.path;
    const unsigned collisions = block_count_collisions(
        row, [=](uint64_t key) { return thread_path_code(key, path) >> coarser; });
    if (threadIdx.x == 0 && collisions <= most)
        plan->code = {path, 0, 1};
    return repeats;
}

/* The same by a kernel of one block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_CODE_THREADS)
    radix_code_kernel(const K *__restrict__ items, const struct radix_segments *whole,
                      struct key_order encoding, struct radix_digit_plan *plan)
{
    thread_wait_for_grid();
    block_find_code(items, whole->keys[0], encoding,
                    *reinterpret_cast<struct radix_code_shared *>(block_dynamic_shared()), plan);
}

#endif
