/* line_rank.c - see line_rank.h. The ranks are the keys that lines are sorted by, as in
 * lines_key.c; but they are made without a look at what is behind the line.
 */
#include "formats/line_rank.h"

#include "formats/decimal_key.h"
#include "formats/line_compare.h"
#include "formats/line_field.h"
#include "formats/number_text.h"

#include <string.h>

/* The first 7 bytes, and how many there are; 8 if there are more. */
static uint64_t rank_bytes(struct line_span key, bool *is_exact)
{
    uint64_t word = 0;
    *is_exact = key.length <= 7;
    memcpy(&word, key.text, *is_exact ? key.length : 7);
    return __builtin_bswap64(word) | (*is_exact ? key.length : 8);
}

bool line_rank(const struct line_order *order, const char *text, size_t length,
               struct ranked_line *line)
{
    const struct line_key *const key = &order->keys[0];
    const struct line_span span = line_key_is_whole(key) ? (struct line_span){text, length}
                                                         : line_key_find(order, key, text, length);
    bool is_ranked = true;
    line->text = text;
    line->length = length;
    switch (key->kind) {
    case LINE_STRICT:
        is_ranked = number_line_key(span.text, span.length, &line->rank, &line->is_exact);
        break;
    case LINE_GENERAL:
        number_prefix_key(span.text, span.length, &line->rank, &line->is_exact);
        break;
    case LINE_NUMERIC:
        line->rank = decimal_key(span.text, span.length);
        line->is_exact = decimal_word_is_last(line->rank, 0);
        break;
    case LINE_HUMAN:
        line->rank = decimal_suffix_key(span.text, span.length);
        line->is_exact = decimal_word_is_last(line->rank, 0);
        break;
    case LINE_BYTES:
        line->rank = rank_bytes(span, &line->is_exact);
        break;
    }
    if (key->reverse)
        line->rank = ~line->rank;
    return is_ranked;
}

int line_rank_compare_equal(const struct line_order *order, const struct ranked_line *a,
                            const struct ranked_line *b)
{
    if (a->text == b->text || (a->length == b->length && memcmp(a->text, b->text, a->length) == 0))
        return 0; /* however long it would take to read them */
    const size_t first = a->is_exact && b->is_exact ? 1 : 0;
    const int found = line_compare_keys(order, first, a->text, a->length, b->text, b->length);
    return found != 0 ? found : line_compare_last(order, a->text, a->length, b->text, b->length);
}
