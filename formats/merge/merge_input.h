/* SPDX-License-Identifier: Apache-2.0 */
/* merge_input.h - the inputs of a merge: some text of each in memory, and the items of its lines
 * (merge_texts.h).
 *
 *   source -> block: whole lines -> their items, as many as there is room for
 *     -> items of lines that follow another are removed -> the caller merges some items -> these
 *     are dropped, and more is read
 *
 * Items are made once, by several threads. Only this code finds lines and reads their keys.
 */
#ifndef FORMATS_MERGE_INPUT_H
#define FORMATS_MERGE_INPUT_H

#include "core/check/check.h"
#include "core/error.h"
#include "formats/io/source.h"
#include "formats/merge/merge_texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The part of a source in memory: whole lines, and the beginning of another one.
 *
 *   source -> [kept | new | beginning of a line] -> the caller uses lines -> drops them -> refill
 *
 * The memory has the requested size, and grows only for a line longer than half of it.
 */
struct line_block {
    struct source *source;
    char terminator;
    bool ended;    /* the source has no lines after the block's */
    char *text;    /* owned */
    size_t bytes;  /* of whole lines, each with its terminator */
    size_t filled; /* of these and the beginning of a line */
    size_t capacity;
    uint64_t place;         /* of text[0] in the source */
    struct text_check read; /* checksum of the source so far, with an added terminator */
};

struct merge_input {
    struct line_block block;
    struct key_index *items;  /* owned */
    size_t item_room;         /* at least 1 */
    size_t item_count, begin; /* items[begin..item_count) are not merged yet */
    size_t seen;              /* lines of block.text[0..seen) have items, or are merged */
    uint64_t lines;           /* of them, in the whole source */
};

struct merge_inputs {
    struct merge_input *inputs;
    struct merge_texts texts; /* their text in memory that is not merged */
    unsigned threads;
    unsigned useful_threads; /* out: number of threads that the active inputs keep busy */
    uint64_t lines_before;   /* read from each source before; added to line numbers in messages */
    bool are_sorted;         /* known to be in order; not checked */
    uint64_t lines, bytes;   /* out: totals of all sources so far */
};

/* Opens an input with room for about `bytes` bytes of text and items, two thirds of it for
 * items. */
bool merge_input_open(struct merge_input *input, struct source *source, char terminator,
                      size_t bytes, struct error *error);
void merge_input_close(struct merge_input *input);

/* Returns true if the source has lines after those in block.text[0..seen). */
static inline bool merge_input_goes_on(const struct merge_input *input)
{
    return !input->block.ended || input->seen < input->block.bytes;
}

/* Drops what the active texts have merged, reads more text and makes items, if half of the room is
 * free. Then every input that has unread lines has an item, and `texts` describes all inputs. All
 * texts are active at first. With LINE_STRICT, a line that is not a number is an error that names
 * file and line. */
bool merge_inputs_refill(struct merge_inputs *inputs, struct error *error);

#endif
