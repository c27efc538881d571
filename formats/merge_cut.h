/* SPDX-License-Identifier: Apache-2.0 */
/* merge_cut.h - where to cut sorted texts, so that the parts can be merged apart from each other.
 *
 *   sorted texts -> lines at even distances, sorted -> every so many of them is a splitter
 *     -> in each text, the place of each splitter by binary search
 *
 * All lines before a cut go before all lines behind it, in every text, equal lines in the order of
 * the texts; with a unique order no equal keys stand on both sides of a cut between parts.
 */
#ifndef FORMATS_MERGE_CUT_H
#define FORMATS_MERGE_CUT_H

#include "core/error.h"
#include "formats/merge_texts.h"

#include <stdbool.h>
#include <stddef.h>

/* Item `place` of text `text`. */
struct splitter {
    struct key_index item;
    size_t text, place;
};

/* Where text i is to be cut, from item `begin` on, so that the splitter and what goes before it are
 * before the cut, and equal keys of later texts behind it, with a unique order as well: what is
 * read next may go between them. */
size_t merge_cut_find_behind(const struct merge_texts *texts, size_t i, size_t begin,
                             const struct splitter *splitter);

/* Cuts the active texts into parts of about as many bytes: part p is the items [cuts[p * count +
 * k], cuts[(p + 1) * count + k]) of active text k, of `count`. cuts has (parts + 1) * count
 * elements; parts is at least 1. */
bool merge_cut_evenly(const struct merge_texts *texts, size_t parts, size_t *cuts, unsigned threads,
                      struct error *error);

#endif
