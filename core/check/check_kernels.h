/* SPDX-License-Identifier: Apache-2.0 */
/* check_kernels.h - the hashes for the proof of output, and the inner loops of check.h for each
 * width of keys.
 */
#ifndef CORE_CHECK_KERNELS_H
#define CORE_CHECK_KERNELS_H

#include "core/host_device.h"
#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Hashes, for host and device ---- */

/* Hash of a 64-bit number. A bijection spreads it over 64 bits, so that each half depends on all of
 * it. The product of the two halves is added: without it the hash would be nearly a multiple of the
 * number, and two keys that exchange some of their bits would keep their sum. */
#define CHECK_MIX_FACTOR 0x9e3779b97f4a7c15u
HOST_DEVICE static inline uint64_t check_mix(uint64_t x)
{
    const uint64_t spread = (x ^ x >> 32) * CHECK_MIX_FACTOR;
    return spread + (spread & UINT32_MAX) * (spread >> 32);
}

/* Hash of a struct key_index. */
HOST_DEVICE static inline uint64_t check_mix_pair(uint64_t key, uint64_t index)
{
    return check_mix(key + index * 0xd1342543de82ef95u);
}

/* Hash of an item of a line, whose index is checked otherwise. A changed key always changes a sum
 * of these. Two exchanged keys change it unless the product of the differences of the keys and of
 * the indices is a multiple of 2^63. That is rare, except if the keys differ only in their top bits
 * and all lines have the same length, a power of two. */
HOST_DEVICE static inline uint64_t check_bind_pair(uint64_t key, uint64_t index)
{
    return key * (2 * index + 1);
}

/* Hash of two bytes: the product of two 16-bit numbers, which vectors multiply and add at once, and
 * below it 16 bits of another product. All 65536 hashes are different. */
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

/* Hash of a byte: one product, as above. All 256 hashes are different, and so are the sums of any
 * two. So one or two changed bytes among many always change the sum. */
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

/* Returns the factor for the 8 bytes of word `i` of a text, the first byte lowest, in the text's
 * sum. It is odd, so a changed word always changes the sum. Two exchanged words change it too,
 * except some that differ only in their top byte. The sum of a word cut in two is the sum of both
 * parts, with zeros for the bytes of the other part. */
#define CHECK_TEXT_STEP 0x9e3779b97f4a7c15u
HOST_DEVICE static inline uint64_t check_text_factor_of(uint64_t steps) /* i * CHECK_TEXT_STEP */
{
    return (steps ^ steps >> 32) | 1;
}
HOST_DEVICE static inline uint64_t check_text_factor(uint64_t i)
{
    return check_text_factor_of(i * CHECK_TEXT_STEP);
}

/* ---- Loops over keys and bytes ---- */

/* Returns the sum of the hashes of keys of `key_bytes` bytes: 1, 2, 4, 8; 16: struct key_index. */
uint64_t check_hash_keys(unsigned key_bytes, const void *keys, size_t count);

/* Returns the index of the first of keys[0..count) that belongs before its predecessor; count if
 * there is none. `previous` is the predecessor of the first key, or NULL. struct key_index is
 * compared by key and index. Adds the hashes of all keys to *hash. */
size_t check_find_disorder(unsigned key_bytes, struct key_order order, const void *previous,
                           const void *keys, size_t count, uint64_t *hash);

/* Returns the sum of data[0..bytes), which is at position `position` of a text; see struct
 * text_check in check.h. */
uint64_t check_sum_text(uint64_t position, const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
