/* SPDX-License-Identifier: Apache-2.0 */
/* newlines.h - finding newlines, or what else ends a line, 8 bytes at a time, in any C compiler's
 * plain code.
 */
#ifndef FORMATS_NEWLINES_H
#define FORMATS_NEWLINES_H

#include "core/byte_mask.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How often the byte is in text[0..bytes). */
static inline size_t bytes_count(const char *text, size_t bytes, char byte)
{
    const uint64_t all = byte_in_all(byte);
    size_t count = 0, i = 0;
    while (bytes - i >= 8) {
        /* A byte of the sums counts to 255. */
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

/* Newlines in text[0..bytes). */
static inline size_t newlines_count(const char *text, size_t bytes)
{
    return bytes_count(text, bytes, '\n');
}

#endif
