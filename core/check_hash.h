/* check_hash.h - the hashes that the proof of output (check.h) is made of, for host and device.
 */
#ifndef CORE_CHECK_HASH_H
#define CORE_CHECK_HASH_H

#include "core/host_device.h"

#include <stdint.h>

/* Of 64 bits to 64 bits, one to one; every bit of x has a part in the upper half of the result. As
 * the finalizer of Steele and others, "Fast splittable pseudorandom number generators" (2014), but
 * for its last multiplication: these are added up, and to multiply each by an odd number is to
 * multiply the sum, which makes equal sums of the same keys. The first shift is a no-op for keys of
 * 32 bits. */
HOST_DEVICE static inline uint64_t check_mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/* Of a struct key_index: if one of the two changes, the result does. */
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

/* As check_mix, of 32 bits: twice as many fit a vector. */
HOST_DEVICE static inline uint32_t check_mix_narrow(uint32_t x)
{
    x *= 0x9e3779b1u;
    return x ^ x >> 15;
}

/* As check_mix_narrow, of a byte: the product of two numbers of 16 bits, which vectors multiply and
 * add up at once. All 256 are different, as are the sums of any two of them: so if one byte of many
 * changes, or two do, the sum of all always changes. */
HOST_DEVICE static inline uint32_t check_mix_byte(uint8_t x)
{
    const int16_t a = (int16_t)(x * 0xe5af), b = (int16_t)(x * 0x940b + 0xc693);
    return (uint32_t)(a * b);
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
