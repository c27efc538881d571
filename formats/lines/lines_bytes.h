/* SPDX-License-Identifier: Apache-2.0 */
/* lines_bytes.h - loads rows of bytes into the keys of items, relative to a chosen row; part of
 * lines_load.c, whose header has the contract.
 */
#ifndef FORMATS_LINES_BYTES_H
#define FORMATS_LINES_BYTES_H

#include "formats/lines/lines_load.h"

/* Returns the row of an item, for load->span. */
struct line_span lines_bytes_span(const struct row_load *load, struct key_index item);

/* Loads the order of each row relative to load->span. */
void lines_bytes_load(const struct row_load *load, struct key_index *items, size_t count);

/* Returns the position after a key, which is not complemented. */
struct row_cursor lines_bytes_next(struct row_cursor cursor, uint64_t key);

#endif
