/* SPDX-License-Identifier: Apache-2.0 */
/* lines_row.c - see lines_text.h.
 *
 * In rows of words, the words that all lines share are skipped, and the next word is loaded. In
 * rows of bytes, and in rows of words where loading word by word takes too long, a line is chosen
 * and each line is compared with it:
 *
 *   the chosen line   a b c d e f g h i j k
 *   a line            a b c d e X Y Z ...     after it in order; their longest common prefix (LCP)
 *                                             has 5 bytes, then come X Y Z
 *
 * This orders the lines partially. Among lines before the chosen one, a longer LCP sorts later;
 * among lines after it, a longer LCP sorts sooner. The comparison of a line continues after its
 * LCP, so no byte is compared twice, except for the choice. If the chosen line is near the middle,
 * the number of lines not yet distinguished halves each time, however long their common prefix.
 *
 * This is multikey quicksort by whole prefixes. If rows are found in constant time, n lines take
 * time proportional to their bytes plus n log n. lines_refine.c handles lines for which the choice
 * is bad.
 *
 * So the `key` of an item has one of these encodings, from the top bit on. The column and
 * `is_relative` of lines_load() decide which. In a descending column all bits are complemented.
 *
 *   rows      is_relative  key                                   lines with equal keys continue at
 *   --------  -----------  ------------------------------------  ---------------------------------
 *   of words  false        64  the word                          the next word, or the next column
 *   of words  true          2  enum side                         the first different word, or the
 *                          62  index of first different word *   next column if equal
 *   of bytes  either        2  enum side                         the byte after these, or the next
 *                          11  length of the LCP *               column if there is none
 *                          48  the next 6 bytes, then zeros
 *                           3  their number; 7: more than 6
 *   after     either       the same in 2, 43, 16 and 3 bits      as above
 *   8 KiB
 *
 *   * complemented if the line is after the chosen one, as a longer LCP sorts sooner there
 *
 * If only whole lines remain to be compared, up to LINES_FEW of them are sorted without keys, by
 * words of lines_few_sort() (lines_refine.c).
 */
#include "formats/lines/lines_text.h"

#include "core/byte_words.h"
#include "formats/lines/line_compare.h"
#include "formats/number/number_key.h"

#include <float.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows ---- */

/* A row of words, which are read on demand. */
struct line_row {
    enum row_kind kind;
    union {
        struct decimal_text decimal;
        uint64_t value[2];
        uint64_t position; /* of the line in the text */
    };
};

/* Returns word `index` of the row, which must not end before it. */
static inline uint64_t lines_row_word(struct line_row *row, size_t index)
{
    if (row->kind == ROW_POSITION)
        return row->position;
    return row->kind == ROW_VALUE ? row->value[index] : decimal_word(&row->decimal, index);
}

/* Returns true if the word is the last one of a row of this kind. index: its index. The word is not
 * complemented. */
static inline bool lines_row_word_is_last(enum row_kind kind, uint64_t word, size_t index)
{
    if (kind == ROW_POSITION)
        return true;
    return kind == ROW_VALUE ? index == 1 : decimal_word_is_last(word, index);
}

/* Returns true if lines_row_common() may skip words from word `from` on. */
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

/* Sets two words whose order is that of the long doubles, with -0 as 0. x87 has sign and exponent
 * in bytes 8 and 9. IEEE 754 binary128 has them at the top of bytes 15 and 14, with more of the
 * significand below them in the same word. In both formats the greatest first word, for inf, leaves
 * room for adding NUMBER_IMAGE_LEAST. */
static void value_words(long double value, uint64_t words[2])
{
    const bool is_x87 = LDBL_MANT_DIG == 64;
    const uint64_t sign = is_x87 ? 0x8000 : (uint64_t)1 << 63;
    uint64_t halves[2] = {0, 0};
    value = value == 0 ? 0 : value;
    memcpy(halves, &value, is_x87 ? 10 : sizeof value);
    const bool negative = (halves[1] & sign) != 0;
    words[0] =
        NUMBER_IMAGE_LEAST + (negative ? ~halves[1] & (sign | (sign - 1)) : halves[1] | sign);
    words[1] = negative ? ~halves[0] : halves[0];
}

