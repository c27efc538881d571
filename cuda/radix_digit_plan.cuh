/* radix_digit_plan.cuh - which digits a sort digit by digit has to do: all are counted in one read.
 *
 *   items --radix_digit_count_kernel--> how often each value of each digit comes
 *         --radix_digit_plan_kernel--> where each value begins; the digits that are not all one
 */
#ifndef CUDA_RADIX_DIGIT_PLAN_CUH
#define CUDA_RADIX_DIGIT_PLAN_CUH

#include "cuda/cuda_sort.h"
#include "cuda/radix_digit_sort.h"
#include "cuda/radix_levels.cuh"

constexpr unsigned RADIX_DIGIT_BITS = 8;
constexpr unsigned RADIX_DIGIT_VALUES = 1u << RADIX_DIGIT_BITS;

/* What digits are taken of: a key; of items (key above index) the key, whose place goes with it. */
template <typename K>
struct radix_digit_word {
    typedef K type;
};
template <>
struct radix_digit_word<key_u128> {
    typedef uint64_t type;
};

template <typename K>
constexpr bool RADIX_HAS_PLACES = sizeof(K) > sizeof(uint64_t);
template <typename K>
constexpr unsigned RADIX_DIGITS = sizeof(typename radix_digit_word<K>::type);
constexpr unsigned RADIX_DIGITS_MOST = sizeof(uint64_t);
template <typename K>
constexpr bool RADIX_HAS_CODE = RADIX_DIGITS<K> == RADIX_DIGITS_MOST;

/* What keys are sorted by, if not by all digits: how their path from the top leaves another, or
 * what is above the last bits. */
struct radix_code {
    uint64_t path;
    unsigned shift;
    unsigned is_path;
};

/* The code of a key that leaves the path: above, the side of the path and the place of the bit
 * where it does so; below, its next bits. Behind the last bits that are kept none tells more. The
 * greatest key has the greatest code, and no digit of another is greater: it stands behind the end.
 */
constexpr unsigned RADIX_CODE_BITS = 25;
constexpr unsigned RADIX_CODE_MIDDLE = 64 - RADIX_CODE_BITS + 1;
constexpr unsigned RADIX_CODE_DIGITS = 4;
static_assert(2 * RADIX_CODE_MIDDLE <=
                  1u << (RADIX_CODE_DIGITS * RADIX_DIGIT_BITS - RADIX_CODE_BITS),
              "places have room");
__device__ __forceinline__ uint32_t thread_path_code(uint64_t word, uint64_t path)
{
    const int bits = 64 - __clzll(static_cast<long long>(word ^ path)); /* from that one on */
    const int place = max(bits - static_cast<int>(RADIX_CODE_BITS), 0);
    const unsigned side =
        static_cast<unsigned>(static_cast<int>(RADIX_CODE_MIDDLE) + (word > path ? place : -place));
    const uint32_t next = static_cast<uint32_t>(word >> max(place - 1, 0));
    return side << RADIX_CODE_BITS | (next & ((1u << RADIX_CODE_BITS) - 1));
}

/* True if the key's code tells all of it, as it follows the path so far. */
__device__ __forceinline__ bool thread_path_is_exact(uint64_t word, uint64_t path)
{
    return (word ^ path) >> RADIX_CODE_BITS == 0;
}

__device__ __forceinline__ uint64_t thread_code(const struct radix_code &code, uint64_t word)
{
    return code.is_path ? thread_path_code(word, code.path) : word >> code.shift;
}

/* How many neighbours of a sorted sample may have one code: fewer the more keys there are. */
__device__ __forceinline__ unsigned radix_collisions_most(size_t count)
{
    constexpr size_t of_mean = size_t{RADIX_CODE_MEAN} << (2 * RADIX_CODE_SAMPLE_BITS - 1);
    return static_cast<unsigned>(
        min(max(of_mean / count, size_t{1}), size_t{RADIX_CODE_COLLISIONS_MOST}));
}

