/* SPDX-License-Identifier: Apache-2.0 */
/* merge_cut.h - cuts sorted texts into parts that can be merged independently.
 *
 *   sorted texts -> lines at equal distances, sorted -> every n-th of them is a splitter
 *     -> in each text, the position of each splitter by binary search
 *
 * All lines before a cut sort before all lines after it, in every text, with equal lines in the
 * order of the texts. With a unique order, a cut between parts never separates equal keys.
 */
#ifndef FORMATS_MERGE_CUT_H
#define FORMATS_MERGE_CUT_H

#include "core/error.h"
#include "formats/merge/merge_texts.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
