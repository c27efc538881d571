/* SPDX-License-Identifier: Apache-2.0 */
/* line_error.h - error messages for lines that are not numbers, for text.c and lines.c. */
#ifndef FORMATS_LINE_ERROR_H
#define FORMATS_LINE_ERROR_H

#include "core/error.h"
#include "core/key_types.h"
#include "formats/number/number_text.h"

/* Sets "FILE:LINE: 'abc' is not a number" or the like. status is not NUMBER_OK. type: the expected
 * type; NULL for lines: then the message names options that accept them. Returns false. */
bool line_error_set(struct error *error, const char *file, size_t line_number, const char *line,
                    size_t bytes, enum number_status status, const struct key_type *type);

/* Returns true if the text begins with a byte order mark, for which line_error_set() has a
 * message. */
bool line_error_finds_mark(const void *text, size_t bytes);

#endif
