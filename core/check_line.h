/* check_line.h - the sum of a line of a text, as of check_sum_text, inline where it is short.
 */
#ifndef CORE_CHECK_LINE_H
#define CORE_CHECK_LINE_H

#include "core/check_hash.h"
#include "core/check_kernels.h"

#include <stddef.h>
#include <string.h>

/* Lines of no more bytes have parts in three words at most. So many bytes behind them have to be
 * readable, though they may mean nothing. */
#define CHECK_LINE_BYTES ((size_t)17)
#define CHECK_LINE_SLACK ((size_t)24)

/* The first `bytes` of the 8 bytes at `at`, zeros behind them; -16 to 24. */
static inline uint64_t check_first_bytes(const unsigned char *at, ptrdiff_t bytes)
{
    static const unsigned char all_and_none[24 + 24] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    };
    uint64_t word, mask;
    memcpy(&word, at, sizeof word);
    memcpy(&mask, all_and_none + (24 - bytes), sizeof mask);
    return word & mask;
}

/* Of line[0..bytes), which are CHECK_LINE_BYTES at most and stand, or stood, from byte `place` of
 * the text on. Without a branch, as where the words end is different with each line. */
static inline uint64_t check_sum_short_line(uint64_t place, const unsigned char *line, size_t bytes)
{
    const ptrdiff_t left = (ptrdiff_t)bytes, skipped = (ptrdiff_t)(place % 8), head = 8 - skipped;
    const uint64_t word = place / 8;
    return (check_first_bytes(line, left) << 8 * skipped) * check_text_factor(word) +
           check_first_bytes(line + head, left - head) * check_text_factor(word + 1) +
           check_first_bytes(line + head + 8, left - head - 8) * check_text_factor(word + 2);
}

/* Of a line of any length, behind which so many bytes can be read, though they may mean nothing. */
static inline uint64_t check_sum_line(uint64_t place, const unsigned char *line, size_t bytes,
                                      size_t slack)
{
    return bytes <= CHECK_LINE_BYTES && slack >= CHECK_LINE_SLACK
               ? check_sum_short_line(place, line, bytes)
               : check_sum_text(place, line, bytes);
}

#endif
