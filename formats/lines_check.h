/* SPDX-License-Identifier: Apache-2.0 */
/* lines_check.h - whether the lines of a source are in order: sort -c.
 *
 *   source -> pieces, each read and looked through by a thread, and joined to those before it
 *
 * Memory is 256 KiB a thread, and a few times the longest line.
 */
#ifndef FORMATS_LINES_CHECK_H
#define FORMATS_LINES_CHECK_H

#include "core/error.h"
#include "core/line_order.h"
#include "formats/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines_check {
    uint64_t lines; /* in order */
    uint64_t bytes; /* read, and a last terminator that was missing */
    bool is_disordered;
    char *text;    /* if so, the line behind them, which is not in order; the caller frees it */
    size_t length; /* without its terminator */
};

/* Reads the source up to the first line that should go before the one that it follows or, with a
 * unique order, has equal keys. A line that is not the number that LINE_STRICT wants is an error;
 * lines_before: the source's, read already, for the line's number in the message. */
bool lines_check(struct source *source, const struct line_order *order, uint64_t lines_before,
                 unsigned threads, struct lines_check *check, struct error *error);

#endif
