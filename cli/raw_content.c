/* SPDX-License-Identifier: Apache-2.0 */
/* raw_content.c - see raw_content.h.
 *
 * Doubles that were measured or computed have exponents near that of 1, and below the first 20 bits
 * of their significands bits that are as good as random, or zero. Other types, read as doubles,
 * show:
 *
 *   small integers             most are denormal, or NaNs that no computation makes
 *   large ones, random bytes   exponents all over, most of them beyond 1e-90 and 1e90
 *   f32, f16, large i32        the lower half of a word looks like the upper half
 */
#include "cli/raw_content.h"

#include <stdio.h>
#include <string.h>

/* Reading the sample takes 40 microseconds from the page cache, once the input is larger than it.
 */
#define SAMPLE_PLACES ((size_t)32)
#define PLACE_WORDS ((size_t)128)
#define SAMPLE_WORDS (SAMPLE_PLACES * PLACE_WORDS)

/* Fewer words than this are refused only if all of them are alike. */
#define WORDS_MIN ((size_t)8)

/* 2 to the power of this is 1e90. */
#define FAR_EXPONENT 299

/* Exponents of f32 that differ by this, or by less, are nearly equal. */
#define NEARLY 3

/* The exponent fields of f32 from 1e-12 to 1e12. */
#define SINGLE_LEAST 87
#define SINGLE_MOST 167

struct sample {
    uint64_t words[SAMPLE_WORDS]; /* 8 bytes each, in the byte order of the machine */
    size_t count;
};

/* ---- the sample ------------------------------------------------------------------------------ */

static void swap_words(struct sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        sample->words[i] = __builtin_bswap64(sample->words[i]);
}

/* Fills the sample from places that are spread over the input evenly, or over what has been peeked
 * of a pipe or of compressed data. Each begins at a multiple of 16 bytes. */
static bool take_sample(struct source *source, enum key_endian endian, struct sample *sample,
                        struct error *error)
{
    const size_t place_bytes = PLACE_WORDS * sizeof(uint64_t);
    const unsigned char *head;
    size_t head_bytes;
    if (!source_peek(source, 1, &head, &head_bytes, error))
        return false;
    const uint64_t left = source_bytes_left(source);
    const bool reaches_all = left != SIZE_UNKNOWN && left > head_bytes && source_has_places(source);
    const uint64_t bytes = reaches_all ? left : head_bytes;
    const bool is_all = bytes <= sizeof sample->words;
    const uint64_t step = is_all ? place_bytes : (bytes - place_bytes) / (SAMPLE_PLACES - 1) & ~15u;
    sample->count = 0;
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

/* ---- doubles --------------------------------------------------------------------------------- */

/* Words that are neither 0 nor infinite nor a NaN as a computation or R makes it. */
struct exponents {
    size_t counted;
    size_t tiny; /* denormal, or a NaN of other bits: what small integers look like */
    size_t far;  /* beyond 1e-90 and 1e90 */
    bool agree;  /* all have the same sign and exponent */
};

static struct exponents count_exponents(const struct sample *sample)
{
    struct exponents counts = {.agree = true};
    uint64_t first = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t word = sample->words[i];
        const int exponent = (int)(word >> 52 & 0x7ff);
        const uint32_t payload = (uint32_t)word;
        const bool is_special = exponent == 0x7ff && (payload == 0 || payload == 1954);
        if (word << 1 == 0 || word == UINT64_MAX || is_special)
            continue;
        first = counts.counted == 0 ? word >> 52 : first;
        counts.agree &= word >> 52 == first;
        counts.counted++;
        if (exponent == 0 || exponent == 0x7ff)
            counts.tiny++;
        else if (exponent < 1023 - FAR_EXPONENT || exponent > 1023 + FAR_EXPONENT)
            counts.far++;
    }
    return counts;
}

static bool has_strange_exponents(const struct sample *sample)
{
    const struct exponents counts = count_exponents(sample);
    if (counts.counted < WORDS_MIN)
        return (counts.tiny > 0 && counts.tiny == counts.counted) ||
               (counts.far > 1 && counts.far == counts.counted && counts.agree);
    return 2 * (counts.tiny + counts.far) > counts.counted;
}

