/* SPDX-License-Identifier: Apache-2.0 */
/* lines_load.h - loads the keys of many items from one position of the rows of their lines; for
 * lines_refine.c. If there are many lines, OpenMP tasks share the work.
 *
 *   lines_load.c     chooses what is loaded, and divides the items among tasks
 *     lines_words.c  rows of words: the next word, or how the row compares with another
 *     lines_bytes.c  rows of bytes: how the line compares with another
 */
#ifndef FORMATS_LINES_LOAD_H
#define FORMATS_LINES_LOAD_H

#include "formats/lines/lines_row.h"

#include <stdatomic.h>

/* Minimum number of items per task: about 0.2 ms of work. */
#define TASK_COUNT ((size_t)8192)

/* Loads the keys of items[0..count). Their lines must be equal up to the cursor, and none of the
 * rows may have ended there. A key is a monotone image of the line's row from the cursor on,
 * complemented as the column is.
 *
 * In a row of words, without `beside`, the key is the first word that may differ between the lines,
 * and the cursor is moved to that word. With `beside`, and always in a row of bytes, one of the
 * lines is chosen. The key is then the order of the line relative to the chosen one, and the number
 * of words or bytes that both have in common. */
void lines_load(const struct lines *lines, struct key_index *items, size_t count,
                struct row_cursor *cursor, bool beside);

/* Returns the next position at which lines with the same `key` can differ. `cursor` and `beside`
 * are the values at the lines_load() that loaded the key. */
struct row_cursor lines_load_next(const struct lines *lines, struct row_cursor cursor, uint64_t key,
                                  bool beside);

/* ---- Shared by lines_load.c, lines_words.c and lines_bytes.c ---- */

/* One load of keys, shared by the tasks, each of which has its own range of items. */
struct row_load {
    const struct lines *lines;
    struct row_cursor cursor;
    struct line_row row;   /* words: the chosen row */
    struct line_span span; /* bytes: the chosen row, from the cursor on. A whole line includes its
                              terminator, so that the ends of other lines need not be known. */
    _Atomic size_t *end;   /* words: the end of the skipped common words */
};

/* The order of a line relative to the chosen line: the top 2 bits of its key. */
enum side { SIDE_BEFORE, SIDE_SAME, SIDE_BEHIND };
#define KEY_EQUAL ((uint64_t)SIDE_SAME << 62)

/* Returns the line to prefetch while item i is handled: LINES_AHEAD items later, or the last one.
 * The caller prefetches it, since a compiler may remove a function that only prefetches. */
static inline const char *line_ahead(const struct lines *lines, const struct key_index *items,
                                     size_t count, size_t i)
{
    const size_t last = count - 1;
    return line_text(lines, items[last - i > LINES_AHEAD ? i + LINES_AHEAD : last]);
}

/* ---- lines_words.c ---- */

/* Lowers *load->end to the first word, from the cursor on, in which one of the items may differ
 * from load->row. */
void lines_words_find_end(const struct row_load *load, struct key_index *items, size_t count);

/* Loads the word at the cursor. */
void lines_words_load(const struct row_load *load, struct key_index *items, size_t count);

/* Loads the order of each row relative to load->row. */
void lines_words_load_beside(const struct row_load *load, struct key_index *items, size_t count);

/* Return the position after a key, which is not complemented, from lines_words_load() and from
 * lines_words_load_beside(). */
struct row_cursor lines_words_next(enum row_kind kind, struct row_cursor cursor, uint64_t key);
struct row_cursor lines_words_next_beside(struct row_cursor cursor, uint64_t key);

/* ---- lines_bytes.c ---- */

/* Returns the row of an item, for load->span. */
struct line_span lines_bytes_span(const struct row_load *load, struct key_index item);

/* Loads the order of each row relative to load->span. */
void lines_bytes_load(const struct row_load *load, struct key_index *items, size_t count);

/* Returns the position after a key, which is not complemented. */
struct row_cursor lines_bytes_next(struct row_cursor cursor, uint64_t key);

#endif
