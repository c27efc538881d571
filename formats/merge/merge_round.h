/* SPDX-License-Identifier: Apache-2.0 */
/* merge_round.h - merges texts in memory into one, with several threads. */
#ifndef FORMATS_MERGE_ROUND_H
#define FORMATS_MERGE_ROUND_H

#include "core/check/tap.h"
#include "core/error.h"
#include "formats/io/sink.h"
#include "formats/merge/merge_texts.h"

#include <stdbool.h>
#include <stddef.h>

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
