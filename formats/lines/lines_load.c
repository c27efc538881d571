/* SPDX-License-Identifier: Apache-2.0 */
/* lines_load.c - see lines_load.h.
 *
 * In rows of words, the words that all lines share are skipped, and the next word is loaded. In
 * rows of bytes, and in rows of words where the former takes too long, one of the lines is chosen
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
 */
#include "formats/lines/lines_load.h"

#include <omp.h>

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

/* Moves the cursor over words that all lines share and that are the last of no line. It may stop
 * before the end of such words, which is rare. The last item is compared first: in text that is
 * nearly in order, it differs most from the first. */
static void pass_over_words(struct row_load *load, struct key_index *items, size_t count)
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
                struct row_cursor *cursor, bool beside)
{
    struct row_load load = {.lines = lines, .cursor = *cursor};
    if (row_is_bytes(lines->columns[cursor->column].kind)) {
        load.span = lines_bytes_span(&load, choose_line(lines, items, count, *cursor));
        load_parts(&load, items, count, lines_bytes_load);
    } else if (beside) {
        lines_row_open(lines, choose_line(lines, items, count, *cursor), cursor->column, &load.row);
        load_parts(&load, items, count, lines_words_load_beside);
    } else {
        pass_over_words(&load, items, count);
        load_parts(&load, items, count, lines_words_load);
        *cursor = load.cursor;
    }
}

struct row_cursor lines_load_next(const struct lines *lines, struct row_cursor cursor, uint64_t key,
                                  bool beside)
{
    const struct row_column column = lines->columns[cursor.column];
    key ^= column.complement;
    if (row_is_bytes(column.kind))
        return lines_bytes_next(cursor, key);
    return beside ? lines_words_next_beside(cursor, key)
                  : lines_words_next(column.kind, cursor, key);
}
