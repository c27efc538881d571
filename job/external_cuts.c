/* SPDX-License-Identifier: Apache-2.0 */
/* external_cuts.c - see external_cuts.h.
 *
 * One step for one cut, whose target is 6 items. The pivot is the first 5 of run 1. In each run its
 * range is where it is, or would be inserted:
 *
 *   run 0    1   5 | 8   9    [2, 2)    equal records of an earlier run are before the pivot
 *   run 1    2 | 5 | 5   7    [1, 2)
 *   run 2    4 | 5   6        [1, 1)    equal records of a later run are after the pivot
 *
 * 2 + 1 + 1 = 4 items are before the pivot, which is fewer than 6, so the pivot is before the cut.
 * Each run is cut at the end of its range or later: the `low` of its bounds becomes 2, 2 and 1. If
 * 6 items or more were before the pivot, the `high` would become the begin of the range. The cut is
 * found when low is high in all runs.
 *
 * With a unique order the range has all records equal to the pivot, so that no cut separates them:
 *
 *   run 0    1 | 5 | 8   9    [1, 2)
 *   run 1    2 | 5   5 | 7    [1, 3)
 *   run 2    4 | 5 | 6        [1, 2)
 *
 * A step does this for all cuts at once, so bounds and ranges are matrices: a row for each cut, a
 * column for each run of all ranks. Each rank finds the ranges in its own runs.
 */
#include "job/external_cuts.h"

#include "formats/lines/line_compare.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a run that are read at once to find the ends of lines. */
#define READ_BYTES ((size_t)4 << 10)

/* ---- Order ---- */

__extension__ typedef unsigned __int128 item_bits;

static item_bits number_bits(const struct record_order *order, const char *data)
{
    item_bits bits = 0;
    memcpy(&bits, data, order->item_bytes);
    return order->item_bytes == sizeof bits
               ? bits
               : key_order_encode(order->key_order, 8 * order->item_bytes, (uint64_t)bits);
}

int record_compare(const struct record_order *order, const char *a, size_t a_length, const char *b,
                   size_t b_length)
{
    if (order->line_order)
        return line_compare(order->line_order, 0, a, a_length, b, b_length);
    const item_bits x = number_bits(order, a), y = number_bits(order, b);
    return x < y ? -1 : x > y;
}

/* ---- Records of a run ---- */

/* A record that was read from a run, and the items that it has there. */
struct record {
    char *data; /* owned; in a buffer that grows */
    size_t length, room;
    uint64_t begin, end; /* of a line, with the terminator */
};

static bool reserve(struct record *record, size_t bytes, struct error *error)
{
    if (record->room >= bytes)
        return true;
    char *const data = realloc(record->data, 2 * bytes);
    if (!data)
        return error_set(error, "out of memory: no room for a record of %zu bytes", bytes);
    record->data = data;
    record->room = 2 * bytes;
    return true;
}

/* Finds the beginning of the line that has the byte at `at`; a line begins at `low`. */
static bool find_begin(const struct spill_run *run, char terminator, uint64_t low, uint64_t at,
                       uint64_t *begin, struct error *error)
{
    char buffer[READ_BYTES];
    while (at > low) {
        const size_t bytes = at - low < READ_BYTES ? (size_t)(at - low) : READ_BYTES;
        if (!spill_read(run, at - bytes, buffer, bytes, error))
            return false;
        const char *const found = memrchr(buffer, terminator, bytes);
        if (found) {
            *begin = at - bytes + (uint64_t)(found - buffer) + 1;
            return true;
        }
        at -= bytes;
    }
    *begin = low;
    return true;
}

static bool read_line(const struct spill_run *run, char terminator, uint64_t low, uint64_t at,
                      struct record *line, struct error *error)
{
    line->length = 0;
    if (!find_begin(run, terminator, low, at, &line->begin, error))
        return false;
    for (uint64_t end = line->begin; end < run->bytes;) {
        const uint64_t left = run->bytes - end;
        const size_t bytes = left < READ_BYTES ? (size_t)left : READ_BYTES;
        if (!reserve(line, line->length + bytes, error) ||
            !spill_read(run, end, line->data + line->length, bytes, error))
            return false;
        const char *const found = memchr(line->data + line->length, terminator, bytes);
        line->length = found ? (size_t)(found - line->data) : line->length + bytes;
        end += bytes;
        if (found)
            break;
    }
    line->end = line->begin + line->length + 1;
    return true;
}

