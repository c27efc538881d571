/* SPDX-License-Identifier: Apache-2.0 */
/* merge_bound.h - finds the texts with lines that can be merged now, and where they end.
 *
 *   texts -> the least of the last lines of texts that have unread lines: the bound, before which
 * no unread line belongs -> the texts whose first line is not after it
 *
 * Winner trees over the texts, by their last and by their first items, find both. Only nodes above
 * texts that have changed are computed again. So a round takes time for the texts merged in it,
 * however many others there are.
 */
#ifndef FORMATS_MERGE_BOUND_H
#define FORMATS_MERGE_BOUND_H

#include "core/error.h"
#include "formats/merge/merge_texts.h"

#include <stdbool.h>
#include <stddef.h>

/* In each tree, nodes[1] is the root, nodes[n] is above nodes[2 n] and nodes[2 n + 1], and
 * nodes[count + i] is text i if it takes part. */
struct merge_bound {
    size_t *firsts; /* owned: texts that have items */
    size_t *lasts;  /* owned: texts with unread lines */
};

bool merge_bound_open(struct merge_bound *bound, size_t count, struct error *error);
void merge_bound_close(struct merge_bound *bound);

/* Updates text i, which has changed from `begin` to `end`, or is new. goes_on: it has unread lines
 * after those in memory. All texts are new at first. A text that goes on has items. */
void merge_bound_note(struct merge_bound *bound, const struct merge_texts *texts, size_t i,
                      bool goes_on);

/* Makes the texts that have lines up to the bound the active ones, and cuts them after it. If no
 * text has unread lines, all lines are up to the bound. Returns false if no text has lines. */
bool merge_bound_find(struct merge_bound *bound, struct merge_texts *texts, unsigned threads);

#endif