static void text_value_words(const char *text, size_t length, uint64_t words[2])
{
    long double value;
    words[0] = number_prefix_class(text, length, &value);
    words[1] = 0;
    if (words[0] == NUMBER_IMAGE_LEAST)
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
        .kind = is_stable ? ROW_POSITION : ROW_LINE,
        .complement = order->reverse && !is_stable ? UINT64_MAX : 0,
    };
    return columns;
}

static struct line_span lines_row_span(const struct lines *lines, struct key_index item,
                                       size_t column)
{
    return line_key_span(lines->order, &lines->order->keys[column], line_text(lines, item),
                         line_length(lines, item));
}

/* Sets *row to the row of the item's line in a column of words. The row borrows the text. */
static void lines_row_open(const struct lines *lines, struct key_index item, size_t column,
                           struct line_row *row)
{
    row->kind = lines->columns[column].kind;
    if (row->kind == ROW_POSITION) {
        row->position = item.index;
        return;
    }
    const struct line_span span = lines_row_span(lines, item, column);
    if (row->kind == ROW_VALUE)
        text_value_words(span.text, span.length, row->value);
    else
        decimal_scan(span.text, span.length, row->kind == ROW_SUFFIX, &row->decimal);
}

/* Compares two rows of words of a column from word *at on; the words before it are equal. Ignores
 * the direction of the column. Returns a value below 0, 0, or above 0, and sets *at to the first
 * word that differs. */
static int lines_row_differ(struct line_row *a, struct line_row *b, size_t *at)
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
    return line_span_compare(lines_row_span(lines, a, cursor.column),
                             lines_row_span(lines, b, cursor.column), cursor.at);
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

/* ---- Loads of keys ---- */

/* One load of keys, shared by the tasks, each of which has its own range of items. */
struct row_load {
    const struct lines *lines;
    struct row_cursor cursor;
    struct line_row row;   /* words: the chosen row; to skip words, that of the first item */
    struct line_span span; /* bytes: the chosen row, from the cursor on. A whole line includes its
                              terminator, so that the ends of other lines need not be known. */
    _Atomic size_t *end;   /* words: the end of the skipped common words */
};

/* The order of a line relative to the chosen line: the top 2 bits of its key. */
enum side { SIDE_BEFORE, SIDE_SAME, SIDE_AFTER };
#define KEY_EQUAL ((uint64_t)SIDE_SAME << 62)

/* Returns the line to prefetch while item i is handled: LINES_AHEAD items later, or the last one.
 * The caller prefetches it, since a compiler may remove a function that only prefetches. */
static inline const char *line_ahead(const struct lines *lines, const struct key_index *items,
                                     size_t count, size_t i)
{
    const size_t last = count - 1;
    return line_text(lines, items[last - i > LINES_AHEAD ? i + LINES_AHEAD : last]);
}

/* ---- Rows of words: skipping words ----
 *
 * Without it, 5,000 numbers that share 20,000 digits take -n 3.9 s of user time in place of 0.2
 * (sort(1): 1.1; 2026-11). */

/* Lowers *load->end to the first word, from the cursor on, in which one of the items may differ
 * from load->row. Stops if no word can be skipped. */
static void lines_words_find_end(const struct row_load *load, struct key_index *items, size_t count)
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

/* ---- Rows of words: one word ---- */

static void lines_words_load(const struct row_load *load, struct key_index *items, size_t count)
{
    const struct lines *const lines = load->lines;
    const struct row_cursor cursor = load->cursor;
    const struct row_column column = lines->columns[cursor.column];
    for (size_t i = 0; i < count && i < LINES_AHEAD; ++i)
        __builtin_prefetch(line_text(lines, items[i]));
    for (size_t i = 0; i < count; ++i) {
        struct line_row row;
        __builtin_prefetch(line_ahead(lines, items, count, i));
        lines_row_open(lines, items[i], cursor.column, &row);
        items[i].key = lines_row_word(&row, cursor.at) ^ column.complement;
    }
}

