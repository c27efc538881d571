/* SPDX-License-Identifier: Apache-2.0 */
/* merge_cut.c - see merge_steps.h. */
#include "formats/merge/merge_steps.h"

#include <stdlib.h>

/* Samples per range: sizes of ranges mostly differ by less than a quarter. */
#define SAMPLES_PER_RANGE ((size_t)16)

/* Returns the end of the items of [begin, end) that sort before the splitter; with_equal: and of
 * those equal to it. */
static size_t count_before(const struct merge_texts *texts, size_t i, size_t begin, size_t end,
                           struct key_index splitter, bool with_equal)
{
    const struct merge_text *const text = &texts->texts[i];
    size_t step = 1;
    /* The cuts of a text are searched in ascending order, so steps double until one passes the cut.
     * Then comes bisection. */
    while (begin < end) {
        const size_t at = end - begin > step ? begin + step - 1 : begin + (end - begin) / 2;
        const int found = merge_item_compare(texts, text->items[at], splitter);
        if (found < 0 || (found == 0 && with_equal)) {
            begin = at + 1;
            step = step < SIZE_MAX / 2 ? step * 2 : step;
        } else {
            end = at;
            step = SIZE_MAX;
        }
    }
    return begin;
}

/* Returns the cut of text i in items [begin, end): lines before the splitter are before the cut.
 * With a unique order these are lines with smaller keys, otherwise also equal lines of earlier
 * texts. */
static size_t find_before(const struct merge_texts *texts, size_t i, size_t begin, size_t end,
                          const struct splitter *splitter)
{
    if (texts->order->unique)
        return count_before(texts, i, begin, end, splitter->item, false);
    return i == splitter->text
               ? splitter->position
               : count_before(texts, i, begin, end, splitter->item, i < splitter->text);
}

size_t merge_cut_find_after(const struct merge_texts *texts, size_t i, size_t begin,
                            const struct splitter *splitter)
{
    return i == splitter->text ? splitter->position + 1
                               : count_before(texts, i, begin, texts->texts[i].end, splitter->item,
                                              i < splitter->text);
}

/* A sampled line, and the number of its samples: a long line is compared once, not once for
 * each. */
struct sample {
    struct splitter splitter;
    size_t weight;
};

static int compare_samples(const void *a, const void *b, void *texts)
{
    const struct splitter *const x = &((const struct sample *)a)->splitter;
    const struct splitter *const y = &((const struct sample *)b)->splitter;
    const int found = merge_item_compare(texts, x->item, y->item);
    if (found != 0)
        return found;
    return x->item.index < y->item.index ? -1 : x->item.index > y->item.index;
}

/* Takes `count` lines at equal distances in all active texts, as if these were concatenated.
 * Returns the number of different lines in `samples`. */
static size_t take_samples(const struct merge_texts *texts, size_t total_bytes,
                           struct sample *samples, size_t count)
{
    size_t active = 0, before = 0; /* bytes of earlier active texts */
    size_t taken = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = total_bytes / count * k + total_bytes % count * k / count;
        while (at - before >= merge_text_bytes(texts, texts->active[active]))
            before += merge_text_bytes(texts, texts->active[active++]);
        const size_t i = texts->active[active];
        const size_t offset = merge_text_offset(texts, i, texts->texts[i].begin) + (at - before);
        const size_t position =
            merge_text_find(texts, i, texts->texts[i].begin, texts->texts[i].end, offset);
        if (taken > 0 && samples[taken - 1].splitter.text == i &&
            samples[taken - 1].splitter.position == position) {
            samples[taken - 1].weight++;
            continue;
        }
        samples[taken++] = (struct sample){{texts->texts[i].items[position], i, position}, 1};
    }
    return taken;
}

/* Sets splitters[1..ranges) to sorted samples at equal distances by weight. */
static void choose_splitters(const struct sample *samples, size_t ranges,
                             const struct sample **splitters)
{
    size_t k = 0, weight = samples[0].weight; /* weight of the samples up to samples[k] */
    for (size_t range = 1; range < ranges; range++) {
        while (weight <= range * SAMPLES_PER_RANGE)
            weight += samples[++k].weight;
        splitters[range] = &samples[k];
    }
}

/* Computes the cuts at the splitters. Equal splitters have equal cuts. */
static void cut_at_splitters(const struct merge_texts *texts, const struct sample *const *splitters,
                             size_t ranges, size_t *cuts, unsigned threads)
{
    const size_t count = texts->active_count;
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)threads)
    for (size_t k = 0; k < count; k++) {
        const size_t i = texts->active[k];
        size_t cut = cuts[k];
        for (size_t range = 1; range < ranges; range++) {
            if (range == 1 || splitters[range] != splitters[range - 1])
                cut = find_before(texts, i, cut, texts->texts[i].end, &splitters[range]->splitter);
            cuts[range * count + k] = cut;
        }
    }
}

bool merge_cut_evenly(const struct merge_texts *texts, size_t ranges, size_t *cuts,
                      unsigned threads, struct error *error)
{
    const size_t count = texts->active_count;
    size_t total_bytes = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t i = texts->active[k];
        cuts[k] = texts->texts[i].begin;
        cuts[ranges * count + k] = texts->texts[i].end;
        total_bytes += merge_text_bytes(texts, i);
    }
    if (ranges == 1 || total_bytes == 0)
        return true;
    const size_t sample_count = ranges * SAMPLES_PER_RANGE;
    struct sample *const samples = calloc(sample_count, sizeof *samples);
    const struct sample **const splitters = calloc(ranges, sizeof *splitters);
    const bool has_memory = samples && splitters;
    if (has_memory) {
        const size_t taken = take_samples(texts, total_bytes, samples, sample_count);
        qsort_r(samples, taken, sizeof *samples, compare_samples, (void *)texts);
        choose_splitters(samples, ranges, splitters);
        cut_at_splitters(texts, splitters, ranges, cuts, threads);
    }
    free(splitters);
    free(samples);
    return has_memory || error_set(error, "no memory to cut the inputs into ranges");
}
