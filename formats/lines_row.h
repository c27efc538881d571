/* SPDX-License-Identifier: Apache-2.0 */
/* lines_row.h - a line as rows, one for each thing that lines are compared by.
 *
 *   columns 0 to key_count - 1   the keys of the order, one after the other
 *   column key_count             the last resort: the bytes of the line; or, if lines with equal
 *                                keys keep their order, the place where the line stands
 *
 * A row is bytes, which are compared as memcmp(3) does, a prefix first; or words of 64 bits, which
 * are compared as unsigned integers, the first one first, until one says that it is the last of its
 * row: rows that are equal so far are equal.
 *
 *   numbers of -n and -h   see decimal_key.h
 *   numbers of -g          the long double: sign and exponent, then significand
 *   the place              itself
 *
 * The image that lines_key makes of the first key is word 0 of its row, or the first 7 bytes; only
 * with -g it stands before the row, as the double nearest to the long double.
 */
#ifndef FORMATS_LINES_ROW_H
#define FORMATS_LINES_ROW_H

#include "formats/decimal_key.h"
#include "core/line_field.h"
#include "formats/lines_text.h"

enum row_kind {
    ROW_DECIMAL, /* -n */
    ROW_SUFFIX,  /* -h */
    ROW_VALUE,   /* -g */
    ROW_BYTES,   /* of a part of the line */
    ROW_LINE,    /* bytes of the whole line, whose end need not be known */
    ROW_PLACE
};

/* A row of words that can be taken. */
struct line_row {
    enum row_kind kind;
    union {
        struct decimal_text decimal;
        uint64_t value[2];
        uint64_t place;
    };
};

/* Where in which row. */
struct row_cursor {
    size_t column;
    size_t at; /* a word of it; of a row of bytes a byte */
};

struct row_column {
    enum row_kind kind;
    uint64_t complement; /* what its words are to be xored with, so that they go upwards */
};

/* The columns of an order, key_count + 1 of them, the place included; NULL when memory runs out.
 * The caller frees them. */
struct row_column *lines_row_columns(const struct line_order *order);

/* How many columns lines can differ in that are not the same bytes; the place is none of them. */
static inline size_t lines_columns(const struct lines *lines)
{
    return lines->order->key_count + !line_order_is_stable(lines->order);
}

/* The bytes of the line that are the column's key. */
struct line_span lines_row_span(const struct lines *lines, struct key_index item, size_t column);

/* The column's row of the item's line, a row of words; it borrows the text. */
void lines_row_open(const struct lines *lines, struct key_index item, size_t column,
                    struct line_row *row);

/* Less than, equal to or greater than 0: how two rows of words of a column compare, from word *at
 * on, before which they are the same; their direction left out. Sets *at to the word that they
 * differ in. */
int lines_row_differ(struct line_row *a, struct line_row *b, size_t *at);

/* Less than, equal to or greater than 0: how lines that are equal up to the cursor go by what is at
 * it and behind it, the place left out. */
int lines_row_compare(const struct lines *lines, struct key_index a, struct key_index b,
                      struct row_cursor cursor);

static inline bool row_is_bytes(enum row_kind kind)
{
    return kind == ROW_BYTES || kind == ROW_LINE;
}

/* Word `index` of the row, of which none before is the last. */
static inline uint64_t lines_row_word(struct line_row *row, size_t index)
{
    if (row->kind == ROW_PLACE)
        return row->place;
    return row->kind == ROW_VALUE ? row->value[index] : decimal_word(&row->decimal, index);
}

/* Whether the word, of that index and not complemented, is the last of a row of the kind. */
static inline bool lines_row_word_is_last(enum row_kind kind, uint64_t word, size_t index)
{
    if (kind == ROW_PLACE)
        return true;
    return kind == ROW_VALUE ? index == 1 : decimal_word_is_last(word, index);
}

/* Whether lines_row_common may go on from that word. */
static inline bool lines_row_may_share(enum row_kind kind, size_t from)
{
    return (kind == ROW_DECIMAL || kind == ROW_SUFFIX) && from > 0;
}

/* The first word, from word `from` on, that may not be the same in both rows or may be the last of
 * one. The words before `from` are the same, and none is the last. */
static inline size_t lines_row_common(const struct line_row *a, const struct line_row *b,
                                      size_t from)
{
    const size_t common =
        lines_row_may_share(a->kind, from) ? decimal_common_words(&a->decimal, &b->decimal) : from;
    return common > from ? common : from;
}

#endif
