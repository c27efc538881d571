/* lines_merge.c - see lines_merge.h.
 *
 * A round: inputs are read, and items made of their lines; the least of the last lines of inputs
 * that go on is the bound, behind which unread lines may belong; everything up to it is merged.
 *
 * Last is the last one with an item, where an input is not in order (merge_texts.h). What is read
 * next of it may go before the bound, if that line is the bound; but then it goes before all that
 * is left, as if the input began there.
 */
#include "formats/lines_merge.h"

#include "formats/merge_cut.h"
#include "formats/merge_input.h"
#include "formats/merge_round.h"

#include <stdlib.h>
#include <string.h>

/* Text and items in memory, all inputs together: parts for some tens of threads. */
#define MEMORY_BYTES ((size_t)64 << 20)

/* Text and items that are merged at a time by a thread: with a second array of items they fit its
 * caches, and the text fits the sink's buffer even if parts are very uneven; what does not fit is
 * written by one thread while the others wait. */
#define PART_BYTES ((size_t)512 << 10)

/* With many inputs a part has at least so much of each, so that cutting them does not take longer
 * than merging them. */
#define PART_BYTES_PER_INPUT ((size_t)2 << 10)
#define PART_BYTES_MAX (SINK_BUFFER_BYTES / 3 * 2)

/* What lasts from round to round. */
struct merger {
    struct lines_merge *merge;
    struct merge_inputs inputs;
    struct merge_scratch *scratches; /* of each thread */
    bool *goes_on;                   /* the input has more than what is in memory */
    char *last_text;                 /* of a unique order: a copy of the last line written */
    size_t last_length;
    bool has_last;
    uint64_t last_key;       /* of the last line of rounds that were in order */
    struct check_sum passed; /* lines of all rounds, written or left out */
};

/* Cuts the texts behind the bound, if there is one. */
static void cut_at_bound(struct merger *merger)
{
    struct merge_texts *const texts = &merger->inputs.texts;
    struct splitter bound;
    bool has_bound = false;
    for (size_t i = 0; i < texts->count; i++) {
        if (!merger->goes_on[i])
            continue;
        const size_t place = texts->texts[i].end - 1;
        const struct splitter last = {texts->texts[i].items[place], i, place};
        if (!has_bound || merge_item_compare(texts, last.item, bound.item) < 0)
            bound = last;
        has_bound = true;
    }
    if (!has_bound)
        return;
#pragma omp parallel for schedule(static) num_threads((int)merger->merge->threads)
    for (size_t i = 0; i < texts->count; i++)
        texts->texts[i].end = merge_cut_find_behind(texts, i, texts->texts[i].begin, &bound);
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

static size_t choose_part_bytes(const struct lines_merge *merge)
{
    if (merge->part_bytes > 0)
        return merge->part_bytes;
    size_t bytes = PART_BYTES_PER_INPUT * merge->count;
    bytes = bytes > PART_BYTES ? bytes : PART_BYTES;
    return bytes < PART_BYTES_MAX ? bytes : PART_BYTES_MAX;
}

static bool run_round(struct merger *merger, struct sink *sink, struct error *error)
{
    const struct lines_merge *const merge = merger->merge;
    for (size_t i = 0; i < merge->count; i++)
        merger->goes_on[i] = merge_input_goes_on(&merger->inputs.inputs[i]);
    cut_at_bound(merger);
    struct merge_round round = {
        .texts = merger->inputs.texts,
        .threads = merge->threads,
        .scratches = merger->scratches,
        .part_bytes = choose_part_bytes(merge),
        .has_last = merger->has_last,
        /* An input's disorder is not seen where all of it was merged before it was read on. */
        .last_key = merge->are_sorted ? merger->last_key : 0,
    };
    if (merger->has_last)
        (void)line_rank(merge->order, merger->last_text, merger->last_length, &round.last);
    const bool ok = merge_round_run(&round, sink, error);
    merger->last_key = round.last_key;
    check_sum_add(&merger->passed, round.passed);
    if (ok && round.is_disordered)
        return sink_fail_proof(sink, "the lines written are not in order", error);
    return ok && (!merge->order->unique || keep_last_line(merger, &round, error));
}

static bool is_at_end(const struct merger *merger)
{
    for (size_t i = 0; i < merger->merge->count; i++)
        if (merge_input_goes_on(&merger->inputs.inputs[i]) ||
            merger->inputs.texts.texts[i].begin < merger->inputs.inputs[i].item_count)
            return false;
    return true;
}

static bool open_inputs(struct merger *merger, struct error *error)
{
    const struct lines_merge *const merge = merger->merge;
    struct merge_inputs *const inputs = &merger->inputs;
    inputs->inputs = calloc(merge->count, sizeof *inputs->inputs);
    inputs->texts.texts = calloc(merge->count, sizeof *inputs->texts.texts);
    merger->goes_on = calloc(merge->count, sizeof *merger->goes_on);
    merger->scratches = calloc(merge->threads, sizeof *merger->scratches);
    if (!inputs->inputs || !inputs->texts.texts || !merger->goes_on || !merger->scratches)
        return error_set(error, "no memory to merge %zu inputs", merge->count);
    const size_t least = merge->memory_bytes > 0 ? 1 : LINES_MERGE_INPUT_BYTES;
    size_t bytes = (merge->memory_bytes > 0 ? merge->memory_bytes : MEMORY_BYTES) / merge->count;
    bytes = bytes > least ? bytes : least;
    for (size_t i = 0; i < merge->count; i++)
        if (!merge_input_open(&inputs->inputs[i], merge->sources[i], merge->order->terminator,
                              bytes, error))
            return false;
    return true;
}

static void close_inputs(struct merger *merger)
{
    struct merge_inputs *const inputs = &merger->inputs;
    for (size_t i = 0; inputs->inputs && i < merger->merge->count; i++)
        merge_input_close(&inputs->inputs[i]);
    for (size_t i = 0; merger->scratches && i < merger->merge->threads; i++)
        merge_scratch_free(&merger->scratches[i]);
    free(merger->scratches);
    free(inputs->inputs);
    free(inputs->texts.texts);
    free(merger->goes_on);
    free(merger->last_text);
}

/* That what was passed on is what was read. */
static bool check_passed(const struct merger *merger, struct sink *sink, struct error *error)
{
    struct check_sum read = {0, 0};
    for (size_t i = 0; i < merger->merge->count; i++)
        check_sum_add(&read, merger->inputs.inputs[i].block.read.sum);
    return check_sum_equal(read, merger->passed) ||
           sink_fail_proof(sink, "the lines written are not those that were read", error);
}

bool lines_merge_run(struct lines_merge *merge, struct sink *sink, struct error *error)
{
    bool ok = false;
    struct merger merger = {
        .merge = merge,
        .inputs = {.texts = {merge->order, NULL, merge->count, merge_text_shift(merge->count)},
                   .threads = merge->threads,
                   .lines_before = merge->lines_before,
                   .are_sorted = merge->are_sorted},
    };
    TRY(open_inputs(&merger, error));
    while (!is_at_end(&merger)) {
        TRY(merge_inputs_refill(&merger.inputs, error));
        TRY(run_round(&merger, sink, error));
    }
    merge->lines = merger.inputs.lines;
    merge->bytes = merger.inputs.bytes;
    for (size_t i = 0; merge->source_sums && i < merge->count; i++)
        merge->source_sums[i] = merger.inputs.inputs[i].block.read.sum;
    ok = check_passed(&merger, sink, error);
done:
    close_inputs(&merger);
    return ok;
}
