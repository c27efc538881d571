/* SPDX-License-Identifier: Apache-2.0 */
/* lines_words.h - loads rows of words into the keys of items; part of lines_load.c, whose header
 * has the contract.
 */
#ifndef FORMATS_LINES_WORDS_H
#define FORMATS_LINES_WORDS_H

#include "formats/lines/lines_load.h"

/* Lowers *load->end to the first word, from the cursor on, in which one of the items may differ
 * from load->row. */
void lines_words_find_end(const struct row_load *load, struct key_index *items, size_t count);

/* Loads the word at the cursor. */
void lines_words_load(const struct row_load *load, struct key_index *items, size_t count);

/* Loads the order of each row relative to load->row. */
void lines_words_load_beside(const struct row_load *load, struct key_index *items, size_t count);

/* Return the position after a key, which is not complemented, from lines_words_load() and from
 * lines_words_load_beside(). */
struct row_cursor lines_words_next(enum row_kind kind, struct row_cursor cursor, uint64_t key);
struct row_cursor lines_words_next_beside(struct row_cursor cursor, uint64_t key);

#endif
