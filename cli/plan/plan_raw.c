/* SPDX-License-Identifier: Apache-2.0 */
/* plan_raw.c - see plan.h.
 *
 * Raw data has no type and no structure. Each check here looks for something that the numbers
 * would be if they were read wrongly, and only strong evidence leads to an error.
 */
#include "cli/plan/plan_raw.h"
#include "formats/array/format.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Whether raw data may have the type that it would be read as ----
 *
 * Two types are checked against a sample of some thousand words from all over the input: f64 if the
 * user gives no type, and a type whose name means another type in NumPy or C.
 *
 * Doubles that were measured or computed have exponents near that of 1. Below the first 20 bits of
 * their significands, their bits look random, or are zero. Other types, read as doubles, have these
 * properties:
 *
 *   small integers                  most are denormal, or NaNs that no computation makes
 *   large integers, random bytes    exponents over the whole range, most beyond 1e-90 and 1e90
 *   f32, f16, large i32             the lower parts of a word resemble the uppermost part
 *
 * Records of doubles and other types have a period: at some of its positions, nearly all words are
 * of such a type, and at the others nearly all are usual doubles. Denormals from an underflow, or
 * mixtures of magnitudes, have no period. Of arrays of several types that follow each other, some
 * places of the sample have one of the other types alone.
 */

/* Maximum words of a period of records. */
#define PERIOD_MOST ((size_t)32)

/* Sign and exponent of times in ns, from the year 2000 to 2043, read as doubles. */
#define TIMES_BEGIN 0x0d0u
#define TIMES_END 0x200u

/* Sign and exponent of a word whose upper half is the Unix time of the end of 2037. */
#define UNIX_TIMES_END 0x7feu

/* Maximum difference of the top bytes of times; in ns, that is 73 years. */
#define TOP_SPREAD 32

/* Minimum of the bits in which the texts of a column differ: a few doubles may be printable. */
#define TEXT_BITS_MIN 8

/* Exponents of f32 that differ by at most this are nearly equal. */
#define NEARLY 3

/* ---- Raw data: the sample ---- */

void raw_swap_words(struct sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        sample->words[i] = __builtin_bswap64(sample->words[i]);
}

bool raw_take_sample(struct source *source, enum key_endian endian, struct sample *sample,
                     struct error *error)
{
    const size_t place_bytes = PLACE_WORDS * sizeof(uint64_t);
    const unsigned char *head;
    size_t head_bytes;
    if (!source_peek(source, 1, &head, &head_bytes, error))
        return false;
    const uint64_t left = source_stop_and_get_left(source);
    const bool reaches_all =
        left != SIZE_UNKNOWN && left > head_bytes && source_can_read_at(source);
    const uint64_t bytes = reaches_all ? left : head_bytes;
    const bool is_all = bytes <= sizeof sample->words;
    const uint64_t step =
        is_all ? place_bytes : (bytes - place_bytes) / (SAMPLE_PLACES - 1) / 16 * 16;
    sample->count = 0;
    sample->step_words = step / sizeof(uint64_t);
    for (size_t i = 0; i < SAMPLE_PLACES && i * step < bytes; i++) {
        uint64_t *const words = sample->words + sample->count;
        const uint64_t rest = bytes - i * step;
        size_t got = rest < place_bytes ? (size_t)rest : place_bytes;
        if (!reaches_all)
            memcpy(words, head + i * step, got);
        else if (!source_read_at(source, i * step, words, got, &got, error))
            return false;
        sample->count += got / sizeof(uint64_t);
    }
    if (endian == ENDIAN_BIG)
        raw_swap_words(sample);
    return true;
}

/* ---- Raw data: doubles ---- */

