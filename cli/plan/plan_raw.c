/* SPDX-License-Identifier: Apache-2.0 */
/* plan_raw.c - see plan.h.
 *
 * Raw data has no type and no structure. Each check here looks for something that the numbers
 * would be if they were read wrongly, and only strong evidence leads to an error.
 */
#include "cli/plan/plan.h"
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
 * mixtures of magnitudes, have no period.
 */

/* The sample. Reading it from the page cache takes 40 microseconds, if the input is larger. */
#define SAMPLE_PLACES ((size_t)32)
#define PLACE_WORDS ((size_t)128)
#define SAMPLE_WORDS (SAMPLE_PLACES * PLACE_WORDS)

/* The evidence of small integers that are_small_words() needs, in tenths of bits; and the evidence
 * for i8 and u8 that the words are small integers in big-endian order. */
#define EVIDENCE ((size_t)90)
#define EVIDENCE_OF_OTHER ((size_t)200)

/* Fewer words than this are refused only if all of them agree. */
#define WORDS_MIN ((size_t)8)

/* Maximum words of a period of records. */
#define PERIOD_MOST ((size_t)32)

/* Sign and exponent of times in ns, from the year 2000 to 2043, read as doubles. */
#define TIMES_BEGIN 0x0d0u
#define TIMES_END 0x200u

/* Minimum of the bits in which the texts of a column differ: a few doubles may be printable. */
#define TEXT_BITS_MIN 8

/* Exponents of f32 that differ by at most this are nearly equal. */
#define NEARLY 3

/* Exponent fields of f32 from 1e-12 to 1e12. */
#define SINGLE_LEAST 87
#define SINGLE_MOST 167

struct sample {
    uint64_t words[SAMPLE_WORDS]; /* 8 bytes each, in this machine's byte order */
    size_t count;
    uint64_t step_words; /* in the input, from the first word of a place to that of the next one */
};

/* ---- Raw data: the sample ---- */

static void swap_words(struct sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        sample->words[i] = __builtin_bswap64(sample->words[i]);
}

/* Fills the sample from positions at equal distances in the input, or in the peeked bytes of a pipe
 * or of compressed data. Each position is a multiple of 16 bytes. */
static bool take_sample(struct source *source, enum key_endian endian, struct sample *sample,
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
        swap_words(sample);
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
    counts->last = word;
    counts->counted++;
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

/* Returns true if nearly all words at one position of records are small integers, times, which rise
 * or are round, or texts, or if they are random bits, which alternate. */
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
    return column->counted >= WORDS_MIN &&
           (10 * integers > 9 * column->counted || are_texts || are_random);
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
    size_t periodic = 0; /* words such as 0x3fe8383838383838, which is 193 / 255 */
    uint64_t last = 0;   /* of those with a lower part */
    for (size_t i = 0; i < sample->count; i++)
        if (sample->words[i] >> high != 0)
            memset(is_upper + (sample->words[i] >> (high + shift)), true, 2 * nearly + 1);
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t word = sample->words[i], change = lower_count == 0 ? 0 : word ^ last;
        const uint64_t part = word >> low & mask, above = word >> (low + bits) & mask;
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
    return 2 * covered <= values && lower_count >= WORDS_MIN && 4 * lower_count >= sample->count &&
           10 * inside >= 9 * lower_count && lower_changes >= WORDS_MIN / 2 &&
           2 * upper_changes >= lower_changes && 2 * periodic <= lower_count;
}

static bool has_equal_parts(const struct sample *sample)
{
    return is_like_top(sample, 0, 32) ||
           (is_like_top(sample, 0, 16) && is_like_top(sample, 16, 16) &&
            is_like_top(sample, 32, 16));
}

/* ---- Raw data: integers of 64 bits ---- */

