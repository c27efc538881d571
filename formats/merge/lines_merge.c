/* SPDX-License-Identifier: Apache-2.0 */
/* lines_merge.c - see lines_merge.h.
 *
 * A round: Inputs are read, and items are made of their lines. The bound is the least last line of
 * the inputs that have unread lines, so that no unread line belongs before it. All lines up to the
 * bound are merged. If an input is not in order, its last line is the last one with an item
 * (merge_steps.h). The lines read next from it may belong before the bound, if that line is the
 * bound. They then come before all remaining lines, as if the input began there.
 */
#include "formats/merge/lines_merge.h"

#include "formats/merge/merge_steps.h"

#include <stdlib.h>
#include <string.h>

/* Text and items that a thread merges at once. With a second array of items they fit its caches,
 * and the text fits the sink's buffer even if ranges are very uneven. Text that does not fit is
 * written by one thread while the others wait. */
#define RANGE_BYTES ((size_t)512 << 10)

/* Minimum bytes of a range per input: with many inputs, cutting them must not take longer than
 * merging. */
#define RANGE_BYTES_PER_INPUT ((size_t)2 << 10)
#define RANGE_BYTES_MAX (SINK_BUFFER_BYTES / 3 * 2)

/* ---- The bound ---- */

static struct splitter item_of(const struct merge_texts *texts, size_t i, size_t position)
{
    return (struct splitter){texts->texts[i].items[position], i, position};
}

static bool goes_before(const struct merge_texts *texts, const struct splitter *a,
                        const struct splitter *b)
{
    const int found = merge_item_compare(texts, a->item, b->item);
    return found != 0 ? found < 0 : a->text < b->text;
}

/* Sets *bound to the least of the last lines of texts that have unread lines. Returns false if no
 * text has any. */
static bool find_bound(const struct merge_inputs *inputs, struct splitter *bound)
{
    const struct merge_texts *const texts = &inputs->texts;
    bool found = false;
    for (size_t i = 0; i < texts->count; i++) {
        if (!merge_input_goes_on(&inputs->inputs[i])) /* else it has items */
            continue;
        const struct splitter last = item_of(texts, i, texts->texts[i].end - 1);
        if (!found || goes_before(texts, &last, bound))
            *bound = last;
        found = true;
    }
    return found;
}

/* Makes the texts that have lines up to the bound the active ones, and cuts them after it. If no
 * text has unread lines, all lines are up to the bound. Returns false if no text has lines. */
static bool cut_at_bound(struct merge_inputs *inputs)
{
    struct merge_texts *const texts = &inputs->texts;
    struct splitter bound;
    const bool has_bound = find_bound(inputs, &bound);
    texts->active_count = 0;
    for (size_t i = 0; i < texts->count; i++) {
        struct merge_text *const text = &texts->texts[i];
        if (text->begin == text->end)
            continue;
        const struct splitter first = item_of(texts, i, text->begin);
        if (has_bound && i != bound.text && goes_before(texts, &bound, &first))
            continue;
        if (has_bound)
            text->end = merge_cut_find_after(texts, i, text->begin + 1, &bound);
        texts->active[texts->active_count++] = i;
    }
    return texts->active_count > 0;
}

/* ---- Rounds ---- */

struct merger {
    struct lines_merge *merge;
    struct merge_inputs inputs;
    struct merge_scratch *scratches; /* one per thread */
    char *last_text;                 /* for a unique order: a copy of the last line written */
    size_t last_length;
    bool has_last;
    uint64_t last_key;    /* key of the last line of rounds that were in order */
    uint64_t items;       /* merged so far */
    struct check_sum sum; /* checksum of the lines of all rounds, written or left out */
};

void lines_ends_free(struct lines_ends *ends)
{
    free(ends->texts[0]);
    free(ends->texts[1]);
}

static bool copy_line(const char *line, size_t length, char **copy, size_t *copy_length,
                      struct error *error)
{
    char *const text = realloc(*copy, length + 1);
    if (!text)
        return error_set(error, "no memory for a line of %zu bytes", length);
    memcpy(text, line, length);
    *copy = text;
    *copy_length = length;
    return true;
}

