/* SPDX-License-Identifier: Apache-2.0 */
/* merge_round.c - see merge_round.h. */
#include "formats/merge/merge_round.h"

#include "core/check/check.h"
#include "formats/io/piece_writer.h"
#include "formats/merge/merge_cut.h"

#include <omp.h>
#include <stdlib.h>

struct merging {
    const struct merge_round *round;
    struct merge_part *parts;
    size_t *cuts; /* as made by merge_cut_evenly */
    size_t part_count;
    size_t first_part; /* the first one with items */
};

static size_t make_part(const void *context, size_t index, unsigned char *buffer, size_t *bytes)
{
    const struct merging *const merging = context;
    const struct merge_round *const round = merging->round;
    const size_t *const begins = merging->cuts + index * round->texts.active_count;
    struct merge_part *const part = &merging->parts[index];
    part->last = round->last;
    part->has_last = round->has_last && index <= merging->first_part;
    merge_part_start(part, &round->texts, begins, begins + round->texts.active_count,
                     &round->scratches[omp_get_thread_num()]);
    *bytes = merge_part_fill(part, buffer, SINK_BUFFER_BYTES);
    return 0; /* the part itself has the position */
}

/* Writes a line that fits no buffer directly from its text, with its checksum. */
static bool write_line(struct merge_part *part, struct sink *sink, struct error *error)
{
    uint64_t place;
    struct text_check passed;
    const struct ranked_line line = merge_part_take(part, &place);
    text_check_start(&passed);
    text_check_begin_chunk(&passed, line.text, place);
    const bool written = sink_write_seen(sink, line.text, line.length + 1, &passed.tap, error);
    check_sum_add(&part->passed, passed.sum);
    return written;
}

/* Writes the lines that did not fit the part's buffer. This is the thread that made the part, and
 * it has made no other part since. */
static bool write_rest(const void *context, size_t index, size_t position, struct sink *sink,
                       struct error *error)
{
    const struct merging *const merging = context;
    struct merge_part *const part = &merging->parts[index];
    (void)position;
    if (merge_part_is_done(part))
        return true;
    unsigned char *const buffer = malloc(SINK_BUFFER_BYTES);
    bool written = buffer != NULL || error_set(error, "%s: no memory to write it", sink_name(sink));
    while (written && !merge_part_is_done(part)) {
        const size_t bytes = merge_part_fill(part, buffer, SINK_BUFFER_BYTES);
        if (bytes > 0) {
            written = sink_write(sink, buffer, bytes, error);
        } else if (!merge_part_is_done(part)) {
            written = write_line(part, sink, error);
        }
    }
    free(buffer);
    return written;
}

/* Returns true if the part begins out of order. before: the last line of the parts before it; NULL:
 * there is none, and the key of the last round counts. */
static bool is_out_of_order(const struct merge_round *round, const struct key_index *before,
                            const struct merge_part *part)
{
    if (!before)
        return part->first_item.key < round->last_key;
    const int highest = round->texts.order->unique ? -1 : 0; /* greatest result in order */
    return merge_item_compare(&round->texts, *before, part->first_item) > highest;
}

/* Combines the results of the parts. */
static void join_parts(struct merge_round *round, const struct merging *merging)
{
    const struct key_index *before = NULL;
    for (size_t i = 0; i < merging->part_count; i++) {
        const struct merge_part *const part = &merging->parts[i];
        check_sum_add(&round->passed, part->passed);
        if (part->count == 0)
            continue;
        round->is_disordered |= part->is_disordered || is_out_of_order(round, before, part);
        if (!before)
            round->first_item = part->first_item;
        before = &part->last_item;
    }
    round->has_items = before;
    if (before) {
        round->last_key = before->key;
        round->last_item = *before;
    }
}

/* Moves the begins of the texts, and keeps the last line written. */
static void end_round(struct merge_round *round, const struct merging *merging)
{
    for (size_t k = 0; k < round->texts.active_count; k++) {
        struct merge_text *const text = &round->texts.texts[round->texts.active[k]];
        text->begin = text->end;
    }
    for (size_t i = merging->part_count; i-- > 0;) {
        if (merging->parts[i].has_written) {
            round->last = merging->parts[i].last;
            round->has_last = merging->parts[i].has_last;
            break;
        }
    }
}

static bool allocate(struct merging *merging, struct error *error)
{
    const struct merge_texts *const texts = &merging->round->texts;
    size_t total_bytes = 0, items = 0, cells;
    for (size_t k = 0; k < texts->active_count; k++) {
        const size_t i = texts->active[k];
        const struct merge_text *const text = &texts->texts[i];
        total_bytes += merge_text_bytes(texts, i);
        items += text->end - text->begin;
    }
    total_bytes += items * sizeof *texts->texts->items;
    merging->part_count = total_bytes / merging->round->part_bytes;
    merging->part_count = merging->part_count < items ? merging->part_count : items;
    merging->part_count += merging->part_count == 0;
    if (!__builtin_mul_overflow(merging->part_count + 1, texts->active_count, &cells)) {
        merging->parts = calloc(merging->part_count, sizeof *merging->parts);
        merging->cuts = calloc(cells, sizeof *merging->cuts);
    }
    return (merging->parts && merging->cuts) ||
           error_set(error, "no memory to merge %zu inputs", texts->count);
}

/* Reserves memory for the largest part, for each thread. Finds the first part with items. */
static bool reserve_scratches(struct merging *merging, struct error *error)
{
    const struct merge_round *const round = merging->round;
    const size_t count = round->texts.active_count;
    size_t most = 0;
    for (size_t part = 0; part < merging->part_count; part++) {
        const size_t *const begins = merging->cuts + part * count, *const ends = begins + count;
        size_t items = 0;
        for (size_t i = 0; i < count; i++)
            items += ends[i] - begins[i];
        merging->first_part += most == 0 && items == 0;
        most = items > most ? items : most;
    }
    for (size_t i = 0; i < round->threads && i < merging->part_count; i++)
        if (!merge_scratch_reserve(&round->scratches[i], most, count, error))
            return false;
    return true;
}

bool merge_round_run(struct merge_round *round, struct sink *sink, struct error *error)
{
    bool ok = false;
    struct merging merging = {.round = round};
    TRY(allocate(&merging, error));
    TRY(merge_cut_evenly(&round->texts, merging.part_count, merging.cuts, round->threads, error));
    TRY(reserve_scratches(&merging, error));
    const struct piece_maker maker = {
        .context = &merging,
        .pieces = merging.part_count,
        .threads = round->threads,
        .make = make_part,
        .rest = write_rest,
    };
    TRY(piece_writer_run(&maker, sink, error));
    join_parts(round, &merging);
    end_round(round, &merging);
    ok = true;
done:
    free(merging.parts);
    free(merging.cuts);
    return ok;
}
