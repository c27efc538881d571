/* SPDX-License-Identifier: Apache-2.0 */
/* external_line_cuts.c - see external_line_cuts.h. */
#include "job/external_line_cuts.h"

#include "formats/lines/line_compare.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a run that are read at once to find the ends of lines. */
#define READ_BYTES ((size_t)4 << 10)

/* A line that was read from a run, and where it is there. */
struct run_line {
    char *text; /* owned; in a buffer that grows */
    size_t length, room;
    uint64_t begin, end; /* with the terminator */
};

/* Where a run is cut, by the pivots so far: at least and at most. A line begins at both. */
struct bounds {
    uint64_t low, high;
};

/* Where a pivot splits a run. The lines up to `before` are before the pivot. If the pivot is before
 * the cut, so are the lines up to `after`: the pivot too, or with a unique order all its equals. */
struct split {
    uint64_t before, after;
};

struct searcher {
    const struct external_line_cuts *cuts;
    struct bounds *bounds;   /* a row of all_runs for each cut */
    struct split *splits;    /* the same rows */
    size_t *pivot_runs;      /* of each cut: the run of the pivot; all_runs: the cut is found */
    uint64_t *lengths;       /* of each cut: the bytes of its pivot, without the terminator */
    uint64_t *pivot_words;   /* the texts of the pivots, each in whole words */
    struct run_line *pivots; /* of each cut, if its run is this rank's */
    struct run_line probe;
};

/* ---- Lines of a run ---- */

/* Appends bytes of the run to the text of the line. */
static bool append(const struct spill_run *run, uint64_t at, size_t bytes, struct run_line *line,
                   struct error *error)
{
    if (line->room < line->length + bytes) {
        const size_t room = 2 * (line->length + bytes);
        char *const text = realloc(line->text, room);
        if (!text)
            return error_set(error, "no memory for a line of more than %zu bytes", line->length);
        line->text = text;
        line->room = room;
    }
    return spill_read(run, at, line->text + line->length, bytes, error);
}

/* Finds the beginning of the line that has the byte before `at`; a line begins at `low`. */
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

/* Reads the line that has the byte `at`; a line begins at `low`. */
static bool read_line(const struct external_line_cuts *cuts, const struct spill_run *run,
                      uint64_t low, uint64_t at, struct run_line *line, struct error *error)
{
    const char terminator = cuts->order->terminator;
    line->length = 0;
    if (!find_begin(run, terminator, low, at, &line->begin, error))
        return false;
    for (uint64_t end = line->begin; end < run->bytes;) {
        const uint64_t left = run->bytes - end;
        const size_t bytes = left < READ_BYTES ? (size_t)left : READ_BYTES;
        if (!append(run, end, bytes, line, error))
            return false;
        const char *const found = memchr(line->text + line->length, terminator, bytes);
        line->length = found ? (size_t)(found - line->text) : line->length + bytes;
        end += bytes;
        if (found)
            break;
    }
    line->end = line->begin + line->length + 1;
    return true;
}

/* ---- Pivots ---- */

/* Chooses the run that has the middle of the remaining bytes; all_runs if no bytes remain. */
static size_t choose_run(const struct bounds *bounds, size_t all_runs)
{
    uint64_t open = 0, before = 0;
    for (size_t i = 0; i < all_runs; i++)
        open += bounds[i].high - bounds[i].low;
    for (size_t i = 0; i < all_runs; i++) {
        before += bounds[i].high - bounds[i].low;
        if (before > open / 2)
            return i;
    }
    return all_runs;
}

/* Chooses the run of each pivot; this rank reads the pivots of its own runs. Sets *is_found if no
 * cut is open. */
static bool read_pivots(struct searcher *searcher, bool *is_found, struct error *error)
{
    const struct external_line_cuts *const cuts = searcher->cuts;
    *is_found = true;
    for (size_t c = 0; c < cuts->cut_count; c++) {
        const struct bounds *const row = searcher->bounds + c * cuts->all_runs;
        const size_t i = choose_run(row, cuts->all_runs);
        searcher->pivot_runs[c] = i;
        searcher->lengths[c] = 0;
        if (i == cuts->all_runs)
            continue;
        *is_found = false;
        if (cuts->owners[i] != cuts->group->rank)
            continue;
        struct run_line *const pivot = &searcher->pivots[c];
        if (!read_line(cuts, &cuts->runs[i - cuts->first_run], row[i].low,
                       row[i].low + (row[i].high - row[i].low) / 2, pivot, error))
            return false;
        searcher->lengths[c] = pivot->length;
    }
    return true;
}

