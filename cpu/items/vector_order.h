/* SPDX-License-Identifier: Apache-2.0 */
/* vector_order.h - key_order_encode and key_order_decode (core/key_order.h) for vectors of keys. */
#ifndef CPU_VECTOR_ORDER_H
#define CPU_VECTOR_ORDER_H

#include "core/key_order.h"
#include "core/vector_code.h"

#ifdef HAVE_VECTOR_CODE

/* A key_order as steps that are the same for every kind: the XOR mask depends on the sign bit. */
struct vector_order {
    __m512i bytes;            /* byte shuffle within 16 bytes: identity, or swapped byte order */
    __m512i if_set, if_clear; /* XOR masks for a set and a clear sign bit */
    __m512i bias;             /* subtracted after the XOR */
    __m512i complement;       /* XORed last */
};

/* Sets all lanes: 32-bit lanes for 4-byte keys, 64-bit lanes for 8-byte keys. */
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
        if (order.swap_bytes) /* of the 8 bytes, then restores the order of the two 4-byte keys */
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

/* XORs x with a mask chosen by its sign bit. */
VECTOR_INLINE __m512i vector_flip(unsigned bits, __m512i x, __m512i if_clear, __m512i if_set)
{
    const __m512i flip = bits == 32
                             ? _mm512_mask_mov_epi32(if_clear, _mm512_movepi32_mask(x), if_set)
                             : _mm512_mask_mov_epi64(if_clear, _mm512_movepi64_mask(x), if_set);
    return _mm512_xor_si512(x, flip);
}

/* key_order_encode for each lane. */
VECTOR_INLINE __m512i vector_encode(unsigned bits, const struct vector_order *order, __m512i stored)
{
    __m512i x = _mm512_shuffle_epi8(stored, order->bytes);
    x = vector_flip(bits, x, order->if_clear, order->if_set);
    x = bits == 32 ? _mm512_sub_epi32(x, order->bias) : _mm512_sub_epi64(x, order->bias);
    return _mm512_xor_si512(x, order->complement);
}

/* key_order_decode for each lane. After encoding the sign bit of a float or a signed integer is
 * inverted, so the masks are exchanged. */
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
