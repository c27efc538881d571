/* lines_words.h - what many lines have at one place of their rows, for lines_refine.c: loaded into
 * the keys of their items. By many threads, as tasks, if the lines are many.
 */
#ifndef FORMATS_LINES_WORDS_H
#define FORMATS_LINES_WORDS_H

#include "formats/lines_row.h"

/* More items than so many are worth a task; some 0.2 ms of work. */
#define TASK_COUNT ((size_t)8192)

/* Sets the cursor on the first place that may tell the items apart, not before where it is, and the
 * keys to a monotone image of what their lines have there, complemented as the column is. All lines
 * are equal up to the cursor, where none of the rows has ended. */
void lines_words_load(const struct lines *lines, struct key_index *items, size_t count,
                      struct row_cursor *cursor);

/* Where lines can differ next that have this key, loaded at the cursor. */
struct row_cursor lines_words_next(const struct lines *lines, struct row_cursor cursor,
                                   uint64_t key);

#endif
