/* SPDX-License-Identifier: Apache-2.0 */
/* check_hash.h - the hashes that the proof of output (check.h) is made of, for host and device.
 */
#ifndef CORE_CHECK_HASH_H
#define CORE_CHECK_HASH_H

#include "core/host_device.h"

#include <stdint.h>

/* Of 64 bits. The number is spread over 64 bits, one to one, so that each half depends on all of
 * it; to that is added the product of the two halves: what is added up must not be nearly a
 * multiple of the number, or two keys that exchange some of their bits would have the sum that they
 * had. */
#define CHECK_MIX_FACTOR 0x9e3779b97f4a7c15u
HOST_DEVICE static inline uint64_t check_mix(uint64_t x)
{
    const uint64_t spread = (x ^ x >> 32) * CHECK_MIX_FACTOR;
    return spread + (spread & UINT32_MAX) * (spread >> 32);
}

/* Of a struct key_index. */
HOST_DEVICE static inline uint64_t check_mix_pair(uint64_t key, uint64_t index)
{
    return check_mix(key + index * 0xd1342543de82ef95u);
}

/* Of an item of a line, of which the index is proved otherwise: a key that changes always changes a
 * sum of these. Keys that change places do unless the product of how far the two keys and the two
 * indices are apart is a multiple of 2^63: most do, but not where keys differ in their top bits
 * alone and lines are all of one length, a power of two. */
HOST_DEVICE static inline uint64_t check_bind_pair(uint64_t key, uint64_t index)
{
    return key * (2 * index + 1);
}

/* Of two bytes: the product of two numbers of 16 bits, which vectors multiply and add up at once,
 * and below it 16 bits of another one. All 65536 are different. */
#define CHECK_WORD_FACTOR 0x3d8f
#define CHECK_WORD_OTHER_FACTOR 0x5875
#define CHECK_WORD_OTHER_START ((int16_t)0x9585)
#define CHECK_WORD_THIRD_FACTOR ((int16_t)0xcbef)
HOST_DEVICE static inline int32_t check_word_product(uint16_t x)
{
    const int16_t a = (int16_t)(x * (unsigned)CHECK_WORD_FACTOR);
    const int16_t b =
        (int16_t)(x * (unsigned)CHECK_WORD_OTHER_FACTOR + (unsigned)CHECK_WORD_OTHER_START);
    return a * b;
}
HOST_DEVICE static inline int32_t check_word_below(uint16_t x)
{
    const int16_t a = (int16_t)(x * (unsigned)CHECK_WORD_FACTOR);
    const int16_t c = (int16_t)(x * (unsigned)CHECK_WORD_THIRD_FACTOR);
    return a * c >> 16;
}
HOST_DEVICE static inline uint64_t check_mix_word(uint16_t x)
{
    return ((uint64_t)check_word_product(x) << 32) + (uint64_t)check_word_below(x);
}

/* Of a byte, the same without the second product. All 256 are different, as are the sums of any two
 * of them: so if one byte of many changes, or two do, the sum of all always changes. */
#define CHECK_BYTE_FACTOR ((int16_t)0xe5af)
#define CHECK_BYTE_OTHER_FACTOR ((int16_t)0x940b)
#define CHECK_BYTE_OTHER_START ((int16_t)0xc693)
HOST_DEVICE static inline int32_t check_byte_product(uint8_t x)
{
    const int16_t a = (int16_t)(x * CHECK_BYTE_FACTOR);
    const int16_t b = (int16_t)(x * CHECK_BYTE_OTHER_FACTOR + CHECK_BYTE_OTHER_START);
    return a * b;
}
HOST_DEVICE static inline uint64_t check_mix_byte(uint8_t x)
{
    return (uint64_t)check_byte_product(x) << 32;
}

/* What the 8 bytes of word `i` of a text, the first one lowest, are multiplied by in the sum of the
 * text. Odd, so that a word that changes always changes the sum, as words that change places do,
 * but for some that differ in their top byte alone; and the sum of a word cut in two is that of
 * both parts, with zeros for the bytes that are the other's. */
#define CHECK_TEXT_STEP 0x9e3779b97f4a7c15u
HOST_DEVICE static inline uint64_t check_text_factor_of(uint64_t steps) /* i * CHECK_TEXT_STEP */
{
    return (steps ^ steps >> 32) | 1;
}
HOST_DEVICE static inline uint64_t check_text_factor(uint64_t i)
{
    return check_text_factor_of(i * CHECK_TEXT_STEP);
}

#endif