/* Reads the record that has the item `at`; a record begins at `low`. */
static bool read_record(const struct external_cuts *cuts, const struct item_run *run, uint64_t low,
                        uint64_t at, struct record *record, struct error *error)
{
    const size_t width = cuts->order.item_bytes;
    if (cuts->order.line_order)
        return read_line(&run->spilled, cuts->order.line_order->terminator, low, at, record, error);
    record->begin = at;
    record->end = at + 1;
    record->length = width;
    return reserve(record, width, error) &&
           item_run_read(run, at, record->data, 1, cuts->order.item_bytes, error);
}

/* ---- Pivots ---- */

/* Where a run is cut, by the pivots so far: at least and at most. A record begins at both. */
struct bounds {
    uint64_t low, high;
};

/* Where a pivot is in a run, or would be inserted; with a unique order, where its equals are. */
struct pivot_range {
    uint64_t begin, end;
};

struct searcher {
    const struct external_cuts *cuts;
    struct bounds *bounds;      /* a row for each cut */
    struct pivot_range *ranges; /* the same rows, and room for add_up() */
    size_t *pivot_runs; /* of each cut: the run of the pivot; or the number of runs, if the cut is
                           found */
    uint64_t *lengths;  /* of each cut: the bytes of its pivot; and room for add_up() */
    uint64_t *pivot_words; /* the pivots, each in whole words */
    size_t pivot_room;     /* words; the same on all ranks */
    struct record *pivots; /* of each cut, if its run is this rank's */
    struct record probe;
};

/* Collective: adds up the words over all ranks; there is room for one more. Fails if `ok` is false
 * on a rank. */
static bool add_up(struct group *group, bool ok, uint64_t *words, size_t count, struct error *error)
{
    words[count] = !ok;
    return group_sum(group, words, count + 1, error) &&
           (words[count] == 0 || group_agree(group, ok, error));
}

/* Chooses a run, with a probability in proportion to its remaining items, the same one on all
 * ranks; returns all_runs if none remain. The pivot is the middle of the run's remaining items.
 * Always taking the run with the middle one of all items needed 395 steps for an input that falls
 * and then rises (128 runs of 2,000 items); this needs about 20. */
static size_t choose_run(const struct bounds *bounds, size_t all_runs)
{
    uint64_t open = 0, before = 0;
    for (size_t i = 0; i < all_runs; i++)
        open += bounds[i].high - bounds[i].low;
    const uint64_t random = open * UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t chosen = (uint64_t)((unsigned __int128)random * open >> 64); /* below `open` */
    for (size_t i = 0; i < all_runs; i++) {
        before += bounds[i].high - bounds[i].low;
        if (before > chosen)
            return i;
    }
    return all_runs;
}

/* Chooses the run of each pivot. Returns false if no cut is open. */
static bool choose_runs(struct searcher *searcher)
{
    const struct external_cuts *const cuts = searcher->cuts;
    bool is_open = false;
    for (size_t c = 0; c < cuts->group->size; c++) {
        searcher->pivot_runs[c] =
            choose_run(searcher->bounds + c * cuts->numbered->count, cuts->numbered->count);
        is_open |= searcher->pivot_runs[c] < cuts->numbered->count;
    }
    return is_open;
}

/* Returns true if this rank has the pivot of cut c. */
static bool has_pivot(const struct searcher *searcher, size_t c)
{
    const struct external_cuts *const cuts = searcher->cuts;
    const size_t i = searcher->pivot_runs[c];
    return i < cuts->numbered->count && cuts->numbered->owners[i] == cuts->group->rank;
}

/* Reads the pivots of this rank's runs. */
static bool read_pivots(struct searcher *searcher, struct error *error)
{
    const struct external_cuts *const cuts = searcher->cuts;
    memset(searcher->lengths, 0, cuts->group->size * sizeof *searcher->lengths);
    for (size_t c = 0; c < cuts->group->size; c++) {
        if (!has_pivot(searcher, c))
            continue;
        const size_t i = searcher->pivot_runs[c];
        const struct bounds bounds = searcher->bounds[c * cuts->numbered->count + i];
        if (!read_record(cuts, &cuts->runs[i - cuts->numbered->first], bounds.low,
                         bounds.low + (bounds.high - bounds.low) / 2, &searcher->pivots[c], error))
            return false;
        searcher->lengths[c] = searcher->pivots[c].length;
    }
    return true;
}

