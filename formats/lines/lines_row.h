/* SPDX-License-Identifier: Apache-2.0 */
/* lines_row.h - lines as rows, one for each criterion by which lines are compared.
 *
 *   columns 0 to key_count - 1   the keys of the order, one after another
 *   column key_count             the last resort: the bytes of the line; or, if lines with equal
 *                                keys keep their order, the line's position in the text
 *
 * A row has bytes, which are compared as by memcmp(3), a prefix first; or words of 64 bits, which
 * are compared as unsigned integers, the first one first, up to the word that is marked as the
 * last.
 *
 *   numbers of -n and -h   see decimal_key.h
 *   numbers of -g          the long double: sign and exponent, then significand
 *   the position           one word
 *
 * The image that lines_key makes of the first key is word 0 of its row, or the first 7 bytes. Only
 * with -g it comes before the row: it is the double nearest to the long double.
 */
#ifndef FORMATS_LINES_ROW_H
#define FORMATS_LINES_ROW_H

#include "core/line/line_key.h"
#include "formats/lines/lines_text.h"
#include "formats/number/decimal_key.h"

enum row_kind {
    ROW_DECIMAL, /* -n */
    ROW_SUFFIX,  /* -h */
    ROW_VALUE,   /* -g */
    ROW_BYTES,   /* of a part of the line */
    ROW_LINE,    /* bytes of the whole line; its end need not be known */
    ROW_PLACE
};

/* A row of words, which are read on demand. */
struct line_row {
    enum row_kind kind;
    union {
        struct decimal_text decimal;
        uint64_t value[2];
        uint64_t place;
    };
};

/* A position in the rows. */
struct row_cursor {
    size_t column;
    size_t at; /* a word, or a byte in a row of bytes */
};

struct row_column {
    enum row_kind kind;
    uint64_t complement; /* XORed with its words, to make them ascending */
};

/* Returns the columns of an order: key_count + 1, including the position. NULL if memory runs out.
 * The caller frees them. */
struct row_column *lines_row_columns(const struct line_order *order);

/* Returns the number of columns in which different lines may differ, without the position. */
static inline size_t lines_columns(const struct lines *lines)
{
    return lines->order->key_count + !line_order_is_stable(lines->order);
}

/* Returns the bytes of the line that are the column's key. */
struct line_span lines_row_span(const struct lines *lines, struct key_index item, size_t column);

/* Opens the column's row, a row of words, for the item's line. It borrows the text. */
void lines_row_open(const struct lines *lines, struct key_index item, size_t column,
                    struct line_row *row);

/* Compares two rows of words of a column from word *at on; the words before it are equal. Ignores
 * the direction of the column. Returns a value below 0, 0, or above 0, and sets *at to the first
 * word that differs. */
int lines_row_differ(struct line_row *a, struct line_row *b, size_t *at);

/* Compares lines that are equal up to the cursor by everything after it, except their positions.
 * Returns a value below 0, 0, or above 0. */
int lines_row_compare(const struct lines *lines, struct key_index a, struct key_index b,
                      struct row_cursor cursor);

static inline bool row_is_bytes(enum row_kind kind)
{
    return kind == ROW_BYTES || kind == ROW_LINE;
}

/* Returns word `index` of the row. No word before it is the last. */
static inline uint64_t lines_row_word(struct line_row *row, size_t index)
{
    if (row->kind == ROW_PLACE)
        return row->place;
    return row->kind == ROW_VALUE ? row->value[index] : decimal_word(&row->decimal, index);
}

/* Returns true if the word is the last one of a row of this kind. index: its index. It is not
 * complemented. */
static inline bool lines_row_word_is_last(enum row_kind kind, uint64_t word, size_t index)
{
    if (kind == ROW_PLACE)
        return true;
    return kind == ROW_VALUE ? index == 1 : decimal_word_is_last(word, index);
}

/* Returns true if lines_row_common() may skip words from that word on. */
static inline bool lines_row_may_share(enum row_kind kind, size_t from)
{
    return (kind == ROW_DECIMAL || kind == ROW_SUFFIX) && from > 0;
}

/* Returns the first word, from word `from` on, that may differ between the rows or be the last of
 * one. The words before `from` are equal, and none of them is the last. */
static inline size_t lines_row_common(const struct line_row *a, const struct line_row *b,
                                      size_t from)
{
    const size_t common =
        lines_row_may_share(a->kind, from) ? decimal_common_words(&a->decimal, &b->decimal) : from;
    return common > from ? common : from;
}

#endif
