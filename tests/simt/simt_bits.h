/* SPDX-License-Identifier: Apache-2.0 */
/* simt_bits.h - CUDA's bit intrinsics, and its min and max, as plain C++. */
#ifndef SIMT_BITS_H
#define SIMT_BITS_H

#include <stdint.h>
#include <string.h>

/* ---- bits ---- */

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}

inline int __clzll(long long x)
{
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}

inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}

/* Nibble i of the selector selects byte i of the result from the 8 bytes of high:low. */
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    const uint64_t bytes = (uint64_t)high << 32 | low;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned nibble = selector >> 4 * i & 15;
        unsigned byte = (unsigned)(bytes >> 8 * (nibble & 7) & 0xff);
        if (nibble & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}

inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}

inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

inline long long __double_as_longlong(double x)
{
    long long bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* ---- min and max, with CUDA's overloads for mixed signs ---- */

#define SIMT_MIN_MAX(result, type_a, type_b)                                                       \
    constexpr result min(type_a a, type_b b)                                                       \
    {                                                                                              \
        return (result)a < (result)b ? (result)a : (result)b;                                      \
    }                                                                                              \
    constexpr result max(type_a a, type_b b)                                                       \
    {                                                                                              \
        return (result)a > (result)b ? (result)a : (result)b;                                      \
    }
#define SIMT_MIN_MAX_INTEGER(type)                                                                 \
    SIMT_MIN_MAX(type, type, type)                                                                 \
    SIMT_MIN_MAX(unsigned type, unsigned type, unsigned type)                                      \
    SIMT_MIN_MAX(unsigned type, type, unsigned type)                                               \
    SIMT_MIN_MAX(unsigned type, unsigned type, type)
SIMT_MIN_MAX_INTEGER(int)
SIMT_MIN_MAX_INTEGER(long)
SIMT_MIN_MAX_INTEGER(long long)
#undef SIMT_MIN_MAX_INTEGER
#undef SIMT_MIN_MAX

/* A NaN is ignored if the other operand is a number, as in CUDA. */
#define SIMT_MIN_MAX_FLOAT(type, suffix)                                                           \
    inline type min(type a, type b)                                                                \
    {                                                                                              \
        return __builtin_fmin##suffix(a, b);                                                       \
    }                                                                                              \
    inline type max(type a, type b)                                                                \
    {                                                                                              \
        return __builtin_fmax##suffix(a, b);                                                       \
    }
SIMT_MIN_MAX_FLOAT(float, f)
SIMT_MIN_MAX_FLOAT(double, )
#undef SIMT_MIN_MAX_FLOAT

#endif