/* Counts of words that are not 0, infinite, or a NaN as computations or R make it. */
struct exponents {
    size_t counted;
    size_t tiny;              /* denormal, or another NaN: small integers */
    size_t small, large;      /* normal, and below 1e-90 or beyond 1e90 */
    size_t round;             /* of the small ones, integers divisible by 1000, as times are */
    size_t printable;         /* not tiny, and characters, perhaps with NULs at the end */
    size_t text;              /* of these, the ones that do not end as usual doubles */
    unsigned lowest, highest; /* sign and exponent */
    uint64_t first_text;
    uint64_t text_changes; /* bits in which a text differs from the first one */
    size_t rises;          /* words that are not less than the one before */
    uint64_t last;
    size_t turns; /* far words whose far word before was on the other side */
    bool was_large;
    size_t small_lower;   /* words whose lower half is from 1 to 2^24 - 1 */
    size_t lower_changes; /* words whose lower half is not that of the one before */
};

/* Returns true if the word, least byte first, is printable characters and then NULs. */
static bool is_printable(uint64_t word)
{
    if ((word & UINT64_C(0x8080808080808080)) != 0) /* of a double almost never 0 */
        return false;
    for (; isprint((uint8_t)word); word >>= 8) {
    }
    return word == 0;
}

static void count_exponent(struct exponents *counts, uint64_t word)
{
    const unsigned top = (unsigned)(word >> 52);
    const int exponent = (int)(top & 0x7ff);
    const uint32_t payload = (uint32_t)word;
    const bool is_special = exponent == 0x7ff && (payload == 0 || payload == 1954);
    if (word << 1 == 0 || word << 1 == UINT64_MAX - 1 || is_special)
        return;
    counts->lowest = counts->counted == 0 || top < counts->lowest ? top : counts->lowest;
    counts->highest = top > counts->highest ? top : counts->highest;
    counts->rises += counts->counted > 0 && word >= counts->last;
    counts->lower_changes += (uint32_t)(word ^ counts->last) != 0;
    counts->last = word;
    counts->counted++;
    counts->small_lower += payload != 0 && payload < 1u << 24;
    if (exponent == 0 || exponent == 0x7ff) {
        counts->tiny++;
        return;
    }
    const bool is_large = exponent > 1023 + FAR_EXPONENT;
    if (is_large || exponent < 1023 - FAR_EXPONENT) {
        counts->turns += counts->small + counts->large > 0 && is_large != counts->was_large;
        counts->was_large = is_large;
        counts->large += is_large;
        counts->small += !is_large;
        counts->round += !is_large && word % 1000 == 0;
    }
    const bool is_near = word >> 56 == '?' || word >> 56 == '@'; /* as 12.6 and 12.7 end */
    if (!is_printable(word))
        return;
    counts->printable++;
    if (!is_near) {
        counts->first_text = counts->text++ == 0 ? word : counts->first_text;
        counts->text_changes |= word ^ counts->first_text;
    }
}

static struct exponents count_exponents(const struct sample *sample)
{
    struct exponents counts = {0};
    for (size_t i = 0; i < sample->count; i++)
        count_exponent(&counts, sample->words[i]);
    return counts;
}

/* Returns true if all words are 0 or -1, and both occur, as in a mask. As doubles, they would be 0
 * and a NaN that no computation makes. */
static bool is_mask(const struct sample *sample)
{
    bool has_zeros = false, has_ones = false;
    for (size_t i = 0; i < sample->count; i++) {
        if (sample->words[i] != 0 && sample->words[i] != UINT64_MAX)
            return false;
        has_zeros |= sample->words[i] == 0;
        has_ones |= sample->words[i] != 0;
    }
    return has_zeros && has_ones;
}

/* Returns true if most words are unlikely doubles, or a quarter are small integers, as in an array
 * of integers before one of doubles. */
static bool has_strange_exponents(const struct sample *sample)
{
    const struct exponents counts = count_exponents(sample);
    const size_t far = counts.small + counts.large;
    if (counts.counted < WORDS_MIN)
        return (counts.tiny > 0 && counts.tiny == counts.counted) ||
               (far > 1 && far == counts.counted && counts.lowest == counts.highest);
    return 4 * counts.tiny > counts.counted || 2 * (counts.tiny + far) > counts.counted;
}

