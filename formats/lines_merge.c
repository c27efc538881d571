/* lines_merge.c - see lines_merge.h.
 *
 * A round: blocks that are at most half full are filled up; new lines are looked through; the least
 * of the last lines of blocks whose source goes on is the bound, behind which unread lines may
 * belong; everything up to it is merged.
 *
 * Where a block is not in order there is no such bound. From then on a round takes the least of the
 * next lines of all inputs, one after the other, and ends when a block is used up.
 */
#include "formats/lines_merge.h"

#include "formats/line_block.h"
#include "formats/line_error.h"
#include "formats/line_run.h"
#include "formats/merge_round.h"

#include <stdlib.h>
#include <string.h>

/* Text in memory, all inputs together: parts for some tens of threads. */
#define TEXT_BYTES ((size_t)64 << 20)
#define BLOCK_BYTES_MIN ((size_t)16 << 10)

/* A part fits the sink's buffer where parts are uneven by no more than a half; what does not fit is
 * written by one thread while the others wait. */
#define PART_BYTES (SINK_BUFFER_BYTES / 3 * 2)

struct merge_input {
    struct line_block block;
    size_t begin;   /* of the lines that are not yet merged */
    size_t seen;    /* the lines before it have been looked through */
    uint64_t lines; /* looked through, in the whole source */
};

/* What lasts from round to round. */
struct merger {
    struct lines_merge *merge;
    struct line_order run_order; /* what a block has to be in, where equal keys are no disorder */
    struct merge_input *inputs;
    struct sorted_text *texts; /* of the inputs, for a round */
    bool *goes_on;             /* the input's source has more than its block */
    bool is_disordered;        /* one of the blocks was not in order */
    char *last_text;           /* of a unique order: a copy of the last line that was written */
    size_t last_length;
    bool has_last;
};

/* ---- Reading ---- */

static bool is_wanting(const struct merge_input *input)
{
    return !input->block.ended && input->block.bytes - input->begin <= input->block.capacity / 2;
}

static bool refill(struct merge_input *input, struct error *error)
{
    const size_t drop = input->begin;
    input->begin = 0;
    input->seen = input->seen > drop ? input->seen - drop : 0;
    return line_block_refill(&input->block, drop, error);
}

static bool refill_inputs(struct merger *merger, struct error *error)
{
    const struct lines_merge *const merge = merger->merge;
    bool ok = true;
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)merge->threads)
    for (size_t i = 0; i < merge->count; i++) {
        struct error cause = {0};
        if (is_wanting(&merger->inputs[i]) && !refill(&merger->inputs[i], &cause)) {
#pragma omp critical(lines_merge_refill)
            {
                error_merge(error, &cause);
                ok = false;
            }
        }
    }
    return ok;
}

/* ---- Looking through ---- */

/* The lines that start in [begin, end) of an input's block. */
struct look {
    size_t input;
    size_t begin, end;
    struct line_run run;
    bool is_disordered;
};

/* The whole piece, past lines that are out of order; up to one that is no number. */
static void look_through_piece(const struct merger *merger, struct look *look)
{
    const struct line_block *const block = &merger->inputs[look->input].block;
    const struct line_order *const order = &merger->run_order;
    size_t begin = look->begin, lines = 0;
    do {
        look->run = line_run_check(order, block->text, block->bytes, begin, look->end);
        lines += look->run.lines;
        if (look->run.state != LINE_RUN_DISORDER)
            break;
        look->is_disordered = true;
        lines++;
        begin = look->run.offset +
                line_run_length(order, block->text, block->bytes, look->run.offset) + 1;
    } while (begin < look->end);
    look->run.lines = lines;
}

static size_t count_looks(const struct merger *merger)
{
    size_t looks = 0;
    for (size_t i = 0; i < merger->merge->count; i++) {
        const size_t bytes = merger->inputs[i].block.bytes - merger->inputs[i].seen;
        looks += bytes / LINE_RUN_PIECE_BYTES + (bytes % LINE_RUN_PIECE_BYTES != 0);
    }
    return looks;
}

static void plan_looks(const struct merger *merger, struct look *looks)
{
    for (size_t i = 0; i < merger->merge->count; i++) {
        const struct merge_input *const input = &merger->inputs[i];
        for (size_t at = input->seen; at < input->block.bytes; at += LINE_RUN_PIECE_BYTES) {
            const size_t left = input->block.bytes - at;
            const size_t bytes = left < LINE_RUN_PIECE_BYTES ? left : LINE_RUN_PIECE_BYTES;
            *looks++ = (struct look){.input = i, .begin = at, .end = at + bytes};
        }
    }
}

static bool refuse_line(const struct merger *merger, const struct look *look, struct error *error)
{
    const struct merge_input *const input = &merger->inputs[look->input];
    const struct line_block *const block = &input->block;
    const size_t offset = look->run.offset;
    return line_error_set(error, source_name(block->source),
                          merger->merge->lines_before + input->lines + 1, block->text + offset,
                          line_run_length(merger->merge->order, block->text, block->bytes, offset),
                          NUMBER_MALFORMED, NULL);
}

/* Takes in what was found, in the order of the text. */
static bool note_looks(struct merger *merger, const struct look *looks, size_t count,
                       struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct merge_input *const input = &merger->inputs[looks[i].input];
        input->lines += looks[i].run.lines;
        merger->is_disordered |= looks[i].is_disordered;
        if (looks[i].run.state == LINE_RUN_NO_NUMBER)
            return refuse_line(merger, &looks[i], error);
        merger->merge->lines += looks[i].run.lines;
        merger->merge->bytes += looks[i].end - looks[i].begin;
        input->seen = looks[i].end;
    }
    return true;
}

