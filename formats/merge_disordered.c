/* merge_disordered.c - merge_round_run_disordered, see merge_round.h.
 *
 * What sort -m makes of inputs that are not in order hangs on the order in which it takes lines. So
 * this takes them one by one, from a tree of losers: every inner node holds the text that lost
 * there; the one that lost nowhere is the winner. After its line has been taken, only the nodes
 * between its leaf and the root are played again (Knuth, "The Art of Computer Programming", volume
 * 3, 5.4.1). Of equal lines, that of the first text wins.
 */
#include "formats/merge_round.h"

#include <stdlib.h>

struct tree {
    struct merge_texts *texts; /* their begins are the next lines */
    size_t *losers;            /* of nodes 1 to count - 1 */
    size_t winner;
};

/* Whether the next line of text a goes before that of text b; a text that has none is last. */
static bool beats(const struct tree *tree, size_t a, size_t b)
{
    const struct merge_text *const x = &tree->texts->texts[a], *const y = &tree->texts->texts[b];
    if (x->begin == x->end || y->begin == y->end)
        return x->begin < x->end;
    const int found = merge_item_compare(tree->texts, x->items[x->begin], y->items[y->begin]);
    return found != 0 ? found < 0 : a < b;
}

/* Plays the texts below the node; returns who won there. The leaves are nodes count and up. */
static size_t play(struct tree *tree, size_t node)
{
    if (node >= tree->texts->count)
        return node - tree->texts->count;
    const size_t a = play(tree, 2 * node), b = play(tree, 2 * node + 1);
    const bool a_wins = beats(tree, a, b);
    tree->losers[node] = a_wins ? b : a;
    return a_wins ? a : b;
}

/* Plays again after the winner's next line has become another one. */
static void play_again(struct tree *tree)
{
    size_t winner = tree->winner;
    for (size_t node = (winner + tree->texts->count) / 2; node > 0; node /= 2) {
        const size_t other = tree->losers[node];
        if (beats(tree, other, winner)) {
            tree->losers[node] = winner;
            winner = other;
        }
    }
    tree->winner = winner;
}

static bool is_duplicate(const struct merge_round *round, const struct ranked_line *line)
{
    return round->texts.order->unique && round->has_last &&
           line_rank_compare(round->texts.order, &round->last, line) == 0;
}

/* Lines on their way out. */
struct output {
    struct sink *sink;
    char *buffer; /* of SINK_BUFFER_BYTES */
    size_t bytes;
};

static bool flush(struct output *output, struct error *error)
{
    const size_t bytes = output->bytes;
    output->bytes = 0;
    return bytes == 0 || sink_write(output->sink, output->buffer, bytes, error);
}

static bool write_line(struct output *output, const struct ranked_line *line, struct error *error)
{
    const size_t size = line->length + 1;
    if (size > SINK_BUFFER_BYTES - output->bytes && !flush(output, error))
        return false;
    if (size > SINK_BUFFER_BYTES)
        return sink_write(output->sink, line->text, size, error);
    memcpy(output->buffer + output->bytes, line->text, size);
    output->bytes += size;
    return true;
}

static bool write_lines(struct merge_round *round, struct tree *tree, const bool *goes_on,
                        struct output *output, struct error *error)
{
    for (;;) {
        struct merge_text *const text = &tree->texts->texts[tree->winner];
        if (text->begin == text->end)
            return flush(output, error);
        const struct key_index item = text->items[text->begin++];
        const struct ranked_line line = merge_item_ranked(tree->texts, item);
        check_sum_add(&round->passed, text_check_sum(merge_item_place(tree->texts, item), line.text,
                                                     line.length + 1));
        if (!is_duplicate(round, &line)) {
            if (!write_line(output, &line, error))
                return false;
            round->last = line;
            round->has_last = true;
        }
        if (text->begin == text->end && goes_on[tree->winner])
            return flush(output, error);
        play_again(tree);
    }
}

bool merge_round_run_disordered(struct merge_round *round, const bool *goes_on, struct sink *sink,
                                struct error *error)
{
    const size_t count = round->texts.count;
    struct tree tree = {.texts = &round->texts, .losers = calloc(count, sizeof *tree.losers)};
    struct output output = {.sink = sink, .buffer = malloc(SINK_BUFFER_BYTES)};
    bool ok =
        (tree.losers && output.buffer) || error_set(error, "no memory to merge %zu inputs", count);
    if (ok) {
        tree.winner = play(&tree, 1);
        ok = write_lines(round, &tree, goes_on, &output, error);
    }
    free(output.buffer);
    free(tree.losers);
    return ok;
}
