/* SPDX-License-Identifier: Apache-2.0 */
/* lines_row.c - see lines_row.h. */
#include "formats/lines/lines_row.h"

#include "formats/number/number_key.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* First words of values below all others. The least word of other values, for -inf, is above
 * them. */
#define WORD_NO_NUMBER 0
#define WORD_NEGATIVE_NAN 1
#define WORD_POSITIVE_NAN 2
#define WORD_LEAST 3

/* Sets two words whose order is that of the long doubles, with -0 as 0. x87 has sign and exponent
 * in bytes 8 and 9. IEEE 754 binary128 has them at the top of bytes 15 and 14, with more of the
 * significand below them in the same word. In both formats the greatest first word, for inf, leaves
 * room for adding WORD_LEAST. */
static void value_words(long double value, uint64_t words[2])
{
    const bool is_x87 = LDBL_MANT_DIG == 64;
    const uint64_t sign = is_x87 ? 0x8000 : (uint64_t)1 << 63;
    uint64_t halves[2] = {0, 0};
    value = value == 0 ? 0 : value;
    memcpy(halves, &value, is_x87 ? 10 : sizeof value);
    const bool negative = (halves[1] & sign) != 0;
    words[0] = WORD_LEAST + (negative ? ~halves[1] & (sign | (sign - 1)) : halves[1] | sign);
    words[1] = negative ? ~halves[0] : halves[0];
}

static void text_value_words(const char *text, size_t length, uint64_t words[2])
{
    long double value;
    words[1] = 0;
    if (!number_prefix_value(text, length, &value))
        words[0] = WORD_NO_NUMBER;
    else if (isnan(value))
        words[0] = signbit(value) ? WORD_NEGATIVE_NAN : WORD_POSITIVE_NAN;
    else
        value_words(value, words);
}

static enum row_kind kind_of_key(const struct line_key *key)
{
    switch (key->kind) {
    case LINE_STRICT:
    case LINE_GENERAL:
        return ROW_VALUE;
    case LINE_NUMERIC:
        return ROW_DECIMAL;
    case LINE_HUMAN:
        return ROW_SUFFIX;
    case LINE_BYTES:
        break;
    }
    return line_key_is_whole(key) ? ROW_LINE : ROW_BYTES;
}

struct row_column *lines_row_columns(const struct line_order *order)
{
    struct row_column *const columns = calloc(order->key_count + 1, sizeof *columns);
    if (columns == NULL)
        return NULL;
    for (size_t i = 0; i < order->key_count; ++i)
        columns[i] = (struct row_column){
            .kind = kind_of_key(&order->keys[i]),
            .complement = order->keys[i].reverse ? UINT64_MAX : 0,
        };
    const bool is_stable = line_order_is_stable(order);
    columns[order->key_count] = (struct row_column){
        .kind = is_stable ? ROW_PLACE : ROW_LINE,
        .complement = order->reverse && !is_stable ? UINT64_MAX : 0,
    };
    return columns;
}

struct line_span lines_row_span(const struct lines *lines, struct key_index item, size_t column)
{
    const struct line_key *const key = &lines->order->keys[column];
    const char *const text = line_text(lines, item);
    const size_t length = line_length(lines, item);
    if (line_key_is_whole(key))
        return (struct line_span){text, length};
    return line_key_find(lines->order->separator, key, text, length);
}

void lines_row_open(const struct lines *lines, struct key_index item, size_t column,
                    struct line_row *row)
{
    row->kind = lines->columns[column].kind;
    if (row->kind == ROW_PLACE) {
        row->place = item.index;
        return;
    }
    const struct line_span span = lines_row_span(lines, item, column);
    if (row->kind == ROW_VALUE)
        text_value_words(span.text, span.length, row->value);
    else
        decimal_scan(span.text, span.length, row->kind == ROW_SUFFIX, &row->decimal);
}

int lines_row_differ(struct line_row *a, struct line_row *b, size_t *at)
{
    for (;; ++*at) {
        *at = lines_row_common(a, b, *at);
        const uint64_t word_a = lines_row_word(a, *at), word_b = lines_row_word(b, *at);
        if (word_a != word_b)
            return word_a < word_b ? -1 : 1;
        if (lines_row_word_is_last(a->kind, word_a, *at))
            return 0;
    }
}

static int compare_words(const struct lines *lines, struct key_index a, struct key_index b,
                         struct row_cursor cursor)
{
    struct line_row row_a, row_b;
    lines_row_open(lines, a, cursor.column, &row_a);
    lines_row_open(lines, b, cursor.column, &row_b);
    return lines_row_differ(&row_a, &row_b, &cursor.at);
}

static int compare_bytes(const struct lines *lines, struct key_index a, struct key_index b,
                         struct row_cursor cursor)
{
    const struct line_span x = lines_row_span(lines, a, cursor.column);
    const struct line_span y = lines_row_span(lines, b, cursor.column);
    const size_t shared = x.length < y.length ? x.length : y.length;
    const int order = memcmp(x.text + cursor.at, y.text + cursor.at, shared - cursor.at);
    return order != 0 ? order : (x.length > y.length) - (x.length < y.length);
}

/* Equal lines end at the same position, so only the end of the first one is searched. */
static int compare_whole_lines(const struct lines *lines, struct key_index a, struct key_index b,
                               size_t at)
{
    const char terminator = lines->order->terminator;
    const uint64_t terminators = byte_in_all(terminator);
    const char *const x = line_text(lines, a), *const y = line_text(lines, b);
    for (;; at += 8) {
        uint64_t word_x, word_y;
        memcpy(&word_x, x + at, 8);
        memcpy(&word_y, y + at, 8);
        const uint64_t difference = word_x ^ word_y, ends = byte_mask(word_x, terminators);
        if ((difference | ends) == 0)
            continue;
        const size_t same = difference != 0 ? (size_t)__builtin_ctzll(difference) / 8 : 8;
        const size_t left = ends != 0 ? (size_t)__builtin_ctzll(ends) / 8 : 8;
        if (left < same)
            return 0;
        if (left == same)
            return -1;
        const char byte_x = x[at + same], byte_y = y[at + same];
        return byte_y != terminator && (unsigned char)byte_x < (unsigned char)byte_y ? -1 : 1;
    }
}

int lines_row_compare(const struct lines *lines, struct key_index a, struct key_index b,
                      struct row_cursor cursor)
{
    const size_t columns = lines_columns(lines);
    for (; cursor.column < columns; ++cursor.column, cursor.at = 0) {
        const struct row_column column = lines->columns[cursor.column];
        const int order = column.kind == ROW_LINE    ? compare_whole_lines(lines, a, b, cursor.at)
                          : column.kind == ROW_BYTES ? compare_bytes(lines, a, b, cursor)
                                                     : compare_words(lines, a, b, cursor);
        if (order != 0)
            return (order < 0) == (column.complement == 0) ? -1 : 1;
    }
    return 0;
}
