/* SPDX-License-Identifier: Apache-2.0 */
/* lines_text.h - the text of struct lines, shared by the sources that implement lines.h.
 * core/line/line_image.h defines how an item refers to a line of it.
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
    const char *note;  /* of source_command_note() */
    size_t begin;      /* offset of its text */
    size_t lines_read; /* lines of the input before this text */
};

struct lines {
    const struct line_order *order;
    struct row_column *columns; /* the criteria of the order; see below */
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

/* ---- rows: lines_row.c ----
 *
 * Lines as rows, one for each criterion by which lines are compared, and the keys of many items at
 * one position of their rows; for lines_refine.c.
 *
 *   columns 0 to key_count - 1   the keys of the order, one after another
 *   column key_count             the last resort: the bytes of the line; or, if lines with equal
 *                                keys keep their order, the line's position in the text
 *
 * A row has bytes, which are compared as by memcmp(3), a prefix first; or words of 64 bits, which
 * are compared as unsigned integers, the first one first, up to the word that is marked as the
 * last.
 *
 *   numbers of -n and -h   see number_key.h
 *   numbers of -g          the long double: sign and exponent, then significand
 *   the position           one word
 *
 * The image that lines_key makes of the first key is word 0 of its row, or the first 7 bytes. Only
 * with ROW_VALUE it is no part of the row: it is the nearest double, and the row has the long
 * double.
 */

/* Minimum number of items per task: about 0.2 ms of work. */
#define TASK_COUNT ((size_t)8192)

enum row_kind {
    ROW_DECIMAL, /* -n */
    ROW_SUFFIX,  /* -h */
    ROW_VALUE,   /* -g, and numbers without an option */
    ROW_BYTES,   /* of a part of the line */
    ROW_LINE,    /* bytes of the whole line; its end need not be known */
    ROW_POSITION
};

/* A position in the rows. */
struct row_cursor {
    size_t column;
    size_t at; /* a word, or a byte in a row of bytes */
};

struct row_column {
    enum row_kind kind;
    uint64_t complement; /* XORed with its keys: UINT64_MAX if the column is descending, else 0 */
};

/* Returns the columns of an order: key_count + 1, including the last one. NULL if memory runs out.
 * The caller frees them. */
struct row_column *lines_row_columns(const struct line_order *order);

/* Returns the number of columns in which different lines may differ, without the position. */
static inline size_t lines_columns(const struct lines *lines)
{
    const struct line_order *const order = lines->order;
    return line_order_is_by_bytes(order) ? 1 : order->key_count + !line_order_is_stable(order);
}

static inline bool row_is_bytes(enum row_kind kind)
{
    return kind == ROW_BYTES || kind == ROW_LINE;
}

/* Compares lines that are equal up to the cursor by everything after it, except their positions.
 * Returns a value below 0, 0, or above 0. */
int lines_row_compare(const struct lines *lines, struct key_index a, struct key_index b,
                      struct row_cursor cursor);

/* Loads the keys of items[0..count). Their lines must be equal up to the cursor, and none of the
 * rows may end before it. A key is a monotone image of the line's row from the cursor on,
 * complemented as the column is.
 *
 * In a row of words, unless is_relative, the key is the first word that may differ between the
 * lines, and the cursor is moved to that word. With is_relative, and always in a row of bytes, one
 * of the lines is chosen. The key is then relative to it: the order of the line and the chosen one,
 * the number of words or bytes that both have in common and, in a row of bytes, the bytes after
 * these. */
void lines_load(const struct lines *lines, struct key_index *items, size_t count,
                struct row_cursor *cursor, bool is_relative);

/* Returns the next position at which lines with the same `key` can differ. cursor: as the
 * lines_load() that loaded the key has set it. is_relative: as in that call. */
struct row_cursor lines_load_next(const struct lines *lines, struct row_cursor cursor, uint64_t key,
                                  bool is_relative);

#endif
