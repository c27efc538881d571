/* SPDX-License-Identifier: Apache-2.0 */
/* external_cuts.c - see external_cuts.h. */
#include "job/external_cuts.h"

#include "core/backend.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 item_bits;

/* A cut while its item is searched for. */
struct search {
    item_bits least; /* the bits found so far: no more than `target` items are less */
    item_bits trial;
};

/* The bounds of a cut in a run: the items less than `least`, and those less than the least trial
 * value that was too large. After the last bit that value is `least` + 1, so the items between the
 * bounds are equal to the item of the cut. */
struct bounds {
    uint64_t low, high;
    uint64_t trial; /* items that are less than the last trial value */
};

struct searcher {
    const struct external_cuts *cuts;
    struct search *searches; /* of each cut */
    struct bounds *bounds;   /* a row of run_count for each cut */
    uint64_t *counts;        /* of each cut, over all ranks */
};

/* Reads the ordered bits of an item. */
static bool read_item(const struct external_cuts *cuts, const struct item_run *run,
                      uint64_t position, item_bits *bits, struct error *error)
{
    const unsigned width = cuts->item_bytes;
    unsigned char item[sizeof(item_bits)] = {0};
    if (run->items)
        memcpy(item, run->items + position * width, width);
    else if (!spill_read(&run->spilled, position * width, item, width, error))
        return false;
    memcpy(bits, item, sizeof *bits);
    if (width != sizeof *bits)
        *bits = key_order_encode(cuts->order, 8 * width, (uint64_t)*bits);
    return true;
}

/* Counts the items of a run that are less than the trial value, at least `low` and at most `high`.
 */
static bool count_less(const struct external_cuts *cuts, const struct item_run *run,
                       item_bits trial, struct bounds *bounds, struct error *error)
{
    uint64_t low = bounds->low, high = bounds->high;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        item_bits item;
        if (!read_item(cuts, run, middle, &item, error))
            return false;
        if (item < trial)
            low = middle + 1;
        else
            high = middle;
    }
    bounds->trial = low;
    return true;
}

/* Counts this rank's items below the trial value of each cut. */
static bool count_trials(struct searcher *searcher, struct error *error)
{
    const struct external_cuts *const cuts = searcher->cuts;
    for (size_t c = 0; c < cuts->cut_count; c++) {
        searcher->counts[c] = 0;
        for (size_t i = 0; i < cuts->run_count; i++) {
            struct bounds *const bounds = &searcher->bounds[c * cuts->run_count + i];
            if (!count_less(cuts, &cuts->runs[i], searcher->searches[c].trial, bounds, error))
                return false;
            searcher->counts[c] += bounds->trial;
        }
    }
    return true;
}

/* Keeps the trial bit of each cut that has no more than its target before it. */
static void keep_trials(struct searcher *searcher)
{
    const struct external_cuts *const cuts = searcher->cuts;
    for (size_t c = 0; c < cuts->cut_count; c++) {
        const bool is_kept = searcher->counts[c] <= cuts->targets[c];
        if (is_kept)
            searcher->searches[c].least = searcher->searches[c].trial;
        for (size_t i = 0; i < cuts->run_count; i++) {
            struct bounds *const bounds = &searcher->bounds[c * cuts->run_count + i];
            *(is_kept ? &bounds->low : &bounds->high) = bounds->trial;
        }
    }
}

/* Finds the item of each cut. A rank that cannot read its runs takes part to the end. */
static bool find_items(struct searcher *searcher, struct error *error)
{
    const struct external_cuts *const cuts = searcher->cuts;
    bool ok = true;
    for (unsigned bit = 8 * cuts->item_bytes; bit-- > 0;) {
        for (size_t c = 0; c < cuts->cut_count; c++)
            searcher->searches[c].trial = searcher->searches[c].least | (item_bits)1 << bit;
        ok = ok && count_trials(searcher, error);
        if (!group_sum(cuts->group, searcher->counts, cuts->cut_count, error))
            return false;
        keep_trials(searcher);
    }
    return group_agree(cuts->group, ok, error);
}

/* Fills, for each cut and run of this rank, how many items are less than the cut's item, and not
 * greater. */
static void fill_counts(const struct searcher *searcher, uint64_t *less, uint64_t *not_greater)
{
    const struct external_cuts *const cuts = searcher->cuts;
    for (size_t c = 0; c < cuts->cut_count; c++)
        for (size_t i = 0; i < cuts->run_count; i++) {
            const size_t at = c * cuts->all_runs + cuts->first_run + i;
            less[at] = searcher->bounds[c * cuts->run_count + i].low;
            not_greater[at] = searcher->bounds[c * cuts->run_count + i].high;
        }
}

/* Gives the items equal to the cut's to the runs in their order. `positions` has the items that
 * are less. */
static void part_ties(const struct external_cuts *cuts, uint64_t *positions,
                      const uint64_t *not_greater)
{
    for (size_t c = 0; c < cuts->cut_count; c++) {
        uint64_t *const row = positions + c * cuts->all_runs;
        const uint64_t *const ends = not_greater + c * cuts->all_runs;
        uint64_t left = cuts->targets[c];
        for (size_t i = 0; i < cuts->all_runs; i++)
            left -= row[i];
        for (size_t i = 0; i < cuts->all_runs; i++) {
            const uint64_t equal = ends[i] - row[i], taken = equal < left ? equal : left;
            row[i] += taken;
            left -= taken;
        }
    }
}

static bool search(struct searcher *searcher, uint64_t *positions, struct error *error)
{
    const struct external_cuts *const cuts = searcher->cuts;
    const size_t cells = cuts->cut_count * cuts->all_runs;
    uint64_t *const not_greater = calloc(cells + 1, sizeof *not_greater);
    memset(positions, 0, cells * sizeof *positions);
    for (size_t at = 0; at < cuts->cut_count * cuts->run_count; at++)
        searcher->bounds[at] = (struct bounds){.high = cuts->runs[at % cuts->run_count].count};
    bool ok = not_greater || error_set(error, "out of memory");
    ok = group_agree(cuts->group, ok, error) && find_items(searcher, error);
    if (ok) {
        fill_counts(searcher, positions, not_greater);
        ok = group_sum(cuts->group, positions, cells, error) &&
             group_sum(cuts->group, not_greater, cells, error);
    }
    if (ok)
        part_ties(cuts, positions, not_greater);
    free(not_greater);
    return ok;
}

bool external_cuts_find(const struct external_cuts *cuts, uint64_t *positions, struct error *error)
{
    struct searcher searcher = {
        .cuts = cuts,
        .searches = calloc(cuts->cut_count + 1, sizeof *searcher.searches),
        .bounds = calloc(cuts->cut_count * cuts->run_count + 1, sizeof *searcher.bounds),
        .counts = calloc(cuts->cut_count + 1, sizeof *searcher.counts),
    };
    const bool has_memory = searcher.searches && searcher.bounds && searcher.counts;
    if (!has_memory)
        error_set(error, "out of memory");
    const bool ok =
        group_agree(cuts->group, has_memory, error) && search(&searcher, positions, error);
    free(searcher.searches);
    free(searcher.bounds);
    free(searcher.counts);
    return ok;
}
