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

/* ---- The bound ----
 *
 *   texts -> the least of the last lines of texts that have unread lines: the bound, before which
 * no unread line belongs -> the texts whose first line is not after it
 *
 * Winner trees over the texts, by their last and by their first items, find both. Only nodes above
 * texts that have changed are computed again. So a round takes time for the texts merged in it,
 * however many others there are.
 */

/* Values of a node without a text: there is none, or it must be computed. */
#define NONE SIZE_MAX
#define UNKNOWN (SIZE_MAX - 1)

/* In each tree, nodes[1] is the root, nodes[n] is above nodes[2 n] and nodes[2 n + 1], and
 * nodes[count + i] is text i if it takes part. */
struct merge_bound {
    size_t *firsts; /* owned: texts that have items */
    size_t *lasts;  /* owned: texts with unread lines */
};

/* Updates a tree for text i, which has changed or is new; all are new at first. All nodes above an
 * UNKNOWN node are UNKNOWN, so the loop ends at the first one. */
static void set_text(size_t *nodes, size_t count, size_t i, bool takes_part)
{
    nodes[count + i] = takes_part ? i : NONE;
    for (size_t node = (count + i) / 2; node > 0 && nodes[node] != UNKNOWN; node /= 2)
        nodes[node] = UNKNOWN;
}

/* Which items of the texts a tree compares. */
enum end { FIRST, LAST };

static struct splitter item_of(const struct merge_texts *texts, size_t i, enum end end)
{
    const size_t position = end == FIRST ? texts->texts[i].begin : texts->texts[i].end - 1;
    return (struct splitter){texts->texts[i].items[position], i, position};
}

static bool goes_before(const struct merge_texts *texts, const struct splitter *a,
                        const struct splitter *b)
{
    const int found = merge_item_compare(texts, a->item, b->item);
    return found != 0 ? found < 0 : a->text < b->text;
}

static size_t find_winner(size_t *nodes, const struct merge_texts *texts, enum end end, size_t node)
{
    if (nodes[node] != UNKNOWN)
        return nodes[node];
    const size_t a = find_winner(nodes, texts, end, 2 * node);
    const size_t b = find_winner(nodes, texts, end, 2 * node + 1);
    nodes[node] = a == NONE ? b : a;
    if (a != NONE && b != NONE) {
        const struct splitter x = item_of(texts, a, end), y = item_of(texts, b, end);
        nodes[node] = goes_before(texts, &y, &x) ? b : a;
    }
    return nodes[node];
}

/* Lists the texts below the node that have lines up to the bound (NULL: that have lines). `listed`
 * is known to have such lines. */
static void list_texts(const size_t *firsts, struct merge_texts *texts,
                       const struct splitter *bound, size_t node, size_t listed)
{
    const size_t i = firsts[node];
    if (i == NONE)
        return;
    if (i != listed && bound) {
        const struct splitter first = item_of(texts, i, FIRST);
        if (goes_before(texts, bound, &first))
            return;
    }
    if (node >= texts->count) {
        texts->active[texts->active_count++] = i;
        return;
    }
    list_texts(firsts, texts, bound, 2 * node, i);
    list_texts(firsts, texts, bound, 2 * node + 1, i);
}

/* Makes the texts that have lines up to the bound the active ones, and cuts them after it. If no
 * text has unread lines, all lines are up to the bound. Returns false if no text has lines. */
static bool merge_bound_find(struct merge_bound *bound, struct merge_texts *texts, unsigned threads)
{
    const size_t first = find_winner(bound->firsts, texts, FIRST, 1);
    const size_t last = find_winner(bound->lasts, texts, LAST, 1);
    texts->active_count = 0;
    if (first == NONE)
        return false;
    if (last == NONE) {
        list_texts(bound->firsts, texts, NULL, 1, first);
        return true;
    }
    const struct splitter least = item_of(texts, last, LAST);
    if (last == first && least.position == texts->texts[first].begin) {
        texts->active[texts->active_count++] = first; /* no other text need be compared */
        return true;
    }
    list_texts(bound->firsts, texts, &least, 1, NONE);
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (size_t k = 0; k < texts->active_count; k++) {
        const size_t i = texts->active[k];
        texts->texts[i].end = merge_cut_find_after(texts, i, texts->texts[i].begin + 1, &least);
    }
    return true;
}

/* ---- Rounds ---- */

struct merger {
    struct lines_merge *merge;
    struct merge_inputs inputs;
    struct merge_bound bound;
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
    struct merge_texts *const texts = &merger->inputs.texts;
    if (!merge_inputs_refill(&merger->inputs, error))
        return false;
    for (size_t k = 0; k < texts->active_count; k++) {
        const size_t i = texts->active[k];
        set_text(merger->bound.firsts, texts->count, i,
                 texts->texts[i].begin < texts->texts[i].end);
        set_text(merger->bound.lasts, texts->count, i,
                 merge_input_goes_on(&merger->inputs.inputs[i])); /* it has items then */
    }
    *found = merge_bound_find(&merger->bound, texts, merger->inputs.useful_threads);
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
    merger->bound.firsts = calloc(merge->count, 2 * sizeof *merger->bound.firsts);
    merger->bound.lasts = calloc(merge->count, 2 * sizeof *merger->bound.lasts);
    if (!inputs->inputs || !inputs->texts.texts || !inputs->texts.active || !merger->scratches ||
        !merger->bound.firsts || !merger->bound.lasts)
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
    free(merger->bound.firsts);
    free(merger->bound.lasts);
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

/* Returns true if lines are only copied: those of a single input, as in sort -m. They are not if
 * runs are to be checked, equal lines left out, or numbers required. */
static bool keeps_order(const struct lines_merge *merge)
{
    return merge->count == 1 && !merge->are_sorted && !merge->order->unique &&
           merge->order->keys[0].kind != LINE_STRICT;
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
    TRY(keeps_order(merge) ? merge_input_copy(&merger.inputs, sink, &merger.sum, error)
                           : run_rounds(&merger, sink, error));
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