/* Returns true if all words are small integers of 64 bits. The bytes of these that do not merely
 * extend the sign are all lower bytes of words, which is rare in other data. Each such byte adds
 * the logarithm of that probability, and so do words of both signs. If all words are equal, there
 * must be at least WORDS_MIN. evidence: the least sum, in tenths of bits, so the chance that other
 * bytes, most of them 0, look the same is 2^(-evidence / 10); of random bytes 2^-16 a word. */
static bool are_small_words(const struct sample *sample, size_t evidence)
{
    static const unsigned tenths_of_bits[] = {30, 20, 14, 10, 7, 4};
    size_t significant = 0, highest = 0, negative = 0, positive = 0;
    bool vary = false;
    for (size_t i = 0; i < sample->count; i++) {
        const int64_t value = (int64_t)sample->words[i], top = value >> 47;
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

/* Returns true if the words have one magnitude, as times do: their top bytes are nearly equal, and
 * the middle bytes have many more values. NaT, NumPy's mark of no time, may be among them. Random
 * bytes are so with a probability of 10^-20, and bytes that are all of one range never. */
static bool are_times(const struct sample *sample)
{
    bool is_there[2][256] = {{false}};
    int least = 255, most = 0;
    size_t different[2] = {0};
    for (size_t i = 0; i < sample->count; i++) {
        const int top = (int)(sample->words[i] >> 56);
        if (sample->words[i] == (uint64_t)INT64_MIN)
            continue;
        least = top < least ? top : least;
        most = top > most ? top : most;
        for (size_t j = 0; j < 2; j++) {
            bool *const there = &is_there[j][sample->words[i] >> (16 + 8 * j) & 0xff];
            different[j] += !*there;
            *there = true;
        }
    }
    const size_t few = 16 + 2 * (size_t)(most - least);
    return sample->count >= 32 && most - least <= 16 && different[0] > few && different[1] > few;
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

/* Returns true if the words are integers of 64 bits, and not pairs of small ones. In a pair the
 * upper half is used, and byte 3 extends a sign, as byte 7 does. */
static bool are_long_integers(const struct sample *sample)
{
    bool are_halves_used = false;
    for (size_t i = 0; i < sample->count; i++) /* below -2^31, or 2^32 and more */
        are_halves_used |= sample->words[i] + (UINT64_C(1) << 31) >= UINT64_C(3) << 31;
    return are_times(sample) ||
           (are_small_words(sample, EVIDENCE) && (!are_halves_used || is_byte_full(sample, 3)));
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
    if (!are_usual_doubles(sample))
        return are_long_integers(sample) ? "i64 or u64" : NULL;
    return sample->count >= 4 * WORDS_MIN && is_byte_full(sample, 0) && !has_equal_parts(sample)
               ? "f64"
               : NULL;
}

static bool are_unlikely_doubles(const struct sample *sample)
{
    return has_strange_exponents(sample) || has_equal_parts(sample) || is_mask(sample);
}

static bool are_multiples_of_256(const struct sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        if ((uint8_t)sample->words[i] != 0)
            return false;
    return true;
}

/* Returns the type that fits words that are unlikely doubles, NULL if none is sure; is_swapped: in
 * the other byte order. Whole doubles look like small integers of the other order. If types fit in
 * both orders, the given order is taken if all words are multiples of 256 in that order alone, as
 * ns of whole seconds are; those below 2^56 are such multiples in the other one. Swaps the words.
 */
static const char *find_fitting_order(struct sample *sample, bool *is_swapped)
{
    const char *const fitting = find_fitting(sample);
    const bool is_round = are_multiples_of_256(sample);
    swap_words(sample);
    const char *const other = find_fitting(sample);
    const char *const own = are_usual_doubles(sample) ? NULL : fitting;
    *is_swapped = !own && other;
    if (own && other && !(is_round && !are_multiples_of_256(sample)))
        return NULL;
    return own ? own : other;
}

/* Returns true if each word is characters, spaces and ends of lines, and then NULs, and half of the
 * bytes are no NULs. endian: the byte order in which the words were read. */
static bool is_text(const struct sample *sample, enum key_endian endian, bool *has_lines)
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
static bool raw_content_check_doubles(struct source *source, enum key_endian endian,
                                      struct error *error)
{
    static struct sample sample; /* large for a stack */
    bool are_swapped;
    if (!take_sample(source, endian, &sample, error) ||
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
        return true;
    bool has_lines;
    if (is_text(&sample, endian, &has_lines))
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
    if (!take_sample(source, ENDIAN_LITTLE, &sample, error))
        return false;
    if (find_period(&sample) > 0)
        return true;
    const bool are_unlikely = are_unlikely_doubles(&sample);
    bool is_swapped;
    const char *const type = find_fitting_order(&sample, &is_swapped);
    const bool is_double = type && !is_swapped && strcmp(type, "f64") == 0;
    if (type && (are_unlikely || is_double))
        snprintf(guess, 64, " (these look like %s%s)", type,
                 is_swapped ? " with --endian=big" : "");
    return true;
}

/* ---- Raw data: names that NumPy and C give to different types ---- */

/* Returns true if the bits may be the exponent of an x87 number, or an f16, not far from 1. */
static bool is_near_one(uint64_t bits)
{
    return (bits & 0x7fff) >= 0x3c00 && (bits & 0x7fff) <= 0x43ff;
}

/* Returns true if all pairs of words are x87 numbers in 16 bytes: a significand with its first bit
 * set, an exponent near that of 1, and padding with any contents. Negative f16 from -1 to -4 look
 * the same, but then the bits in the significand look like them too. */
static bool are_long_doubles(const struct sample *sample)
{
    size_t numbers = 0, padded = 0, inside = 0;
    for (size_t i = 0; i + 1 < sample->count; i += 2) {
        const uint64_t significand = sample->words[i], rest = sample->words[i + 1];
        if (significand == 0 && rest << 49 == 0)
            continue;
        if (significand >> 63 == 0 || !is_near_one(rest))
            return false;
        numbers++;
        padded += rest >> 16 == 0;
        inside += is_near_one(significand >> 16) || is_near_one(significand >> 32);
    }
    return numbers >= 2 && (padded == numbers || (numbers >= 4 && 2 * inside < numbers));
}

/* Returns true if the words are pairs of small integers of 32 bits: about as many upper halves as
 * lower ones are neither 0 nor -1, and some of these are in one word. As integers of 64 bits, many
 * would exceed 32 bits, and all would have a small lower half. */
static bool are_int_pairs(const struct sample *sample)
{
    size_t lower_used = 0, upper_used = 0, both_used = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const int32_t lower = (int32_t)sample->words[i], upper = (int32_t)(sample->words[i] >> 32);
        if (abs(lower / 2) >> 23 != 0 || abs(upper / 2) >> 23 != 0)
            return false;
        const bool is_lower_used = lower != 0 && lower != -1;
        const bool is_upper_used = upper != 0 && upper != -1;
        lower_used += is_lower_used;
        upper_used += is_upper_used;
        both_used += is_lower_used && is_upper_used;
    }
    return sample->count >= WORDS_MIN && 2 * upper_used >= WORDS_MIN &&
           4 * upper_used >= 3 * lower_used && 4 * lower_used >= 3 * upper_used &&
           16 * both_used >= upper_used;
}

/* Returns true if the words are pairs of integers of 32 bits of one magnitude, as times in seconds
 * are: no two differ by as much as the least differs from 0, and both halves change about as often.
 * Characters have one magnitude, too. */
static bool are_near_pairs(const struct sample *sample, enum key_endian endian)
{
    uint32_t least = UINT32_MAX, most = 0;
    size_t changes[2] = {0};
    bool has_lines;
    for (size_t i = 0; i < 2 * sample->count; i++) {
        const uint32_t half = (uint32_t)(sample->words[i / 2] >> 32 * (i % 2));
        least = half < least ? half : least;
        most = half > most ? half : most;
        changes[i % 2] += i >= 2 && half != (uint32_t)(sample->words[i / 2 - 1] >> 32 * (i % 2));
    }
    return sample->count >= WORDS_MIN && most > least && most - least < least &&
           most - least < -most && 2 * changes[0] >= changes[1] && 2 * changes[1] >= changes[0] &&
           !is_text(sample, endian, &has_lines);
}

/* Returns true if the words are pairs of f32. If most of these are 0, a quarter of the words that
 * are not 0 have an f32 below an upper half of 0, which would be a denormal double. */
static bool are_single_pairs(const struct sample *sample)
{
    size_t used = 0, single = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t word = sample->words[i], exponent = word >> 23 & 0xff;
        used += word != 0;
        single += word >> 32 == 0 && exponent >= SINGLE_LEAST && exponent <= SINGLE_MOST;
    }
    return is_like_top(sample, 0, 32) || (single >= WORDS_MIN && 4 * single >= used);
}

/* Fails if `word` names a type of 4 bytes in C, and of 8 bytes in NumPy and so here, and the data
 * looks like C's, or its file is named so. */
static bool check_word_of_c(struct source *source, const char *word, const struct key_type *type,
                            const struct key_type *named_type, enum key_endian endian,
                            struct error *error)
{
    static struct sample sample; /* large for a stack */
    const char of_c[] = {type->name[0], '3', '2', '\0'};
    if (strcmp(word, "float") != 0 && strcmp(word, "int") != 0 && strcmp(word, "uint") != 0)
        return true;
    if (!take_sample(source, endian, &sample, error))
        return false;
    const bool is_named = named_type && strcmp(named_type->name, of_c) == 0;
    const bool are_pairs = *word == 'f' ? are_single_pairs(&sample)
                                        : are_int_pairs(&sample) || are_near_pairs(&sample, endian);
    return !(is_named || are_pairs) ||
           error_set(error,
                     "%s: '%s' is NumPy's %s here, and these look like %s: use --type=%s, or "
                     "--type=%s if they are",
                     source_name(source), word, type->name, of_c, of_c, type->name);
}

/* Returns true if the words are random integers that are not negative, such as hashes: no sign bit
 * is set, and the highest bit of each lower byte is set in about half of the words. If they were
 * random bytes, the sign bits would be, too. */
static bool are_random_words(const struct sample *sample)
{
    size_t set[7] = {0};
    uint64_t signs = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t word = sample->words[i];
        signs |= word >> 63;
        for (size_t byte = 0; byte < 7; byte++)
            set[byte] += word >> (8 * byte + 7) & 1;
    }
    for (size_t byte = 0; byte < 7; byte++)
        if (8 * set[byte] < 3 * sample->count || 8 * set[byte] > 5 * sample->count)
            return false;
    return sample->count >= 8 * WORDS_MIN && signs == 0;
}

/* Returns the size of the integers that the words look like: "8", "4" for pairs of small integers
 * of 4 bytes, or "8 or 4" if they may be either. NULL: they look like neither. */
static const char *find_integer_bytes(const struct sample *sample)
{
    if (are_times(sample) || are_random_words(sample))
        return "8";
    if (!are_small_words(sample, EVIDENCE))
        return NULL;
    return are_int_pairs(sample) ? "4" : are_long_integers(sample) ? "8" : "8 or 4";
}

/* Returns true if the words, which the caller has swapped, are surely integers of 8 bytes. Bytes
 * can look the same: the last byte of each pixel may be constant, an image may be 0 outside one
 * column, and the first column of a table of u8 may have values of one magnitude, as times have. */
static bool are_swapped_integers(const struct sample *sample, const struct key_type *type)
{
    size_t used = 0;
    for (size_t i = 0; i < sample->count; i++)
        used += sample->words[i] != 0;
    return (type->kind == KEY_SIGNED && (are_times(sample) || are_random_words(sample))) ||
           (3 * used > sample->count && are_small_words(sample, EVIDENCE_OF_OTHER) &&
            !are_int_pairs(sample) && are_long_integers(sample));
}

/* Fails for data with the type i8 or u8, of one byte here, if it looks like NumPy's types of these
 * names, which have 8 bytes, or if its file is named as such (is_named). The other byte order is
 * considered only if an option gives the type (is_given). Consumes nothing. */
static bool check_bytes(struct source *source, const struct key_type *type, bool is_named,
                        bool is_given, enum key_endian endian, struct error *error)
{
    static struct sample sample; /* large for a stack */
    const char letter = type->name[0];
    char look[48], types[16];
    if (!take_sample(source, ENDIAN_LITTLE, &sample, error))
        return false;
    const char *const little = find_integer_bytes(&sample);
    swap_words(&sample);
    const bool is_big = is_given && are_swapped_integers(&sample, type);
    const char *const bytes = little ? little : "8";
    if (!little && !is_big && !is_named)
        return true;
    snprintf(types, sizeof types, "%c%s", letter, *bytes == '4' ? "32" : "64");
    if (bytes[1])
        snprintf(types + 3, sizeof types - 3, " or %c32", letter);
    if (!little && !is_big)
        snprintf(look, sizeof look, "the file is named as %s", types);
    else if (strcmp(bytes, "8") == 0)
        snprintf(look, sizeof look, "these look like NumPy's %s of 8 bytes", type->name);
    else
        snprintf(look, sizeof look, "these look like integers of %s bytes", bytes);
    return error_set(error,
                     "%s: %s is one byte here, and %s: use --type=%s%s, or --type=%s for bytes",
                     source_name(source), type->name, look, types,
                     little && is_big                 ? ", and --endian=big if they are big-endian"
                     : is_big                         ? " with --endian=big"
                     : little && endian == ENDIAN_BIG ? " with --endian=little"
                                                      : "",
                     type->numpy_name);
}

/* Fails for data with the type i8, u8 or f16, which have 1 and 2 bytes here, if it looks like
 * NumPy's types of these names, which have 8 and 16 bytes. named_type: that of the file's name, or
 * NULL. --endian=big may be for indices, but with --type=i8 it means numbers of several bytes.
 * Accepts data of any other type. Consumes nothing. */
static bool raw_content_check_name(const struct options *options, const struct key_type *type,
                                   const struct key_type *named_type, struct source *source,
                                   struct error *error)
{
    static struct sample sample; /* large for a stack */
    const bool is_byte = type->id == KEY_TYPE_i8 || type->id == KEY_TYPE_u8;
    const bool is_named = named_type && named_type->kind == type->kind && named_type->bytes == 8;
    const uint64_t left = source_stop_and_get_left(source);
    const unsigned bytes = is_byte ? 8 : 16; /* size of NumPy's type */
    if (!(is_byte || type->id == KEY_TYPE_f16) || (left != SIZE_UNKNOWN && left % bytes != 0))
        return true;
    const bool is_given = options->type_word != NULL;
    if (is_byte && is_given && options->endian == ENDIAN_BIG && !options->index_type && left > 0)
        return error_set(error,
                         "%s: %s is one byte here, without a byte order: use --type=%c64 with "
                         "--endian=big for NumPy's %s of 8 bytes, or --type=%s for bytes",
                         source_name(source), type->name, type->name[0], type->name,
                         type->numpy_name);
    if (is_byte)
        return check_bytes(source, type, is_named, is_given, options->endian, error);
    if (!take_sample(source, ENDIAN_LITTLE, &sample, error)) /* as long doubles of x86 are */
        return false;
    return !are_long_doubles(&sample) ||
           error_set(error,
                     "%s: f16 is 2 bytes here, and these look like NumPy's f16 of 16 bytes, which "
                     "is not sorted: use --type=float16 if they are of 2 bytes",
                     source_name(source));
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
        return raw_content_check_doubles(reader->source, options->endian, error);
    }
    if (is_spelled_as_ours)
        return raw_content_check_name(options, layout->type, named_type, reader->source, error);
    return check_word_of_c(reader->source, options->type_word, layout->type, named_type,
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
