/* merge_cut.c - see merge_cut.h. */
#include "formats/merge_cut.h"

#include <stdlib.h>
#include <string.h>

/* Samples a part: the parts' sizes are then within a quarter of each other, mostly. */
#define SAMPLES_PER_PART ((size_t)16)

size_t merge_cut_rank_line(const struct line_order *order, const struct sorted_text *text,
                           size_t offset, struct ranked_line *line)
{
    const char *const before =
        memrchr(text->text + text->begin, order->terminator, offset - text->begin);
    const size_t start = before ? (size_t)(before - text->text) + 1 : text->begin;
    const char *const end = memchr(text->text + offset, order->terminator, text->end - offset);
    (void)line_rank(order, text->text + start, (size_t)(end - text->text) - start, line);
    return start;
}

size_t merge_cut_find(const struct line_order *order, const struct sorted_text *texts, size_t i,
                      const struct splitter *splitter, bool behind)
{
    /* Equal lines of earlier texts go before the splitter, those of later ones behind it. Where
     * equal keys must not be parted, all of them go behind, or all before. */
    const bool with_equal = order->unique ? behind : i < splitter->text;
    if (i == splitter->text && !order->unique)
        return splitter->offset + (behind ? splitter->line.length + 1 : 0);
    struct sorted_text rest = texts[i];
    while (rest.begin < rest.end) {
        struct ranked_line line;
        const size_t middle = rest.begin + (rest.end - rest.begin) / 2;
        const size_t start = merge_cut_rank_line(order, &rest, middle, &line);
        const int found = line_rank_compare(order, &line, &splitter->line);
        if (found < 0 || (found == 0 && with_equal))
            rest.begin = start + line.length + 1;
        else
            rest.end = start;
    }
    return rest.begin;
}

/* A line, and how many samples fell on it: a long line is compared once, not once for each. */
struct sample {
    struct splitter splitter;
    size_t weight;
};

static int compare_samples(const void *a, const void *b, void *order)
{
    const struct splitter *const x = &((const struct sample *)a)->splitter;
    const struct splitter *const y = &((const struct sample *)b)->splitter;
    const int found = line_rank_compare(order, &x->line, &y->line);
    if (found != 0)
        return found;
    if (x->text != y->text)
        return x->text < y->text ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Whether the byte at `offset` of texts[i] is of the splitter's line, which starts no later. */
static bool is_in_line(const struct splitter *splitter, size_t i, size_t offset)
{
    return splitter->text == i && offset - splitter->offset <= splitter->line.length;
}

/* Lines at even distances in all texts, as if these stood behind each other: `count` of them, each
 * once. Returns how many are in samples. */
static size_t take_samples(const struct line_order *order, const struct sorted_text *texts,
                           size_t total_bytes, struct sample *samples, size_t count)
{
    size_t i = 0, before = 0; /* bytes of the texts before texts[i] */
    size_t taken = 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = total_bytes / count * k + total_bytes % count * k / count;
        while (at - before >= texts[i].end - texts[i].begin) {
            before += texts[i].end - texts[i].begin;
            i++;
        }
        const size_t offset = texts[i].begin + (at - before);
        if (taken > 0 && is_in_line(&samples[taken - 1].splitter, i, offset)) {
            samples[taken - 1].weight++;
            continue;
        }
        struct splitter *const splitter = &samples[taken].splitter;
        splitter->text = i;
        splitter->offset = merge_cut_rank_line(order, &texts[i], offset, &splitter->line);
        samples[taken++].weight = 1;
    }
    return taken;
}

/* The samples' places [1, parts) of equal weight, from sorted samples. */
static void choose_splitters(const struct sample *samples, size_t parts,
                             const struct splitter **splitters)
{
    size_t k = 0, behind = samples[0].weight; /* weight of the samples up to samples[k] */
    for (size_t part = 1; part < parts; part++) {
        while (behind <= part * SAMPLES_PER_PART)
            behind += samples[++k].weight;
        splitters[part] = &samples[k].splitter;
    }
}

/* The cuts at the splitters; at one that comes again, they are the same. */
static void cut_at_splitters(const struct line_order *order, const struct sorted_text *texts,
                             size_t count, const struct splitter *const *splitters, size_t parts,
                             size_t *cuts, unsigned threads)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)threads)
    for (size_t part = 1; part < parts; part++)
        for (size_t i = 0; i < count && (part == 1 || splitters[part] != splitters[part - 1]); i++)
            cuts[part * count + i] = merge_cut_find(order, texts, i, splitters[part], false);
    for (size_t part = 2; part < parts; part++)
        if (splitters[part] == splitters[part - 1])
            memcpy(cuts + part * count, cuts + (part - 1) * count, count * sizeof *cuts);
}

bool merge_cut_evenly(const struct line_order *order, const struct sorted_text *texts, size_t count,
                      size_t parts, size_t *cuts, unsigned threads, struct error *error)
{
    size_t total_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        cuts[i] = texts[i].begin;
        cuts[parts * count + i] = texts[i].end;
        total_bytes += texts[i].end - texts[i].begin;
    }
    if (parts == 1 || total_bytes == 0)
        return true;
    const size_t sample_count = parts * SAMPLES_PER_PART;
    struct sample *const samples = calloc(sample_count, sizeof *samples);
    const struct splitter **const splitters = calloc(parts, sizeof *splitters);
    const bool has_memory = samples && splitters;
    if (has_memory) {
        const size_t taken = take_samples(order, texts, total_bytes, samples, sample_count);
        qsort_r(samples, taken, sizeof *samples, compare_samples, (void *)order);
        choose_splitters(samples, parts, splitters);
        cut_at_splitters(order, texts, count, splitters, parts, cuts, threads);
    }
    free(splitters);
    free(samples);
    return has_memory || error_set(error, "no memory to cut the inputs into parts");
}
