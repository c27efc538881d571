/* SPDX-License-Identifier: Apache-2.0 */
/* thread_decimal.cuh - converts a decimal number to a double, rounded twice as on the host.
 *
 *   mantissa * 10^exponent -> 128 bits and more -> 64 bits, a long double's -> 53 bits
 *
 * formats/number/number_key.cc explains why it rounds twice. There, x87 does it; here, integers do:
 *   - exponents from -27 to 27: 5^27 < 2^63, so a product has at most 127 bits, and a quotient is a
 *     division of 128 by 64 bits. Both are exact.
 *   - other exponents: a product with a power of 128 bits. Both ends of the interval that contains
 *     the true value are rounded. If they differ, the result is unknown. No such value is a number
 * of 64 bits, or halfway between two: its odd part is a multiple of 5^28 > 2^65, or it has an odd
 *     divisor. So an unknown result is rare.
 *
 * Division by an invariant number: N. Möller, T. Granlund, "Improved division by invariant
 * integers", IEEE Transactions on Computers 2011.
 */
#ifndef CUDA_THREAD_DECIMAL_CUH
#define CUDA_THREAD_DECIMAL_CUH

#include "cuda/block/thread_key.cuh"

#include <float.h>

constexpr int FINE_POWERS = 28;

/* 5^k, and its reciprocal (2^128 - 1) / d - 2^64, where d is 5^k shifted left until its top bit is
 * set.
 */
struct five_power {
    uint64_t power;
    uint64_t reciprocal;
};

struct five_powers {
    struct five_power of[FINE_POWERS];
};

constexpr struct five_powers five_powers_make()
{
    struct five_powers fives = {};
    uint64_t power = 1;
    for (int k = 0; k < FINE_POWERS; k++, power *= 5) {
        uint64_t divisor = power;
        while (divisor >> 63 == 0)
            divisor *= 2;
        fives.of[k] = {power, static_cast<uint64_t>(~key_u128{0} / divisor)};
    }
    return fives;
}

__device__ constexpr struct five_powers fives = five_powers_make();

/* 10^(28 i), i from -12 to 10, truncated to 128 bits. The binary exponents follow from i. */
constexpr int COARSE_ZERO = 12;

struct coarse_power {
    uint64_t high, low;
};

__device__ constexpr struct coarse_power coarse_powers[] = {
    {0xe3e27a444d8d98b7, 0xfd1b1b2308169b25}, {0xe61acf033d1a45df, 0x6fb92487298e33bd},
    {0xe858ad248f5c22c9, 0xd1b3400f8f9cff68}, {0xea9c227723ee8bcb, 0x465e15a979c1cadc},
    {0xece53cec4a314ebd, 0xa4f8bf5635246428}, {0xef340a98172aace4, 0x86fb897116c87c34},
    {0xf18899b1bc3f8ca1, 0xdc44e6c3cb279ac1}, {0xf3e2f893dec3f126, 0x5a89dba3c3efccfa},
    {0xf64335bcf065d37d, 0x4d4617b5ff4a16d5}, {0xf8a95fcf88747d94, 0x75a44c6397ce912a},
    {0xfb158592be068d2e, 0xeed6e2f0f0d56712}, {0xfd87b5f28300ca0d, 0x8bca9d6e188853fc},
    {0x8000000000000000, 0x0000000000000000}, {0x813f3978f8940984, 0x4000000000000000},
    {0x82818f1281ed449f, 0xbff8f10e7a8921a4}, {0x83c7088e1aab65db, 0x792667c6da79e0fa},
    {0x850fadc09923329e, 0x03e2cf6bc604ddb0}, {0x865b86925b9bc5c2, 0x0b8a2392ba45a9b2},
    {0x87aa9aff79042286, 0x90fb44d2f05d0842}, {0x88fcf317f22241e2, 0x441fece3bdf81f03},
    {0x8a5296ffe33cc92f, 0x82bd6b70d99aaa6f}, {0x8bab8eefb6409c1a, 0x1ad089b6c2f7548e},
    {0x8d07e33455637eb2, 0xdb0b487b6423e1e8},
};

/* Maximum magnitude of the exponent of the first digit: within it doubles are normal, and the
 * coarse powers suffice. */
constexpr int DECIMAL_EXPONENT_MOST = 306;

/* (significand + rest / 2^64) * 2^exponent. The top bit of the significand is set. The lowest bit
 * of the rest is sticky: it also stands for any bits below it. */
struct thread_wide {
    uint64_t significand;
    uint64_t rest;
    int exponent;
};

/* Sets *bits to the double, which must be normal. Returns false if the result is unknown, because
 * the host's long double is wider than x87's. */
__device__ __forceinline__ bool thread_round_twice(const struct thread_wide &wide, uint64_t *bits)
{
    constexpr uint64_t half = (uint64_t)1 << 63;
    constexpr unsigned tail_half = 1u << 10;
    uint64_t significand = wide.significand;
    int exponent = wide.exponent;
    if (wide.rest > half || (wide.rest == half && (significand & 1) != 0)) {
        if (++significand == 0) {
            significand = half;
            exponent++;
        }
    }
    const unsigned tail = static_cast<unsigned>(significand) & (2 * tail_half - 1);
    if (LDBL_MANT_DIG != 64 && tail == tail_half && wide.rest != 0)
        return false;
    significand >>= 11;
    significand += tail > tail_half || (tail == tail_half && (significand & 1) != 0);
    /* The top bit of the significand, or its carry, adds to the exponent. */
    *bits = (static_cast<uint64_t>(exponent + 63 + 1022) << 52) + significand;
    return true;
}

