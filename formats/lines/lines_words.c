/* SPDX-License-Identifier: Apache-2.0 */
/* lines_words.c - see lines_load.h. */
#include "formats/lines/lines_load.h"

#include <string.h>

/* ---- Skipping words ---- */

/* Stops if no word can be skipped. */
void lines_words_find_end(const struct row_load *load, struct key_index *items, size_t count)
{
    const struct lines *const lines = load->lines;
    const struct row_cursor cursor = load->cursor;
    for (size_t i = 0; i < count; ++i) {
        size_t most = atomic_load_explicit(load->end, memory_order_relaxed);
        if (most == cursor.at)
            return;
        struct line_row row;
        __builtin_prefetch(line_ahead(lines, items, count, i));
        lines_row_open(lines, items[i], cursor.column, &row);
        const size_t common = lines_row_common(&load->row, &row, cursor.at);
        while (common < most &&
               !atomic_compare_exchange_weak_explicit(load->end, &most, common,
                                                      memory_order_relaxed, memory_order_relaxed))
            ;
    }
}

/* ---- One word ---- */

/* Number of values cached by a hash of their text: reading a value from a long text is slow, and
 * many lines of a tie group often have few different texts. */
#define KNOWN_VALUES 64
struct known_value {
    const char *text; /* NULL: unused */
    size_t length;
    uint64_t word;
};

/* Hashes the last bytes: lines with equal values have equal first bytes. */
static size_t known_value_slot(const char *text, size_t length)
{
    uint64_t word = 0;
    const size_t used = length < 8 ? length : 8;
    memcpy(&word, text + length - used, used);
    return ((word ^ length << 56) * 0x9e3779b97f4a7c15u) >> 58;
}

/* As lines_words_load(), for a row of values. */
static void load_values(const struct row_load *load, struct key_index *items, size_t count)
{
    struct known_value known[KNOWN_VALUES] = {{NULL, 0, 0}};
    const struct lines *const lines = load->lines;
    const struct row_cursor cursor = load->cursor;
    const uint64_t complement = lines->columns[cursor.column].complement;
    for (size_t i = 0; i < count; ++i) {
        struct key_index *const item = &items[i];
        __builtin_prefetch(line_ahead(lines, items, count, i));
        const struct line_span span = lines_row_span(lines, *item, cursor.column);
        struct known_value *const slot = &known[known_value_slot(span.text, span.length)];
        if (slot->text == NULL || slot->length != span.length ||
            memcmp(slot->text, span.text, span.length) != 0) {
            struct line_row row;
            lines_row_open(lines, *item, cursor.column, &row);
            *slot = (struct known_value){span.text, span.length, row.value[cursor.at]};
        }
        item->key = slot->word ^ complement;
    }
}

void lines_words_load(const struct row_load *load, struct key_index *items, size_t count)
{
    const struct lines *const lines = load->lines;
    const struct row_cursor cursor = load->cursor;
    const struct row_column column = lines->columns[cursor.column];
    for (size_t i = 0; i < count && i < LINES_AHEAD; ++i)
        __builtin_prefetch(line_text(lines, items[i]));
    if (column.kind == ROW_VALUE && count > KNOWN_VALUES) {
        load_values(load, items, count);
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        struct line_row row;
        __builtin_prefetch(line_ahead(lines, items, count, i));
        lines_row_open(lines, items[i], cursor.column, &row);
        items[i].key = lines_row_word(&row, cursor.at) ^ column.complement;
    }
}

struct row_cursor lines_words_next(enum row_kind kind, struct row_cursor cursor, uint64_t key)
{
    return lines_row_word_is_last(kind, key, cursor.at)
               ? (struct row_cursor){cursor.column + 1, 0}
               : (struct row_cursor){cursor.column, cursor.at + 1};
}

/* ---- Relative to another row ---- */

/* The key: 2 bits for the side, then the first different word, complemented if after the chosen
 * row. */
#define WORDS_MAX (UINT64_MAX >> 2)

void lines_words_load_beside(const struct row_load *load, struct key_index *items, size_t count)
{
    const struct lines *const lines = load->lines;
    const struct row_cursor cursor = load->cursor;
    const uint64_t complement = lines->columns[cursor.column].complement;
    struct line_row chosen = load->row;
    for (size_t i = 0; i < count; ++i) {
        struct line_row row;
        size_t at = cursor.at;
        __builtin_prefetch(line_ahead(lines, items, count, i));
        lines_row_open(lines, items[i], cursor.column, &row);
        const int order = lines_row_differ(&row, &chosen, &at);
        const uint64_t key = order < 0   ? at
                             : order > 0 ? (uint64_t)SIDE_BEHIND << 62 | (WORDS_MAX - at)
                                         : KEY_EQUAL;
        items[i].key = key ^ complement;
    }
}

struct row_cursor lines_words_next_beside(struct row_cursor cursor, uint64_t key)
{
    if (key == KEY_EQUAL)
        return (struct row_cursor){cursor.column + 1, 0};
    const uint64_t place = key & WORDS_MAX;
    return (struct row_cursor){cursor.column, key >> 62 == SIDE_BEHIND ? WORDS_MAX - place : place};
}
