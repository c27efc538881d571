/* SPDX-License-Identifier: Apache-2.0 */
/* lines_text.h - the text of struct lines, shared by the sources that implement lines.h.
 * core/line_item.h defines how an item names a line of it.
 */
#ifndef FORMATS_LINES_TEXT_H
#define FORMATS_LINES_TEXT_H

#include "core/check.h"
#include "core/line_item.h"
#include "formats/lines.h"
#include "formats/newlines.h"

/* Readable bytes after the text; their values mean nothing. */
#define TEXT_SLACK_BYTES ((size_t)64)

/* Lines are found, keyed and counted by blocks of the text. */
#define LINES_BLOCK_BYTES ((size_t)1 << 18)

/* Lines fetched ahead of their use: a core can wait for ten to twenty cache lines at once. */
#define LINES_AHEAD ((size_t)24)

/* The last byte of a line that is fetched ahead with its first one: there may be the end of a cache
 * line between them. */
#define LINES_AHEAD_LAST 15

/* An input, for messages. */
struct lines_input {
    char *name;
    size_t begin;      /* where its text starts */
    size_t lines_read; /* that were before its text */
};

struct lines {
    const struct line_order *order;
    struct row_column *columns; /* what lines are compared by; see lines_row.h */
    char *text;                 /* of all inputs; every line has its terminator */
    size_t bytes;
    size_t mapped_bytes;
    struct lines_input *inputs;
    size_t input_count;
    size_t *lines_before; /* block_count + 1: terminators before each block */
    size_t block_count;   /* whole blocks until lines_index, which counts the last one too */
    size_t block_room;    /* that lines_before has room for */
    size_t tail_lines;    /* terminators after the whole blocks, if they were counted */
    size_t counted_bytes; /* of text whose terminators are in lines_before and tail_lines */
    size_t keyed;         /* lines that have their key */
    unsigned threads;
    struct text_check read; /* the text as it was read */
    struct check_sum made;  /* the items that lines_key made of it */
};

static inline const char *line_text(const struct lines *lines, struct key_index item)
{
    return lines->text + line_offset(item);
}

/* The length without the terminator. */
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
