/* SPDX-License-Identifier: Apache-2.0 */
/* line_run.c - see line_run.h.
 *
 *   from a line on -> decimal_run: plain decimals are compared by their bytes -> it stops
 *   from there on, and with any other order: some lines are ranked and compared -> decimal_run
 * again
 */
#include "formats/check/line_run.h"

#include "formats/lines/line_compare.h"

#include <string.h>

/* Maximum number of lines that are ranked before plain decimals are tried again. It begins with
 * one, and doubles each time that decimal_run finds none. */
#define RANKED_LINES_MAX 64

size_t line_run_length(const struct line_order *order, const char *text, size_t bytes,
                       size_t offset)
{
    const char *const line = text + offset;
    return (size_t)((const char *)memchr(line, order->terminator, bytes - offset) - line);
}

/* State of the check: at the line at run.offset, after the one at `previous`. */
struct walk {
    const struct line_order *order;
    const char *text;
    size_t bytes;
    size_t previous;
    struct line_run run;
};

/* Checks at most `most` lines. Returns false at a line that is not in order. */
static bool walk_ranked(struct walk *walk, size_t most)
{
    const struct line_order *const order = walk->order;
    const int highest = order->unique ? -1 : 0; /* greatest result of line_rank_compare in order */
    struct ranked_line lines[2] = {{0}};
    struct line_run *const run = &walk->run;
    if (run->offset > 0)
        (void)line_rank(order, walk->text + walk->previous, run->offset - walk->previous - 1,
                        &lines[1]);
    for (unsigned i = 0; most > 0 && run->offset < walk->bytes; most--, i = !i) {
        const size_t length = line_run_length(order, walk->text, walk->bytes, run->offset);
        if (!line_rank(order, walk->text + run->offset, length, &lines[i])) {
            run->state = LINE_RUN_NO_NUMBER;
            return false;
        }
        if (run->offset > 0 && line_rank_compare(order, &lines[!i], &lines[i]) > highest) {
            run->state = LINE_RUN_DISORDER;
            return false;
        }
        run->lines++;
        walk->previous = run->offset;
        run->offset += length + 1;
    }
    return true;
}

struct line_run line_run_check(const struct line_order *order, const char *text, size_t bytes,
                               bool is_first_known)
{
    const bool may_be_decimals = decimal_run_suits(order);
    struct walk walk = {.order = order, .text = text, .bytes = bytes};
    if (is_first_known && bytes > 0)
        walk.run.offset = line_run_length(order, text, bytes, 0) + 1;
    size_t most = may_be_decimals ? 1 : SIZE_MAX;
    while (walk.run.offset < bytes && walk_ranked(&walk, most)) {
        if (!may_be_decimals)
            continue;
        const size_t lines = decimal_run_walk(order, text, bytes, &walk.previous, &walk.run.offset);
        walk.run.lines += lines;
        most = lines > 0 ? 1 : most < RANKED_LINES_MAX ? most * 2 : most;
    }
    return walk.run;
}
