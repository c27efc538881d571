/* SPDX-License-Identifier: Apache-2.0 */
/* merge_part.h - merges one part of several texts, in one thread and in its caches.
 *
 *   items of the part, one array per text -> merged pairwise (item_merge.h)
 *     -> tie groups put in order -> the lines of the items, copied one after another
 *
 * So a line is read only when it is copied, and when keys do not decide. If only one text has lines
 * in the part, as with inputs that follow one another, the lines are copied as a block.
 */
#ifndef FORMATS_MERGE_PART_H
#define FORMATS_MERGE_PART_H

#include "core/check/tap.h"
#include "core/error.h"
#include "core/item_merge.h"
#include "formats/merge/merge_texts.h"

#include <stdbool.h>
#include <stddef.h>

/* Working memory of one thread, reused from part to part. Initialize with zeros. */
struct merge_scratch {
    struct key_index *items; /* owned: two arrays of item_room items */
    struct item_array *arrays;
    size_t item_room, array_room;
};

/* Reserves room for parts of `items` items and `texts` texts. */
bool merge_scratch_reserve(struct merge_scratch *scratch, size_t items, size_t texts,
                           struct error *error);
void merge_scratch_free(struct merge_scratch *scratch);

/* A part whose items are merged, while its lines are copied out. */
struct merge_part {
    const struct merge_texts *texts;
    const struct key_index *items; /* in the scratch */
    size_t count, next;
    size_t passed_bytes; /* bytes of the next item's lines already passed, with a unique order */
    struct key_index first_item, last_item; /* if there are any */
    bool is_block;           /* all items are of one text, and all lines are written */
    struct ranked_line last; /* the last line written, with a unique order */
    bool has_last;
    bool has_written;
    bool is_disordered;      /* out: a key is less than that of the line before it */
    struct check_sum passed; /* out: lines written and omitted, at their source positions */
};

/* Merges items [begins[k], ends[k]) of all active texts. `scratch` has room for them, and is in use
 * until the part's last line is copied. The caller sets `last` and `has_last` before. */
void merge_part_start(struct merge_part *part, const struct merge_texts *texts,
                      const size_t *begins, const size_t *ends, struct merge_scratch *scratch);

/* Copies lines to `buffer` up to the first one that does not fit in `room` bytes. Returns the
 * number of bytes copied. With a unique order, lines whose key equals that of the line before are
 * omitted. */
size_t merge_part_fill(struct merge_part *part, unsigned char *buffer, size_t room);

/* Returns the next line together with the lines that follow it, terminators included, and counts
 * them as written. The caller adds them to the checksum, from *place in the source on. At least one
 * line must be left. */
struct ranked_line merge_part_take(struct merge_part *part, uint64_t *place);

static inline bool merge_part_is_done(const struct merge_part *part)
{
    return part->next == part->count;
}

#endif