/* Returns the position after a key of lines_words_load(), which is not complemented. */
static struct row_cursor lines_words_next(enum row_kind kind, struct row_cursor cursor,
                                          uint64_t key)
{
    return lines_row_word_is_last(kind, key, cursor.at)
               ? (struct row_cursor){cursor.column + 1, 0}
               : (struct row_cursor){cursor.column, cursor.at + 1};
}

/* ---- Rows of words: relative to the chosen row ---- */

/* The greatest index of a word in a key. */
#define WORDS_MAX (UINT64_MAX >> 2)

/* Loads the order of each row relative to load->row. */
static void lines_words_load_relative(const struct row_load *load, struct key_index *items,
                                      size_t count)
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
                             : order > 0 ? (uint64_t)SIDE_AFTER << 62 | (WORDS_MAX - at)
                                         : KEY_EQUAL;
        items[i].key = key ^ complement;
    }
}

/* Returns the position after a key of lines_words_load_relative(), which is not complemented. */
static struct row_cursor lines_words_next_relative(struct row_cursor cursor, uint64_t key)
{
    if (key == KEY_EQUAL)
        return (struct row_cursor){cursor.column + 1, 0};
    const uint64_t place = key & WORDS_MAX;
    return (struct row_cursor){cursor.column, key >> 62 == SIDE_AFTER ? WORDS_MAX - place : place};
}

/* ---- Rows of bytes: relative to the chosen row ---- */

/* Number of bytes after the LCP in a key. From byte NEAR_BYTES of a row on, a key has fewer, and
 * room for the LCP of any row: each load finds the row again, which takes time in proportion to its
 * length. Without that, -k1,1 takes 10.3 s of user time for 200 lines of 1 MiB of blanks (sort(1):
 * 0.3), and with it from byte 2047 on, a half more for 40,000 lines that share 3,000 bytes
 * (2026-11). */
#define NEXT_NEAR 6u
#define NEXT_FAR 2u
#define NEAR_BYTES ((size_t)1 << 13)
#define MORE_BYTES 7

/* The functions below take the number of bytes after the LCP as `next_count`. */

static inline unsigned lcp_shift(unsigned next_count)
{
    return 8 * next_count + 3;
}

/* Returns the greatest length of an LCP in a key. A row with such an LCP is equal so far. */
static inline size_t lcp_most(unsigned next_count)
{
    return ((size_t)1 << (62 - lcp_shift(next_count))) - 1;
}

static inline uint64_t key_same_so_far(unsigned next_count)
{
    return KEY_EQUAL | (uint64_t)lcp_most(next_count) << lcp_shift(next_count) | MORE_BYTES;
}

static inline uint64_t make_key(enum side side, size_t lcp, uint64_t bytes, unsigned next_count)
{
    const uint64_t place = side == SIDE_AFTER ? lcp_most(next_count) - lcp : lcp;
    return (uint64_t)side << 62 | place << lcp_shift(next_count) | bytes;
}

/* Returns the position after a key, which is not complemented. */
static struct row_cursor lines_bytes_next(struct row_cursor cursor, uint64_t key)
{
    const unsigned next_count = cursor.at < NEAR_BYTES ? NEXT_NEAR : NEXT_FAR;
    const size_t most = lcp_most(next_count);
    if ((key & 7) < MORE_BYTES)
        return (struct row_cursor){cursor.column + 1, 0};
    if (key == key_same_so_far(next_count))
        return (struct row_cursor){cursor.column, cursor.at + most};
    const size_t place = key >> lcp_shift(next_count) & most;
    const size_t lcp = key >> 62 == SIDE_AFTER ? most - place : place;
    return (struct row_cursor){cursor.column, cursor.at + lcp + next_count};
}

/* Returns the next bytes at `text`, and below them their number or MORE_BYTES. The row has `left`
 * bytes there. Reads 8 bytes, also after its end. */