/* Bits that the sample's codes are to have less, so that one collision is what that mean makes. */
__device__ __forceinline__ unsigned radix_code_left_out(size_t count)
{
    unsigned bits = 0;
    while (count >> bits > size_t{RADIX_CODE_MEAN} << (2 * RADIX_CODE_SAMPLE_BITS - 1))
        bits++;
    return bits;
}

/* What the passes do, and what is found on the way to them. */
struct radix_digit_plan {
    uint64_t first_index; /* of items; stays for a sort of the same anew */
    /* What radix_code.cuh finds; cleared where there is no code to be found. Neighbours in a sorted
     * sample that differ, but not in this digit or one above it. */
    unsigned collisions[RADIX_DIGITS_MOST];
    struct radix_code code;
    /* From here on cleared. */
    radix_count counts[RADIX_DIGITS_MOST][RADIX_DIGIT_VALUES];
    /* Index of the first key of a value, for portions of even and of odd number. */
    radix_count firsts[RADIX_DIGITS_MOST][2][RADIX_DIGIT_VALUES];
    unsigned digits[RADIX_DIGITS_MOST]; /* of each pass */
    unsigned passes;
    unsigned next_tiles[RADIX_DIGITS_MOST]; /* of each pass: numbers given to tiles */
    unsigned is_refused;                    /* not 0: indices are not what they are taken for */
    unsigned mends;                         /* not 0: keys are sorted by the code alone */
    radix_count open_keys;                  /* in the runs that mending lists */
};

static_assert(offsetof(struct radix_digit_plan, counts) <= RADIX_DIGIT_KEPT_BYTES, "kept");

template <typename W>
__device__ __forceinline__ unsigned thread_digit(W word, unsigned shift)
{
    return static_cast<unsigned>(word >> shift) & (RADIX_DIGIT_VALUES - 1);
}

/* Below a key of 8 bytes with an index are so many digits of the index. */
template <typename K, bool HAS_INDICES>
constexpr unsigned RADIX_FIRST_DIGIT =
    HAS_INDICES && !RADIX_HAS_PLACES<K> ? RADIX_DIGITS<K> / 2 : 0;

/* True if the index of the item is what it is taken for: the place of an item of 16 bytes, but for
 * a constant; the low half of one of 8 that is not less than that of the one before. */
template <typename K>
__device__ __forceinline__ bool thread_has_index(const K *items, size_t place)
{
    if constexpr (RADIX_HAS_PLACES<K>)
        return static_cast<uint64_t>(items[place]) == static_cast<uint64_t>(items[0]) + place;
    else
        return place == 0 ||
               static_cast<uint32_t>(items[place - 1]) <= static_cast<uint32_t>(items[place]);
}

template <typename K>
__device__ __forceinline__ typename radix_digit_word<K>::type thread_item_word(K item)
{
    if constexpr (sizeof(K) > sizeof(uint64_t))
        return static_cast<uint64_t>(item >> 64);
    else
        return item;
}

/* Counters of a block: a column for every two lanes, so that few lanes of a warp meet, whatever the
 * digits; two values to a word. With 32 columns they would not fit the shared memory of all
 * devices.
 */
constexpr unsigned RADIX_DIGIT_COLUMNS = THREADS_PER_WARP / 2;
constexpr unsigned RADIX_DIGIT_ROWS = RADIX_DIGIT_VALUES / 2;
template <typename K>
constexpr size_t RADIX_DIGIT_COLUMN_BYTES = RADIX_DIGITS<K> *RADIX_DIGIT_ROWS *RADIX_DIGIT_COLUMNS *
                                            sizeof(unsigned);

