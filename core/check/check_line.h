/* SPDX-License-Identifier: Apache-2.0 */
/* check_line.h - checks of lines that were gathered from a text: their checksum at their old
 * positions, as check_sum_text() computes it, the sum of their items, and their order. The
 * sum of a short line is inline.
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

/* Longer lines are summed by check_sum_text(), which uses vectors. CHECK_LINE_SLACK bytes after a
 * shorter line must be readable; their contents do not matter. */
#define CHECK_LINE_BYTES ((size_t)64)
#define CHECK_LINE_SLACK ((size_t)8)

/* Returns the first `bytes` of the 8 bytes at `at`, at least 1, and zeros for the others. */
static inline uint64_t check_first_bytes(const unsigned char *at, size_t bytes)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    const size_t others = 8 * (8 - (bytes < 8 ? bytes : 8));
    return word << others >> others;
}

/* Returns the sum of line[0..bytes), at least one byte, at position `position` of its text. `slack`
 * bytes after it are readable. A short line is summed without a function call, word by word of its
 * text. */
static inline uint64_t check_sum_line(uint64_t position, const unsigned char *line, size_t bytes,
                                      size_t slack)
{
    if (bytes > CHECK_LINE_BYTES || slack < CHECK_LINE_SLACK)
        return check_sum_text(position, line, bytes);
    const size_t skipped = position % 8;
    uint64_t word = position / 8;
    uint64_t sum = (check_first_bytes(line, bytes) << 8 * skipped) * check_text_factor(word);
    for (size_t at = 8 - skipped; at < bytes; at += 8)
        sum += check_first_bytes(line + at, bytes - at) * check_text_factor(++word);
    return sum;
}

/* Consecutive lines in a text, each gathered from a position of its own. */
#define CHECK_LINES_MAX 64
struct check_lines {
    size_t count;
    size_t bounds[CHECK_LINES_MAX + 1];  /* line k is the bytes [bounds[k], bounds[k + 1]) */
    uint64_t positions[CHECK_LINES_MAX]; /* the position that line k was gathered from */
};

/* Starts with no lines. The first one begins at `begin`. */
static inline void check_lines_start(struct check_lines *lines, size_t begin)
{
    lines->count = 0;
    lines->bounds[0] = begin;
}

/* Adds a line that ends at `end` and was gathered from `position`. */
static inline void check_lines_add(struct check_lines *lines, size_t end, uint64_t position)
{
    lines->positions[lines->count++] = position;
    lines->bounds[lines->count] = end;
}

/* Returns the checksum of the lines in text[0..room), all of which is readable. Its `count` is the
 * number of bytes. */
struct check_sum check_sum_lines(const struct check_lines *lines, const unsigned char *text,
                                 size_t room);

/* The results for the items (line_image.h) of the lines. */
struct check_items {
    uint64_t hash;      /* sum of the items by check_bind_pair() */
    uint64_t not_above; /* bit k: the key of line k is not greater than the key before it */
    uint64_t tied;      /* bit k, k > 0: the two keys are equal, and both are exact */
};

/* Computes the results for as many items as there are lines, and sets the lines' positions from
 * them. previous_key: the key of the item before items[0]. */
struct check_items check_line_items(struct check_lines *lines, const struct key_index *items,
                                    uint64_t previous_key);

/* Returns true if no item has a smaller key than the item before it. */
bool check_keys_rise(const struct key_index *items, size_t count);

/* Returns the lines of `which` (bit k: line k) that still need a full comparison with the line
 * before. A line needs none if it has the same bytes as the line before. Nor does a
 * line in `tied` with greater bytes (`reversed`: smaller bytes). Line 0 always needs one. */
uint64_t check_lines_open(const struct check_lines *lines, uint64_t which, uint64_t tied,
                          bool reversed, const unsigned char *text);

#endif
