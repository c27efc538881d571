/* line_rank.c - see line_rank.h.
 *
 * The rank of a decimal of -n is made of the number of its whole digits and of its first 17 digits:
 * more digits are a greater number, and digits decide between as many. That of -h has its suffix
 * before them, which leaves room for 15. That of bytes are the first 7, and how many there are.
 */
#include "formats/line_rank.h"

#include "formats/line_compare.h"
#include "formats/line_field.h"
#include "formats/number_prefix.h"
#include "formats/number_text.h"
#include "formats/numeric_text.h"

#include <string.h>

/* The rank of 0. */
#define RANK_MIDDLE ((uint64_t)1 << 63)

/* (91 + 1) * 10^17 < 2^63. */
#define NUMERIC_DIGITS 17
#define NUMERIC_WHOLE_MAX 91

/* (500 + 1) * 10^15 < 2^59, and 11 suffixes take 4 bits more. */
#define HUMAN_DIGITS 15
#define HUMAN_WHOLE_MAX 500
#define HUMAN_SUFFIX_SHIFT 59

static const uint64_t powers_of_ten[] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
};

/* Appends the first `count` digits to the value. */
static uint64_t append_digits(uint64_t value, const char *digits, size_t count)
{
    for (; count > 0; digits++) {
        if (numeric_is_separator(*digits))
            continue;
        value = value * 10 + (uint64_t)(*digits - '0');
        count--;
    }
    return value;
}

/* The rank of the magnitude, from its first `kept` digits. */
static uint64_t rank_magnitude(const struct numeric_text *number, size_t kept, size_t whole_max,
                               bool *is_exact)
{
    *is_exact = number->whole_digits + number->fraction_digits <= kept;
    if (number->whole_digits > whole_max)
        return (whole_max + 1) * powers_of_ten[kept] - 1;
    const size_t whole = number->whole_digits < kept ? number->whole_digits : kept;
    const size_t left = kept - whole;
    const size_t fraction = number->fraction_digits < left ? number->fraction_digits : left;
    uint64_t value = append_digits(0, number->whole, whole);
    value = append_digits(value, number->fraction, fraction);
    return number->whole_digits * powers_of_ten[kept] + value * powers_of_ten[left - fraction];
}

static uint64_t rank_numeric(struct line_span key, bool *is_exact)
{
    const struct numeric_text number = numeric_text_read(key.text, key.length);
    const uint64_t magnitude = rank_magnitude(&number, NUMERIC_DIGITS, NUMERIC_WHOLE_MAX, is_exact);
    return number.is_negative ? RANK_MIDDLE - magnitude : RANK_MIDDLE + magnitude;
}

static uint64_t rank_human(struct line_span key, bool *is_exact)
{
    const struct numeric_text number = numeric_text_read(key.text, key.length);
    const uint64_t suffix = (uint64_t)numeric_suffix_order(number.suffix);
    const uint64_t magnitude = rank_magnitude(&number, HUMAN_DIGITS, HUMAN_WHOLE_MAX, is_exact) +
                               (suffix << HUMAN_SUFFIX_SHIFT);
    return number.is_negative ? RANK_MIDDLE - magnitude : RANK_MIDDLE + magnitude;
}

/* What is no number at all has the rank of a negative NaN, the least one, which is exact for
 * neither. */
static uint64_t rank_general(struct line_span key, bool *is_exact)
{
    uint64_t rank;
    *is_exact = false;
    if (!number_line_key(key.text, key.length, &rank, is_exact)) {
        const struct line_span number = number_prefix_find(key.text, key.length);
        if (number.length == 0 || !number_line_key(number.text, number.length, &rank, is_exact))
            rank = 0;
    }
    *is_exact = *is_exact && rank != 0;
    return rank;
}

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
        line->rank = rank_general(span, &line->is_exact);
        break;
    case LINE_NUMERIC:
        line->rank = rank_numeric(span, &line->is_exact);
        break;
    case LINE_HUMAN:
        line->rank = rank_human(span, &line->is_exact);
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
    const size_t first = a->is_exact && b->is_exact ? 1 : 0;
    const int found = line_compare_keys(order, first, a->text, a->length, b->text, b->length);
    return found != 0 ? found : line_compare_last(order, a->text, a->length, b->text, b->length);
}
