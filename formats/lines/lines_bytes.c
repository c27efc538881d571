/* SPDX-License-Identifier: Apache-2.0 */
/* lines_bytes.c - see lines_load.h.
 *
 * The key of a line relative to the chosen line, from the top bit on:
 *
 *   2 bits    0: before it; 1: equal so far; 2: after it
 *   11 bits   length of their longest common prefix (LCP), complemented if after it; LCP_MAX if
 *             they are equal so far
 *   48 bits   the next 6 bytes, zeros after the end
 *   3 bits    the number of these bytes, 7 for more than 6
 */
#include "formats/lines/lines_load.h"

#include "core/byte_words.h"

#include <string.h>

#define LCP_MAX ((size_t)2047)
#define NEXT_BYTES ((size_t)6)
#define MORE_BYTES 7

static const uint64_t key_same_so_far = KEY_EQUAL | (uint64_t)LCP_MAX << 51 | MORE_BYTES;

static inline uint64_t make_key(enum side side, size_t lcp, uint64_t next)
{
    const uint64_t place = side == SIDE_BEHIND ? LCP_MAX - lcp : lcp;
    return (uint64_t)side << 62 | place << 51 | next;
}

struct row_cursor lines_bytes_next(struct row_cursor cursor, uint64_t key)
{
    if ((key & 7) < MORE_BYTES)
        return (struct row_cursor){cursor.column + 1, 0};
    if (key == key_same_so_far)
        return (struct row_cursor){cursor.column, cursor.at + LCP_MAX};
    const size_t place = key >> 51 & LCP_MAX;
    const size_t lcp = key >> 62 == SIDE_BEHIND ? LCP_MAX - place : place;
    return (struct row_cursor){cursor.column, cursor.at + lcp + NEXT_BYTES};
}

/* Returns the next bytes at `text`. The row has `left` bytes there. Reads 8 bytes, also after its
 * end. */
static inline uint64_t next_bytes(const char *text, size_t left)
{
    uint64_t word;
    if (left == 0)
        return 0;
    memcpy(&word, text, 8);
    word = __builtin_bswap64(word) & ~(uint64_t)0
                                         << 8 * (8 - (left < NEXT_BYTES ? left : NEXT_BYTES));
    return word >> 13 | (left <= NEXT_BYTES ? left : MORE_BYTES);
}

/* Returns how many bytes the line has at `text` before its end, 8 for more than 7. */
static inline size_t bytes_left(const char *text, uint64_t terminators)
{
    uint64_t word;
    memcpy(&word, text, 8);
    const uint64_t ends = byte_mask(word, terminators);
    return ends != 0 ? (size_t)__builtin_ctzll(ends) / 8 : 8;
}

/* For whole lines. The chosen line includes its terminator. */
static void load_lines(const struct row_load *load, struct key_index *items, size_t count)
{
    const struct lines *const lines = load->lines;
    const struct line_span chosen = load->span;
    const char terminator = lines->order->terminator;
    const uint64_t terminators = byte_in_all(terminator);
    const uint64_t complement = lines->columns[load->cursor.column].complement;
    const size_t at = load->cursor.at;
    const size_t most = chosen.length < LCP_MAX ? chosen.length : LCP_MAX;
    for (size_t i = 0; i < count; ++i) {
        const char *const text = line_text(lines, items[i]) + at;
        __builtin_prefetch(line_ahead(lines, items, count, i) + at);
        const size_t lcp = bytes_common(text, chosen.text, most);
        uint64_t key = chosen.length <= LCP_MAX ? KEY_EQUAL : key_same_so_far;
        if (lcp < most) {
            const size_t left = bytes_left(text + lcp, terminators);
            const bool is_before =
                left == 0 || (chosen.text[lcp] != terminator &&
                              (unsigned char)text[lcp] < (unsigned char)chosen.text[lcp]);
            key =
                make_key(is_before ? SIDE_BEFORE : SIDE_BEHIND, lcp, next_bytes(text + lcp, left));
        }
        items[i].key = key ^ complement;
    }
}

/* For fields. */
static void load_fields(const struct row_load *load, struct key_index *items, size_t count)
{
    const struct lines *const lines = load->lines;
    const struct line_span chosen = load->span;
    const uint64_t complement = lines->columns[load->cursor.column].complement;
    const size_t at = load->cursor.at;
    for (size_t i = 0; i < count; ++i) {
        __builtin_prefetch(line_ahead(lines, items, count, i));
        const struct line_span span = lines_row_span(lines, items[i], load->cursor.column);
        const char *const text = span.text + at;
        const size_t bytes = span.length - at;
        const size_t both = bytes < chosen.length ? bytes : chosen.length;
        const size_t lcp = bytes_common(text, chosen.text, both < LCP_MAX ? both : LCP_MAX);
        uint64_t key;
        if (lcp == LCP_MAX) {
            key = key_same_so_far;
        } else if (lcp == bytes && lcp == chosen.length) {
            key = KEY_EQUAL;
        } else {
            const bool is_before =
                lcp == bytes ||
                (lcp < chosen.length && (unsigned char)text[lcp] < (unsigned char)chosen.text[lcp]);
            key = make_key(is_before ? SIDE_BEFORE : SIDE_BEHIND, lcp,
                           next_bytes(text + lcp, bytes - lcp));
        }
        items[i].key = key ^ complement;
    }
}

static inline bool is_whole(const struct row_load *load)
{
    return load->lines->columns[load->cursor.column].kind == ROW_LINE;
}

struct line_span lines_bytes_span(const struct row_load *load, struct key_index item)
{
    const struct lines *const lines = load->lines;
    const size_t at = load->cursor.at;
    const struct line_span span =
        is_whole(load) ? (struct line_span){line_text(lines, item), line_length(lines, item) + 1}
                       : lines_row_span(lines, item, load->cursor.column);
    return (struct line_span){span.text + at, span.length - at};
}

void lines_bytes_load(const struct row_load *load, struct key_index *items, size_t count)
{
    for (size_t i = 0; i < count && i < LINES_AHEAD; ++i)
        __builtin_prefetch(line_text(load->lines, items[i]) +
                           (is_whole(load) ? load->cursor.at : 0));
    if (is_whole(load))
        load_lines(load, items, count);
    else
        load_fields(load, items, count);
}
