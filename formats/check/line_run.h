/* SPDX-License-Identifier: Apache-2.0 */
/* line_run.h - checks whether consecutive lines in memory are in order. */
#ifndef FORMATS_LINE_RUN_H
#define FORMATS_LINE_RUN_H

#include "core/line/line_order.h"
#include "formats/check/decimal_run.h"

#include <stdbool.h>
#include <stddef.h>

/* This many bytes after the lines must be readable; their values do not matter. */
#define LINE_RUN_SLACK_BYTES DECIMAL_RUN_SLACK_BYTES

enum line_run_state {
    LINE_RUN_IN_ORDER,
    LINE_RUN_DISORDER, /* a line sorts before its predecessor */
    LINE_RUN_NO_NUMBER /* a line is not the number that LINE_STRICT requires */
};

struct line_run {
    enum line_run_state state;
    size_t lines;  /* number of lines found in order */
    size_t offset; /* offset of the first line out of order, or of one that is not a number */
};

/* Checks text[0..bytes), which must be whole lines, up to the first line that sorts before its
 * predecessor. With a unique order equal keys are disorder too. is_first_known: the first line is
 * known to be in order, and is not counted. */
struct line_run line_run_check(const struct line_order *order, const char *text, size_t bytes,
                               bool is_first_known);

/* Returns the length of the line at the offset, without the terminator. */
size_t line_run_length(const struct line_order *order, const char *text, size_t bytes,
                       size_t offset);

#endif
