/* SPDX-License-Identifier: Apache-2.0 */
/* lines_words.h - rows of words, loaded into the keys of items; for lines_load.c, whose contract
 * says what is loaded.
 */
#ifndef FORMATS_LINES_WORDS_H
#define FORMATS_LINES_WORDS_H

#include "formats/lines_load.h"

/* Lowers *load->end to the first word from the cursor's on that may tell one of the items from
 * load->row. */
void lines_words_find_end(const struct row_load *load, struct key_index *items, size_t count);

/* Loads the word at the cursor. */
void lines_words_load(const struct row_load *load, struct key_index *items, size_t count);

/* Loads how each row compares with load->row. */
void lines_words_load_beside(const struct row_load *load, struct key_index *items, size_t count);

/* Where rows go on behind a key that either has loaded; it is not complemented. */
struct row_cursor lines_words_next(enum row_kind kind, struct row_cursor cursor, uint64_t key);
struct row_cursor lines_words_next_beside(struct row_cursor cursor, uint64_t key);

#endif