/* Returns true if nearly all words at one position of records are of one kind: small integers;
 * times, which rise or are round; texts; random bits, which alternate; or pairs of 32 bits, of
 * which the lower is a small integer, or the upper a Unix time of 2014 to 2037. */
static bool is_strange_column(const struct exponents *column)
{
    const size_t far = column->small + column->large;
    const bool are_of_a_year = column->lowest >= TIMES_BEGIN && column->highest < TIMES_END &&
                               column->highest < column->lowest + 9 &&
                               10 * column->rises > 9 * column->counted;
    const bool are_times = are_of_a_year || (column->round == column->small && column->large == 0);
    const size_t integers = column->tiny + (are_times ? far : 0);
    const bool are_texts = __builtin_popcountll(column->text_changes) >= TEXT_BITS_MIN &&
                           10 * (column->tiny + column->text) > 9 * column->counted;
    const bool are_random = column->counted >= 4 * WORDS_MIN &&
                            8 * column->small > column->counted &&
                            8 * column->large > column->counted &&
                            2 * (column->tiny + far) > column->counted && 4 * column->turns > far;
    const bool are_unix_times =
        column->lowest > 1023 + FAR_EXPONENT && column->highest < UNIX_TIMES_END &&
        column->highest < column->lowest + 128 && 2 * column->lower_changes > column->counted;
    const bool are_pairs = column->counted >= 8 * WORDS_MIN &&
                           10 * (column->tiny + far) > 9 * column->counted &&
                           (are_unix_times || 10 * column->small_lower > 9 * column->counted);
    return column->counted >= WORDS_MIN &&
           (10 * integers > 9 * column->counted || are_texts || are_random || are_pairs);
}

/* Returns the number of words after which records of doubles and other data repeat; 0 if the sample
 * does not look like records. */
static size_t find_period(const struct sample *sample)
{
    const struct exponents all = count_exponents(sample);
    if (all.tiny + all.small + all.large + all.text < WORDS_MIN)
        return 0;
    for (size_t period = 2; period <= PERIOD_MOST; period++) {
        struct exponents columns[PERIOD_MOST] = {{0}};
        size_t strange = 0, doubles = 0, unusual = 0;
        size_t at = 0; /* position of the word in its period */
        for (size_t i = 0; i < sample->count; i++, at = at + 1 < period ? at + 1 : 0) {
            if (i % PLACE_WORDS == 0)
                at = i / PLACE_WORDS * sample->step_words % period;
            count_exponent(&columns[at], sample->words[i]);
        }
        for (const struct exponents *column = columns; column < columns + period; column++)
            if (is_strange_column(column)) {
                strange++;
            } else if (2 * column->printable <= column->counted) { /* not one text, or bytes */
                doubles += column->counted;
                unusual += column->tiny + column->small + column->large;
            }
        if (strange > 0 && doubles >= WORDS_MIN && 10 * unusual <= doubles)
            return period;
    }
    return 0;
}

/* Returns true if the parts of the words from bit `low` on, of 16 or 32 bits, have as f16 or f32
 * the signs, and nearly the exponents, of the uppermost parts, and these cover at most half of the
 * values that there are. The lower part of a double looks random, or is zero, or has only some of
 * its first bits; the first two bits do not count. */
