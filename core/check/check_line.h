/* SPDX-License-Identifier: Apache-2.0 */
/* check_line.h - checks of lines that were gathered from a text: their checksum at their old
 * positions, as check_sum_text() computes it, the sum of their items, and their order. Inline for
 * one short line, and with vectors for many lines.
 */
#ifndef CORE_CHECK_LINE_H
#define CORE_CHECK_LINE_H

#include "core/check/check_kernels.h"
#include "core/check/tap.h"
#include "core/line/line_key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A line of at most CHECK_LINE_BYTES bytes has parts in at most three words. CHECK_LINE_SLACK bytes
 * after the line must be readable; their contents do not matter. */
#define CHECK_LINE_BYTES ((size_t)17)
#define CHECK_LINE_SLACK ((size_t)24)

/* Returns the first `bytes` of the 8 bytes at `at`, and zeros for the others. bytes: -16 to 24. */
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

/* Returns the sum of line[0..bytes), at most CHECK_LINE_BYTES, at position `place` of its text. It
 * has no branch, because the words end differently in each line. */
static inline uint64_t check_sum_short_line(uint64_t place, const unsigned char *line, size_t bytes)
{
    const ptrdiff_t left = (ptrdiff_t)bytes, skipped = (ptrdiff_t)(place % 8), head = 8 - skipped;
    const uint64_t word = place / 8;
    return (check_first_bytes(line, left) << 8 * skipped) * check_text_factor(word) +
           check_first_bytes(line + head, left - head) * check_text_factor(word + 1) +
           check_first_bytes(line + head + 8, left - head - 8) * check_text_factor(word + 2);
}

/* Returns the sum of a line of any length. `slack` bytes after it are readable. */
static inline uint64_t check_sum_line(uint64_t place, const unsigned char *line, size_t bytes,
                                      size_t slack)
{
    return bytes <= CHECK_LINE_BYTES && slack >= CHECK_LINE_SLACK
               ? check_sum_short_line(place, line, bytes)
               : check_sum_text(place, line, bytes);
}

/* Consecutive lines in a text, each gathered from a position of its own. */
#define CHECK_LINES_MAX 64
struct check_lines {
    size_t count;
    size_t bounds[CHECK_LINES_MAX + 1]; /* line k is the bytes [bounds[k], bounds[k + 1]) */
    uint64_t places[CHECK_LINES_MAX];   /* the position that line k was gathered from */
};

/* Starts with no lines. The first one begins at `begin`. */
static inline void check_lines_start(struct check_lines *lines, size_t begin)
{
    lines->count = 0;
    lines->bounds[0] = begin;
}

/* Adds a line that ends at `end` and was gathered from `place`. */
static inline void check_lines_add(struct check_lines *lines, size_t end, uint64_t place)
{
    lines->places[lines->count++] = place;
    lines->bounds[lines->count] = end;
}

/* Returns the checksum of the lines in text[0..room), all of which is readable. Its `count` is the
 * number of bytes. */
struct check_sum check_sum_lines(const struct check_lines *lines, const unsigned char *text,
                                 size_t room);

/* The results for the items (line_key.h) of the lines. */
struct check_items {
    uint64_t hash;      /* sum of the items by check_bind_pair() */
    uint64_t not_above; /* bit k: the key of line k is not greater than the key before it */
    uint64_t tied;      /* bit k, k > 0: the two keys are equal, and both are exact */
};

/* Computes the results for as many items as there are lines, and sets the lines' places from them.
 * previous_key: the key of the item before items[0]. */
struct check_items check_line_items(struct check_lines *lines, const struct key_index *items,
                                    uint64_t previous_key);

/* Returns true if no item has a smaller key than the item before it. */
bool check_keys_rise(const struct key_index *items, size_t count);

/* Returns the lines of `which` (bit k: line k of text[0..room)) that still need a full comparison
 * with the line before. A line needs none if it has the same bytes as the line before. Nor does a
 * line in `tied` with greater bytes (`reversed`: smaller bytes). Line 0 always needs one. May
 * return more lines than necessary. */
uint64_t check_lines_open(const struct check_lines *lines, uint64_t which, uint64_t tied,
                          bool reversed, const unsigned char *text, size_t room);

#endif
