/* SPDX-License-Identifier: Apache-2.0 */
/* radix_code.cuh - what keys of 8 bytes, and those of items, are sorted by in few digits: a code
 * that is never less for a greater key, and that nearly all keys have alone.
 *
 *   items --radix_code_kernel, a sample--> neighbours that a prefix would not part; a path, maybe,
 *                                         or shares
 *
 * A prefix is such a code where keys are spread, over places of whatever density. Where they crowd,
 * and most of all around one place, the path to it, a code tells how far down a key follows: where
 * it leaves the path, to which side, and its bits from there on. It is a float, as it were, that
 * has its zero at the path's end. So numbers of all lengths, and those of which half agree in their
 * first bytes, take half of their digits. Items that neither parts may have a code of shares
 * (radix_shares.cuh).
 */
#ifndef CUDA_RADIX_CODE_CUH
#define CUDA_RADIX_CODE_CUH

#include "cuda/block_merge.cuh"
#include "cuda/dynamic_shared.cuh"
#include "cuda/radix_shares.cuh"
#include "cuda/radix_tree.cuh"

constexpr unsigned RADIX_CODE_SAMPLE = RADIX_CODE_THREADS * KEYS_PER_THREAD;
static_assert(RADIX_CODE_SAMPLE == 1u << RADIX_CODE_SAMPLE_BITS, "a row of keys a thread");

/* What neighbours in the sorted sample tell. */
struct radix_code_facts {
    /* Those that differ, but not above so many digits and the bits that are left out besides: of
     * four digits each, 16 bits a digit. */
    unsigned long long collisions[RADIX_DIGITS_MOST / 4];
    unsigned long long varied;  /* bits that are not the same in all */
    unsigned long long repeats; /* those that are equal */
};

__device__ __forceinline__ unsigned thread_collisions(const struct radix_code_facts &facts,
                                                      unsigned digit)
{
    return static_cast<unsigned>(facts.collisions[digit / 4] >> digit % 4 * 16) & UINT16_MAX;
}

/* The sample, and what merging it takes. */
struct radix_code_shared {
    uint64_t keys[tile_slot<uint64_t>(RADIX_CODE_SAMPLE)];
    unsigned splits[RADIX_CODE_THREADS];
    struct radix_code_facts facts;
    uint64_t path;
    uint32_t shares[RADIX_SHARES];
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
    const size_t place = first + thread_scramble_below(number, stride);
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

template <typename Combine>
__device__ __forceinline__ unsigned long long warp_combine(unsigned long long value,
                                                           const Combine &combine)
{
#pragma unroll
    for (unsigned lanes = THREADS_PER_WARP / 2; lanes > 0; lanes /= 2)
        value = combine(value, __shfl_xor_sync(ALL_LANES, value, static_cast<int>(lanes)));
    return value;
}

/* Adds up what the threads have found, for the whole block. Ends with a barrier. */
__device__ __forceinline__ void block_add_facts(const struct radix_code_facts &own,
                                                struct radix_code_facts &facts)
{
    const auto add = [](unsigned long long a, unsigned long long b) { return a + b; };
    const auto unite = [](unsigned long long a, unsigned long long b) { return a | b; };
    if (threadIdx.x == 0)
        facts = {};
    __syncthreads();
    const unsigned long long low = warp_combine(own.collisions[0], add);
    const unsigned long long high = warp_combine(own.collisions[1], add);
    const unsigned long long varied = warp_combine(own.varied, unite);
    const unsigned long long repeats = warp_combine(own.repeats, add);
    if (thread_lane() == 0) {
        atomicAdd(&facts.collisions[0], low);
        atomicAdd(&facts.collisions[1], high);
        atomicOr(&facts.varied, varied);
        atomicAdd(&facts.repeats, repeats);
    }
    __syncthreads();
}

/* Bits that a code is to have less when the sample is asked whether neighbours share it. */
struct radix_code_coarser {
    unsigned unique;   /* if both have been seen once, as far as the thread knows */
    unsigned repeated; /* if one has been there before: it comes often, and makes a long run */
};

/* Those for the key i of the row and the next one. */
__device__ __forceinline__ unsigned thread_coarser(const struct radix_code_coarser &coarser,
                                                   const struct radix_code_row &row, unsigned i)
{
    const bool is_repeated = (i > 0 && row.keys[i - 1] == row.keys[i]) ||
                             (i + 2 <= KEYS_PER_THREAD && row.keys[i + 1] == row.keys[i + 2]);
    return is_repeated ? coarser.repeated : coarser.unique;
}

/* What is found of neighbours. The last key has none. */
__device__ __forceinline__ void block_find_facts(const struct radix_code_row &row,
                                                 const struct radix_code_coarser &coarser,
                                                 struct radix_code_facts &facts)
{
    struct radix_code_facts own = {};
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
        const uint64_t varied = row.keys[i] ^ row.keys[i + 1];
        const bool is_last = i + 1 == KEYS_PER_THREAD && threadIdx.x + 1 == RADIX_CODE_THREADS;
        const unsigned left_out = thread_coarser(coarser, row, i);
        own.varied |= varied;
        own.repeats += varied == 0 && !is_last ? 1 : 0;
#pragma unroll
        for (unsigned digit = 0; digit < RADIX_DIGITS_MOST; digit++)
            if (varied != 0 && varied >> min(digit * RADIX_DIGIT_BITS + left_out, 63u) == 0)
                own.collisions[digit / 4] += 1ull << digit % 4 * 16;
    }
    block_add_facts(own, facts);
}

