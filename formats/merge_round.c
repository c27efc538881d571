/* merge_round.c - see merge_round.h. */
#include "formats/merge_round.h"

#include "formats/merge_tree.h"
#include "formats/piece_writer.h"

#include <stdlib.h>
#include <string.h>

/* A part on its way through make_part and write_rest. */
struct part {
    struct merge_tree tree;
    struct ranked_line last; /* the last line that went out, of a unique order */
    bool has_last;
    bool has_written;
    bool is_done;
};

struct merging {
    const struct merge_round *round;
    struct part *parts;
    struct merge_run *runs; /* count of them a part */
    uint32_t *losers;       /* the same */
    size_t *cuts;           /* the same, and one row more */
    size_t part_count;
};

static void start_part(const struct merging *merging, size_t index)
{
    const struct merge_round *const round = merging->round;
    struct part *const part = &merging->parts[index];
    const size_t *const begins = merging->cuts + index * round->count;
    const size_t *const ends = begins + round->count;
    part->last = round->last;
    part->has_last = round->has_last;
    part->tree = (struct merge_tree){.order = round->order,
                                     .runs = merging->runs + index * round->count,
                                     .losers = merging->losers + index * round->count};
    for (size_t i = 0; i < round->count; i++) {
        const char *const text = round->texts[i].text;
        if (begins[i] < ends[i])
            merge_run_start(&part->tree.runs[part->tree.count++], round->order, text + begins[i],
                            text + ends[i], i);
    }
    part->is_done = part->tree.count == 0;
    if (!part->is_done)
        merge_tree_start(&part->tree);
}

/* Whether the winner's line is to be left out of the output. */
static inline bool is_duplicate(const struct part *part, const struct merge_run *run)
{
    return part->tree.order->unique && part->has_last &&
           line_rank_compare(part->tree.order, &part->last, &run->line) == 0;
}

/* Notes that the winner's line has gone out, and takes it from its run. */
static inline void pass_line(const struct merge_round *round, struct part *part,
                             struct merge_run *run, bool is_written)
{
    if (is_written) {
        part->last = run->line;
        part->has_last = part->has_written = true;
    }
    merge_tree_advance(&part->tree);
    part->is_done = merge_tree_winner(&part->tree)->is_empty ||
                    (run->is_empty && round->goes_on && round->goes_on[run->input]);
}

/* Merges into the buffer up to the first line that does not fit; returns the bytes there are. */
static size_t fill_buffer(const struct merge_round *round, struct part *part, unsigned char *buffer)
{
    size_t bytes = 0;
    while (!part->is_done) {
        struct merge_run *const run = merge_tree_winner(&part->tree);
        const bool is_written = !is_duplicate(part, run);
        const size_t size = run->line.length + 1;
        if (is_written) {
            if (size > SINK_BUFFER_BYTES - bytes)
                break;
            memcpy(buffer + bytes, run->line.text, size);
            bytes += size;
        }
        pass_line(round, part, run, is_written);
    }
    return bytes;
}

static size_t make_part(const void *context, size_t index, unsigned char *buffer, size_t *bytes)
{
    const struct merging *const merging = context;
    start_part(merging, index);
    *bytes = fill_buffer(merging->round, &merging->parts[index], buffer);
    return 0; /* the part itself knows where to go on */
}

/* A line that fits no buffer is written from where it is. */
static bool write_rest(const void *context, size_t index, size_t position, struct sink *sink,
                       struct error *error)
{
    const struct merging *const merging = context;
    struct part *const part = &merging->parts[index];
    (void)position;
    if (part->is_done)
        return true;
    unsigned char *const buffer = malloc(SINK_BUFFER_BYTES);
    bool written = buffer != NULL || error_set(error, "%s: no memory to write it", sink_name(sink));
    while (written && !part->is_done) {
        const size_t bytes = fill_buffer(merging->round, part, buffer);
        if (bytes > 0) {
            written = sink_write(sink, buffer, bytes, error);
        } else if (!part->is_done) {
            struct merge_run *const run = merge_tree_winner(&part->tree);
            written = sink_write(sink, run->line.text, run->line.length + 1, error);
            pass_line(merging->round, part, run, true);
        }
    }
    free(buffer);
    return written;
}

/* Moves the texts' begins and the last line along. */
static void end_round(struct merge_round *round, const struct merging *merging)
{
    for (size_t i = 0; i < round->count; i++)
        round->texts[i].begin = round->texts[i].end;
    if (round->goes_on) {
        const struct merge_tree *const tree = &merging->parts[0].tree;
        for (size_t k = 0; k < tree->count; k++) {
            const struct merge_run *const run = &tree->runs[k];
            struct sorted_text *const text = &round->texts[run->input];
            if (!run->is_empty)
                text->begin = (size_t)(run->line.text - text->text);
        }
    }
    for (size_t i = merging->part_count; i-- > 0;) {
        if (merging->parts[i].has_written) {
            round->last = merging->parts[i].last;
            round->has_last = true;
            break;
        }
    }
}

static bool allocate(struct merging *merging, struct error *error)
{
    const struct merge_round *const round = merging->round;
    size_t total_bytes = 0, cells;
    for (size_t i = 0; i < round->count; i++)
        total_bytes += round->texts[i].end - round->texts[i].begin;
    merging->part_count = round->goes_on ? 1 : total_bytes / round->part_bytes;
    merging->part_count += merging->part_count == 0;
    if (!__builtin_mul_overflow(merging->part_count + 1, round->count, &cells)) {
        merging->parts = calloc(merging->part_count, sizeof *merging->parts);
        merging->runs = calloc(cells, sizeof *merging->runs);
        merging->losers = calloc(cells, sizeof *merging->losers);
        merging->cuts = calloc(cells, sizeof *merging->cuts);
    }
    return (merging->parts && merging->runs && merging->losers && merging->cuts) ||
           error_set(error, "no memory to merge %zu inputs", round->count);
}

bool merge_round_run(struct merge_round *round, struct sink *sink, struct error *error)
{
    bool ok = false;
    struct merging merging = {.round = round};
    TRY(allocate(&merging, error));
    TRY(merge_cut_evenly(round->order, round->texts, round->count, merging.part_count, merging.cuts,
                         round->threads, error));
    const struct piece_maker maker = {
        .context = &merging,
        .pieces = merging.part_count,
        .threads = round->threads,
        .make = make_part,
        .rest = write_rest,
    };
    TRY(piece_writer_run(&maker, sink, error));
    end_round(round, &merging);
    ok = true;
done:
    free(merging.parts);
    free(merging.runs);
    free(merging.losers);
    free(merging.cuts);
    return ok;
}
