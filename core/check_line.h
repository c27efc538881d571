/* SPDX-License-Identifier: Apache-2.0 */
/* check_line.h - the proof of lines that were gathered from a text: their sum, as check_sum_text
 * would have found it where they stood, the sum of their items, and their order. Inline for one
 * that is short, by vectors for many.
 */
#ifndef CORE_CHECK_LINE_H
#define CORE_CHECK_LINE_H

#include "core/check_hash.h"
#include "core/check_kernels.h"
#include "core/check_sum.h"
#include "core/line_item.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* Lines behind each other in some text, of which each was taken from a place of its own. */
#define CHECK_LINES_MAX 64
struct check_lines {
    size_t count;
    size_t bounds[CHECK_LINES_MAX + 1]; /* line k is the bytes from bounds[k] to bounds[k + 1] */
    uint64_t places[CHECK_LINES_MAX];   /* where they were taken from */
};

/* No line yet; the first one begins at `begin`. */
static inline void check_lines_start(struct check_lines *lines, size_t begin)
{
    lines->count = 0;
    lines->bounds[0] = begin;
}

/* One more, up to `end`. */
static inline void check_lines_add(struct check_lines *lines, size_t end, uint64_t place)
{
    lines->places[lines->count++] = place;
    lines->bounds[lines->count] = end;
}

/* The sum of them in text[0..room), all of which can be read; count is of bytes. */
struct check_sum check_sum_lines(const struct check_lines *lines, const unsigned char *text,
                                 size_t room);

/* What is seen of as many items (line_item.h) as there are lines. */
struct check_items {
    uint64_t hash;      /* the sum of them by check_bind_pair */
    uint64_t not_above; /* bit k: the key of line k is not greater than the one before it */
    uint64_t tied;      /* bit k, not of the first: the two keys are equal, and both exact */
};

/* Looks at them, the last one before which has the key, and notes the places that they have. */
struct check_items check_line_items(struct check_lines *lines, const struct key_index *items,
                                    uint64_t previous_key);

/* Whether no item has a key that is less than that of the one before it. */
bool check_keys_rise(const struct key_index *items, size_t count);

/* Of those lines whose bits are set in `which`, of text[0..room), the ones of which it is not seen
 * at once that they may stand behind the line before them: because they are the same bytes, or, if
 * tied, go behind it as bytes; `reversed`: before it. The first stays. */
uint64_t check_lines_open(const struct check_lines *lines, uint64_t which, uint64_t tied,
                          bool reversed, const unsigned char *text, size_t room);

#endif
