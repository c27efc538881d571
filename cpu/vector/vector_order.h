/* SPDX-License-Identifier: Apache-2.0 */
/* vector_order.h - the ordered bits of keys (core/key_order.h), a vector of keys at a time. */
#ifndef CPU_VECTOR_ORDER_H
#define CPU_VECTOR_ORDER_H

#include "core/key_order.h"
#include "core/vector_units.h"

#ifdef HAVE_VECTOR_CODE

/* A key_order in steps that are the same for every kind: what is XORed goes by the sign bit. */
struct vector_order {
    __m512i bytes;            /* of a shuffle in each 16 bytes: their order in memory, or swapped */
    __m512i if_set, if_clear; /* XORed where the sign bit is set or clear */
    __m512i bias;             /* subtracted then */
    __m512i complement;       /* XORed last */
};

/* Lanes of 32 bits for keys of 4 bytes, of 64 for those of 8. */
VECTOR_INLINE __m512i vector_fill(unsigned bits, uint64_t value)
{
    return bits == 32 ? _mm512_set1_epi32((int)value) : _mm512_set1_epi64((long long)value);
}

VECTOR_INLINE struct vector_order vector_order_make(struct key_order order, unsigned bits)
{
    const uint64_t all = key_bits_mask(bits), sign = 1ull << (bits - 1);
    const uint64_t as_stored[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    uint64_t bytes[2];
    for (unsigned half = 0; half < 2; half++) {
        bytes[half] = as_stored[half];
        if (order.swap_bytes) /* of the half, and then back the order of its two keys of 4 bytes */
            bytes[half] = __builtin_bswap64(bytes[half]);
        if (order.swap_bytes && bits == 32)
            bytes[half] = bytes[half] << 32 | bytes[half] >> 32;
    }
    const __m128i pair = _mm_set_epi64x((long long)bytes[1], (long long)bytes[0]);
    struct vector_order vectors;
    vectors.bytes = _mm512_broadcast_i32x4(pair);
    vectors.if_set = vector_fill(bits, order.kind == KEY_FLOAT    ? all
                                       : order.kind == KEY_SIGNED ? sign
                                                                  : 0);
    vectors.if_clear = vector_fill(bits, order.kind == KEY_UNSIGNED ? 0 : sign);
    vectors.bias = vector_fill(bits, order.bias);
    vectors.complement = vector_fill(bits, order.complement);
    return vectors;
}

/* The XOR of x by its sign bit. */
VECTOR_INLINE __m512i vector_flip(unsigned bits, __m512i x, __m512i if_clear, __m512i if_set)
{
    const __m512i flip = bits == 32
                             ? _mm512_mask_mov_epi32(if_clear, _mm512_movepi32_mask(x), if_set)
                             : _mm512_mask_mov_epi64(if_clear, _mm512_movepi64_mask(x), if_set);
    return _mm512_xor_si512(x, flip);
}

/* key_order_encode of each lane. */
VECTOR_INLINE __m512i vector_encode(unsigned bits, const struct vector_order *order, __m512i stored)
{
    __m512i x = _mm512_shuffle_epi8(stored, order->bytes);
    x = vector_flip(bits, x, order->if_clear, order->if_set);
    x = bits == 32 ? _mm512_sub_epi32(x, order->bias) : _mm512_sub_epi64(x, order->bias);
    return _mm512_xor_si512(x, order->complement);
}

/* The inverse. What was flipped shows by the sign bit that it has now: a float's is the other one,
 * and so is a signed integer's. */
VECTOR_INLINE __m512i vector_decode(unsigned bits, const struct vector_order *order,
                                    __m512i ordered)
{
    __m512i x = _mm512_xor_si512(ordered, order->complement);
    x = bits == 32 ? _mm512_add_epi32(x, order->bias) : _mm512_add_epi64(x, order->bias);
    x = vector_flip(bits, x, order->if_set, order->if_clear);
    return _mm512_shuffle_epi8(x, order->bytes);
}

#endif
#endif
