/* SPDX-License-Identifier: Apache-2.0 */
/* lines_bytes.h - rows of bytes, loaded into the keys of items beside one of them; for
 * lines_load.c, whose contract says what is loaded.
 */
#ifndef FORMATS_LINES_BYTES_H
#define FORMATS_LINES_BYTES_H

#include "formats/lines_load.h"

/* The row of an item, for load->span. */
struct line_span lines_bytes_span(const struct row_load *load, struct key_index item);

/* Loads how each row compares with load->span. */
void lines_bytes_load(const struct row_load *load, struct key_index *items, size_t count);

/* Where rows go on behind such a key; it is not complemented. */
struct row_cursor lines_bytes_next(struct row_cursor cursor, uint64_t key);

#endif