/* Counts digits of a key, from the first one on, in the thread's column. */
template <unsigned FIRST, unsigned DIGITS, typename W>
__device__ __forceinline__ void thread_count_digits(unsigned *columns, W word)
{
    static_assert(2 * RADIX_DIGIT_VALUES / 4 * RADIX_DIGIT_COLUMNS == 1u << 11,
                  "11 bits of places");
    unsigned *const own = columns + threadIdx.x % RADIX_DIGIT_COLUMNS;
#pragma unroll
    for (unsigned digit = FIRST; digit < DIGITS; digit++) {
        const uint32_t half = static_cast<uint32_t>(word >> digit / 4 * 32 % (8 * sizeof(W)));
        const unsigned shift = digit % 4 * RADIX_DIGIT_BITS;
        /* value / 2 * RADIX_DIGIT_COLUMNS, in two instructions */
        const unsigned place = (shift == 0 ? half << 3 : half >> (shift - 3)) & 0x7f0;
        atomicAdd(&own[digit * (RADIX_DIGIT_ROWS * RADIX_DIGIT_COLUMNS) + place],
                  half & 1u << shift ? 1u << 16 : 1u);
    }
}

/* Adds the columns to the plan and clears them, a thread a row; neighbours begin at different
 * banks. Between barriers. */
template <unsigned DIGITS>
__device__ __forceinline__ void block_flush_digits(unsigned *columns, struct radix_digit_plan *plan)
{
    for (unsigned row = threadIdx.x; row < DIGITS * RADIX_DIGIT_ROWS;
         row += RADIX_DIGIT_COUNT_THREADS) {
        unsigned even = 0, odd = 0;
        for (unsigned i = 0; i < RADIX_DIGIT_COLUMNS; i++) {
            unsigned *const column =
                &columns[row * RADIX_DIGIT_COLUMNS + (i + threadIdx.x) % RADIX_DIGIT_COLUMNS];
            even += *column & UINT16_MAX;
            odd += *column >> 16;
            *column = 0;
        }
        radix_count *const counts = plan->counts[row / RADIX_DIGIT_ROWS];
        const unsigned value = row % RADIX_DIGIT_ROWS * 2;
        if (even > 0)
            atomicAdd(&counts[value], static_cast<radix_count>(even));
        if (odd > 0)
            atomicAdd(&counts[value + 1], static_cast<radix_count>(odd));
    }
}

/* The same of its code, if it has a path, or else of all digits that may have to be done. */
template <typename K, bool HAS_INDICES, typename W>
__device__ __forceinline__ void thread_count_key(unsigned *columns, const struct radix_code &code,
                                                 W word)
{
    if constexpr (RADIX_HAS_CODE<K>)
        if (code.is_path) {
            thread_count_digits<0, RADIX_CODE_DIGITS>(columns, thread_path_code(word, code.path));
            return;
        }
    thread_count_digits<RADIX_FIRST_DIGIT<K, HAS_INDICES>, RADIX_DIGITS<K>>(columns, word);
}

/* plan->counts, which are 0, and whether indices are not what they are taken for, which shows soon.
 * An empty segment of all says that nothing is to be done. Any number of blocks;
 * RADIX_DIGIT_COLUMN_BYTES of dynamic shared memory. */