static bool copy_end(const struct merge_texts *texts, struct key_index item,
                     struct lines_ends *ends, int end, struct error *error)
{
    return copy_line(merge_item_line(texts, item), merge_item_length(texts, item),
                     &ends->texts[end], &ends->lengths[end], error);
}

/* Copies the last line of the round and, in the first round with lines, the first one. */
static bool keep_ends(struct lines_ends *ends, const struct merge_round *round, struct error *error)
{
    const bool is_first = !ends->has_lines;
    ends->has_lines = true;
    return (!is_first || copy_end(&round->texts, round->first_item, ends, 0, error)) &&
           copy_end(&round->texts, round->last_item, ends, 1, error);
}

static bool keep_last_line(struct merger *merger, const struct merge_round *round,
                           struct error *error)
{
    if (round->last.text == merger->last_text)
        return true;
    merger->has_last = copy_line(round->last.text, round->last.length, &merger->last_text,
                                 &merger->last_length, error);
    return merger->has_last;
}

static size_t choose_range_bytes(const struct merger *merger)
{
    size_t bytes = RANGE_BYTES_PER_INPUT * merger->inputs.texts.active_count;
    bytes = bytes > RANGE_BYTES ? bytes : RANGE_BYTES;
    return bytes < RANGE_BYTES_MAX ? bytes : RANGE_BYTES_MAX;
}

static bool run_round(struct merger *merger, struct sink *sink, struct error *error)
{
    const struct lines_merge *const merge = merger->merge;
    struct merge_round round = {
        .texts = merger->inputs.texts,
        .threads = merge->threads,
        .scratches = merger->scratches,
        .range_bytes = choose_range_bytes(merger),
        .has_last = merger->has_last,
        /* Unless are_sorted, keys may fall from one round to the next: the next lines of an input
         * are not compared with its lines that were merged before they were read. */
        .last_key = merge->are_sorted ? merger->last_key : 0,
    };
    if (merger->has_last)
        (void)line_image_make(merge->order, merger->last_text, merger->last_length, &round.last);
    const bool ok = merge_round_run(&round, sink, error);
    merger->last_key = round.last_key;
    merger->items += round.items;
    check_sum_add(&merger->sum, round.sum);
    if (ok && round.is_disordered)
        return sink_fail_proof(merge->output, "the lines written are not in order", error);
    return ok && (!merge->ends || keep_ends(merge->ends, &round, error)) &&
           (!merge->order->unique || keep_last_line(merger, &round, error));
}

/* Reads from the inputs, and finds what can be merged. *found is false at the end. */
static bool begin_round(struct merger *merger, bool *found, struct error *error)
{
    if (!merge_inputs_refill(&merger->inputs, error))
        return false;
    *found = cut_at_bound(&merger->inputs);
    return true;
}

static size_t choose_input_bytes(const struct lines_merge *merge)
{
    const size_t least = merge->memory_bytes > 0 ? 1 : LINES_MERGE_INPUT_BYTES;
    size_t bytes = merge->memory_bytes;
    if (bytes == 0)
        bytes = merge->threads < LINES_MERGE_BYTES / LINES_MERGE_BYTES_PER_THREAD
                    ? merge->threads * LINES_MERGE_BYTES_PER_THREAD
                    : LINES_MERGE_BYTES;
    return bytes / merge->count > least ? bytes / merge->count : least;
}

/* Returns the bytes of all sources, or 0 if those of one are not known. */
static uint64_t count_source_bytes(const struct lines_merge *merge)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < merge->count; i++) {
        const uint64_t left = source_stop_and_get_left(merge->sources[i]);
        if (left == SIZE_UNKNOWN || __builtin_add_overflow(bytes, left, &bytes))
            return 0;
    }
    return bytes;
}

