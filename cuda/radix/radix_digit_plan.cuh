/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digit_plan.cuh - plans the passes of LSD radix sort. It reads the items once and counts all
 * digits together.
 *
 *   items --radix_digit_count_kernel--> count of each value of each digit
 *         --radix_digit_plan_kernel--> first index of each value; digits that need a pass, which
 *                                      are the digits that differ among the keys
 */
#ifndef CUDA_RADIX_DIGIT_PLAN_CUH
#define CUDA_RADIX_DIGIT_PLAN_CUH

#include "cuda/cuda_sort.h"
#include "cuda/radix/radix_digit_sort.h"
#include "cuda/radix/radix_levels.cuh"

constexpr unsigned RADIX_DIGIT_BITS = 8;
constexpr unsigned RADIX_DIGIT_VALUES = 1u << RADIX_DIGIT_BITS;

/* The word whose digits are sorted: the key itself. If an item has 16 bytes (a key above an index),
 * only its key is sorted by, and the item's position moves with it. */
template <typename K>
struct radix_digit_word {
    typedef K type;
};
template <>
struct radix_digit_word<key_u128> {
    typedef uint64_t type;
};

template <typename K>
constexpr unsigned RADIX_DIGITS = sizeof(typename radix_digit_word<K>::type);
constexpr unsigned RADIX_DIGITS_MOST = sizeof(uint64_t);

/* The plan of the passes, the counts it is made from, and the state that the passes share. */
struct alignas(16) radix_digit_plan {
    /* How often each value of each digit occurs. Must be zero before radix_digit_count_kernel. */
    atomic_count counts[RADIX_DIGITS_MOST][RADIX_DIGIT_VALUES];
    unsigned is_refused; /* not 0: the indices are not as warp_has_indices requires */
    /* The members from here on are written by radix_digit_plan_kernel. */
    /* Index of the first key of each value, for portions of even and of odd number. */
    atomic_count firsts[RADIX_DIGITS_MOST][2][RADIX_DIGIT_VALUES];
    uint64_t first_index;               /* index of the first item (16 bytes) */
    unsigned digits[RADIX_DIGITS_MOST]; /* digit that each pass sorts by */
    unsigned passes;
    unsigned next_tiles[RADIX_DIGITS_MOST]; /* per pass: tile numbers given out so far */
};

template <typename W>
__device__ __forceinline__ unsigned thread_digit(W word, unsigned shift)
{
    return static_cast<unsigned>(word >> shift) & (RADIX_DIGIT_VALUES - 1);
}

/* Number of low digits that are not sorted: in items of 8 bytes with an index, the digits of the
 * index, which is below the key. */
template <typename K, bool HAS_INDICES>
constexpr unsigned RADIX_FIRST_DIGIT = HAS_INDICES && !RADIX_IS_ITEM<K> ? RADIX_DIGITS<K> / 2 : 0;

/* Counters of a block. Each value has RADIX_DIGIT_COLUMNS counters, and the lanes of a warp take
 * the columns in turn. An atomicAdd whose result is unused takes one step for all lanes that
 * address the same counter, but lanes that address different counters in one bank wait for each
 * other. No counter overflows: a block counts far fewer than 2^32 keys. */
template <typename K, bool HAS_INDICES>
constexpr unsigned RADIX_COUNTED_DIGITS = RADIX_DIGITS<K> - RADIX_FIRST_DIGIT<K, HAS_INDICES>;
template <typename K, bool HAS_INDICES>
constexpr unsigned RADIX_DIGIT_COLUMNS = radix_digit_columns(RADIX_COUNTED_DIGITS<K, HAS_INDICES>);
template <typename K, bool HAS_INDICES>
constexpr unsigned RADIX_DIGIT_ROWS = RADIX_COUNTED_DIGITS<K, HAS_INDICES> *RADIX_DIGIT_VALUES;

/* Adds `n` to the counters of DIGITS digits of a key, from digit FIRST on, in the thread's
 * column. */