static bool is_like_top(const struct sample *sample, unsigned low, unsigned bits)
{
    const unsigned shift = bits == 32 ? 23 : 10, high = 64 - bits;
    const size_t values = (size_t)1 << (bits - shift), nearly = bits == 32 ? NEARLY : 1;
    const uint64_t mask = UINT64_MAX >> high;
    bool is_upper[512 + 2 * NEARLY] = {false}; /* index: sign and exponent + nearly */
    size_t lower_count = 0, inside = 0, lower_changes = 0, upper_changes = 0, covered = 0;
    size_t zeros = 0;
    size_t periodic = 0; /* words such as 0x3fe8383838383838, which is 193 / 255 */
    uint64_t last = 0;   /* of those with a lower part */
    for (size_t i = 0; i < sample->count; i++)
        if (sample->words[i] >> high != 0)
            memset(is_upper + (sample->words[i] >> (high + shift)), true, 2 * nearly + 1);
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t word = sample->words[i], change = lower_count == 0 ? 0 : word ^ last;
        const uint64_t part = word >> low & mask, above = word >> (low + bits) & mask;
        zeros += word == 0;
        if ((part << 2 & mask) == 0 || part == UINT32_MAX) /* as of the greatest double */
            continue;
        last = word;
        lower_count++;
        inside += is_upper[(part >> shift) + nearly];
        periodic += part == above && above != word >> high;
        lower_changes += ((change >> low) & mask) != 0;
        upper_changes += change >> high != 0;
    }
    for (size_t i = nearly; i < values + nearly; i++)
        covered += is_upper[i];
    /* In one place, or beside zeros, the lower part of one frequent double may decide: it does not
     * change, as those of f32 and f16 do. */
    const bool is_share = 4 * lower_count >= sample->count && sample->step_words > 0;
    return 2 * covered <= values && lower_count >= WORDS_MIN &&
           4 * lower_count >= sample->count - zeros &&
           (is_share || 4 * lower_changes >= lower_count) && 10 * inside >= 9 * lower_count &&
           lower_changes >= WORDS_MIN / 2 && 2 * upper_changes >= lower_changes &&
           2 * periodic <= lower_count;
}

/* Returns true if the lower halves of the words have many values, nearly all of these are f32 from
 * 1e-12 to 1e12, and the upper halves have several significands and change as often, as in a table
 * of f32 with columns of different magnitudes. The lower half of a double has any exponent as f32,
 * or is zero; or, as of Julian dates at night, nearly all uppermost bits are equal. */
static bool are_lower_singles(const struct sample *sample)
{
    bool is_there[1 << 12] = {false}; /* index: a hash of the lower half */
    bool is_top[1 << 12] = {false};   /* of the uppermost 16 bits */
    size_t used = 0, usual = 0, different = 0, tops = 0, lower_changes = 0, upper_changes = 0;
    size_t zeros = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t word = sample->words[i], exponent = word >> 23 & 0xff;
        zeros += word == 0;
        if ((uint32_t)word << 2 == 0)
            continue;
        bool *const there = &is_there[(uint32_t)word * UINT32_C(2654435761) >> 20];
        different += !*there;
        usual += !*there && exponent >= SINGLE_LEAST && exponent <= SINGLE_MOST;
        *there = true;
        bool *const top = &is_top[(uint32_t)(word >> 48) * UINT32_C(2654435761) >> 20];
        tops += !*top;
        *top = true;
        used++;
        lower_changes += (uint32_t)(word ^ last) != 0;
        upper_changes += (word ^ last) >> 32 != 0;
        last = word;
    }
    return different >= 8 * WORDS_MIN && tops >= WORDS_MIN && 4 * used >= sample->count - zeros &&
           20 * usual >= 19 * different && 2 * upper_changes >= lower_changes;
}

bool raw_has_single_halves(const struct sample *sample)
{
    return is_like_top(sample, 0, 32) || are_lower_singles(sample);
}

/* Returns true if the words are likely two f32 or four f16 of the same exponents. */
static bool are_like_tops(const struct sample *sample)
{
    return is_like_top(sample, 0, 32) ||
           (is_like_top(sample, 0, 16) && is_like_top(sample, 16, 16) &&
            is_like_top(sample, 32, 16));
}