/* Collective: makes room for `words` words of pivots, at least 1, and fills it with zeros. */
static bool reserve_words(struct searcher *searcher, size_t words, struct error *error)
{
    if (searcher->pivot_room < words) {
        free(searcher->pivot_words);
        searcher->pivot_words = calloc(words, 2 * sizeof *searcher->pivot_words);
        searcher->pivot_room = 2 * words;
        return group_agree(searcher->cuts->group,
                           searcher->pivot_words || error_set(error, "no memory to cut runs"),
                           error);
    }
    memset(searcher->pivot_words, 0, words * sizeof *searcher->pivot_words);
    return true;
}

/* Collective: gives all ranks the pivots. */
static bool share_pivots(struct searcher *searcher, struct error *error)
{
    const struct external_cuts *const cuts = searcher->cuts;
    size_t words = 1;
    if (!add_up(cuts->group, read_pivots(searcher, error), searcher->lengths, cuts->group->size,
                error))
        return false;
    for (size_t c = 0; c < cuts->group->size; c++)
        words += group_words(searcher->lengths[c]);
    if (!reserve_words(searcher, words, error))
        return false;
    uint64_t *out = searcher->pivot_words;
    for (size_t c = 0; c < cuts->group->size; c++) {
        if (has_pivot(searcher, c))
            memcpy(out, searcher->pivots[c].data, (size_t)searcher->lengths[c]);
        out += group_words(searcher->lengths[c]);
    }
    return group_sum(cuts->group, searcher->pivot_words, words, error);
}

/* ---- Counting ---- */

/* Finds where the run's records less than the pivot end, within the bounds. With or_equal the
 * records that are equal to it are included. */
static bool find_position(struct searcher *searcher, const struct item_run *run,
                          struct bounds bounds, const char *pivot, size_t length, bool or_equal,
                          uint64_t *position, struct error *error)
{
    const struct external_cuts *const cuts = searcher->cuts;
    struct record *const probe = &searcher->probe;
    while (bounds.low < bounds.high) {
        if (!read_record(cuts, run, bounds.low, bounds.low + (bounds.high - bounds.low) / 2, probe,
                         error))
            return false;
        const int found = record_compare(&cuts->order, probe->data, probe->length, pivot, length);
        if (found < 0 || (or_equal && found == 0))
            bounds.low = probe->end;
        else
            bounds.high = probe->begin;
    }
    *position = bounds.low;
    return true;
}

/* Finds where the pivot of cut c is in run i of all, or would be inserted; with a unique order, all
 * records that are equal to it. */
static bool find_range(struct searcher *searcher, size_t c, size_t i, const char *pivot,
                       struct pivot_range *range, struct error *error)
{
    const struct external_cuts *const cuts = searcher->cuts;
    const struct item_run *const run = &cuts->runs[i - cuts->numbered->first];
    const bool is_unique = cuts->order.line_order && cuts->order.line_order->unique;
    const size_t pivot_run = searcher->pivot_runs[c], length = (size_t)searcher->lengths[c];
    struct bounds bounds = searcher->bounds[c * cuts->numbered->count + i];
    if (!is_unique && i == pivot_run) {
        *range = (struct pivot_range){searcher->pivots[c].begin, searcher->pivots[c].end};
        return true;
    }
    if (!find_position(searcher, run, bounds, pivot, length, !is_unique && i < pivot_run,
                       &range->begin, error))
        return false;
    range->end = bounds.low = range->begin;
    return !is_unique ||
           find_position(searcher, run, bounds, pivot, length, true, &range->end, error);
}

static bool find_ranges(struct searcher *searcher, struct error *error)
{
    const struct external_cuts *const cuts = searcher->cuts;
    const uint64_t *words = searcher->pivot_words;
    for (size_t c = 0; c < cuts->group->size; c++) {
        const char *const pivot = (const char *)words;
        words += group_words(searcher->lengths[c]);
        if (searcher->pivot_runs[c] == cuts->numbered->count)
            continue;
        for (size_t i = cuts->numbered->first; i < cuts->numbered->first + cuts->run_count; i++) {
            struct pivot_range *const range = &searcher->ranges[c * cuts->numbered->count + i];
            if (!find_range(searcher, c, i, pivot, range, error))
                return false;
        }
    }
    return true;
}