template <unsigned FIRST, unsigned DIGITS, unsigned COLUMNS, typename W>
__device__ __forceinline__ void thread_count_digits(unsigned *columns, W word, unsigned n)
{
    unsigned *const own = columns + threadIdx.x % COLUMNS;
#pragma unroll
    for (unsigned i = 0; i < DIGITS; i++) {
        const uint32_t half = static_cast<uint32_t>(word >> (FIRST + i) / 4 * 32 % (8 * sizeof(W)));
        const unsigned value = __byte_perm(half, 0, 0x4440 | (FIRST + i) % 4);
        atomicAdd(&own[(i * RADIX_DIGIT_VALUES + value) * COLUMNS], n);
    }
}

/* Adds the block's counters to plan->counts. Each thread sums the columns of a row, and
 * neighbours start with different columns, so that few access one bank. */
template <unsigned FIRST, unsigned ROWS, unsigned COLUMNS>
__device__ __forceinline__ void block_flush_digits(const unsigned *columns,
                                                   struct radix_digit_plan *plan)
{
    for (unsigned row = threadIdx.x; row < ROWS; row += RADIX_DIGIT_COUNT_THREADS) {
        unsigned sum = 0;
#pragma unroll
        for (unsigned i = 0; i < COLUMNS; i++)
            sum += columns[row * COLUMNS + (i + threadIdx.x) % COLUMNS];
        if (sum > 0)
            atomicAdd(&plan->counts[FIRST][0] + row, static_cast<atomic_count>(sum));
    }
}

/* The keys that a thread loads at once. The words of a warp are consecutive in memory. */
template <typename K>
constexpr unsigned RADIX_COUNT_WORDS = radix_digit_count_words(sizeof(K));
template <typename K>
constexpr unsigned RADIX_COUNT_KEYS = RADIX_COUNT_WORDS<K> *KEYS_OF_WORD<K>;
template <typename K>
constexpr unsigned RADIX_COUNT_PIECE = RADIX_DIGIT_COUNT_THREADS *RADIX_COUNT_KEYS<K>;

/* Returns the index in the piece of the first key of the thread's word in row `row`. */
template <typename K>
__device__ __forceinline__ unsigned thread_word_index(unsigned row)
{
    const unsigned warp = threadIdx.x / THREADS_PER_WARP;
    return ((warp * RADIX_COUNT_WORDS<K> + row) * THREADS_PER_WARP + thread_lane()) *
           KEYS_OF_WORD<K>;
}

/* Reads the thread's keys of a piece that has `left` keys. Past the end, the last key of the piece
 * is repeated. */
template <typename K>
__device__ __forceinline__ void thread_load_piece(const K *piece, unsigned left,
                                                  K (&keys)[RADIX_COUNT_KEYS<K>])
{
#pragma unroll
    for (unsigned row = 0; row < RADIX_COUNT_WORDS<K>; row++) {
        const unsigned index = thread_word_index<K>(row);
        union key_word<K> word;
        if (left == RADIX_COUNT_PIECE<K>)
            word.word = *reinterpret_cast<const uint4 *>(piece + index);
        else
#pragma unroll
            for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++)
                word.keys[i] = piece[min(index + i, left - 1)];
#pragma unroll
        for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++)
            keys[row * KEYS_OF_WORD<K> + i] = word.keys[i];
    }
}

/* Returns whether the indices of this thread's items are as required. For items of 16 bytes, each
 * index must be the item's position in the array plus a constant. `first` is the number of items
 * before the piece. */
__device__ __forceinline__ bool warp_has_indices(const key_u128 *items, size_t first, unsigned left,
                                                 const key_u128 (&keys)[RADIX_COUNT_KEYS<key_u128>])
{
    const uint64_t first_index = static_cast<uint64_t>(items[0]) + first;
    bool is_position = true;
#pragma unroll
    for (unsigned row = 0; row < RADIX_COUNT_WORDS<key_u128>; row++) {
        const unsigned index = min(thread_word_index<key_u128>(row), left - 1);
        is_position = is_position && static_cast<uint64_t>(keys[row]) == first_index + index;
    }
    return is_position;
}

