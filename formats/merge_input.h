/* SPDX-License-Identifier: Apache-2.0 */
/* merge_input.h - the inputs of a merge: of each, some of its text in memory, and the items of its
 * lines (merge_texts.h).
 *
 *   source -> line_block: whole lines -> items of them, as many as there is room for
 *     -> those of lines that follow another go -> the caller merges some -> these are dropped, and
 *     more is read
 *
 * Items are made once, by several threads: a line is looked for and its key is read here alone.
 */
#ifndef FORMATS_MERGE_INPUT_H
#define FORMATS_MERGE_INPUT_H

#include "core/error.h"
#include "formats/line_block.h"
#include "formats/merge_texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge_input {
    struct line_block block;
    struct key_index *items;  /* owned */
    size_t item_room;         /* at least 1 */
    size_t item_count, begin; /* items[begin..item_count) are not yet merged */
    size_t seen;              /* the lines of block.text[0..seen) are looked at, or merged */
    uint64_t lines;           /* that were looked at, in the whole source */
};

struct merge_inputs {
    struct merge_input *inputs;
    struct merge_texts texts; /* what is in memory of them, and not yet merged */
    unsigned threads;
    unsigned useful_threads; /* out: as many of them as what is active keeps busy */
    uint64_t lines_before; /* of each source, read already: for the numbers of lines in messages */
    bool are_sorted;       /* known to be; not looked at then */
    uint64_t lines, bytes; /* out: that were looked at, of all sources */
};

/* Has room for some bytes of text and items of the input, two thirds of it for items. */
bool merge_input_open(struct merge_input *input, struct source *source, char terminator,
                      size_t bytes, struct error *error);
void merge_input_close(struct merge_input *input);

/* Whether the source has lines behind those that were looked at. */
static inline bool merge_input_goes_on(const struct merge_input *input)
{
    return !input->block.ended || input->seen < input->block.bytes;
}

/* Drops what the active texts say is merged, and reads and makes items of them where half of the
 * room is free. Then every input that goes on has an item, and these texts are all that there is of
 * them. All are active at first. A line that is not the number that LINE_STRICT wants is an error
 * naming file and line. */
bool merge_inputs_refill(struct merge_inputs *inputs, struct error *error);

#endif
