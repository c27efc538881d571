/* SPDX-License-Identifier: Apache-2.0 */
/* line_error.h - the messages about a line that is not the number it should be, for text.c and
 * lines.c.
 */
#ifndef FORMATS_LINE_ERROR_H
#define FORMATS_LINE_ERROR_H

#include "core/error.h"
#include "core/key_types.h"
#include "formats/number_text.h"

/* Sets "FILE:LINE: 'abc' is not a number" and the like; status is not NUMBER_OK. type: the one that
 * the number was to be of; NULL for lines, of which the message says what takes any of them.
 * Returns false. */
bool line_error_set(struct error *error, const char *file, size_t line_number, const char *line,
                    size_t bytes, enum number_status status, const struct key_type *type);

/* Whether text begins so with a byte order mark, which line_error_set then names. */
bool line_error_finds_mark(const void *text, size_t bytes);

#endif
