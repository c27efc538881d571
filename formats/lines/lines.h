/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - lines of text in memory, which are written in another order with their bytes unchanged.
 *
 *   { lines_begin_input -> lines_read_input }* -> lines_index
 *     -> lines_key: one struct key_index per line
 *     -> (an engine sorts them by key) -> lines_refine: exact order of tie groups
 *     -> lines_write: gathers the bytes; or lines_number: replaces indices by line numbers
 *
 * An engine of lines does all of this on its own copy of the text, and only calls back for
 * lines_key_items and lines_refine.
 *
 * The order is that of `LC_ALL=C sort`, as in core/line/line_order.h. The key is a monotone 64-bit
 * image of the first key of the order, so lines_refine has work only if keys are equal.
 */
#ifndef FORMATS_LINES_H
#define FORMATS_LINES_H

#include "core/backend.h"
#include "core/check/tap.h"
#include "core/error.h"
#include "core/line/line_order.h"
#include "formats/io/sink.h"
#include "formats/io/source.h"

struct lines;

/* Creates an empty text. threads: maximum number of threads. The order, in which only the first key
 * may be LINE_STRICT, is borrowed until lines_free(). Returns NULL if memory runs out. */
struct lines *lines_create(unsigned threads, const struct line_order *order);

/* Begins an input. name, note: for messages, as of line_error_set(). lines_read: lines read from it
 * before, for line numbers in messages. */
bool lines_begin_input(struct lines *lines, const char *name, const char *note, size_t lines_read,
                       struct error *error);

/* Reads more of the input begun last: at most `most` bytes (at least 1), and about as many as fit
 * into `room` bytes together with their items (SIZE_MAX: no limit). Sets *ended at the end of the
 * input. A last line without a terminator then gets one. */
bool lines_read_input(struct lines *lines, struct source *source, size_t room, size_t most,
                      bool *ended, struct error *error);

/* Returns true if the text, which was read with this room, and its items need more than the room,
 * and there is at least one whole line. */
bool lines_exceed(const struct lines *lines, size_t room);

/* Keeps the lines that fit into `room` bytes, but at least one, and moves the text after them to
 * *rest, which can be read further. The caller frees *rest, also after a failure. */
bool lines_split(struct lines *lines, size_t room, struct lines **rest, struct error *error);

/* As lines_split(), with half of the memory that the lines take as the room. *rest must be NULL at
 * first. */
bool lines_halve(struct lines *lines, struct lines **rest, struct error *error);

/* Counts the lines, after all inputs were read, for lines_count(), lines_key(), lines_write() and
 * lines_number(). */
bool lines_index(struct lines *lines, struct error *error);

/* Returns the number of lines. Call it after lines_index(). */
size_t lines_count(const struct lines *lines);

/* Returns the number of bytes of text. */
size_t lines_bytes(const struct lines *lines);

/* Returns the text, which may move when more is read; NULL if nothing was read. */
const char *lines_whole_text(const struct lines *lines);

/* Keys the next 1..capacity lines, in input order. Sets *count; 0 when all lines are keyed. The
 * index of an item has the position of its line, and increases from line to line. If the first key
 * is LINE_STRICT, a line that is not a number, apart from blanks around it, is an error "FILE:LINE:
 * ...". Use a large capacity, because each call reads whole blocks of the text. */
bool lines_key(struct lines *lines, struct key_index *items, size_t capacity, size_t *count,
               struct error *error);

/* Keys the lines of the items, which are in the order of the text: sets each key, and the bit of
 * the index that is set if the key is inexact. Fails as lines_key() does. */
bool lines_key_items(const struct lines *lines, struct key_index *items, size_t count,
                     struct error *error);

/* Puts tie groups among items[0..*count), which are sorted by key and then by index, into the exact
 * order. If the order is unique, keeps only the first of lines with equal keys, and sets *count to
 * the number kept. Fails if an item is outside the text. */
bool lines_refine(const struct lines *lines, struct key_index *items, size_t *count,
                  struct error *error);

/* The checks of a written output (core/check/check.h). */
struct lines_written {
    struct check_sum text; /* checksum of the bytes at their positions in the text; if all lines are
                              written, equal to lines_sum */
    struct check_sum items; /* of the items; if all lines are written, equal to lines_items_sum */
    uint64_t disorder; /* the first line, counted from 1, that sorts before its predecessor or, with
                          a unique order, has equal keys; 0: none */
};

/* Writes the lines in the order of the items, and fills *written. */
bool lines_write(const struct lines *lines, const struct key_index *items, size_t count,
                 struct sink *sink, struct lines_written *written, struct error *error);

/* Return the checksums of the text as it was read, and of the items as lines_key() made them. */
struct check_sum lines_sum(const struct lines *lines);
struct check_sum lines_items_sum(const struct lines *lines);

/* Replaces each item's index by the number of its line, from 0 over all inputs. After this, items
 * no longer refer to lines. */
bool lines_number(const struct lines *lines, struct key_index *items, size_t count,
                  struct error *error);

/* `lines` may be NULL. */
void lines_free(struct lines *lines);

/* The first lines of an input, which are not sorted: --header. */
struct lines_header {
    char *text; /* from malloc(3); the caller frees it */
    size_t bytes;
    size_t room; /* room in `text` */
};

/* Reads the first `lines` lines of the source, or all if there are fewer, before anything else is
 * read from it. Initialise *header as {0}. A last line without a terminator gets one. */
bool lines_header_read(struct source *source, char terminator, size_t lines,
                       struct lines_header *header, struct error *error);

#endif
