/* SPDX-License-Identifier: Apache-2.0 */
/* newlines.h - counts newlines or other terminators, 8 bytes per step, in portable code. */
#ifndef FORMATS_NEWLINES_H
#define FORMATS_NEWLINES_H

#include "core/byte_words.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Returns the number of newlines in text[0..bytes). */
static inline size_t newlines_count(const char *text, size_t bytes)
{
    return bytes_count(text, bytes, '\n');
}

#endif