/* Variant for items of 8 bytes: no low half may be less than the low half of the item before. All
 * lanes of the warp must call it. */
__device__ __forceinline__ bool warp_has_indices(const uint64_t *items, size_t first, unsigned left,
                                                 const uint64_t (&keys)[RADIX_COUNT_KEYS<uint64_t>])
{
    const size_t begin = first + min(thread_word_index<uint64_t>(0), left - 1);
    bool is_rising = true;
    uint32_t before = 0; /* in lane 0: the index before the row */
    if (thread_lane() == 0 && begin > 0)
        before = static_cast<uint32_t>(items[begin - 1]);
#pragma unroll
    for (unsigned row = 0; row < RADIX_COUNT_WORDS<uint64_t>; row++) {
        const uint32_t low = static_cast<uint32_t>(keys[2 * row]);
        const uint32_t high = static_cast<uint32_t>(keys[2 * row + 1]);
        const uint32_t previous =
            __shfl_sync(ALL_LANES, high,
                        static_cast<int>(thread_lane() + THREADS_PER_WARP - 1) %
                            static_cast<int>(THREADS_PER_WARP));
        is_rising = is_rising && (thread_lane() == 0 ? before : previous) <= low && low <= high;
        before = previous;
    }
    return is_rising;
}

/* Adds `n` to the counters of all digits that may need a pass, for each of the keys. */
template <typename K, bool HAS_INDICES, unsigned N>
__device__ __forceinline__ void thread_count_keys(unsigned *columns, const K (&keys)[N], unsigned n)
{
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        thread_count_digits<RADIX_FIRST_DIGIT<K, HAS_INDICES>, RADIX_COUNTED_DIGITS<K, HAS_INDICES>,
                            RADIX_DIGIT_COLUMNS<K, HAS_INDICES>>(columns, thread_upper_key(keys[i]),
                                                                 n);
}

template <typename K, bool HAS_INDICES>
struct radix_digit_counters {
    unsigned of_rows[RADIX_DIGIT_ROWS<K, HAS_INDICES> * RADIX_DIGIT_COLUMNS<K, HAS_INDICES>];
};

/* Counts the digits of all keys into plan->counts. Sets plan->is_refused if the indices are not as
 * warp_has_indices requires. The last keys are read first, so that the first keys stay in the L2
 * cache. The grid may have any number of blocks. Needs a struct radix_digit_counters of dynamic
 * shared memory per block. The items must be aligned to 16 bytes. */
template <typename K, bool HAS_INDICES>
__global__ void __launch_bounds__(RADIX_DIGIT_COUNT_THREADS,
                                  blocks_with_room(RADIX_DIGIT_COUNT_THREADS,
                                                   RADIX_DIGIT_COUNT_BLOCKS))
    radix_digit_count_kernel(const K *items, size_t count, struct key_order encoding,
                             struct radix_digit_plan *plan)
{
    thread_wait_for_dependency();
    constexpr unsigned rows = RADIX_DIGIT_ROWS<K, HAS_INDICES>;
    constexpr unsigned of_value = RADIX_DIGIT_COLUMNS<K, HAS_INDICES>;
    constexpr unsigned piece = RADIX_COUNT_PIECE<K>;
    using counters = struct radix_digit_counters<K, HAS_INDICES>;
    unsigned *const columns = reinterpret_cast<counters *>(block_dynamic_shared())->of_rows;
    for (unsigned i = threadIdx.x; i < rows * of_value; i += RADIX_DIGIT_COUNT_THREADS)
        columns[i] = 0;
    __syncthreads();
    bool is_ordered = true;
    const size_t pieces = (count + piece - 1) / piece;
    for (size_t done = blockIdx.x; done < pieces; done += gridDim.x) {
        const size_t first = (pieces - 1 - done) * piece; /* the first keys stay in the L2 cache */
        const unsigned left = static_cast<unsigned>(min(count - first, size_t{piece}));
        K keys[RADIX_COUNT_KEYS<K>];
        thread_load_piece(items + first, left, keys);
        if constexpr (HAS_INDICES)
            is_ordered = warp_has_indices(items, first, left, keys) && is_ordered;
        thread_encode_keys(encoding, keys);
        thread_count_keys<K, HAS_INDICES>(columns, keys, 1);
        if (left < piece && threadIdx.x == 0) { /* subtract the repeats of the last key */
            K last[1] = {items[count - 1]};
            thread_encode_keys(encoding, last);
            thread_count_keys<K, HAS_INDICES>(columns, last, left - piece);
        }
    }
    __syncthreads();
    block_flush_digits<RADIX_FIRST_DIGIT<K, HAS_INDICES>, rows, of_value>(columns, plan);
    if (!is_ordered)
        plan->is_refused = 1;
}