/* Divides `mean`, the memory per input: half of it equally, and half by the sizes of the inputs. A
 * round ends where the text of an input ends. So with equal memory a long input makes many rounds,
 * in each of which the others have few lines: 200 MB in 341 runs, one of them of 58 MB, take 7103
 * rounds so, and 146 by this division. */
static size_t divide_memory(const struct lines_merge *merge, size_t i, size_t mean,
                            uint64_t all_bytes)
{
    if (all_bytes == 0)
        return mean;
    const double weight = (double)source_stop_and_get_left(merge->sources[i]) / (double)all_bytes;
    const size_t half = mean / 2;
    const size_t bytes = mean - half + (size_t)((double)half * (double)merge->count * weight);
    const size_t most = 3 * merge_offset_max(merge_text_shift(merge->count)); /* a third is text */
    return bytes < most ? bytes : most;
}

static bool open_inputs(struct merger *merger, struct error *error)
{
    const struct lines_merge *const merge = merger->merge;
    struct merge_inputs *const inputs = &merger->inputs;
    inputs->inputs = calloc(merge->count, sizeof *inputs->inputs);
    inputs->texts.texts = calloc(merge->count, sizeof *inputs->texts.texts);
    inputs->texts.active = calloc(merge->count, sizeof *inputs->texts.active);
    merger->scratches = calloc(merge->threads, sizeof *merger->scratches);
    if (!inputs->inputs || !inputs->texts.texts || !inputs->texts.active || !merger->scratches)
        return error_set(error, "no memory to merge %zu inputs", merge->count);
    const size_t mean = choose_input_bytes(merge);
    const uint64_t all_bytes = count_source_bytes(merge);
    for (size_t i = 0; i < merge->count; i++) {
        inputs->texts.active[i] = i;
        if (!merge_input_open(&inputs->inputs[i], merge->sources[i], merge->order->terminator,
                              divide_memory(merge, i, mean, all_bytes), error))
            return false;
        if (merge->source_positions)
            inputs->inputs[i].block.position = merge->source_positions[i];
    }
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
    free(inputs->texts.active);
    free(merger->last_text);
}

static bool check_lines_kept(const struct merger *merger, struct error *error)
{
    struct check_sum read = {0, 0};
    for (size_t i = 0; i < merger->merge->count; i++)
        check_sum_add(&read, merger->inputs.inputs[i].block.read.sum);
    return check_sum_equal(read, merger->sum) ||
           sink_fail_proof(merger->merge->output, "the lines written are not those that were read",
                           error);
}

static bool has_enough(const struct merger *merger)
{
    return merger->merge->most > 0 && merger->items >= merger->merge->most;
}

static bool run_rounds(struct merger *merger, struct sink *sink, struct error *error)
{
    bool found;
    if (!begin_round(merger, &found, error))
        return false;
    while (found && !has_enough(merger))
        if (!run_round(merger, sink, error) || !begin_round(merger, &found, error))
            return false;
    return true;
}

bool lines_merge_run(struct lines_merge *merge, struct sink *sink, struct error *error)
{
    bool ok = false;
    struct merger merger = {
        .merge = merge,
        .inputs = {.texts = {.order = merge->order,
                             .writes_sources = merge->writes_sources,
                             .count = merge->count,
                             .active_count = merge->count,
                             .text_shift = merge_text_shift(merge->count)},
                   .threads = merge->threads,
                   .lines_before = merge->lines_before,
                   .are_sorted = merge->are_sorted,
                   .output = merge->output},
    };
    TRY(open_inputs(&merger, error));
    TRY(run_rounds(&merger, sink, error));
    merge->lines = merger.inputs.lines;
    merge->bytes = merger.inputs.bytes;
    for (size_t i = 0; merge->source_sums && i < merge->count; i++)
        merge->source_sums[i] = merger.inputs.inputs[i].block.read.sum;
    check_sum_add(&merger.sum, merger.inputs.left_out);
    ok = has_enough(&merger) || check_lines_kept(&merger, error);
done:
    close_inputs(&merger);
    return ok;
}
