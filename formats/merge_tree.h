/* merge_tree.h - the least of many lines, each the next one of a run: a tree of losers.
 *
 * Every inner node holds the run that lost there; the one that lost nowhere is the winner. After
 * its line has been taken, only the nodes between its leaf and the root are played again (Knuth,
 * "The Art of Computer Programming", volume 3, 5.4.1). Of equal lines, that of the first run wins.
 */
#ifndef FORMATS_MERGE_TREE_H
#define FORMATS_MERGE_TREE_H

#include "core/line_order.h"
#include "formats/line_rank.h"

#include <stddef.h>
#include <stdint.h>

/* What is left of a run: text[0..bytes), whole lines, the first of them ranked in `line`. */
struct merge_run {
    struct ranked_line line;
    const char *end;
    size_t input; /* where the run is from */
    bool is_empty;
};

/* Borrows its arrays, of `count` elements each. */
struct merge_tree {
    const struct line_order *order;
    struct merge_run *runs;
    uint32_t *losers; /* of nodes 1 to count - 1 */
    size_t count;     /* at least 1 */
    size_t winner;
};

/* Makes the run of text[begin..end), which is not empty. */
void merge_run_start(struct merge_run *run, const struct line_order *order, const char *begin,
                     const char *end, size_t input);

/* Plays all runs, in the order in which they stand. */
void merge_tree_start(struct merge_tree *tree);

/* The run whose line is next. It is empty if all are. */
static inline struct merge_run *merge_tree_winner(const struct merge_tree *tree)
{
    return &tree->runs[tree->winner];
}

/* Takes the winner's line from its run and finds the next winner. */
void merge_tree_advance(struct merge_tree *tree);

#endif
