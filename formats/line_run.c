/* line_run.c - see line_run.h. */
#include "formats/line_run.h"

#include "formats/line_rank.h"

#include <string.h>

size_t line_run_length(const struct line_order *order, const char *text, size_t bytes,
                       size_t offset)
{
    const char *const line = text + offset;
    return (size_t)((const char *)memchr(line, order->terminator, bytes - offset) - line);
}

/* The first line that starts in [begin, end); `end` if there is none, without a look behind it: a
 * long line is in many pieces. */
static size_t first_line_from(const struct line_order *order, const char *text, size_t begin,
                              size_t end)
{
    if (begin == 0 || begin >= end)
        return begin;
    const char *const found = memchr(text + begin - 1, order->terminator, end - begin);
    return found ? (size_t)(found - text) + 1 : end;
}

/* Ranks the line that ends before the one at `start`, if there is one. */
static bool rank_line_before(const struct line_order *order, const char *text, size_t start,
                             struct ranked_line *line)
{
    if (start == 0)
        return false;
    const size_t end = start - 1;
    const char *const terminator = memrchr(text, order->terminator, end);
    const size_t offset = terminator ? (size_t)(terminator - text) + 1 : 0;
    return line_rank(order, text + offset, end - offset, line);
}

struct line_run line_run_check(const struct line_order *order, const char *text, size_t bytes,
                               size_t begin, size_t end)
{
    struct line_run run = {.state = LINE_RUN_IN_ORDER};
    const int highest = order->unique ? -1 : 0; /* that line_rank_compare may be */
    struct ranked_line lines[2];
    run.offset = first_line_from(order, text, begin, end);
    if (run.offset >= end)
        return run;
    bool has_previous = rank_line_before(order, text, run.offset, &lines[1]);
    for (unsigned i = 0; run.offset < end; i = !i) {
        const size_t length = line_run_length(order, text, bytes, run.offset);
        if (!line_rank(order, text + run.offset, length, &lines[i])) {
            run.state = LINE_RUN_NO_NUMBER;
            return run;
        }
        if (has_previous && line_rank_compare(order, &lines[!i], &lines[i]) > highest) {
            run.state = LINE_RUN_DISORDER;
            return run;
        }
        has_previous = true;
        run.lines++;
        run.offset += length + 1;
    }
    return run;
}
