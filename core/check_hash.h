/* check_hash.h - the hashes that the proof of output (check.h) is made of, for host and device.
 */
#ifndef CORE_CHECK_HASH_H
#define CORE_CHECK_HASH_H

#include "core/host_device.h"

#include <stdint.h>

/* Of 64 bits to 64 bits, one to one; every bit of x has a part in the upper half of the result. Two
 * rounds of the finalizer of Steele and others, "Fast splittable pseudorandom number generators"
 * (2014), with a shift that is a no-op for keys of 32 bits. */
HOST_DEVICE static inline uint64_t check_mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15u;
    return (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
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
    return (x ^ x >> 15) * 0x85ebca6bu;
}

/* What the 8 bytes of word `i` of a text, the first one lowest, are multiplied by in the sum of the
 * text. Odd, so that a word that changes always changes the sum, as words that change places do,
 * but for some that differ in their top byte alone; and the sum of a word cut in two is that of
 * both parts, with zeros for the bytes that are the other's. */
#define CHECK_TEXT_STEP 0x9e3779b97f4a7c15u
HOST_DEVICE static inline uint64_t check_text_factor(uint64_t i)
{
    const uint64_t x = i * CHECK_TEXT_STEP;
    return (x ^ x >> 32) | 1;
}

#endif
