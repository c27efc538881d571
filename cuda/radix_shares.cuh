/* SPDX-License-Identifier: Apache-2.0 */
/* radix_shares.cuh - a code of shares: where a key would stand among all if each of its digits had
 * the values that the sample has seen, as often, whatever its other digits are.
 *
 * It is an arithmetic code. A key has a part of 2^32 places; each digit, the first one first,
 * leaves it the share of that part that its value has, behind the shares of lesser values. The code
 * is where the part begins. Parts of different keys do not overlap and lie in the order of the
 * keys, in whole numbers, whatever the shares are: so the code of a greater key is never less.
 *
 * Values that come often take few bits of it. Where half of all keys agree in each of their digits,
 * 64 bits of a key hold 40 that tell it from others, of which the code has the first 32.
 *
 * Source: J. Rissanen and G. G. Langdon, "Arithmetic Coding" (IBM Journal of Research and
 * Development, 1979).
 */
#ifndef CUDA_RADIX_SHARES_CUH
#define CUDA_RADIX_SHARES_CUH

#include "cuda/radix_digit_plan.cuh"

/* A value's share, in 2^-16, below the sum of those of lesser values. Every value has one, so that
 * no key is left without a part. */
constexpr unsigned RADIX_SHARE_BITS = 16;
constexpr unsigned RADIX_SHARES = RADIX_DIGITS_MOST * RADIX_DIGIT_VALUES;

/* Digits of the code that so many items are sorted by. */
__host__ __device__ __forceinline__ unsigned radix_share_digits(size_t count)
{
    return count <= RADIX_SHARES_SHORT_MOST ? 3 : 4;
}

__device__ __forceinline__ uint32_t thread_high_product(uint32_t a, uint32_t b)
{
    return static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32);
}

/* shares: those of RADIX_DIGITS_MOST digits, of the last one first. */
__device__ __forceinline__ uint32_t thread_shares_code(const uint32_t *shares, uint64_t word)
{
    uint32_t first = 0, room = UINT32_MAX;
#pragma unroll
    for (unsigned digit = RADIX_DIGITS_MOST; digit-- > 0;) {
        const uint32_t half = static_cast<uint32_t>(word >> digit / 4 * 32);
        const uint32_t share =
            shares[digit * RADIX_DIGIT_VALUES + __byte_perm(half, 0, 0x4440 | digit % 4)];
        first += thread_high_product(room, share & ~0u << RADIX_SHARE_BITS);
        room = thread_high_product(room, share << RADIX_SHARE_BITS);
    }
    return first;
}

/* Turns how often each value has been seen, `sample` times in all, into shares. A warp for each
 * digit, of RADIX_DIGITS_MOST at the least; between barriers. */
__device__ __forceinline__ void block_make_shares(uint32_t *shares, unsigned sample)
{
    constexpr unsigned values = RADIX_DIGIT_VALUES / THREADS_PER_WARP; /* of a lane */
    constexpr uint32_t all = (1u << RADIX_SHARE_BITS) - RADIX_DIGIT_VALUES;
    if (threadIdx.x >= RADIX_DIGITS_MOST * THREADS_PER_WARP)
        return;
    uint32_t *const own = shares + threadIdx.x * values;
    uint32_t widths[values], sum = 0;
#pragma unroll
    for (unsigned i = 0; i < values; i++) {
        widths[i] = static_cast<uint32_t>(uint64_t{own[i]} * all / sample) + 1;
        sum += widths[i];
    }
    uint32_t before = warp_inclusive_scan(sum) - sum;
#pragma unroll
    for (unsigned i = 0; i < values; i++) {
        own[i] = before << RADIX_SHARE_BITS | widths[i];
        before += widths[i];
    }
}

#endif
