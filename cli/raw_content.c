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

/* ---- what fits instead ----------------------------------------------------------------------- */

/* The parts of a word, of 8, 4 or 2 bytes, as signed integers. */
static int64_t get_part(uint64_t word, unsigned bytes, size_t i)
{
    return (int64_t)(word << (64 - 8 * bytes * (i + 1))) >> (64 - 8 * bytes);
}

/* Counts of the parts that are not 0. */
struct parts {
    size_t counted;
    size_t negative;
    size_t small;    /* the upper quarter is an extension of the sign; of bytes: below 16 */
    size_t extended; /* the upper half is zero, or an extension of the sign of the lower half */
    size_t usual;    /* as f32, or f16 or bf16, the exponent is near that of 1 */
};

static struct parts count_parts(const struct sample *sample, unsigned bytes)
{
    struct parts counts = {0};
    for (size_t i = 0; i < sample->count; i++)
        for (size_t part = 0; part < sizeof(uint64_t) / bytes; part++) {
            const int64_t value = get_part(sample->words[i], bytes, part);
            if (value == 0)
                continue;
            const int64_t half = get_part((uint64_t)value, bytes, 0) >> (4 * bytes - 1);
            const int64_t small = bytes == 1 ? value >> 4 : value >> (6 * bytes - 1);
            const size_t single = half_exponent((uint32_t)value) & 0xff;
            const size_t short_exponent = (size_t)value >> 10 & 0x1f;
            counts.counted++;
            counts.negative += value < 0;
            counts.small += small == 0 || small == -1;
            counts.extended += half == 0 || half == -1 || half == 1;
            counts.usual += bytes == 2 ? short_exponent >= 5 && short_exponent <= 20
                                       : single >= SINGLE_LEAST && single <= SINGLE_MOST;
        }
    return counts;
}

static bool are_most(size_t some, size_t all)
{
    return all > 0 && 20 * some >= 19 * all;
}

static const char *name_integers(unsigned bytes, const struct parts *parts)
{
    static const char *const names[][2] = {
        {"u8 or i8", "i8"}, {"i16 or u16", "i16"}, {"i32 or u32", "i32"}, {"i64 or u64", "i64"}};
    return names[__builtin_ctz(bytes)][parts->negative > 0];
}

/* The name of the integers that most parts would be, each small for its size; NULL for none. */
static const char *find_small_integers(const struct sample *sample)
{
    struct parts parts[4];
    for (unsigned i = 0; i < 4; i++)
        parts[i] = count_parts(sample, 1u << i);
    for (unsigned i = 4; i-- > 1;)
        if (are_most(parts[i].extended, parts[i].counted))
            return name_integers(1u << i, &parts[i]);
    for (unsigned i = 0; i < 4; i++)
        if (i != 1 && are_most(parts[i].small, parts[i].counted))
            return name_integers(1u << i, &parts[i]);
    return NULL;
}

/* The name of the floats, or of integers of 2 bytes, that would fit; NULL for none. */
static const char *find_narrow(const struct sample *sample)
{
    const struct parts halves = count_parts(sample, 4), quarters = count_parts(sample, 2);
    const bool are_quarters = 2 * quarters.counted > 3 * halves.counted;
    if (are_quarters && are_most(quarters.usual, quarters.counted))
        return "f16 or bf16";
    if (are_most(halves.usual, halves.counted))
        return count_exponents(sample).agree ? "f32, i32 or u32" : "f32";
    if (are_most(quarters.small, quarters.counted))
        return name_integers(2, &quarters);
    return NULL;
}

/* The types that would fit. */
static const char *find_fitting(struct sample *sample, enum key_endian endian)
{
    struct sample swapped = *sample;
    swap_words(&swapped);
    const struct exponents exponents = count_exponents(&swapped);
    if (exponents.counted >= 4 && 10 * (exponents.tiny + exponents.far) < exponents.counted) {
        static const char *const names[2][2] = {{"'>f8'", "'>f4'"}, {"'<f8'", "'<f4'"}};
        return names[endian == ENDIAN_BIG][has_equal_halves(&swapped)];
    }
    const char *const small = find_small_integers(sample);
    const char *const narrow = small ? small : find_narrow(sample);
    return narrow                          ? narrow
           : find_small_integers(&swapped) ? "integers of the other byte order"
           : has_equal_halves(sample)      ? "i32, u32, i16, u16, f16, i8 or u8"
           : count_exponents(sample).agree
               ? "i64 or u64"
               : "perhaps i64, u64, i32, u32, i16, u16, i8 or u8; f64 if it is";
}

bool raw_content_check_doubles(struct source *source, enum key_endian endian, struct error *error)
{
    struct sample sample;
    if (!take_sample(source, endian, &sample, error))
        return false;
    if (!has_strange_exponents(&sample) && !has_equal_halves(&sample))
        return true;
    return error_set(error, "%s: no type is said, and these are hardly f64: say --type (%s)",
                     source_name(source), find_fitting(&sample, endian));
}

/* ---- names that NumPy gives to other types --------------------------------------------------- */

/* True if all words are small integers of 64 bits: by chance, bytes that do not extend the sign
 * would hardly all be in the lower bytes of the words. Each adds the logarithm of that chance;
 * words of both signs add to it too. */
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
    return vary && significant * tenths_of_bits[highest] + of_signs >= 90;
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

/* Whether bits are those of a number of the x87, or of an f16, that is not far from 1. */
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