static bool look_through_inputs(struct merger *merger, struct error *error)
{
    const size_t count = count_looks(merger);
    struct look *const looks = calloc(count + 1, sizeof *looks);
    if (!looks)
        return error_set(error, "no memory to merge %zu inputs", merger->merge->count);
    plan_looks(merger, looks);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)merger->merge->threads)
    for (size_t i = 0; i < count; i++)
        look_through_piece(merger, &looks[i]);
    const bool ok = note_looks(merger, looks, count, error);
    free(looks);
    return ok;
}

/* ---- Rounds ---- */

/* The last line of texts[i], which has one. */
static struct splitter last_line(const struct merger *merger, size_t i)
{
    const struct sorted_text *const text = &merger->texts[i];
    struct splitter last = {.text = i};
    last.offset = merge_cut_rank_line(merger->merge->order, text, text->end - 1, &last.line);
    return last;
}

/* Cuts the texts behind the bound, if there is one. */
static void cut_at_bound(struct merger *merger)
{
    const struct lines_merge *const merge = merger->merge;
    struct splitter bound;
    bool has_bound = false;
    for (size_t i = 0; i < merge->count; i++) {
        if (!merger->goes_on[i])
            continue;
        const struct splitter last = last_line(merger, i);
        if (!has_bound || line_rank_compare(merge->order, &last.line, &bound.line) < 0)
            bound = last;
        has_bound = true;
    }
    if (!has_bound)
        return;
#pragma omp parallel for schedule(static) num_threads((int)merge->threads)
    for (size_t i = 0; i < merge->count; i++)
        merger->texts[i].end = merge_cut_find(merge->order, merger->texts, i, &bound, true);
}

static bool keep_last_line(struct merger *merger, const struct merge_round *round,
                           struct error *error)
{
    if (!round->has_last || round->last.text == merger->last_text)
        return true;
    char *const text = realloc(merger->last_text, round->last.length + 1);
    if (!text)
        return error_set(error, "no memory for a line of %zu bytes", round->last.length);
    memcpy(text, round->last.text, round->last.length);
    merger->last_text = text;
    merger->last_length = round->last.length;
    merger->has_last = true;
    return true;
}

static bool run_round(struct merger *merger, struct sink *sink, struct error *error)
{
    const struct lines_merge *const merge = merger->merge;
    for (size_t i = 0; i < merge->count; i++) {
        const struct merge_input *const input = &merger->inputs[i];
        merger->texts[i] =
            (struct sorted_text){input->block.text, input->begin, input->block.bytes};
        merger->goes_on[i] = !input->block.ended;
    }
    struct merge_round round = {
        .order = merge->order,
        .texts = merger->texts,
        .count = merge->count,
        .goes_on = merger->is_disordered ? merger->goes_on : NULL,
        .threads = merge->threads,
        .part_bytes = merge->part_bytes > 0 ? merge->part_bytes : PART_BYTES,
        .has_last = merger->has_last,
    };
    if (!merger->is_disordered)
        cut_at_bound(merger);
    if (merger->has_last)
        (void)line_rank(merge->order, merger->last_text, merger->last_length, &round.last);
    if (!merge_round_run(&round, sink, error))
        return false;
    for (size_t i = 0; i < merge->count; i++)
        merger->inputs[i].begin = merger->texts[i].begin;
    return !merge->order->unique || keep_last_line(merger, &round, error);
}

static bool is_at_end(const struct merger *merger)
{
    for (size_t i = 0; i < merger->merge->count; i++)
        if (!merger->inputs[i].block.ended ||
            merger->inputs[i].begin < merger->inputs[i].block.bytes)
            return false;
    return true;
}

static bool open_inputs(struct merger *merger, struct error *error)
{
    const struct lines_merge *const merge = merger->merge;
    merger->inputs = calloc(merge->count, sizeof *merger->inputs);
    merger->texts = calloc(merge->count, sizeof *merger->texts);
    merger->goes_on = calloc(merge->count, sizeof *merger->goes_on);
    if (!merger->inputs || !merger->texts || !merger->goes_on)
        return error_set(error, "no memory to merge %zu inputs", merge->count);
    const size_t least = merge->text_bytes > 0 ? 1 : BLOCK_BYTES_MIN;
    size_t bytes = (merge->text_bytes > 0 ? merge->text_bytes : TEXT_BYTES) / merge->count;
    bytes = bytes > least ? bytes : least;
    for (size_t i = 0; i < merge->count; i++)
        if (!line_block_open(&merger->inputs[i].block, merge->sources[i], merge->order->terminator,
                             bytes, error))
            return false;
    return true;
}

static void close_inputs(struct merger *merger)
{
    for (size_t i = 0; merger->inputs && i < merger->merge->count; i++)
        line_block_close(&merger->inputs[i].block);
    free(merger->inputs);
    free(merger->texts);
    free(merger->goes_on);
    free(merger->last_text);
}

bool lines_merge_run(struct lines_merge *merge, struct sink *sink, struct error *error)
{
    bool ok = false;
    struct merger merger = {.merge = merge, .run_order = *merge->order};
    merger.run_order.stable = line_order_is_stable(merge->order);
    merger.run_order.unique = false;
    merge->lines = merge->bytes = 0;
    TRY(open_inputs(&merger, error));
    while (!is_at_end(&merger)) {
        TRY(refill_inputs(&merger, error));
        TRY(merge->are_sorted || look_through_inputs(&merger, error));
        TRY(run_round(&merger, sink, error));
    }
    ok = true;
done:
    close_inputs(&merger);
    return ok;
}
