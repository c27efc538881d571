/* SPDX-License-Identifier: Apache-2.0 */
/* line_run.h - whether lines that follow each other in memory are in order.
 */
#ifndef FORMATS_LINE_RUN_H
#define FORMATS_LINE_RUN_H

#include "core/line_order.h"
#include "formats/decimal_run.h"

#include <stdbool.h>
#include <stddef.h>

/* So many bytes behind the lines have to be readable, though they may mean nothing. */
#define LINE_RUN_SLACK_BYTES DECIMAL_RUN_SLACK_BYTES

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

/* Looks through text[0..bytes), which is whole lines, up to the first that is not in order behind
 * the one before it. is_first_known: the first line is known to be in order, and not counted. With
 * a unique order equal keys are disorder. */
struct line_run line_run_check(const struct line_order *order, const char *text, size_t bytes,
                               bool is_first_known);

/* The length of the line at the offset, without the terminator. */
size_t line_run_length(const struct line_order *order, const char *text, size_t bytes,
                       size_t offset);

#endif