/* Computes the first index of each value of a digit. Returns, in all lanes, whether all keys share
 * one value of the digit. All lanes of a warp must call it. */
__device__ __forceinline__ bool warp_begin_digit(struct radix_digit_plan *plan, unsigned digit,
                                                 atomic_count count)
{
    constexpr unsigned values = RADIX_DIGIT_VALUES / THREADS_PER_WARP; /* per lane */
    const atomic_count *const counts = plan->counts[digit] + thread_lane() * values;
    atomic_count *const firsts = plan->firsts[digit][0] + thread_lane() * values;
    atomic_count own[values], sum = 0;
    bool is_shared = false;
#pragma unroll
    for (unsigned i = 0; i < values; i++) {
        own[i] = counts[i];
        sum += own[i];
        is_shared = is_shared || own[i] == count;
    }
    atomic_count before = warp_inclusive_scan(sum) - sum;
#pragma unroll
    for (unsigned i = 0; i < values; i++) {
        firsts[i] = before;
        before += own[i];
    }
    return __any_sync(ALL_LANES, is_shared);
}

constexpr unsigned RADIX_PLAN_THREADS = RADIX_DIGITS_MOST * THREADS_PER_WARP;

/* Makes the plan. If the plan is refused, it has no passes and status->is_refused is set. One
 * block, with a warp for each digit. */
template <typename K, bool HAS_INDICES>
__global__ void __launch_bounds__(RADIX_PLAN_THREADS)
    radix_digit_plan_kernel(const K *items, size_t count, struct radix_digit_plan *plan,
                            struct sort_status *status)
{
    thread_wait_for_dependency();
    __shared__ bool is_live[RADIX_DIGITS_MOST];
    if (threadIdx.x < RADIX_DIGITS_MOST)
        plan->next_tiles[threadIdx.x] = 0;
    const unsigned own = threadIdx.x / THREADS_PER_WARP;
    const bool is_refused = plan->is_refused != 0;
    const bool has_digit =
        !is_refused && own + 1 > RADIX_FIRST_DIGIT<K, HAS_INDICES> && own < RADIX_DIGITS<K>;
    const bool is_done = has_digit && !warp_begin_digit(plan, own, count);
    if (thread_lane() == 0)
        is_live[own] = is_done;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    unsigned passes = 0, idle = 0;
    for (unsigned digit = 0; digit < RADIX_DIGITS_MOST; digit++)
        if (is_live[digit])
            plan->digits[passes++] = digit;
        else
            idle = digit;
    /* An even number of passes ends in the items, and so do 5 and more passes over items of 16
     * bytes (thread_find_side). After 1 and 3 these have one more pass, by a digit that all keys
     * share, which is faster than radix_digit_copy_kernel. */
    if (RADIX_IS_ITEM<K> && passes < 5 && passes % 2 != 0)
        plan->digits[passes++] = idle;
    plan->passes = passes;
    if (RADIX_IS_ITEM<K>)
        plan->first_index = static_cast<uint64_t>(items[0]);
    if (is_refused)
        status->is_refused = true;
}

#endif
