/* SPDX-License-Identifier: Apache-2.0 */
/* line_block.h - the part of a source in memory: whole lines, and the beginning of another one.
 *
 *   source -> [kept | new | beginning of a line] -> the caller uses lines -> drops them -> refill
 *
 * The memory has the requested size, and grows only for a line longer than half of it.
 */
#ifndef FORMATS_LINE_BLOCK_H
#define FORMATS_LINE_BLOCK_H

#include "core/check/check.h"
#include "core/error.h"
#include "formats/io/source.h"

#include <stdbool.h>
#include <stddef.h>

/* Readable bytes after the lines; their values do not matter. */
#define LINE_BLOCK_SLACK_BYTES ((size_t)32)

struct line_block {
    struct source *source;
    char terminator;
    bool ended;    /* the source has no lines after the block's */
    char *text;    /* owned */
    size_t bytes;  /* of whole lines, each with its terminator */
    size_t filled; /* of these and the beginning of a line */
    size_t capacity;
    uint64_t place;         /* of text[0] in the source */
    struct text_check read; /* checksum of the source so far, with an added terminator */
};

/* Opens an empty block on the source, which the caller owns. */
bool line_block_open(struct line_block *block, struct source *source, char terminator,
                     size_t capacity, struct error *error);

/* Drops the first `drop` bytes, which are whole lines, moves the rest to the front and reads until
 * the block is full. Afterwards there is at least one new line after the kept lines, unless the
 * source has ended. A last line without a terminator gets one. */
bool line_block_refill(struct line_block *block, size_t drop, struct error *error);

void line_block_close(struct line_block *block);

#endif