static bool has_narrow_parts(const struct sample *sample)
{
    return are_like_tops(sample) || are_lower_singles(sample);
}

/* ---- Raw data: integers of 64 bits ---- */

bool raw_is_blank(uint64_t word)
{
    return word == 0 || word == UINT64_MAX;
}

bool raw_is_mark(uint64_t word)
{
    return word == (uint64_t)INT64_MIN || word == (uint64_t)INT64_MAX;
}

bool raw_are_small_words(const struct sample *sample, size_t evidence)
{
    static const unsigned tenths_of_bits[] = {30, 20, 14, 10, 7, 4};
    size_t significant = 0, highest = 0, negative = 0, positive = 0;
    bool vary = false;
    for (size_t i = 0; i < sample->count; i++) {
        const int64_t value = (int64_t)sample->words[i], top = value >> 47;
        if (raw_is_mark(sample->words[i]))
            continue;
        if (top != 0 && top != -1)
            return false;
        for (size_t byte = 0; byte < 6; byte++)
            if ((uint8_t)(value >> 8 * byte) != (uint8_t)top) {
                significant++;
                highest = byte > highest ? byte : highest;
            }
        negative += value < 0;
        positive += value > 0;
        vary |= sample->words[i] != sample->words[0];
    }
    const size_t of_signs = negative > 0 && positive > 0 ? 30 : 0;
    return (vary || sample->count >= WORDS_MIN) &&
           significant * tenths_of_bits[highest] + of_signs >= evidence;
}

void raw_find_byte_values(const struct sample *sample, struct byte_values *values)
{
    *values = (struct byte_values){0};
    for (size_t i = 0; i < sample->count; i++)
        for (size_t byte = 0; byte < 8; byte++) {
            bool *const there = &values->is_there[byte][sample->words[i] >> 8 * byte & 0xff];
            values->different[byte] += !*there;
            *there = true;
        }
}

/* Returns how many of the 256 values occur in `count` random bytes, on average. */
static double values_of_random(size_t count)
{
    double absent = 256;
    for (; count > 0; count--)
        absent *= 255.0 / 256;
    return 256 - absent;
}

bool raw_are_times(const struct sample *sample)
{
    struct byte_values values;
    int least = 255, most = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const int top = (int)(sample->words[i] >> 56);
        if (raw_is_blank(sample->words[i]) || raw_is_mark(sample->words[i]))
            continue;
        least = top < least ? top : least;
        most = top > most ? top : most;
    }
    /* Bytes of 8 columns, one of them narrow, are fewer than random ones. */
    const size_t few = most - least <= TOP_SPREAD / 2
                           ? 16 + 2 * (size_t)abs(most - least)
                           : (size_t)(values_of_random(sample->count) * 7 / 8);
    bool is_wide[8];
    raw_find_byte_values(sample, &values);
    for (size_t byte = 0; byte < 8; byte++)
        is_wide[byte] = values.different[byte] > few;
    return sample->count >= 32 && most - least <= TOP_SPREAD && is_wide[3] &&
           ((is_wide[4] && is_wide[5] && (is_wide[6] || most - least < 2)) ||
            (is_wide[2] && most - least < 2));
}

/* ---- Raw data: the type that fits ---- */

/* A type is named only if no other type fits as well. Sorting with a type of 8 bytes moves whole
 * groups of narrower numbers, but sorting with a narrower type would break up wider numbers. */

/* Returns true if most words use all of this byte (0: the lowest), unlike a byte that extends the
 * sign. */
static bool is_byte_full(const struct sample *sample, unsigned byte)
{
    size_t full = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const uint8_t value = (uint8_t)(sample->words[i] >> 8 * byte);
        full += value != 0 && value != UINT8_MAX;
    }
    return 4 * full >= 3 * sample->count;
}

/* Returns true if the words are pairs of f32 with full significands. With f16, bf16, text or bytes,
 * both halves of an f32 would be near 1 as f16. Integers of 4 bytes would have few exponents. */
