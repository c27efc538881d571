/* SPDX-License-Identifier: Apache-2.0 */
/* merge_bound.h - which texts have lines that can be merged now, and up to where.
 *
 *   what is read and made of texts -> the least of the last lines of those that go on: the bound,
 *     behind which unread lines may belong -> the texts whose first line is not behind it
 *
 * Both come from trees of winners over the texts, by their last and by their first items, of which
 * only what stands above texts that have changed is found anew. So a round takes as long as what
 * is merged in it, however many texts there are.
 */
#ifndef FORMATS_MERGE_BOUND_H
#define FORMATS_MERGE_BOUND_H

#include "core/error.h"
#include "formats/merge_texts.h"

#include <stdbool.h>
#include <stddef.h>

/* Of each tree: nodes[1] is the root, nodes[n] is over nodes[2 n] and nodes[2 n + 1], and
 * nodes[count + i] is text i if it takes part. */
struct merge_bound {
    size_t *firsts; /* owned: of texts that have items */
    size_t *lasts;  /* owned: of those that go on */
};

bool merge_bound_open(struct merge_bound *bound, size_t count, struct error *error);
void merge_bound_close(struct merge_bound *bound);

/* Text i, from `begin` to `end`, is not what it was, or is new; it goes on behind what is in
 * memory. All texts are new at first; one that goes on has items. */
void merge_bound_note(struct merge_bound *bound, const struct merge_texts *texts, size_t i,
                      bool goes_on);

/* Makes those texts the active ones that have lines up to the bound, and cuts them behind it; all
 * lines of a text are up to it if none goes on. False if no text has lines. */
bool merge_bound_find(struct merge_bound *bound, struct merge_texts *texts, unsigned threads);

#endif
