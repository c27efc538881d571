/* SPDX-License-Identifier: Apache-2.0 */
/* lines_load.h - what many lines have at one place of their rows, for lines_refine.c: loaded into
 * the keys of their items. By many threads, as tasks, if the lines are many.
 *
 *   lines_load.c     chooses what is loaded, and shares the items out
 *     lines_words.c  rows of words: the next word, or how the row compares with another
 *     lines_bytes.c  rows of bytes: how the line compares with another
 */
#ifndef FORMATS_LINES_LOAD_H
#define FORMATS_LINES_LOAD_H

#include "formats/lines_row.h"

#include <stdatomic.h>

/* More items than so many are worth a task; some 0.2 ms of work. */
#define TASK_COUNT ((size_t)8192)

/* Loads the keys of items whose lines are equal up to the cursor, where none of the rows has ended:
 * a monotone image of what the lines have there, complemented as the column is. Of words that is
 * the first one that may tell the lines apart, which the cursor is set on; or, `beside`, how each
 * stands beside one of them, and with how many words in common. Of bytes it is always the latter.
 */
void lines_load(const struct lines *lines, struct key_index *items, size_t count,
                struct row_cursor *cursor, bool beside);

/* Where lines can differ next that have this key, loaded so at the cursor. */
struct row_cursor lines_load_next(const struct lines *lines, struct row_cursor cursor, uint64_t key,
                                  bool beside);

/* ---- Between lines_load.c and what it calls ---- */

/* What is loaded for items, by threads that have a part of them each. */
struct row_load {
    const struct lines *lines;
    struct row_cursor cursor;
    struct line_row row;   /* of words: what the rows are compared with */
    struct line_span span; /* of bytes: the same, from the cursor on; of a whole line with its
                            * terminator, so that the end of others need not be known */
    _Atomic size_t *end;   /* of words that are passed over */
};

/* How a line stands beside the one that it is compared with: the top 2 bits of its key. */
enum side { SIDE_BEFORE, SIDE_SAME, SIDE_BEHIND };
#define KEY_EQUAL ((uint64_t)SIDE_SAME << 62)

/* The line that is looked at some time after that of item i. (Not prefetched here: a function that
 * does nothing else has no effect to a compiler, and may go.) */
static inline const char *line_ahead(const struct lines *lines, const struct key_index *items,
                                     size_t count, size_t i)
{
    const size_t last = count - 1;
    return line_text(lines, items[last - i > LINES_AHEAD ? i + LINES_AHEAD : last]);
}

#endif
