/* newlines.h - finding newlines 8 bytes at a time, in any C compiler's plain code. */
#ifndef FORMATS_NEWLINES_H
#define FORMATS_NEWLINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 0x80 in each byte of the word that is a newline, 0 in the others. */
static inline uint64_t newline_mask(uint64_t word)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    const uint64_t difference = word ^ 0x0a0a0a0a0a0a0a0au;
    return ~(((difference & low) + low) | difference | low);
}

/* Newlines in text[0..bytes). */
static inline size_t newlines_count(const char *text, size_t bytes)
{
    size_t count = 0, i = 0;
    while (bytes - i >= 8) {
        /* A byte of the sums counts to 255. */
        const size_t words = (bytes - i) / 8 < 255 ? (bytes - i) / 8 : 255;
        uint64_t sums = 0;
        for (size_t k = 0; k < words; ++k, i += 8) {
            uint64_t word;
            memcpy(&word, text + i, 8);
            sums += newline_mask(word) >> 7;
        }
        const uint64_t pairs = (sums & 0x00ff00ff00ff00ffu) + (sums >> 8 & 0x00ff00ff00ff00ffu);
        count += pairs * 0x0001000100010001u >> 48;
    }
    for (; i < bytes; ++i)
        count += text[i] == '\n';
    return count;
}

#endif
