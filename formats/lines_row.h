/* lines_row.h - a line as rows of 64-bit words, one row for each thing that lines are compared by.
 *
 *   columns 0 to key_count - 1   the keys of the order, one after the other
 *   column key_count             the last resort: the bytes of the line; or, if lines with equal
 *                                keys keep their order, the place where the line stands
 *
 * The words of a row are compared as unsigned integers, the first one first, until one says that it
 * is the last of its row: rows that are equal so far are equal.
 *
 *   numbers of -n and -h   see decimal_key.h
 *   numbers of -g          the long double: sign and exponent, then significand
 *   bytes                  7 bytes, the first one on top, zeros after the end; in the lowest byte
 *                          how many bytes there are from the first one on, 8 for more than 7
 *   the place              itself
 *
 * The image that lines_key makes of the first key is word 0 of its row; only with -g it stands
 * before the row, as the double nearest to the long double.
 */
#ifndef FORMATS_LINES_ROW_H
#define FORMATS_LINES_ROW_H

#include "core/bytes_common.h"
#include "formats/decimal_key.h"
#include "core/line_field.h"
#include "formats/lines_text.h"

enum row_kind {
    ROW_DECIMAL, /* -n */
    ROW_SUFFIX,  /* -h */
    ROW_VALUE,   /* -g */
    ROW_BYTES,   /* of a part of the line */
    ROW_LINE,    /* bytes of the whole line: each word is found without the end of the line */
    ROW_PLACE
};

/* A row whose words can be taken. */
struct line_row {
    enum row_kind kind;
    union {
        struct decimal_text decimal;
        uint64_t value[2];
        struct line_span bytes;
        const char *line;
        uint64_t place;
    };
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

/* The column's row of the item's line; it borrows the text. */
void lines_row_open(const struct lines *lines, struct key_index item, size_t column,
                    struct line_row *row);

/* A word of a row of bytes, of which none before is the last; reads 8 bytes, whatever is behind the
 * text. */
static inline uint64_t bytes_word(const char *text, size_t length, size_t index)
{
    const size_t left = length - index * 7;
    uint64_t word;
    if (left == 0)
        return 0;
    memcpy(&word, text + index * 7, 8);
    word = __builtin_bswap64(word);
    if (left >= 8)
        return (word & ~(uint64_t)0xff) | 8;
    return (word & ~(uint64_t)0 << 8 * (8 - left)) | left;
}

static inline bool bytes_word_is_last(uint64_t word)
{
    return (word & 0xff) < 8;
}

/* The same word of a line that ends before the first terminator. */
static inline uint64_t line_bytes_word(const char *line, uint64_t terminators, size_t index)
{
    uint64_t word;
    memcpy(&word, line + index * 7, 8);
    const uint64_t found = byte_mask(word, terminators);
    const size_t left = found != 0 ? (size_t)__builtin_ctzll(found) / 8 : 8;
    word = __builtin_bswap64(word);
    if (left < 7)
        word = left == 0 ? 0 : word & ~(uint64_t)0 << 8 * (8 - left);
    return (word & ~(uint64_t)0xff) | left;
}

/* Word `index` of the row, of which none before is the last. */
static inline uint64_t lines_row_word(const struct lines *lines, struct line_row *row, size_t index)
{
    switch (row->kind) {
    case ROW_DECIMAL:
    case ROW_SUFFIX:
        return decimal_word(&row->decimal, index);
    case ROW_VALUE:
        return row->value[index];
    case ROW_BYTES:
        return bytes_word(row->bytes.text, row->bytes.length, index);
    case ROW_LINE:
        return line_bytes_word(row->line, byte_in_all(lines->order->terminator), index);
    case ROW_PLACE:
        break;
    }
    return row->place;
}

/* Whether the word, of that index and not complemented, is the last of a row of the kind. */
static inline bool lines_row_word_is_last(enum row_kind kind, uint64_t word, size_t index)
{
    switch (kind) {
    case ROW_DECIMAL:
    case ROW_SUFFIX:
        return decimal_word_is_last(word, index);
    case ROW_VALUE:
        return index == 1;
    case ROW_BYTES:
    case ROW_LINE:
        return bytes_word_is_last(word);
    case ROW_PLACE:
        break;
    }
    return true;
}

/* Whether lines_row_common may go on from that word. */
static inline bool lines_row_may_share(enum row_kind kind, size_t from)
{
    if (kind == ROW_DECIMAL || kind == ROW_SUFFIX)
        return from > 0;
    return kind == ROW_BYTES || kind == ROW_LINE;
}

/* The first word, from word `from` on, that may not be the same in both rows or may be the last of
 * one; at most `most`. The words before `from` are the same, and none is the last. */
static inline size_t lines_row_common(const struct lines *lines, struct line_row *a,
                                      struct line_row *b, size_t from, size_t most)
{
    size_t common = from;
    if (a->kind == ROW_BYTES) {
        const size_t length = a->bytes.length < b->bytes.length ? a->bytes.length : b->bytes.length;
        const size_t bytes = bytes_common(a->bytes.text, b->bytes.text, length);
        common = bytes > 0 ? (bytes - 1) / 7 : 0; /* a further byte: none of these is the last */
    } else if (a->kind == ROW_LINE) {
        for (; common < most; ++common) {
            const uint64_t word = lines_row_word(lines, a, common);
            if (bytes_word_is_last(word) || word != lines_row_word(lines, b, common))
                break;
        }
    } else if ((a->kind == ROW_DECIMAL || a->kind == ROW_SUFFIX) && from > 0) {
        common = decimal_common_words(&a->decimal, &b->decimal);
    }
    common = common < most ? common : most;
    return common > from ? common : from;
}

#endif
