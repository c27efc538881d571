/* SPDX-License-Identifier: Apache-2.0 */
/* byte_words.h - finds bytes in 8-byte words: a given byte, in portable code for host and device,
 * how often a text has it, and the first difference of two texts.
 */
#ifndef CORE_BYTE_WORDS_H
#define CORE_BYTE_WORDS_H

#include "core/host_device.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns a word with `byte` in each of its bytes. */
HOST_DEVICE static inline uint64_t byte_in_all(char byte)
{
    return (unsigned char)byte * (uint64_t)0x0101010101010101u;
}

/* Returns 0x80 in each byte of the word that equals that byte of `all`, and 0 in the others. */
HOST_DEVICE static inline uint64_t byte_mask(uint64_t word, uint64_t all)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    const uint64_t difference = word ^ all;
    return ~(((difference & low) + low) | difference | low);
}

/* Returns the top bits of the bytes as the lowest 8 bits. All other bits of `tops` are 0. */
HOST_DEVICE static inline uint64_t byte_mask_bits(uint64_t tops)
{
    return (tops >> 7) * 0x0102040810204080u >> 56;
}

/* Returns the length of the common prefix, at most `most`. Both texts have `most` bytes. */
static inline size_t bytes_common(const char *a, const char *b, size_t most)
{
    size_t i = 0;
    for (; most - i >= 8; i += 8) {
        uint64_t x, y;
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        if (x != y)
            return i + (size_t)__builtin_ctzll(x ^ y) / 8;
    }
    while (i < most && a[i] == b[i])
        ++i;
    return i;
}

/* Returns how often the byte occurs in text[0..bytes). */
static inline size_t bytes_count(const char *text, size_t bytes, char byte)
{
    const uint64_t all = byte_in_all(byte);
    size_t count = 0, i = 0;
    while (bytes - i >= 8) {
        /* Each byte of the sums can count to 255. */
        const size_t words = (bytes - i) / 8 < 255 ? (bytes - i) / 8 : 255;
        uint64_t sums = 0;
        for (size_t k = 0; k < words; ++k, i += 8) {
            uint64_t word;
            memcpy(&word, text + i, 8);
            sums += byte_mask(word, all) >> 7;
        }
        const uint64_t pairs = (sums & 0x00ff00ff00ff00ffu) + (sums >> 8 & 0x00ff00ff00ff00ffu);
        count += pairs * 0x0001000100010001u >> 48;
    }
    for (; i < bytes; ++i)
        count += text[i] == byte;
    return count;
}

#endif