/* Collective: gives all ranks the texts of the pivots. */
static bool share_pivots(struct searcher *searcher, struct error *error)
{
    const struct external_line_cuts *const cuts = searcher->cuts;
    size_t words = 0, at = 0;
    if (!group_sum(cuts->group, searcher->lengths, cuts->cut_count, error))
        return false;
    for (size_t c = 0; c < cuts->cut_count; c++)
        words += group_words(searcher->lengths[c]);
    free(searcher->pivot_words);
    searcher->pivot_words = calloc(words + 1, sizeof *searcher->pivot_words);
    if (!group_agree(cuts->group,
                     searcher->pivot_words || error_set(error, "no memory for lines of %zu bytes",
                                                        words * sizeof *searcher->pivot_words),
                     error))
        return false;
    for (size_t c = 0; c < cuts->cut_count; c++) {
        const size_t i = searcher->pivot_runs[c];
        if (i < cuts->all_runs && cuts->owners[i] == cuts->group->rank && searcher->lengths[c] > 0)
            memcpy(searcher->pivot_words + at, searcher->pivots[c].text,
                   (size_t)searcher->lengths[c]);
        at += group_words(searcher->lengths[c]);
    }
    return group_sum(cuts->group, searcher->pivot_words, words, error);
}

/* ---- Counting ---- */

/* Finds where the run's lines less than the pivot end, within the bounds. With or_equal the lines
 * that are equal to it are included. */
static bool find_place(struct searcher *searcher, const struct spill_run *run, struct bounds bounds,
                       const char *pivot, size_t length, bool or_equal, uint64_t *place,
                       struct error *error)
{
    const struct external_line_cuts *const cuts = searcher->cuts;
    struct run_line *const probe = &searcher->probe;
    while (bounds.low < bounds.high) {
        if (!read_line(cuts, run, bounds.low, bounds.low + (bounds.high - bounds.low) / 2, probe,
                       error))
            return false;
        const int found = line_compare(cuts->order, 0, probe->text, probe->length, pivot, length);
        if (found < 0 || (or_equal && found == 0))
            bounds.low = probe->end;
        else
            bounds.high = probe->begin;
    }
    *place = bounds.low;
    return true;
}

/* Splits run i of all at the pivot of cut c. */
static bool split_run(struct searcher *searcher, size_t c, size_t i, const char *pivot,
                      struct split *split, struct error *error)
{
    const struct external_line_cuts *const cuts = searcher->cuts;
    const struct spill_run *const run = &cuts->runs[i - cuts->first_run];
    const size_t length = (size_t)searcher->lengths[c], pivot_run = searcher->pivot_runs[c];
    const struct bounds bounds = searcher->bounds[c * cuts->all_runs + i];
    const bool is_unique = cuts->order->unique;
    if (i == pivot_run && !is_unique) {
        *split = (struct split){searcher->pivots[c].begin, searcher->pivots[c].end};
        return true;
    }
    if (!find_place(searcher, run, bounds, pivot, length, !is_unique && i < pivot_run,
                    &split->before, error))
        return false;
    split->after = split->before;
    return !is_unique || find_place(searcher, run, (struct bounds){split->before, bounds.high},
                                    pivot, length, true, &split->after, error);
}

static bool split_runs(struct searcher *searcher, struct error *error)
{
    const struct external_line_cuts *const cuts = searcher->cuts;
    const char *pivot = (const char *)searcher->pivot_words;
    for (size_t c = 0; c < cuts->cut_count; c++) {
        for (size_t i = cuts->first_run;
             searcher->pivot_runs[c] < cuts->all_runs && i < cuts->first_run + cuts->run_count; i++)
            if (!split_run(searcher, c, i, pivot, &searcher->splits[c * cuts->all_runs + i], error))
                return false;
        pivot += group_words(searcher->lengths[c]) * sizeof(uint64_t);
    }
    return true;
}

