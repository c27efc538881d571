/* SPDX-License-Identifier: Apache-2.0 */
/* line_error.h - error messages for lines that are not numbers, or do not fit in memory. */
#ifndef FORMATS_LINE_ERROR_H
#define FORMATS_LINE_ERROR_H

#include "core/error.h"
#include "core/key_types.h"
#include "formats/number/number_text.h"

/* Sets "FILE:LINE: 'abc' is not a number" or the like. note: of source_command_note(). status is
 * not NUMBER_OK. type: the expected type; NULL for lines, whose status is NUMBER_MALFORMED: then
 * the message names options that accept them. Returns false. */
bool line_error_set(struct error *error, const char *file, const char *note, size_t line_number,
                    const char *line, size_t bytes, enum number_status status,
                    const struct key_type *type);

/* Sets the error of a line that is too long to be a number. Returns false. */
bool line_error_set_too_long(struct error *error, const char *file, size_t line_number);

/* Sets the error of a line of which `bytes` bytes were read, and more do not fit in memory. Returns
 * false. */
bool line_error_set_no_memory(struct error *error, const char *file, size_t bytes);

/* Returns what line_error_set() advises for text that begins with a byte order mark; NULL without
 * one. */
const char *line_error_find_mark(const void *text, size_t bytes);

/* Returns LE or BE if three quarters of the units of 16 bits, or more (one less will do), are an
 * ASCII character and a NUL, nearly all in the same order. Else returns NULL. */
const char *line_error_find_wide(const void *text, size_t bytes);

/* Returns 2 if the text seems to be UTF-16, 4 for UTF-32: if it is valid after a byte order mark of
 * that encoding; otherwise 2 if it looks like ASCII in UTF-16. Else returns 0. */
size_t line_error_unit_bytes(const void *text, size_t bytes);

#endif