/* Narrows the bounds of each open cut to one side of its pivot. */
static void narrow_bounds(struct searcher *searcher)
{
    const struct external_cuts *const cuts = searcher->cuts;
    for (size_t c = 0; c < cuts->group->size; c++) {
        struct bounds *const bounds = searcher->bounds + c * cuts->numbered->count;
        const struct pivot_range *const ranges = searcher->ranges + c * cuts->numbered->count;
        uint64_t before = 0;
        if (searcher->pivot_runs[c] == cuts->numbered->count)
            continue;
        for (size_t i = 0; i < cuts->numbered->count; i++)
            before += ranges[i].begin;
        for (size_t i = 0; i < cuts->numbered->count; i++) {
            if (before < cuts->targets[c])
                bounds[i].low = ranges[i].end;
            else
                bounds[i].high = ranges[i].begin;
        }
    }
}

/* Collective: narrows all open cuts. */
static bool step(struct searcher *searcher, struct error *error)
{
    const struct external_cuts *const cuts = searcher->cuts;
    const size_t cells = cuts->group->size * cuts->numbered->count;
    const size_t words = cells * (sizeof *searcher->ranges / sizeof(uint64_t));
    memset(searcher->ranges, 0, cells * sizeof *searcher->ranges);
    if (!share_pivots(searcher, error) ||
        !add_up(cuts->group, find_ranges(searcher, error), &searcher->ranges->begin, words, error))
        return false;
    narrow_bounds(searcher);
    return true;
}

/* ---- The search ---- */

/* Opens the bounds of all cuts, except of one after all items. positions: the ends of the runs. */
static void start_bounds(struct searcher *searcher, const uint64_t *positions)
{
    const struct external_cuts *const cuts = searcher->cuts;
    for (size_t c = 0; c < cuts->group->size; c++) {
        const uint64_t *const ends = positions + c * cuts->numbered->count;
        uint64_t items = 0;
        for (size_t i = 0; i < cuts->numbered->count; i++)
            items += ends[i];
        for (size_t i = 0; i < cuts->numbered->count; i++)
            searcher->bounds[c * cuts->numbered->count + i] =
                (struct bounds){cuts->targets[c] < items ? 0 : ends[i], ends[i]};
    }
}

static bool search(struct searcher *searcher, uint64_t *positions, struct error *error)
{
    const struct external_cuts *const cuts = searcher->cuts;
    const size_t cells = cuts->group->size * cuts->numbered->count;
    memset(positions, 0, cells * sizeof *positions);
    for (size_t c = 0; c < cuts->group->size; c++)
        for (size_t i = 0; i < cuts->run_count; i++)
            positions[c * cuts->numbered->count + cuts->numbered->first + i] = cuts->runs[i].count;
    if (!group_sum(cuts->group, positions, cells, error))
        return false;
    start_bounds(searcher, positions);
    while (choose_runs(searcher))
        if (!step(searcher, error))
            return false;
    for (size_t at = 0; at < cells; at++)
        positions[at] = searcher->bounds[at].low;
    return true;
}

bool external_cuts_find(const struct external_cuts *cuts, struct error *error)
{
    const size_t cells = cuts->group->size * cuts->numbered->count;
    struct searcher searcher = {
        .cuts = cuts,
        .bounds = calloc(cells + 1, sizeof *searcher.bounds),
        .ranges = calloc(cells + 1, sizeof *searcher.ranges),
        .pivot_runs = calloc(cuts->group->size + 1, sizeof *searcher.pivot_runs),
        .lengths = calloc(cuts->group->size + 1, sizeof *searcher.lengths),
        .pivots = calloc(cuts->group->size + 1, sizeof *searcher.pivots),
    };
    const bool has_memory = (searcher.bounds && searcher.ranges && searcher.pivot_runs &&
                             searcher.lengths && searcher.pivots) ||
                            error_set(error, "out of memory");
    const bool ok = group_agree(cuts->group, has_memory, error) &&
                    search(&searcher, cuts->numbered->positions + cuts->numbered->count, error);
    for (size_t c = 0; searcher.pivots && c < cuts->group->size; c++)
        free(searcher.pivots[c].data);
    free(searcher.probe.data);
    free(searcher.pivots);
    free(searcher.pivot_words);
    free(searcher.lengths);
    free(searcher.pivot_runs);
    free(searcher.ranges);
    free(searcher.bounds);
    return ok;
}
