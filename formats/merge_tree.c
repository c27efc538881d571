/* merge_tree.c - see merge_tree.h. An empty run has the greatest rank, so that it is looked at only
 * beside lines of that rank.
 */
#include "formats/merge_tree.h"

#include <string.h>

static void rank_next(struct merge_run *run, const struct line_order *order, const char *line)
{
    run->is_empty = line == run->end;
    if (run->is_empty) {
        run->line.rank = UINT64_MAX;
        return;
    }
    const char *const terminator = memchr(line, order->terminator, (size_t)(run->end - line));
    /* A line that is no number is found when it is read; here it is in the place of any. */
    (void)line_rank(order, line, (size_t)(terminator - line), &run->line);
}

void merge_run_start(struct merge_run *run, const struct line_order *order, const char *begin,
                     const char *end, size_t input)
{
    *run = (struct merge_run){.end = end, .input = input};
    rank_next(run, order, begin);
}

/* Whether the line of run a goes before that of run b. */
static inline bool beats(const struct merge_tree *tree, size_t a, size_t b)
{
    const struct merge_run *const x = &tree->runs[a], *const y = &tree->runs[b];
    if (x->line.rank != y->line.rank)
        return x->line.rank < y->line.rank;
    if (x->is_empty || y->is_empty)
        return !x->is_empty;
    const int found = line_rank_compare_equal(tree->order, &x->line, &y->line);
    return found != 0 ? found < 0 : a < b;
}

/* Plays the runs below the node; returns who won there. The leaves are nodes count and up. */
static size_t play(struct merge_tree *tree, size_t node)
{
    if (node >= tree->count)
        return node - tree->count;
    const size_t a = play(tree, 2 * node), b = play(tree, 2 * node + 1);
    const bool a_wins = beats(tree, a, b);
    tree->losers[node] = (uint32_t)(a_wins ? b : a);
    return a_wins ? a : b;
}

void merge_tree_start(struct merge_tree *tree)
{
    tree->winner = play(tree, 1);
}

void merge_tree_advance(struct merge_tree *tree)
{
    size_t winner = tree->winner;
    struct merge_run *const run = &tree->runs[winner];
    rank_next(run, tree->order, run->line.text + run->line.length + 1);
    for (size_t node = (winner + tree->count) / 2; node > 0; node /= 2) {
        const size_t other = tree->losers[node];
        if (beats(tree, other, winner)) {
            tree->losers[node] = (uint32_t)winner;
            winner = other;
        }
    }
    tree->winner = winner;
}
