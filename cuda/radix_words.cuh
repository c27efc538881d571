/* SPDX-License-Identifier: Apache-2.0 */
/* radix_words.cuh - items that are sorted by a code of shares (radix_shares.cuh) go as words: the
 * code above the place.
 *
 *   items --radix_words_kernel--> their keys, and a word for each; how often each digit comes
 *         --radix_words_plan_kernel--> where each value of a digit begins
 *         --radix_digits.cuh, a pass for each digit of the code--> words in order of codes
 *         --radix_fetch.cuh--> items
 */
#ifndef CUDA_RADIX_WORDS_CUH
#define CUDA_RADIX_WORDS_CUH

#include "cuda/dynamic_shared.cuh"
#include "cuda/radix_shares.cuh"

/* The code is the upper half of a word. */
constexpr unsigned RADIX_WORD_CODE_BITS = 32;
constexpr unsigned RADIX_WORD_FIRST_DIGIT = RADIX_WORD_CODE_BITS / RADIX_DIGIT_BITS;

template <unsigned DIGITS>
struct radix_words_shared {
    uint32_t shares[RADIX_SHARES];
    unsigned columns[DIGITS * RADIX_DIGIT_VALUES * radix_digit_columns(DIGITS)];
};

/* The code's first so many digits, at its end. */
template <unsigned DIGITS>
__device__ __forceinline__ uint32_t thread_word_code(const uint32_t *shares, uint64_t key)
{
    return thread_shares_code(shares, key) >> (RADIX_WORD_CODE_BITS - DIGITS * RADIX_DIGIT_BITS);
}

/* Makes words of the code's first DIGITS, counts these, and puts the keys by themselves; finds
 * whether indices are not what they are taken for. Nothing, if there is no such code. Any number of
 * blocks; a struct radix_words_shared of dynamic shared memory. */
template <unsigned DIGITS>
__global__ void __launch_bounds__(RADIX_DIGIT_COUNT_THREADS, RADIX_DIGIT_COUNT_BLOCKS)
    radix_words_kernel(const key_u128 *__restrict__ items, const struct radix_segments *whole,
                       struct radix_digit_plan *plan, uint64_t *__restrict__ keys,
                       uint64_t *__restrict__ words)
{
    thread_wait_for_grid();
    constexpr unsigned of_value = radix_digit_columns(DIGITS);
    constexpr unsigned piece = RADIX_COUNT_PIECE<key_u128>;
    struct radix_words_shared<DIGITS> &shared =
        *reinterpret_cast<struct radix_words_shared<DIGITS> *>(block_dynamic_shared());
    const size_t count = whole->keys[0];
    if (!plan->code.is_shares)
        return;
    for (unsigned i = threadIdx.x; i < RADIX_SHARES; i += RADIX_DIGIT_COUNT_THREADS)
        shared.shares[i] = plan->shares[i];
    for (unsigned i = threadIdx.x; i < DIGITS * RADIX_DIGIT_VALUES * of_value;
         i += RADIX_DIGIT_COUNT_THREADS)
        shared.columns[i] = 0;
    __syncthreads();
    bool is_ordered = true;
    for (size_t first = static_cast<size_t>(blockIdx.x) * piece; first < count;
         first += static_cast<size_t>(gridDim.x) * piece) {
        const unsigned left = static_cast<unsigned>(min(count - first, size_t{piece}));
        key_u128 own[RADIX_COUNT_KEYS<key_u128>];
        thread_load_piece(items + first, left, own);
        is_ordered = warp_has_indices(items, first, left, own) && is_ordered;
#pragma unroll
        for (unsigned row = 0; row < RADIX_COUNT_KEYS<key_u128>; row++) {
            const unsigned index = thread_word_index<key_u128>(row);
            const uint64_t key = thread_item_word(own[row]);
            const uint32_t code = thread_word_code<DIGITS>(shared.shares, key);
            if (index >= left)
                continue;
            thread_count_digits<0, DIGITS, of_value>(shared.columns, code, 1);
            keys[first + index] = key;
            words[first + index] = static_cast<uint64_t>(code) << RADIX_WORD_CODE_BITS |
                                   static_cast<uint32_t>(first + index);
        }
    }
    __syncthreads();
    block_give_digits<RADIX_WORD_FIRST_DIGIT, DIGITS * RADIX_DIGIT_VALUES, of_value>(shared.columns,
                                                                                     plan);
    if (!is_ordered)
        plan->is_refused = 1;
}

/* Makes the plan of that many passes, or of none: if there is no code, or indices are not what they
 * are taken for; the note says so. One block, a warp for each digit; any number besides to clear.
 */
template <unsigned DIGITS>
__global__ void __launch_bounds__(RADIX_PLAN_THREADS)
    radix_words_plan_kernel(struct radix_clear_task clear, const key_u128 *items,
                            const struct radix_segments *whole, struct radix_digit_plan *plan,
                            struct sort_note *note)
{
    thread_wait_for_grid();
    if (!block_starts_plan(plan, clear))
        return;
    const unsigned own = threadIdx.x / THREADS_PER_WARP;
    const bool has_code = plan->code.is_shares != 0, is_refused = plan->is_refused != 0;
    if (own < DIGITS) {
        const unsigned digit = RADIX_WORD_FIRST_DIGIT + own;
        (void)warp_begin_digit(plan, digit, 0);
        if (thread_lane() == 0)
            plan->digits[own] = digit;
    }
    if (threadIdx.x > 0 || whole->keys[0] == 0)
        return;
    plan->first_index = static_cast<uint64_t>(items[0]);
    plan->passes = has_code && !is_refused ? DIGITS : 0;
    if (!has_code || is_refused)
        note->count = has_code ? RADIX_NOTE_REFUSED : RADIX_NOTE_DIGITS;
}

#endif