static bool are_singles(const struct sample *sample)
{
    size_t usual = 0, narrow = 0, least = SINGLE_MOST, most = SINGLE_LEAST;
    for (size_t i = 0; i < 2 * sample->count; i++) {
        const uint32_t half = (uint32_t)(sample->words[i / 2] >> 32 * (i % 2));
        const size_t exponent = half >> 23 & 0xff, short_exponent = half >> 10 & 0x1f;
        least = exponent < least ? exponent : least;
        most = exponent > most ? exponent : most;
        usual += exponent >= SINGLE_LEAST && exponent <= SINGLE_MOST;
        narrow += short_exponent >= 5 && short_exponent <= 20;
    }
    return is_like_top(sample, 0, 32) && is_byte_full(sample, 0) && is_byte_full(sample, 4) &&
           20 * usual >= 38 * sample->count && 4 * narrow < 6 * sample->count &&
           most >= least + NEARLY;
}

bool raw_are_long_integers(const struct sample *sample)
{
    bool are_halves_used = false;
    for (size_t i = 0; i < sample->count; i++) /* below -2^31, or 2^32 and more */
        are_halves_used |= !raw_is_mark(sample->words[i]) &&
                           sample->words[i] + (UINT64_C(1) << 31) >= UINT64_C(3) << 31;
    return raw_are_times(sample) ||
           (raw_are_small_words(sample, EVIDENCE) && (!are_halves_used || is_byte_full(sample, 3)));
}

static bool are_usual_doubles(const struct sample *sample)
{
    const struct exponents counts = count_exponents(sample);
    return counts.counted > 0 && 10 * (counts.tiny + counts.small + counts.large) <= counts.counted;
}

/* Returns the only type that fits; NULL if none or several do. */
static const char *find_fitting(const struct sample *sample)
{
    if (are_singles(sample))
        return "f32";
    if (!are_usual_doubles(sample)) {
        const struct exponents counts = count_exponents(sample);
        /* Negative doubles, such as -1e-100, have the reverse order of integers. */
        const bool may_be_negative = counts.lowest >= 0x800 && counts.tiny == 0;
        return !may_be_negative && raw_are_long_integers(sample) ? "i64 or u64" : NULL;
    }
    return sample->count >= 4 * WORDS_MIN && is_byte_full(sample, 0) && !has_narrow_parts(sample)
               ? "f64"
               : NULL;
}

/* Returns true unless nearly all doubles below 1e-90 may be times: the tail of a function takes all
 * magnitudes. */
static bool has_tail(const struct sample *sample)
{
    size_t times = 0, others = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const unsigned top = (unsigned)(sample->words[i] >> 52), exponent = top & 0x7ff;
        const bool is_small = exponent > 0 && exponent < 1023 - FAR_EXPONENT;
        const bool may_be_time = top >= TIMES_BEGIN && top < TIMES_END;
        times += is_small && may_be_time;
        others += is_small && !may_be_time;
    }
    return 8 * others > times;
}

/* Returns true if at least two places of a full sample have small integers, times or narrower
 * numbers alone, as in arrays of different types that follow each other. */
static bool has_other_arrays(const struct sample *sample)
{
    static struct sample place; /* large for a stack */
    size_t strange = 0;
    if (sample->count < SAMPLE_WORDS)
        return false;
    const bool is_tail = has_tail(sample);
    for (size_t i = 0; i < SAMPLE_PLACES; i++) {
        place.count = PLACE_WORDS;
        memcpy(place.words, sample->words + i * PLACE_WORDS, PLACE_WORDS * sizeof *place.words);
        const struct exponents counts = count_exponents(&place);
        const size_t most = 9 * counts.counted;
        strange +=
            counts.counted >= PLACE_WORDS / 2 &&
            ((!is_tail && 10 * counts.tiny > most && raw_are_small_words(&place, EVIDENCE)) ||
             (!is_tail && 10 * (counts.tiny + counts.small) > most && raw_are_times(&place)) ||
             are_like_tops(&place));
    }
    return strange >= 2;
}