/* Bits that the sample is asked to leave out, of so many keys. */
__device__ __forceinline__ struct radix_code_coarser radix_code_coarser_of(size_t count)
{
    /* Of fewer keys than the sample has, each may be there several times. */
    const unsigned unique = radix_code_left_out(count);
    return {unique, count < RADIX_CODE_SAMPLE ? unique : max(unique, RADIX_REPEATS_COARSER)};
}

/* How many neighbours differ that have one code of that path, for the whole block. Codes that keep
 * all bits behind the path's have none to leave out. */
__device__ __forceinline__ unsigned block_count_collisions(const struct radix_code_row &row,
                                                           uint64_t path,
                                                           const struct radix_code_coarser &coarser)
{
    int all = 0;
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
        const uint64_t key = row.keys[i], next = row.keys[i + 1];
        const unsigned left_out =
            thread_path_is_exact(key, path) ? 0 : thread_coarser(coarser, row, i);
        all += __syncthreads_count(key != next && thread_path_code(key, path) >> left_out ==
                                                      thread_path_code(next, path) >> left_out);
    }
    return static_cast<unsigned>(all);
}

/* The digits that are not the same in all keys, a bit each. */
__device__ __forceinline__ unsigned thread_live_digits(uint64_t varied)
{
    unsigned live = 0;
    for (unsigned digit = 0; digit < RADIX_DIGITS_MOST; digit++)
        live |= (varied >> digit * RADIX_DIGIT_BITS & 0xff) != 0 ? 1u << digit : 0;
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

/* How many neighbours of the sorted sample differ that have one code of the shares without so many
 * bits, and those that are to be left out besides, for the whole block. */
__device__ __forceinline__ unsigned block_count_shared(const struct radix_code_shared &shared,
                                                       unsigned left_out,
                                                       const struct radix_code_coarser &coarser)
{
    int all = 0;
#pragma unroll 1 /* beside the search for other codes, which needs its registers */
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++) {
        const unsigned index = i * RADIX_CODE_THREADS + threadIdx.x;
        const auto key_at = [&](unsigned at) {
            return shared.keys[tile_slot<uint64_t>(min(at, RADIX_CODE_SAMPLE - 1))];
        };
        const uint64_t key = key_at(index), next = key_at(index + 1);
        const bool is_repeated = (index > 0 && key_at(index - 1) == key) ||
                                 (index + 2 < RADIX_CODE_SAMPLE && key_at(index + 2) == next);
        const unsigned coarse = left_out + (is_repeated ? coarser.repeated : coarser.unique);
        all += __syncthreads_count(key != next &&
                                   thread_shares_code(shared.shares, key) >> coarse ==
                                       thread_shares_code(shared.shares, next) >> coarse);
    }
    return static_cast<unsigned>(all);
}

