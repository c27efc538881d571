/* line_run.h - whether lines that follow each other in memory are in order.
 */
#ifndef FORMATS_LINE_RUN_H
#define FORMATS_LINE_RUN_H

#include "core/line_order.h"

#include <stddef.h>

/* Text that is cut into pieces to be looked through at the same time. */
#define LINE_RUN_PIECE_BYTES ((size_t)1 << 20)

enum line_run_state {
    LINE_RUN_IN_ORDER,
    LINE_RUN_DISORDER, /* a line should go before the one that it follows */
    LINE_RUN_NO_NUMBER /* a line is not the number that LINE_STRICT wants */
};

struct line_run {
    enum line_run_state state;
    size_t lines;  /* looked at and found in order */
    size_t offset; /* of the line that is not */
};

/* Looks through the lines that start in [begin, end) of text, which is whole lines, up to the first
 * that is not in order behind the one before it; that one may start before `begin`. With a unique
 * order equal keys are disorder. */
struct line_run line_run_check(const struct line_order *order, const char *text, size_t bytes,
                               size_t begin, size_t end);

/* The length of the line at the offset, without the terminator. */
size_t line_run_length(const struct line_order *order, const char *text, size_t bytes,
                       size_t offset);

#endif