static inline uint64_t next_bytes(const char *text, size_t left, unsigned next_count)
{
    uint64_t word;
    if (left == 0)
        return 0;
    memcpy(&word, text, 8);
    word = __builtin_bswap64(word) & ~(uint64_t)0
                                         << 8 * (8 - (left < next_count ? left : next_count));
    return word >> (64 - lcp_shift(next_count)) | (left <= next_count ? left : MORE_BYTES);
}

/* Returns how many bytes the line has at `text` before its end, 8 for more than 7. */
static inline size_t bytes_left(const char *text, uint64_t terminators)
{
    uint64_t word;
    memcpy(&word, text, 8);
    const uint64_t ends = byte_mask(word, terminators);
    return ends != 0 ? (size_t)__builtin_ctzll(ends) / 8 : 8;
}

/* Loads the keys of whole lines. The chosen line includes its terminator. */
static inline void load_lines(const struct row_load *load, struct key_index *items, size_t count,
                              unsigned next_count)
{
    const struct lines *const lines = load->lines;
    const struct line_span chosen = load->span;
    const char terminator = lines->order->terminator;
    const uint64_t terminators = byte_in_all(terminator);
    const uint64_t complement = lines->columns[load->cursor.column].complement;
    const size_t at = load->cursor.at;
    const size_t most = chosen.length < lcp_most(next_count) ? chosen.length : lcp_most(next_count);
    for (size_t i = 0; i < count; ++i) {
        const char *const text = line_text(lines, items[i]) + at;
        __builtin_prefetch(line_ahead(lines, items, count, i) + at);
        const size_t lcp = bytes_common(text, chosen.text, most);
        uint64_t key =
            chosen.length <= lcp_most(next_count) ? KEY_EQUAL : key_same_so_far(next_count);
        if (lcp < most) {
            const size_t left = bytes_left(text + lcp, terminators);
            const bool is_before =
                left == 0 || (chosen.text[lcp] != terminator &&
                              (unsigned char)text[lcp] < (unsigned char)chosen.text[lcp]);
            key = make_key(is_before ? SIDE_BEFORE : SIDE_AFTER, lcp,
                           next_bytes(text + lcp, left, next_count), next_count);
        }
        items[i].key = key ^ complement;
    }
}

static inline void load_fields(const struct row_load *load, struct key_index *items, size_t count,
                               unsigned next_count)
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
        const size_t most = lcp_most(next_count);
        const size_t lcp = bytes_common(text, chosen.text, both < most ? both : most);
        uint64_t key;
        if (lcp == most) {
            key = key_same_so_far(next_count);
        } else if (lcp == bytes && lcp == chosen.length) {
            key = KEY_EQUAL;
        } else {
            const bool is_before =
                lcp == bytes ||
                (lcp < chosen.length && (unsigned char)text[lcp] < (unsigned char)chosen.text[lcp]);
            key = make_key(is_before ? SIDE_BEFORE : SIDE_AFTER, lcp,
                           next_bytes(text + lcp, bytes - lcp, next_count), next_count);
        }
        items[i].key = key ^ complement;
    }
}

static inline bool is_whole(const struct row_load *load)
{
    return load->lines->columns[load->cursor.column].kind == ROW_LINE;
}

static struct line_span lines_bytes_span(const struct row_load *load, struct key_index item)
{
    const struct lines *const lines = load->lines;
    const size_t at = load->cursor.at;
    const struct line_span span =
        is_whole(load) ? (struct line_span){line_text(lines, item), line_length(lines, item) + 1}
                       : lines_row_span(lines, item, load->cursor.column);
    return (struct line_span){span.text + at, span.length - at};
}

static void lines_bytes_load(const struct row_load *load, struct key_index *items, size_t count)
{
    for (size_t i = 0; i < count && i < LINES_AHEAD; ++i)
        __builtin_prefetch(line_text(load->lines, items[i]) +
                           (is_whole(load) ? load->cursor.at : 0));
    const bool is_near = load->cursor.at < NEAR_BYTES;
    if (is_whole(load) && is_near)
        load_lines(load, items, count, NEXT_NEAR);
    else if (is_whole(load))
        load_lines(load, items, count, NEXT_FAR);
    else if (is_near)
        load_fields(load, items, count, NEXT_NEAR);
    else
        load_fields(load, items, count, NEXT_FAR);
}

