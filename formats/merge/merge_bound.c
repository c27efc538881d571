/* SPDX-License-Identifier: Apache-2.0 */
/* merge_bound.c - see merge_bound.h. */
#include "formats/merge/merge_bound.h"

#include "formats/merge/merge_cut.h"

#include <stdlib.h>

/* Values of a node without a text: there is none, or it must be computed. */
#define NONE SIZE_MAX
#define UNKNOWN (SIZE_MAX - 1)

bool merge_bound_open(struct merge_bound *bound, size_t count, struct error *error)
{
    bound->firsts = calloc(count, 2 * sizeof *bound->firsts);
    bound->lasts = calloc(count, 2 * sizeof *bound->lasts);
    return (bound->firsts && bound->lasts) ||
           error_set(error, "no memory to merge %zu inputs", count);
}

void merge_bound_close(struct merge_bound *bound)
{
    free(bound->firsts);
    free(bound->lasts);
}

/* All nodes above an UNKNOWN node are UNKNOWN, so the loop ends at the first one. */
static void set_text(size_t *nodes, size_t count, size_t i, bool takes_part)
{
    nodes[count + i] = takes_part ? i : NONE;
    for (size_t node = (count + i) / 2; node > 0 && nodes[node] != UNKNOWN; node /= 2)
        nodes[node] = UNKNOWN;
}

void merge_bound_note(struct merge_bound *bound, const struct merge_texts *texts, size_t i,
                      bool goes_on)
{
    const struct merge_text *const text = &texts->texts[i];
    set_text(bound->firsts, texts->count, i, text->begin < text->end);
    set_text(bound->lasts, texts->count, i, goes_on);
}

static struct splitter first_of(const struct merge_texts *texts, size_t i)
{
    const size_t place = texts->texts[i].begin;
    return (struct splitter){texts->texts[i].items[place], i, place};
}

static struct splitter last_of(const struct merge_texts *texts, size_t i)
{
    const size_t place = texts->texts[i].end - 1;
    return (struct splitter){texts->texts[i].items[place], i, place};
}

/* Chooses the item of each text that a tree compares. */
typedef struct splitter item_choice(const struct merge_texts *texts, size_t i);

static bool goes_before(const struct merge_texts *texts, const struct splitter *a,
                        const struct splitter *b)
{
    const int found = merge_item_compare(texts, a->item, b->item);
    return found != 0 ? found < 0 : a->text < b->text;
}

/* Returns the text below the node whose item comes first. */
static size_t find_winner(size_t *nodes, const struct merge_texts *texts, item_choice *item_of,
                          size_t node)
{
    if (nodes[node] != UNKNOWN)
        return nodes[node];
    const size_t a = find_winner(nodes, texts, item_of, 2 * node);
    const size_t b = find_winner(nodes, texts, item_of, 2 * node + 1);
    nodes[node] = a == NONE ? b : a;
    if (a != NONE && b != NONE) {
        const struct splitter x = item_of(texts, a), y = item_of(texts, b);
        nodes[node] = goes_before(texts, &y, &x) ? b : a;
    }
    return nodes[node];
}

/* Lists the texts below the node that have lines up to the bound. `listed` is known to have such
 * lines. */
static void list_texts(const size_t *firsts, struct merge_texts *texts,
                       const struct splitter *bound, size_t node, size_t listed)
{
    const size_t i = firsts[node];
    if (i == NONE)
        return;
    if (i != listed && bound) {
        const struct splitter first = first_of(texts, i);
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

bool merge_bound_find(struct merge_bound *bound, struct merge_texts *texts, unsigned threads)
{
    const size_t first = find_winner(bound->firsts, texts, first_of, 1);
    const size_t last = find_winner(bound->lasts, texts, last_of, 1);
    texts->active_count = 0;
    if (first == NONE)
        return false;
    if (last == NONE) {
        list_texts(bound->firsts, texts, NULL, 1, first);
        return true;
    }
    const struct splitter least = last_of(texts, last);
    if (last == first && least.place == texts->texts[first].begin) {
        texts->active[texts->active_count++] = first; /* no other text need be compared */
        return true;
    }
    list_texts(bound->firsts, texts, &least, 1, NONE);
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (size_t k = 0; k < texts->active_count; k++) {
        const size_t i = texts->active[k];
        texts->texts[i].end = merge_cut_find_behind(texts, i, texts->texts[i].begin + 1, &least);
    }
    return true;
}
