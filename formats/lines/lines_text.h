/* SPDX-License-Identifier: Apache-2.0 */
/* lines_text.h - the text of struct lines, shared by the sources that implement lines.h.
 * core/line/line_key.h defines how an item refers to a line of it.
 */
#ifndef FORMATS_LINES_TEXT_H
#define FORMATS_LINES_TEXT_H

#include "core/byte_words.h"
#include "core/check/check.h"
#include "core/line/line_key.h"
#include "formats/lines/lines.h"

/* Readable bytes after the text; their values do not matter. */
#define TEXT_SLACK_BYTES ((size_t)64)

/* Bytes of a block, the unit for finding, keying and counting lines. */
#define LINES_BLOCK_BYTES ((size_t)1 << 18)

/* Number of lines prefetched: a core can wait for ten to twenty cache lines at once. */
#define LINES_AHEAD ((size_t)24)

/* A line's byte that is prefetched with its first one, because a cache line may end between
 * them. */
#define LINES_AHEAD_LAST 15

/* An input, for messages. */
struct lines_input {
    char *name;
    size_t begin;      /* offset of its text */
    size_t lines_read; /* lines read before its text */
};

struct lines {
    const struct line_order *order;
    struct row_column *columns; /* the criteria of the order; see lines_row.h */
    char *text;                 /* of all inputs; every line has its terminator */
    size_t bytes;
    size_t mapped_bytes;
    struct lines_input *inputs;
    size_t input_count;
    size_t *lines_before; /* block_count + 1 numbers: terminators before each block */
    size_t block_count;   /* only whole blocks, until lines_index counts the last one too */
    size_t block_room;    /* room of lines_before, in blocks */
    size_t tail_lines;    /* terminators after the whole blocks, if they were counted */
    size_t counted_bytes; /* of text whose terminators are in lines_before and tail_lines */
    size_t keyed;         /* number of lines that have their key */
    unsigned threads;
    struct text_check read; /* checksum of the text as it was read */
    struct check_sum made;  /* checksum of the items made by lines_key */
};

static inline const char *line_text(const struct lines *lines, struct key_index item)
{
    return lines->text + line_offset(item);
}

/* Returns the length without the terminator. */
static inline size_t line_length(const struct lines *lines, struct key_index item)
{
    const char *const text = line_text(lines, item);
    const size_t left = lines->bytes - line_offset(item);
    return (size_t)((const char *)memchr(text, lines->order->terminator, left) - text);
}

static inline size_t lines_block_bytes(const struct lines *lines, size_t block)
{
    const size_t left = lines->bytes - block * LINES_BLOCK_BYTES;
    return left < LINES_BLOCK_BYTES ? left : LINES_BLOCK_BYTES;
}

#endif