/* ---- Loads by tasks ---- */

/* Maximum number of tasks per thread. Above 64, libgomp creates no tasks: one thread does all the
 * work, with the task records of 216 bytes in an array on its stack, which 40,000 of them overflow.
 */
#define TASKS_PER_THREAD 16

/* Above this number of items, the chosen line is a median of three. */
#define CHOICE_COUNT ((size_t)32)

/* Calls `part` for ranges of the items: one task per range if there are many, else one call. */
static void load_parts(const struct row_load *load, struct key_index *items, size_t count,
                       void (*part)(const struct row_load *, struct key_index *, size_t))
{
    const size_t tasks = count / TASK_COUNT;
    const size_t most = TASKS_PER_THREAD * (size_t)omp_get_num_threads();
    const size_t parts = tasks < most ? tasks : most;
    if (parts < 2) {
        part(load, items, count);
        return;
    }
    const size_t longer = count % parts; /* number of parts with one item more */
#pragma omp taskloop grainsize(1) default(none)                                                    \
    firstprivate(load, items, count, part, parts, longer)
    for (size_t i = 0; i < parts; ++i)
        part(load, items + count / parts * i + (i < longer ? i : longer),
             count / parts + (i < longer));
}

/* Returns an item that is probably near the middle of the order. */
static struct key_index choose_line(const struct lines *lines, const struct key_index *items,
                                    size_t count, struct row_cursor cursor)
{
    const struct key_index a = items[count / 8], b = items[count / 2], c = items[count / 8 * 7];
    if (count <= CHOICE_COUNT)
        return b;
    const bool a_b = lines_row_compare(lines, a, b, cursor) < 0;
    const bool b_c = lines_row_compare(lines, b, c, cursor) < 0;
    if (a_b == b_c)
        return b;
    return (lines_row_compare(lines, a, c, cursor) < 0) == a_b ? c : a;
}

/* Moves the cursor past words that all lines share and that are the last of no line. It may stop
 * before the end of such words, which is rare. The last item is compared first: in text that is
 * nearly in order, it differs most from the first. */
static void skip_shared_words(struct row_load *load, struct key_index *items, size_t count)
{
    struct row_cursor *const cursor = &load->cursor;
    if (!lines_row_may_share(load->lines->columns[cursor->column].kind, cursor->at))
        return;
    _Atomic size_t end = SIZE_MAX;
    load->end = &end;
    lines_row_open(load->lines, items[0], cursor->column, &load->row);
    lines_words_find_end(load, items + count - 1, 1);
    load_parts(load, items, count, lines_words_find_end);
    cursor->at = atomic_load_explicit(&end, memory_order_relaxed);
}

void lines_load(const struct lines *lines, struct key_index *items, size_t count,
                struct row_cursor *cursor, bool is_relative)
{
    struct row_load load = {.lines = lines, .cursor = *cursor};
    if (row_is_bytes(lines->columns[cursor->column].kind)) {
        load.span = lines_bytes_span(&load, choose_line(lines, items, count, *cursor));
        load_parts(&load, items, count, lines_bytes_load);
    } else if (is_relative) {
        lines_row_open(lines, choose_line(lines, items, count, *cursor), cursor->column, &load.row);
        load_parts(&load, items, count, lines_words_load_relative);
    } else {
        skip_shared_words(&load, items, count);
        load_parts(&load, items, count, lines_words_load);
        *cursor = load.cursor;
    }
}

struct row_cursor lines_load_next(const struct lines *lines, struct row_cursor cursor, uint64_t key,
                                  bool is_relative)
{
    const struct row_column column = lines->columns[cursor.column];
    key ^= column.complement;
    if (row_is_bytes(column.kind))
        return lines_bytes_next(cursor, key);
    return is_relative ? lines_words_next_relative(cursor, key)
                       : lines_words_next(column.kind, cursor, key);
}