/* Sign and exponent of the half of a word, if it were an f32. */
static size_t half_exponent(uint32_t half)
{
    return half >> 23;
}

/* True if the lower halves of the words have the signs and nearly the exponents that the upper
 * halves have, and these are no more than half of the 512. The lower half of a double is as good as
 * random, or zero, or has only some of its first bits, of which the first two do not count. */
static bool has_equal_halves(const struct sample *sample)
{
    bool is_upper[512 + 2 * NEARLY] = {false}; /* by half_exponent + NEARLY */
    size_t lower_count = 0, inside = 0, lower_changes = 0, upper_changes = 0, covered = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const uint32_t upper = (uint32_t)(sample->words[i] >> 32);
        if (upper != 0)
            memset(is_upper + half_exponent(upper), true, 2 * NEARLY + 1);
    }
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t word = sample->words[i], change = i == 0 ? 0 : word ^ sample->words[i - 1];
        const bool counts = (uint32_t)word << 2 != 0;
        lower_count += counts;
        inside += counts && is_upper[half_exponent((uint32_t)word) + NEARLY];
        lower_changes += (uint32_t)change != 0;
        upper_changes += change >> 32 != 0;
    }
    for (size_t i = NEARLY; i < 512 + NEARLY; i++)
        covered += is_upper[i];
    return covered <= 256 && lower_count >= WORDS_MIN && 4 * lower_count >= sample->count &&
           10 * inside >= 9 * lower_count && lower_changes >= WORDS_MIN / 2 &&
           2 * upper_changes >= lower_changes;
}

/* ---- integers of 64 bits --------------------------------------------------------------------- */

/* True if all words are small integers of 64 bits: by chance, bytes that do not extend the sign
 * would hardly all be in the lower bytes of the words. Each adds the logarithm of that chance;
 * words of both signs add to it too. Equal words must be WORDS_MIN or more. */
static bool are_small_words(const struct sample *sample)
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
           significant * tenths_of_bits[highest] + of_signs >= 90;
}

/* True if the words are of one magnitude, as times are: their top bytes are nearly equal, while the
 * bytes in the middle are of many values. */
static bool are_times(const struct sample *sample)
{
    bool is_there[2][256] = {{false}};
    int least = 255, most = 0;
    size_t different[2] = {0};
    for (size_t i = 0; i < sample->count; i++) {
        const int top = (int)(sample->words[i] >> 56);
        least = top < least ? top : least;
        most = top > most ? top : most;
        for (size_t j = 0; j < 2; j++) {
            bool *const there = &is_there[j][sample->words[i] >> (16 + 8 * j) & 0xff];
            different[j] += !*there;
            *there = true;
        }
    }
    return sample->count >= 32 && most - least <= 16 && different[0] > 16 && different[1] > 16;
}

/* ---- what fits instead ----------------------------------------------------------------------- */

/* A type is named only where no other one fits as well. Sorting with a type of 8 bytes moves whole
 * groups of narrower numbers; sorting with a narrower type would break wider numbers apart. */

/* True if most words use all of this byte (0: the lowest), as an extension of a sign does not. */
static bool is_byte_full(const struct sample *sample, unsigned byte)
{
    size_t full = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const uint8_t value = (uint8_t)(sample->words[i] >> 8 * byte);
        full += value != 0 && value != UINT8_MAX;
    }
    return 4 * full >= 3 * sample->count;
}

/* True if the words are pairs of f32 with full significands. In f16, bf16, text and bytes, both
 * halves of an f32 would be near 1 as f16. Integers of 4 bytes would have few exponents. */
static bool are_singles(const struct sample *sample)
{
    size_t usual = 0, narrow = 0, least = SINGLE_MOST, most = SINGLE_LEAST;
    for (size_t i = 0; i < 2 * sample->count; i++) {
        const uint32_t half = (uint32_t)(sample->words[i / 2] >> 32 * (i % 2));
        const size_t exponent = half_exponent(half) & 0xff, short_exponent = half >> 10 & 0x1f;
        least = exponent < least ? exponent : least;
        most = exponent > most ? exponent : most;
        usual += exponent >= SINGLE_LEAST && exponent <= SINGLE_MOST;
        narrow += short_exponent >= 5 && short_exponent <= 20;
    }
    return has_equal_halves(sample) && is_byte_full(sample, 0) && is_byte_full(sample, 4) &&
           20 * usual >= 38 * sample->count && 4 * narrow < 6 * sample->count &&
           most >= least + NEARLY;
}

