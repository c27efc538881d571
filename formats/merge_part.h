/* SPDX-License-Identifier: Apache-2.0 */
/* merge_part.h - a part of some texts merged by one thread, in its caches.
 *
 *   items of the part, an array a text -> merged by twos (item_merge.h)
 *     -> runs of equal keys put in order -> the lines they stand for, one behind the other
 *
 * So a line is read when it is copied and where keys tell nothing, and nowhere else. Where only one
 * text has lines in the part, as between inputs that follow one another, they are copied as a
 * block.
 */
#ifndef FORMATS_MERGE_PART_H
#define FORMATS_MERGE_PART_H

#include "core/check_sum.h"
#include "core/error.h"
#include "core/item_merge.h"
#include "formats/merge_texts.h"

#include <stdbool.h>
#include <stddef.h>

/* What a thread merges in; kept from part to part. All zeros is an empty one. */
struct merge_scratch {
    struct key_index *items; /* owned: two arrays of item_room */
    struct item_array *arrays;
    size_t item_room, array_room;
};

/* Sees to it that there is room for parts of so many items and texts. */
bool merge_scratch_reserve(struct merge_scratch *scratch, size_t items, size_t texts,
                           struct error *error);
void merge_scratch_free(struct merge_scratch *scratch);

/* A part whose items are merged, on its way out. */
struct merge_part {
    const struct merge_texts *texts;
    const struct key_index *items; /* in the scratch */
    size_t count, next;
    size_t passed_bytes;                    /* of the next item's lines, of a unique order */
    struct key_index first_item, last_item; /* if there are any */
    bool is_block;                          /* they are of one text, and all are written */
    struct ranked_line last;                /* the last line that went out, of a unique order */
    bool has_last;
    bool has_written;
    bool is_disordered;      /* out: a key is less than that of the line before it */
    struct check_sum passed; /* out: the lines written, and those that were left out, each at its
                                place in its source */
};

/* Merges items [begins[k], ends[k]) of all active texts. The scratch has room, and is the part's
 * until its last line is out. `last` and `has_last` are set before. */
void merge_part_start(struct merge_part *part, const struct merge_texts *texts,
                      const size_t *begins, const size_t *ends, struct merge_scratch *scratch);

/* Copies lines to the buffer up to the first one that does not fit; returns the bytes there are.
 * Of a unique order only lines whose keys are not those of the one before. */
size_t merge_part_fill(struct merge_part *part, unsigned char *buffer, size_t room);

/* The next line and those that go out with it, terminators included, which are noted as written,
 * but for the caller to sum up as they stand from `place` on. There is one. */
struct ranked_line merge_part_take(struct merge_part *part, uint64_t *place);

static inline bool merge_part_is_done(const struct merge_part *part)
{
    return part->next == part->count;
}

#endif
