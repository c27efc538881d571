/* SPDX-License-Identifier: Apache-2.0 */
/* merge_steps.h - the steps of a merge, for lines_merge.c:
 *
 *   merge_input.c   reads some text of each input, and makes the items of its lines
 *   merge_cut.c     cuts the texts into parts that can be merged independently
 *   merge_round.c   merges the texts into one, with several threads
 */
#ifndef FORMATS_MERGE_STEPS_H
#define FORMATS_MERGE_STEPS_H

#include "core/check/check.h"
#include "core/error.h"
#include "formats/io/sink.h"
#include "formats/io/source.h"
#include "formats/merge/merge_texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Inputs: some text of each in memory, and the items of its lines ----
 *
 *   source -> block: whole lines -> their items, as many as there is room for
 *     -> items of lines that follow another are removed -> the caller merges some items -> these
 *     are dropped, and more is read
 *
 * Items are made once, by several threads. Only this code finds lines and reads their keys.
 */

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

/* ---- Cuts ----
 *
 *   sorted texts -> lines at equal distances, sorted -> every n-th of them is a splitter
 *     -> in each text, the position of each splitter by binary search
 *
 * All lines before a cut sort before all lines after it, in every text, with equal lines in the
 * order of the texts. With a unique order, a cut between parts never separates equal keys.
 */

/* Item `place` of text `text`. */
struct splitter {
    struct key_index item;
    size_t text, place;
};

/* Returns the cut of text i, from item `begin` on, after the splitter: the splitter and lines that
 * sort before it are before the cut. Equal keys of later texts are after it, even with a unique
 * order, because unread lines may belong between them. */
size_t merge_cut_find_behind(const struct merge_texts *texts, size_t i, size_t begin,
                             const struct splitter *splitter);

/* Cuts the active texts into parts of about equal bytes. Part p has the items [cuts[p * count + k],
 * cuts[(p + 1) * count + k]) of active text k, of `count`. cuts has (parts + 1) * count elements.
 * parts is at least 1. */
bool merge_cut_evenly(const struct merge_texts *texts, size_t parts, size_t *cuts, unsigned threads,
                      struct error *error);

/* ---- Rounds ---- */

/* Working memory of one thread, reused from part to part. Initialize with zeros. */
struct merge_scratch {
    struct key_index *items; /* owned: two arrays of item_room items */
    struct item_array *arrays;
    size_t item_room, array_room;
};

void merge_scratch_free(struct merge_scratch *scratch);

struct merge_round {
    struct merge_texts texts; /* each `begin` is moved to where the round stopped */
    unsigned threads;
    struct merge_scratch *scratches; /* one per thread; owned by the caller, and reused */
    size_t part_bytes;               /* of text and items, that a thread merges at once */
    /* For a unique order, in and out: the last line written. Its text is the caller's, or in
     * `texts`. */
    struct line_with_image last;
    bool has_last;
    uint64_t last_key;  /* in and out: key of the last line of the round before; 0 at first */
    bool is_disordered; /* out: items are not in order */
    bool has_items;     /* out: the first and the last item are set */
    struct key_index first_item, last_item;
    struct check_sum passed; /* out: the lines written and the lines left out, each at its position
                                in its source text */
};

/* Writes the merged lines; with a unique order, only lines whose keys differ from the line written
 * before. */
bool merge_round_run(struct merge_round *round, struct sink *sink, struct error *error);

#endif