template <typename K, bool HAS_INDICES>
__global__ void __launch_bounds__(RADIX_DIGIT_COUNT_THREADS, RADIX_DIGIT_COUNT_BLOCKS)
    radix_digit_count_kernel(const K *__restrict__ items, const struct radix_segments *whole,
                             struct key_order encoding, struct radix_digit_plan *plan)
{
    thread_wait_for_grid();
    constexpr unsigned keys_of_thread = 32 / sizeof(K);
    constexpr unsigned piece = RADIX_DIGIT_COUNT_THREADS * keys_of_thread;
    constexpr unsigned words = RADIX_DIGITS<K> * RADIX_DIGIT_ROWS * RADIX_DIGIT_COLUMNS;
    unsigned *const columns = reinterpret_cast<unsigned *>(block_dynamic_shared());
    const size_t count = whole->keys[0];
    const struct radix_code code = plan->code;
    for (unsigned i = threadIdx.x; i < words; i += RADIX_DIGIT_COUNT_THREADS)
        columns[i] = 0;
    __syncthreads();
    bool is_ordered = true;
    unsigned pieces = 0;
    for (size_t first = static_cast<size_t>(blockIdx.x) * piece; first < count;
         first += static_cast<size_t>(gridDim.x) * piece) {
        K keys[keys_of_thread];
#pragma unroll
        for (unsigned i = 0; i < keys_of_thread; i++) {
            const size_t index = first + i * RADIX_DIGIT_COUNT_THREADS + threadIdx.x;
            keys[i] = index < count ? items[index] : K{0};
            if constexpr (HAS_INDICES)
                is_ordered = is_ordered && (index >= count || thread_has_index(items, index));
        }
        thread_encode_keys(encoding, keys);
#pragma unroll
        for (unsigned i = 0; i < keys_of_thread; i++)
            if (first + i * RADIX_DIGIT_COUNT_THREADS + threadIdx.x < count)
                thread_count_key<K, HAS_INDICES>(columns, code, thread_item_word(keys[i]));
        if (++pieces % (UINT16_MAX * RADIX_DIGIT_COLUMNS / piece) == 0) {
            __syncthreads();
            block_flush_digits<RADIX_DIGITS<K>>(columns, plan);
            __syncthreads();
        }
    }
    __syncthreads();
    block_flush_digits<RADIX_DIGITS<K>>(columns, plan);
    if (!is_ordered)
        plan->is_refused = 1;
}

/* Leaves the last digits out if the sample has few keys that those before do not part: as few
 * digits as that takes, an even number, so that the items end where they began. */
__device__ __forceinline__ void thread_choose_prefix(struct radix_digit_plan *plan, size_t count)
{
    const unsigned live = plan->passes, most = radix_collisions_most(count);
    for (unsigned passes = 2; passes < live; passes += 2) {
        const unsigned left = live - passes;
        if (plan->collisions[plan->digits[left]] > most)
            continue;
        for (unsigned i = 0; i < passes; i++)
            plan->digits[i] = plan->digits[left + i];
        plan->passes = passes;
        plan->code.shift = plan->digits[0] * RADIX_DIGIT_BITS;
        plan->mends = 1;
        return;
    }
}

/* Makes the plan; if it `mends`, a prefix may do. If it is refused there are no passes, and the
 * note says so. One block, a thread for each value of a digit. */
template <typename K, bool HAS_INDICES>
__global__ void __launch_bounds__(RADIX_DIGIT_VALUES)
    radix_digit_plan_kernel(const K *items, const struct radix_segments *whole, bool mends,
                            struct radix_digit_plan *plan, struct sort_note *note)
{
    thread_wait_for_grid();
    __shared__ radix_count sums[THREADS_PER_WARP];
    const radix_count count = whole->keys[0];
    const bool is_refused = plan->is_refused != 0;
    const bool is_path = plan->code.is_path != 0, is_any = count > 0 && !is_refused;
    const unsigned end = !is_any ? 0 : is_path ? RADIX_CODE_DIGITS : RADIX_DIGITS<K>;
    unsigned passes = 0;
    for (unsigned digit = RADIX_FIRST_DIGIT<K, HAS_INDICES>; digit < end; digit++) {
        radix_count all = 0;
        const radix_count own = plan->counts[digit][threadIdx.x];
        plan->firsts[digit][0][threadIdx.x] =
            block_exclusive_scan<RADIX_DIGIT_VALUES>(own, sums, &all);
        const bool is_shared = __syncthreads_or(own == count);
        if (!is_shared && threadIdx.x == 0)
            plan->digits[passes] = digit;
        passes += is_shared ? 0 : 1;
    }
    if (threadIdx.x > 0)
        return;
    plan->passes = passes;
    if (RADIX_HAS_PLACES<K> && HAS_INDICES)
        plan->first_index = static_cast<uint64_t>(items[0]);
    if (is_path && is_any)
        plan->mends = 1;
    else if (mends && is_any)
        thread_choose_prefix(plan, count);
    if (is_refused && count > 0)
        note->count = RADIX_NOTE_REFUSED;
}

#endif