/* Learns shares from the sorted sample: makes them the plan's code if they tell its keys apart, in
 * as many digits as are sorted by. */
__device__ __forceinline__ void block_find_shares(size_t count,
                                                  const struct radix_code_coarser &coarser,
                                                  struct radix_code_shared &shared,
                                                  struct radix_digit_plan *plan)
{
    const unsigned left_out = (RADIX_CODE_DIGITS - radix_share_digits(count)) * RADIX_DIGIT_BITS;
    for (unsigned i = threadIdx.x; i < RADIX_SHARES; i += RADIX_CODE_THREADS)
        shared.shares[i] = 0;
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < RADIX_CODE_SAMPLE; i += RADIX_CODE_THREADS)
        thread_count_digits<0, RADIX_DIGITS_MOST, 1>(shared.shares,
                                                     shared.keys[tile_slot<uint64_t>(i)], 1);
    __syncthreads();
    block_make_shares(shared.shares, RADIX_CODE_SAMPLE);
    __syncthreads();
    if (block_count_shared(shared, left_out, coarser) > radix_collisions_most(count))
        return;
    for (unsigned i = threadIdx.x; i < RADIX_SHARES; i += RADIX_CODE_THREADS)
        plan->shares[i] = shared.shares[i];
    if (threadIdx.x == 0)
        plan->code = {0, 0, 0, 1};
}

/* Finds plan->collisions, and the code, that of a prefix or of a path, or of items one of shares.
 * Where there are more keys than the sample can tell of, or values that come often and make long
 * runs, it is asked about codes without their last bits. Returns how many keys of the sample have
 * been there before. Of no keys nothing is known. */
template <typename K>
__device__ __forceinline__ unsigned
block_find_code(const K *__restrict__ items, size_t count, const struct key_order &encoding,
                struct radix_code_shared &shared, struct radix_digit_plan *plan)
{
    struct radix_code_row row;
    if (count == 0)
        return 0;
    block_sort_sample(items, count, encoding, shared, row);
    const struct radix_code_coarser coarser = radix_code_coarser_of(count);
    block_find_facts(row, coarser, shared.facts);
    const unsigned most = radix_collisions_most(count);
    const unsigned repeats = static_cast<unsigned>(shared.facts.repeats);
    const unsigned last = thread_last_digit(thread_live_digits(shared.facts.varied));
    const bool is_prefix = last == 0 || thread_collisions(shared.facts, last) <= most;
    if (threadIdx.x == 0) {
        for (unsigned digit = 0; digit < RADIX_DIGITS_MOST; digit++)
            plan->collisions[digit] = thread_collisions(shared.facts, digit);
        plan->code = {};
    }
    if (is_prefix)
        return repeats;
    if (threadIdx.x == 0)
        shared.path = thread_find_path(shared.keys);
    __syncthreads();
    const uint64_t path = shared.path;
    const unsigned collisions = block_count_collisions(row, path, coarser);
    if (collisions > most) {
        if constexpr (RADIX_HAS_PLACES<K>)
            block_find_shares(count, coarser, shared, plan);
    } else if (threadIdx.x == 0) {
        plan->code = {path, 0, 1, 0};
    }
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

/* Finds a code of shares, if it is not there, whatever other codes there are. One block. */
template <typename K>
__global__ void __launch_bounds__(RADIX_CODE_THREADS)
    radix_shares_kernel(const K *__restrict__ items, const struct radix_segments *whole,
                        struct key_order encoding, struct radix_digit_plan *plan)
{
    thread_wait_for_grid();
    struct radix_code_shared &shared =
        *reinterpret_cast<struct radix_code_shared *>(block_dynamic_shared());
    struct radix_code_row row;
    const size_t count = whole->keys[0];
    if (count == 0 || plan->code.is_shares)
        return;
    block_sort_sample(items, count, encoding, shared, row);
    block_find_shares(count, radix_code_coarser_of(count), shared, plan);
}

#endif
