/* lines_words.h - one word of each of many lines at a time, for lines_refine.c: loaded into the
 * keys of their items, or passed over where it is the same in all. Both by many threads, as tasks,
 * if the lines are many.
 */
#ifndef FORMATS_LINES_WORDS_H
#define FORMATS_LINES_WORDS_H

#include "formats/lines_row.h"

/* More items than so many are worth a task; some 0.2 ms of work. */
#define TASK_COUNT ((size_t)8192)

/* A word of a line: which one of which row; see lines_row.h. */
struct row_cursor {
    size_t column;
    size_t word;
};

/* Sets the keys to the words at the cursor, complemented as the column is. No word of a row before
 * is its last. */
void lines_words_load(const struct lines *lines, struct key_index *items, size_t count,
                      struct row_cursor cursor);

/* Moves the cursor on in its row, over words that are the same in all lines and the last of none;
 * not over all such words, but that some are left is rare. All lines are equal in the words before,
 * of which none is the last. */
void lines_words_skip(const struct lines *lines, const struct key_index *items, size_t count,
                      struct row_cursor *cursor);

#endif