static bool are_unlikely_doubles(const struct sample *sample)
{
    return has_strange_exponents(sample) || has_narrow_parts(sample) || is_mask(sample);
}

static bool has_only_0(const struct byte_values *values, size_t byte)
{
    return values->different[byte] == 1 && values->is_there[byte][0];
}

bool raw_is_top_byte_finest(const struct sample *sample)
{
    struct byte_values values;
    uint64_t changes = 0;
    raw_find_byte_values(sample, &values);
    for (size_t byte = 0; byte < 8; byte++)
        values.different[byte] -= values.is_there[byte][0] + values.is_there[byte][255];
    for (size_t byte = 0; byte < 7; byte++)
        if (2 * values.different[byte] >= values.different[7])
            return false;
    for (size_t i = 0; i < sample->count; i++)
        changes |= sample->words[i] ^ sample->words[0];
    return (uint8_t)(changes >> 48) == 0 || (changes >> 48 & 1) != 0;
}

/* Returns the type that fits words that are unlikely doubles, NULL if none is sure; is_swapped: in
 * the other byte order, in which integers must be surely small. Whole doubles look like small
 * integers of the other order. If types fit in both orders, the given order is taken if all words
 * are multiples of 256 in that order alone, as ns of whole seconds are; those below 2^56 are such
 * multiples in the other one. Swaps the words. */
static const char *find_fitting_order(struct sample *sample, bool *is_swapped)
{
    struct byte_values values;
    const char *const fitting = find_fitting(sample);
    const bool is_finest = raw_is_top_byte_finest(sample);
    raw_find_byte_values(sample, &values);
    const bool is_round = has_only_0(&values, 0) && !has_only_0(&values, 7);
    raw_swap_words(sample);
    const char *const other = find_fitting(sample);
    const char *const own = are_usual_doubles(sample) ? NULL : fitting;
    const bool is_integer = other && *other == 'i';
    *is_swapped = !own && other && (is_finest || !is_integer);
    if (own && other && !is_round)
        return NULL;
    return own ? own : *is_swapped ? other : NULL;
}

bool raw_is_text(const struct sample *sample, enum key_endian endian, bool *has_lines)
{
    size_t characters = 0;
    *has_lines = false;
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t word = sample->words[i];
        uint64_t rest = endian == ENDIAN_BIG ? __builtin_bswap64(word) : word;
        for (; isprint((uint8_t)rest) || isspace((uint8_t)rest); rest >>= 8) {
            *has_lines |= (uint8_t)rest == '\n';
            characters++;
        }
        if (rest != 0)
            return false;
    }
    return characters >= 4 * sample->count;
}

/* Fails for data that does not look like doubles in this byte order, and for records of doubles and
 * other data. The error names another type only if no third one fits. Consumes nothing. */
