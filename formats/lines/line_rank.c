/* SPDX-License-Identifier: Apache-2.0 */
/* line_rank.c - see line_rank.h. */
#include "formats/lines/line_rank.h"

#include "core/line/line_key.h"
#include "formats/lines/line_compare.h"
#include "formats/number/decimal_key.h"
#include "formats/number/number_key.h"

#include <string.h>

static bool rank_strict(const struct line_order *order, const char *text, size_t length,
                        uint64_t *rank, bool *is_exact)
{
    (void)order;
    return number_line_key(text, length, rank, is_exact);
}

static bool rank_general(const struct line_order *order, const char *text, size_t length,
                         uint64_t *rank, bool *is_exact)
{
    (void)order;
    number_prefix_key(text, length, rank, is_exact);
    return true;
}

static bool rank_numeric(const struct line_order *order, const char *text, size_t length,
                         uint64_t *rank, bool *is_exact)
{
    (void)order;
    *rank = decimal_key(text, length);
    *is_exact = decimal_word_is_last(*rank, 0);
    return true;
}

static bool rank_human(const struct line_order *order, const char *text, size_t length,
                       uint64_t *rank, bool *is_exact)
{
    (void)order;
    *rank = decimal_suffix_key(text, length);
    *is_exact = decimal_word_is_last(*rank, 0);
    return true;
}

/* Ranks by the first 7 bytes, then by the length, where 8 means more than 7. lines_refine.c relies
 * on this. */
static bool rank_bytes(const struct line_order *order, const char *text, size_t length,
                       uint64_t *rank, bool *is_exact)
{
    (void)order;
    uint64_t word = 0;
    *is_exact = length <= 7;
    memcpy(&word, text, *is_exact ? length : 7);
    *rank = __builtin_bswap64(word) | (*is_exact ? length : 8);
    return true;
}

static line_ranker *const rankers[] = {
    [LINE_STRICT] = rank_strict, [LINE_GENERAL] = rank_general, [LINE_NUMERIC] = rank_numeric,
    [LINE_HUMAN] = rank_human,   [LINE_BYTES] = rank_bytes,
};

/* Ranks a key that must be found in the line. */
static bool rank_part(const struct line_order *order, const char *text, size_t length,
                      uint64_t *rank, bool *is_exact)
{
    const struct line_key *const key = &order->keys[0];
    const struct line_span span = line_key_find(order->separator, key, text, length);
    return rankers[key->kind](order, span.text, span.length, rank, is_exact);
}

line_ranker *line_ranker_of(const struct line_order *order)
{
    const struct line_key *const key = &order->keys[0];
    return line_key_is_whole(key) ? rankers[key->kind] : rank_part;
}

bool line_rank(const struct line_order *order, const char *text, size_t length,
               struct ranked_line *line)
{
    line->text = text;
    line->length = length;
    const bool is_ranked = line_ranker_of(order)(order, text, length, &line->rank, &line->is_exact);
    if (order->keys[0].reverse)
        line->rank = ~line->rank;
    return is_ranked;
}

int line_rank_compare_equal(const struct line_order *order, const struct ranked_line *a,
                            const struct ranked_line *b)
{
    if (a->text == b->text || (a->length == b->length && memcmp(a->text, b->text, a->length) == 0))
        return 0; /* without reading their numbers, which may take long */
    const size_t first = a->is_exact && b->is_exact ? 1 : 0;
    const int found = line_compare_keys(order, first, a->text, a->length, b->text, b->length);
    return found != 0 ? found : line_compare_last(order, a->text, a->length, b->text, b->length);
}
