/* SPDX-License-Identifier: Apache-2.0 */
/* refine_text.cuh - compares lines in a thread, 8 bytes at a time, up to their terminator.
 *
 * Lines are also sorted by words of 6 bytes. A round sorts items of 128 bits:
 *
 *   run (32 bits), 6 bytes of the line, number of bytes left in the line (3), offset of the line
 * (45)
 *
 * So runs stay together, the lines of a run are ordered by their bytes, and lines with equal bytes
 * by their offsets. The number of bytes left is 7 if it is more than 6. The offset is an item's
 * index, whose lowest bit is the same in a whole run; a text has less than 2^44 bytes.
 */
#ifndef CUDA_REFINE_TEXT_CUH
#define CUDA_REFINE_TEXT_CUH

#include "core/line/line_key.h"
#include "cuda/tuning.h"

#include <cuda_runtime.h>

constexpr unsigned REFINE_WORD_BYTES = 6;
constexpr unsigned REFINE_LEFT_BITS = 3;
constexpr unsigned REFINE_PLACE_BITS = 45;
constexpr unsigned REFINE_LEFT_MORE = (1u << REFINE_LEFT_BITS) - 1;
/* Number of low bits of a word (with the number of bytes left) that are in the item's index; the
 * others are in its key. */
constexpr unsigned REFINE_LOW_BITS = 64 - REFINE_PLACE_BITS;
constexpr uint64_t REFINE_WORD_MASK =
    ((uint64_t)1 << (8 * REFINE_WORD_BYTES + REFINE_LEFT_BITS)) - 1;
constexpr uint64_t REFINE_PLACE_MASK = ((uint64_t)1 << REFINE_PLACE_BITS) - 1;

static_assert(32 + 8 * REFINE_WORD_BYTES + REFINE_LEFT_BITS + REFINE_PLACE_BITS == 128, "an item");

struct refine_text {
    const unsigned char *text;
    uint64_t terminators; /* the terminator in each byte */
};

/* Returns the 8 bytes at `place`, the first one lowest. Reads up to 15 bytes after the first. */
__device__ __forceinline__ uint64_t thread_text_word(const struct refine_text &text, size_t place)
{
    const uint64_t *const words = reinterpret_cast<const uint64_t *>(text.text) + place / 8;
    const unsigned shift = static_cast<unsigned>(place % 8) * 8;
    return words[0] >> shift | words[1] << 1 << (63 - shift);
}

/* Returns a value whose lowest set bit is bit 7 of the word's first terminator; 0 if there is no
 * terminator. */
__device__ __forceinline__ uint64_t thread_find_end(const struct refine_text &text, uint64_t word)
{
    const uint64_t difference = word ^ text.terminators;
    return (difference - 0x0101010101010101u) & ~difference & 0x8080808080808080u;
}

/* Returns true if the bytes from `a` on, up to the terminator, equal those from `b` on. Also
 * returns false if the first REFINE_WALK_BYTES are equal and without a terminator. */
__device__ __forceinline__ bool thread_is_same_line(const struct refine_text &text, size_t a,
                                                    size_t b)
{
    for (unsigned walked = 0; walked < REFINE_WALK_BYTES; walked += 8) {
        const uint64_t word = thread_text_word(text, a + walked);
        const uint64_t difference = word ^ thread_text_word(text, b + walked);
        const uint64_t end = thread_find_end(text, word);
        if ((difference | end) != 0)
            return end != 0 && (difference & (end ^ (end - 1))) == 0;
    }
    return false;
}

__device__ __forceinline__ uint64_t thread_reverse_bytes(uint64_t word)
{
    const unsigned low = static_cast<unsigned>(word), high = static_cast<unsigned>(word >> 32);
    return (uint64_t)__byte_perm(low, 0, 0x0123) << 32 | __byte_perm(high, 0, 0x0123);
}

/* Returns the word of the line whose next byte is at `place`: its bytes above the number of bytes
 * left. Bytes past the end are 0.
 */
__device__ __forceinline__ uint64_t thread_line_word(const struct refine_text &text, size_t place)
{
    const uint64_t word = thread_text_word(text, place);
    const uint64_t end = thread_find_end(text, word);
    const unsigned length = end == 0 ? 8 : static_cast<unsigned>(__ffsll(end) - 1) / 8;
    const unsigned left = length < REFINE_LEFT_MORE ? length : REFINE_LEFT_MORE;
    const unsigned bytes = length < REFINE_WORD_BYTES ? length : REFINE_WORD_BYTES;
    if (bytes == 0)
        return 0;
    const uint64_t top = thread_reverse_bytes(word) >> (64 - 8 * bytes);
    return top << (8 * (REFINE_WORD_BYTES - bytes) + REFINE_LEFT_BITS) | left;
}

__device__ __forceinline__ struct key_index thread_round_item(unsigned run, uint64_t word,
                                                              uint64_t place)
{
    struct key_index item;
    item.key = (uint64_t)run << 32 | word >> REFINE_LOW_BITS;
    item.index = word << REFINE_PLACE_BITS | place;
    return item;
}

/* Returns true if the lines that have the item's word end in it. The word is complemented by
 * `complement`. */
__device__ __forceinline__ bool thread_word_is_last(struct key_index item, uint64_t complement)
{
    const uint64_t word = item.index >> REFINE_PLACE_BITS ^ complement;
    return (word & REFINE_LEFT_MORE) != REFINE_LEFT_MORE;
}

#endif