/* Returns the number of leading zero bits of `value`, which is not 0. */
__device__ __forceinline__ int thread_leading_zeros(key_u128 value)
{
    const uint64_t high = static_cast<uint64_t>(value >> 64);
    return high != 0 ? __clzll(static_cast<long long>(high))
                     : 64 + __clzll(static_cast<long long>(value));
}

/* Returns mantissa * 10^exponent, exponent 0 to 27. */
__device__ __forceinline__ struct thread_wide thread_fine_product(uint64_t mantissa, int exponent)
{
    const key_u128 product = static_cast<key_u128>(mantissa) * fives.of[exponent].power;
    const int shift = thread_leading_zeros(product);
    const key_u128 shifted = product << shift;
    return {static_cast<uint64_t>(shifted >> 64), static_cast<uint64_t>(shifted),
            exponent + 64 - shift};
}

/* Returns mantissa / 10^power, power 0 to 27. */
__device__ __forceinline__ struct thread_wide thread_fine_quotient(uint64_t mantissa, int power)
{
    const struct five_power five = fives.of[power];
    const int divisor_shift = __clzll(static_cast<long long>(five.power));
    const int shift = __clzll(static_cast<long long>(mantissa));
    const uint64_t divisor = five.power << divisor_shift;
    uint64_t high = mantissa << shift, low = 0;
    const bool is_halved = high >= divisor;
    if (is_halved) {
        low = high << 63;
        high >>= 1;
    }
    /* Algorithm 4 of the paper. */
    const key_u128 sum =
        static_cast<key_u128>(five.reciprocal) * high + (static_cast<key_u128>(high) << 64 | low);
    uint64_t quotient = static_cast<uint64_t>(sum >> 64) + 1;
    uint64_t remainder = low - quotient * divisor;
    if (remainder > static_cast<uint64_t>(sum)) {
        quotient--;
        remainder += divisor;
    }
    if (remainder >= divisor) {
        quotient++;
        remainder -= divisor;
    }
    /* The rest is never exactly one half: a finite quotient is an integer below 2^64. */
    constexpr uint64_t half = (uint64_t)1 << 63;
    const uint64_t rest = (remainder > divisor - remainder ? half : 0) | (remainder != 0);
    return {quotient, rest, (is_halved ? -63 : -64) - shift + divisor_shift - power};
}

/* Sets *bits to the double of mantissa * 10^exponent, exponent -336 to 307. Returns false if the
 * two ends of the interval have different doubles. */
__device__ __forceinline__ bool thread_coarse_product(uint64_t mantissa, int exponent,
                                                      uint64_t *bits)
{
    const int row = (exponent + COARSE_ZERO * FINE_POWERS) / FINE_POWERS;
    const int coarse = (row - COARSE_ZERO) * FINE_POWERS, fine = exponent - coarse;
    const key_u128 product = static_cast<key_u128>(mantissa) * fives.of[fine].power;
    const int shift = thread_leading_zeros(product);
    const uint64_t high = static_cast<uint64_t>(product << shift >> 64);
    const uint64_t low = static_cast<uint64_t>(product << shift);
    const struct coarse_power power = coarse_powers[row];

    const key_u128 upper = static_cast<key_u128>(high) * power.low + __umul64hi(low, power.low);
    const key_u128 lower = static_cast<key_u128>(low) * power.high + static_cast<uint64_t>(upper);
    key_u128 top = static_cast<key_u128>(high) * power.high + (upper >> 64) + (lower >> 64);
    /* floor(log2(10^coarse)) - 127 is the binary exponent of the power. */
    int binary = 128 - shift + fine + (coarse * 217706 >> 16) - 127;
    if (top >> 127 == 0) {
        top <<= 1;
        binary--;
    }
    /* The truncation of the power and of the product loses less than 2 units, or 4 after the shift.
     */
    const key_u128 end = top + 4;
    uint64_t end_bits;
    return end > top &&
           thread_round_twice(
               {static_cast<uint64_t>(top >> 64), static_cast<uint64_t>(top) | 1, binary + 64},
               bits) &&
           thread_round_twice(
               {static_cast<uint64_t>(end >> 64), static_cast<uint64_t>(end) | 1, binary + 64},
               &end_bits) &&
           *bits == end_bits;
}

/* Sets *bits to the double of mantissa * 10^exponent. Returns false if it is unknown. The mantissa
 * must not be 0, and the exponent of its first digit must be within
 * -DECIMAL_EXPONENT_MOST..DECIMAL_EXPONENT_MOST. */
__device__ __forceinline__ bool thread_decimal_bits(uint64_t mantissa, int exponent, uint64_t *bits)
{
    if (exponent >= FINE_POWERS || exponent <= -FINE_POWERS)
        return thread_coarse_product(mantissa, exponent, bits);
    return thread_round_twice(exponent < 0 ? thread_fine_quotient(mantissa, -exponent)
                                           : thread_fine_product(mantissa, exponent),
                              bits);
}

#endif
