/* SPDX-License-Identifier: Apache-2.0 */
/* lines_few.c - see lines_few.h.
 *
 *   lines -> words of 128 bits: 15 bytes, and their number
 *     -> each word is compared with every other one, which gives its rank
 *
 * No branch depends on the contents of lines: branches on the order of equal values would be
 * mispredicted half of the time.
 */
#include "formats/lines/lines_few.h"

#include <string.h>

typedef unsigned __int128 few_word;

/* The lowest byte of the word of a line with more bytes. */
#define MORE_BYTES (LINES_FEW_BYTES + 1)

/* Returns 15 bytes, the first one on top, zeros after the end; in the lowest byte their number. */
static inline few_word word_of(const char *line, uint64_t terminators)
{
    static const unsigned char all_and_none[16 + 16] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                        255, 255, 255, 255, 255, 255, 255, 255};
    uint64_t words[2], masks[2];
    memcpy(words, line, sizeof words);
    const uint64_t ends = byte_mask_bits(byte_mask(words[0], terminators)) |
                          byte_mask_bits(byte_mask(words[1], terminators)) << 8;
    const unsigned bytes = (unsigned)__builtin_ctzll(ends | (uint64_t)1 << MORE_BYTES);
    memcpy(masks, all_and_none + MORE_BYTES - bytes, sizeof masks);
    const uint64_t high = __builtin_bswap64(words[0] & masks[0]);
    const uint64_t low = __builtin_bswap64(words[1] & masks[1]) & ~(uint64_t)0xff;
    return (few_word)high << 64 | low | bytes;
}

bool lines_few_sort(const struct lines *lines, struct key_index *items, size_t count, size_t from,
                    bool is_descending, bool *equal_before)
{
    const uint64_t terminators = byte_in_all(lines->order->terminator);
    const few_word complement = is_descending ? ~(few_word)0 : 0;
    few_word words[LINES_FEW], sorted[LINES_FEW];
    uint64_t indices[LINES_FEW];
    size_t places[LINES_FEW];
    for (size_t i = 0; i < count; ++i) {
        const few_word word = word_of(line_text(lines, items[i]) + from, terminators) ^ complement;
        size_t place = 0;
        for (size_t k = 0; k < i; ++k) {
            const bool goes_before = word < words[k];
            places[k] += goes_before;
            place += !goes_before;
        }
        words[i] = word;
        places[i] = place;
    }
    for (size_t i = 0; i < count; ++i) {
        sorted[places[i]] = words[i];
        indices[places[i]] = items[i].index;
    }
    bool any_equal = false;
    for (size_t i = 0; i < count; ++i) {
        items[i].index = indices[i];
        equal_before[i] = i > 0 && sorted[i] == sorted[i - 1] &&
                          (unsigned char)(sorted[i] ^ complement) == MORE_BYTES;
        any_equal |= equal_before[i];
    }
    return any_equal;
}
