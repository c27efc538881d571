/* SPDX-License-Identifier: Apache-2.0 */
/* lines_load.c - see lines_load.h.
 *
 * Of words: those that are the same in all lines are passed over, then one is loaded. Of bytes, and
 * of words if that does not come to an end soon: one of the lines is chosen, and each line is
 * compared with it,
 *
 *   the chosen line   a b c d e f g h i j k
 *   a line            a b c d e X Y Z ...     behind it in order; their longest common prefix (LCP)
 *                                             has 5 bytes, then come X Y Z
 *
 * which puts the lines in order as far as it goes: of those before the chosen one the longer their
 * LCP with it the later, of those behind it the sooner. A line goes on behind its LCP, so no byte
 * is compared twice but for the choice; and if that is near the middle, lines that are not told
 * apart are half as many each time, however much they have in common. This is multikey quicksort by
 * whole prefixes: of n lines whose rows are found at once it takes time by their bytes and n log n.
 * lines_refine.c sees to lines for which the choice is no good.
 */
#include "formats/lines_load.h"

#include "formats/lines_bytes.h"
#include "formats/lines_words.h"

#include <omp.h>

/* Tasks for each thread, at most. Of more than 64 libgomp makes none: one thread does the work of
 * all, with their records, of 216 bytes, in an array on its stack, which 40,000 of them overflow.
 */
#define TASKS_PER_THREAD 16

/* More items than so many are worth a choice. */
#define CHOICE_COUNT ((size_t)32)

/* Has the items looked through by `part`, in parts, a task each, if they are many. */
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
    const size_t longer = count % parts; /* so many parts are longer by an item */
#pragma omp taskloop grainsize(1) default(none)                                                    \
    firstprivate(load, items, count, part, parts, longer)
    for (size_t i = 0; i < parts; ++i)
        part(load, items + count / parts * i + (i < longer ? i : longer),
             count / parts + (i < longer));
}

/* One of the items, near the middle in their order. */
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

/* Moves the cursor on over words that are the same in all lines and the last of none; not over all
 * such words, but that some are left is rare. The last item is looked at before all others: in text
 * that is nearly in order, it is the one that is most unlike the first. */
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
