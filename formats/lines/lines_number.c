/* SPDX-License-Identifier: Apache-2.0 */
/* lines_number.c - converts positions of lines to line numbers; see lines.h.
 *
 *   text -> cells of 64 bytes -> newlines in the block before each cell
 *   position of a line -> newlines before its block, before its cell, and in the cell before it
 *
 * Lines come in any order, so each needs two cache lines at random positions, which are prefetched,
 * and nothing else. The table has a sixteenth of the size of the text.
 */
#include "formats/lines/lines.h"
#include "formats/lines/lines_text.h"

#include <stdlib.h>

#define CELL_BYTES ((size_t)64)
#define CELLS_PER_BLOCK (LINES_BLOCK_BYTES / CELL_BYTES)

/* Items that a thread numbers in one step. */
#define SEGMENT_COUNT ((size_t)65536)

/* Sets before[i] to the newlines from the start of the block to cell i. */
static void count_block(const struct lines *lines, size_t block, uint32_t *before)
{
    const char *const text = lines->text + block * LINES_BLOCK_BYTES;
    const size_t bytes = lines_block_bytes(lines, block);
    uint32_t count = 0;
    for (size_t at = 0; at < bytes; at += CELL_BYTES) {
        before[block * CELLS_PER_BLOCK + at / CELL_BYTES] = count;
        count += (uint32_t)bytes_count(text + at, bytes - at < CELL_BYTES ? bytes - at : CELL_BYTES,
                                       lines->order->terminator);
    }
}

/* Returns false if an item is not in the text, because a device may have sorted the items. */
static bool number_segment(const struct lines *lines, const uint32_t *before,
                           struct key_index *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (count - i > LINES_AHEAD) {
            const size_t ahead = line_offset(items[i + LINES_AHEAD]);
            __builtin_prefetch(lines->text + ahead / CELL_BYTES * CELL_BYTES);
            __builtin_prefetch(before + ahead / CELL_BYTES);
        }
        const size_t offset = line_offset(items[i]), cell = offset / CELL_BYTES;
        if (offset >= lines->bytes)
            return false;
        items[i].index = lines->lines_before[offset / LINES_BLOCK_BYTES] + before[cell] +
                         bytes_count(lines->text + cell * CELL_BYTES, offset % CELL_BYTES,
                                     lines->order->terminator);
    }
    return true;
}

bool lines_number(const struct lines *lines, struct key_index *items, size_t count,
                  struct error *error)
{
    if (count == 0) /* `items` may be NULL */
        return true;
    const size_t cells = lines->bytes / CELL_BYTES + 1, segments = count / SEGMENT_COUNT + 1;
    uint32_t *const before = malloc(cells * sizeof *before);
    if (before == NULL)
        return error_set(error, "no memory to number %zu lines", count);
    bool is_sound = true;
#pragma omp parallel num_threads((int)lines->threads)
    {
#pragma omp for schedule(static)
        for (size_t block = 0; block < lines->block_count; ++block)
            count_block(lines, block, before);
#pragma omp for schedule(dynamic, 1) reduction(&& : is_sound)
        for (size_t i = 0; i < segments; ++i) {
            const size_t first = i * SEGMENT_COUNT, left = count - first;
            is_sound = number_segment(lines, before, items + first,
                                      left < SEGMENT_COUNT ? left : SEGMENT_COUNT) &&
                       is_sound;
        }
    }
    free(before);
    return is_sound || error_set(error, "a sorted line is none of those that were read");
}
