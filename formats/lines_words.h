/* lines_words.h - what many lines have at one place of their rows, for lines_refine.c: loaded into
 * the keys of their items. By many threads, as tasks, if the lines are many.
 */
#ifndef FORMATS_LINES_WORDS_H
#define FORMATS_LINES_WORDS_H

#include "formats/lines_row.h"

/* More items than so many are worth a task; some 0.2 ms of work. */
#define TASK_COUNT ((size_t)8192)

/* Loads the keys of items whose lines are equal up to the cursor, where none of the rows has ended:
 * a monotone image of what the lines have there, complemented as the column is. Of words that is
 * the first one that may tell the lines apart, which the cursor is set on; or, `beside`, how each
 * stands beside one of them, and with how many words in common. Of bytes it is always the latter.
 */
void lines_words_load(const struct lines *lines, struct key_index *items, size_t count,
                      struct row_cursor *cursor, bool beside);

/* Where lines can differ next that have this key, loaded so at the cursor. */
struct row_cursor lines_words_next(const struct lines *lines, struct row_cursor cursor,
                                   uint64_t key, bool beside);

#endif