static bool check_doubles(struct source *source, enum key_endian endian, struct error *error)
{
    static struct sample sample; /* large for a stack */
    bool are_swapped;
    if (!raw_take_sample(source, endian, &sample, error) ||
        !plan_look_for_swapped(source, &key_types[KEY_TYPE_f64], endian, &are_swapped, error))
        return false;
    /* The words for f64 in this byte order, which the next check accepts. */
    const char *const f64 = endian == ENDIAN_BIG ? "'>f8'" : are_swapped ? "'<f8'" : "f64";
    const size_t period = find_period(&sample);
    if (period > 0)
        return error_set(error,
                         "%s: no type is given, and these look like records of f64 and other data, "
                         "which repeat every %zu bytes: write the numbers to sort as .npy or text, "
                         "or use --type=%s if all are f64",
                         source_name(source), period * sizeof(uint64_t), f64);
    if (!are_unlikely_doubles(&sample))
        return !has_other_arrays(&sample) ||
               error_set(error,
                         "%s: no type is given, and a part of these does not look like f64, as in "
                         "arrays of several types that follow each other: write each to a file of "
                         "its own, or use --type=%s if all are f64",
                         source_name(source), f64);
    bool has_lines;
    if (raw_is_text(&sample, endian, &has_lines))
        return error_set(
            error,
            "%s: no type is given, and this looks like text: %s, or --type=TYPE if these are "
            "numbers",
            source_name(source),
            has_lines ? "use --format=text"
                      : "write each item to a line of its own in a file of text (fold "
                        "-w N, if each has N characters)");
    bool is_swapped;
    const char *const type = find_fitting_order(&sample, &is_swapped);
    return error_set(error,
                     "%s: no type is given, and these do not look like f64: use --type=%s%s, or "
                     "--type=%s if they are",
                     source_name(source), type ? type : "TYPE (gpusort --list has the types)",
                     !is_swapped            ? ""
                     : endian == ENDIAN_BIG ? " with --endian=little"
                                            : " with --endian=big",
                     f64);
}

bool plan_guess_raw(struct source *source, char guess[64], struct error *error)
{
    static struct sample sample; /* large for a stack */
    const uint64_t left = source_stop_and_get_left(source);
    *guess = '\0';
    if (left != SIZE_UNKNOWN && left % sizeof(uint64_t) != 0)
        return true;
    if (!raw_take_sample(source, ENDIAN_LITTLE, &sample, error))
        return false;
    const bool are_unlikely = are_unlikely_doubles(&sample);
    if (find_period(&sample) > 0 || (!are_unlikely && has_other_arrays(&sample)))
        return true;
    bool is_swapped;
    const char *const type = find_fitting_order(&sample, &is_swapped);
    const bool is_double = type && !is_swapped && strcmp(type, "f64") == 0;
    if (type && (are_unlikely || is_double))
        snprintf(guess, 64, " (these look like %s%s)", type,
                 is_swapped ? " with --endian=big" : "");
    return true;
}

/* ---- All of it ---- */

/* Sets and checks the type of raw numbers. f64 is assumed if neither --type nor the name gives one.
 * An assumed type must agree with the numbers, and so must a name that NumPy or C uses for another
 * type. */
static bool check_raw_type(const struct options *options, const struct key_type *named_type,
                           struct reader *reader, char reason[256], struct error *error)
{
    struct layout *const layout = &reader->layout;
    const bool is_spelled_as_ours =
        !options->type_word || strcmp(options->type_word, options->type->name) == 0;
    if (!layout->type) {
        layout->type = &key_types[KEY_TYPE_f64];
        reader->is_type_assumed = true;
        snprintf(reason + strlen(reason), 256 - strlen(reason), "; f64, as no type is given");
        return check_doubles(reader->source, options->endian, error);
    }
    if (is_spelled_as_ours)
        return raw_check_name(options, layout->type, named_type, reader->source, error);
    return raw_check_word_of_c(reader->source, options->type_word, layout->type, named_type,
                               options->endian, error);
}

bool plan_check_raw(const struct options *options, const struct key_type *named_type,
                    struct reader *reader, char reason[256], struct error *error)
{
    const struct key_type *const type = reader->layout.type;
    const struct key_type *const read_as = type ? type : &key_types[KEY_TYPE_f64];
    struct source *const source = reader->source;
    /* --endian=big may be for another input. */
    const bool is_order_sure =
        options->endian_said &&
        (options->endian != ENDIAN_BIG || (options->type_word && options->type_word[0] == '>'));
    return (options->input_format ||
            plan_check_raw_header(source, read_as, options->endian, error)) &&
           (!type || is_order_sure ||
            plan_check_byte_order(source, type, options->endian, error)) &&
           check_raw_type(options, named_type, reader, reason, error);
}