/* True if the words are integers of 64 bits, and not pairs of small ones. A pair uses its upper
 * half, and its byte 3 extends a sign, as its byte 7 does. */
static bool are_long_integers(const struct sample *sample)
{
    bool are_halves_used = false;
    for (size_t i = 0; i < sample->count; i++)
        are_halves_used |= (sample->words[i] + (UINT64_C(1) << 32)) >> 33 != 0;
    return are_times(sample) ||
           (are_small_words(sample) && (!are_halves_used || is_byte_full(sample, 3)));
}

static bool are_usual_doubles(const struct sample *sample)
{
    const struct exponents counts = count_exponents(sample);
    return counts.counted > 0 && 10 * (counts.tiny + counts.far) <= counts.counted;
}

/* The type that alone fits; NULL if none does, or several. */
static const char *find_fitting(const struct sample *sample)
{
    if (are_singles(sample))
        return "f32";
    if (!are_usual_doubles(sample))
        return are_long_integers(sample) ? "i64 or u64" : NULL;
    return sample->count >= 4 * WORDS_MIN && is_byte_full(sample, 0) && !has_equal_halves(sample)
               ? "f64"
               : NULL;
}

bool raw_content_check_doubles(struct source *source, enum key_endian endian, struct error *error)
{
    struct sample sample;
    if (!take_sample(source, endian, &sample, error))
        return false;
    if (!has_strange_exponents(&sample) && !has_equal_halves(&sample))
        return true;
    struct sample swapped = sample;
    swap_words(&swapped);
    const char *const other = find_fitting(&swapped);
    const char *const own = are_usual_doubles(&swapped) ? NULL : find_fitting(&sample);
    return error_set(
        error,
        "%s: no type is said, and these are hardly f64: say --type=%s%s, or --type=f64 if they are",
        source_name(source),
        own     ? own
        : other ? other
                : "TYPE (gpusort --list has the types)",
        own || !other          ? ""
        : endian == ENDIAN_BIG ? " with --endian=little"
                               : " with --endian=big");
}

/* ---- names that NumPy gives to other types --------------------------------------------------- */

/* True if the bits may be of a number of the x87, or of an f16, that is not far from 1. */
static bool is_near_one(uint64_t bits)
{
    return (bits & 0x7fff) >= 0x3c00 && (bits & 0x7fff) <= 0x43ff;
}

/* True if all pairs of words are numbers of the x87 in 16 bytes: a significand whose first bit is
 * set, an exponent near that of 1, and padding, which may be anything. Negative f16 from -1 to -4
 * look so too, but then the bits in the significand do as well. */
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

bool raw_content_check_name(struct source *source, const struct key_type *type,
                            enum key_endian endian, struct error *error)
{
    struct sample sample;
    const bool is_byte = type->id == KEY_TYPE_i8 || type->id == KEY_TYPE_u8;
    const uint64_t left = source_bytes_left(source);
    const unsigned bytes = is_byte ? 8 : 16; /* of NumPy's type */
    if (!(is_byte || type->id == KEY_TYPE_f16) || (left != SIZE_UNKNOWN && left % bytes != 0))
        return true;
    if (!take_sample(source, endian, &sample, error))
        return false;
    if (is_byte && (are_small_words(&sample) || are_times(&sample)))
        return error_set(error,
                         "%s: %s is one byte here, and these look like NumPy's %s of 8 bytes: say "
                         "--type=%s64, or --type=%s for bytes",
                         source_name(source), type->name, type->name,
                         type->kind == KEY_SIGNED ? "i" : "u", type->numpy_name);
    return is_byte || !are_long_doubles(&sample) ||
           error_set(error,
                     "%s: f16 is 2 bytes here, and these look like NumPy's f16 of 16 bytes, which "
                     "is not sorted: say --type=float16 if they are of 2 bytes",
                     source_name(source));
}
