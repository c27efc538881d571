/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h - text kept verbatim: lines are put in order and come out as the bytes that came in.
 *
 *   { lines_begin_input -> lines_read_input }* -> lines_index -> lines_key: one struct key_index a
 *     line
 *     -> (an engine sorts them by key) -> lines_refine: runs of equal keys, exactly
 *     -> lines_write: gathers the bytes; or lines_number: turns items into the numbers of lines
 *
 * An engine of lines does all of this on its own copy of the text, and asks for no more than
 * lines_key_items and lines_refine, now and then.
 *
 * The order is that of `LC_ALL=C sort`, as core/line_order.h has it. The key is a monotone 64-bit
 * image of the first key of the order, so lines_refine has work only where keys are equal.
 */
#ifndef FORMATS_LINES_H
#define FORMATS_LINES_H

#include "core/backend.h"
#include "core/check_sum.h"
#include "core/error.h"
#include "core/line_order.h"
#include "formats/sink.h"
#include "formats/source.h"

struct lines;

/* Returns NULL when memory runs out. threads: maximum number of threads. The order, of which only
 * the first key may be LINE_STRICT, is borrowed until lines_free. */
struct lines *lines_create(unsigned threads, const struct line_order *order);

/* Begins an input. lines_read: lines of the source that were read before, which count in messages.
 */
bool lines_begin_input(struct lines *lines, const struct source *source, size_t lines_read,
                       struct error *error);

/* Reads on in the input begun last: some `most` bytes at most, and not much more than has room, if
 * `room` bytes are all that text and items may take (SIZE_MAX: any number). *ended: up to its end;
 * a last line without a terminator then gets one. */
bool lines_read_input(struct lines *lines, struct source *source, size_t room, size_t most,
                      bool *ended, struct error *error);

/* Whether the text and its items, read with that room, need more than it, and there is a line to
 * begin with. */
bool lines_exceed(const struct lines *lines, size_t room);

/* Keeps the lines that fit into `room` bytes, but at least one, and moves the text after them to
 * *rest, which can be read further. */
bool lines_split(struct lines *lines, size_t room, struct lines **rest, struct error *error);

/* As lines_split(), with half of the memory that the lines take as the room. */
bool lines_halve(struct lines *lines, struct lines **rest, struct error *error);

/* Finds the lines once all inputs are appended. */
bool lines_index(struct lines *lines, struct error *error);

/* Returns the number of lines. Call it after lines_index(). */
size_t lines_count(const struct lines *lines);

/* Returns the number of bytes of text. */
size_t lines_bytes(const struct lines *lines);

/* The text, which moves when it grows; NULL if nothing was read. */
const char *lines_whole_text(const struct lines *lines);

/* Keys the next 1..capacity lines, in input order; *count 0 when all are keyed. index says where
 * the line stands in the text and grows from line to line. If the first key is LINE_STRICT, one
 * that is not one number, with blanks around it at most, is an error "FILE:LINE: ...". Best with
 * a large capacity, as each call looks through whole blocks of the text. */
bool lines_key(struct lines *lines, struct key_index *items, size_t capacity, size_t *count,
               struct error *error);

/* The same for items, in the order of the text, that say where their lines are: sets the keys, and
 * the bit of index that says whether they are exact. */
bool lines_key_items(const struct lines *lines, struct key_index *items, size_t count,
                     struct error *error);

/* Puts runs of equal keys among items[0..*count), sorted by key and equal keys by index, into the
 * exact order. If the order is unique, only the first of equal lines is kept; *count says how many
 * are. */
bool lines_refine(const struct lines *lines, struct key_index *items, size_t *count,
                  struct error *error);

/* What was written, for the proof of output (core/check.h). */
struct lines_written {
    struct check_sum text;  /* of its bytes where they stood in the text: if all lines are written,
                               the same as lines_sum */
    struct check_sum items; /* of the items; the same as lines_items_sum */
    uint64_t disorder; /* the first line, counted from 1, that should go before the one before it,
                          or has keys equal to it, if the order is unique; 0: none */
};

/* Writes the lines in the order of items. */
bool lines_write(const struct lines *lines, const struct key_index *items, size_t count,
                 struct sink *sink, struct lines_written *written, struct error *error);

/* The sum of the text as it was read, and of the items as lines_key made them. */
struct check_sum lines_sum(const struct lines *lines);
struct check_sum lines_items_sum(const struct lines *lines);

/* Puts the number of its line, from 0 over all inputs, in the place of every item's index. The
 * items name lines no more. */
bool lines_number(const struct lines *lines, struct key_index *items, size_t count,
                  struct error *error);

/* lines may be NULL. */
void lines_free(struct lines *lines);

#endif