/* Narrows the bounds of each open cut to one side of its pivot. */
static void narrow_bounds(struct searcher *searcher)
{
    const struct external_line_cuts *const cuts = searcher->cuts;
    for (size_t c = 0; c < cuts->cut_count; c++) {
        struct bounds *const bounds = searcher->bounds + c * cuts->all_runs;
        const struct split *const splits = searcher->splits + c * cuts->all_runs;
        uint64_t before = 0;
        if (searcher->pivot_runs[c] == cuts->all_runs)
            continue;
        for (size_t i = 0; i < cuts->all_runs; i++)
            before += splits[i].before;
        for (size_t i = 0; i < cuts->all_runs; i++) {
            if (before < cuts->targets[c])
                bounds[i].low = splits[i].after;
            else
                bounds[i].high = splits[i].before;
        }
    }
}

/* Collective: one step for all cuts. A rank that cannot read its runs takes part to the end. */
static bool step(struct searcher *searcher, bool *is_found, struct error *error)
{
    const struct external_line_cuts *const cuts = searcher->cuts;
    const size_t cells = cuts->cut_count * cuts->all_runs;
    const bool ok = read_pivots(searcher, is_found, error);
    if (!group_agree(cuts->group, ok, error))
        return false;
    if (*is_found)
        return true;
    memset(searcher->splits, 0, cells * sizeof *searcher->splits);
    if (!share_pivots(searcher, error) ||
        !group_agree(cuts->group, split_runs(searcher, error), error) ||
        !group_sum(cuts->group, &searcher->splits->before,
                   cells * (sizeof *searcher->splits / sizeof(uint64_t)), error))
        return false;
    narrow_bounds(searcher);
    return true;
}

/* ---- All of it ---- */

/* The positions are the ends of the runs. A cut after all lines is found already. */
static void start_bounds(struct searcher *searcher, const uint64_t *positions)
{
    const struct external_line_cuts *const cuts = searcher->cuts;
    for (size_t c = 0; c < cuts->cut_count; c++) {
        const uint64_t *const ends = positions + c * cuts->all_runs;
        uint64_t bytes = 0;
        for (size_t i = 0; i < cuts->all_runs; i++)
            bytes += ends[i];
        for (size_t i = 0; i < cuts->all_runs; i++)
            searcher->bounds[c * cuts->all_runs + i] =
                (struct bounds){cuts->targets[c] < bytes ? 0 : ends[i], ends[i]};
    }
}

static bool search(struct searcher *searcher, uint64_t *positions, struct error *error)
{
    const struct external_line_cuts *const cuts = searcher->cuts;
    const size_t cells = cuts->cut_count * cuts->all_runs;
    memset(positions, 0, cells * sizeof *positions);
    for (size_t c = 0; c < cuts->cut_count; c++)
        for (size_t i = 0; i < cuts->run_count; i++)
            positions[c * cuts->all_runs + cuts->first_run + i] = cuts->runs[i].bytes;
    if (!group_sum(cuts->group, positions, cells, error))
        return false;
    start_bounds(searcher, positions);
    for (bool is_found = cells == 0; !is_found;)
        if (!step(searcher, &is_found, error))
            return false;
    for (size_t at = 0; at < cells; at++)
        positions[at] = searcher->bounds[at].low;
    return true;
}

bool external_line_cuts_find(const struct external_line_cuts *cuts, uint64_t *positions,
                             struct error *error)
{
    const size_t cells = cuts->cut_count * cuts->all_runs;
    struct searcher searcher = {
        .cuts = cuts,
        .bounds = calloc(cells + 1, sizeof *searcher.bounds),
        .splits = calloc(cells + 1, sizeof *searcher.splits),
        .pivot_runs = calloc(cuts->cut_count + 1, sizeof *searcher.pivot_runs),
        .lengths = calloc(cuts->cut_count + 1, sizeof *searcher.lengths),
        .pivots = calloc(cuts->cut_count + 1, sizeof *searcher.pivots),
    };
    const bool has_memory = (searcher.bounds && searcher.splits && searcher.pivot_runs &&
                             searcher.lengths && searcher.pivots) ||
                            error_set(error, "out of memory");
    const bool ok =
        group_agree(cuts->group, has_memory, error) && search(&searcher, positions, error);
    for (size_t c = 0; searcher.pivots && c < cuts->cut_count; c++)
        free(searcher.pivots[c].text);
    free(searcher.probe.text);
    free(searcher.pivots);
    free(searcher.pivot_words);
    free(searcher.lengths);
    free(searcher.pivot_runs);
    free(searcher.splits);
    free(searcher.bounds);
    return ok;
}
