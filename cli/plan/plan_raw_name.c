/* SPDX-License-Identifier: Apache-2.0 */
/* plan_raw_name.c - see plan_raw.h.
 *
 * NumPy and C give some names of types to other types than gpusort does: i8 has 8 bytes in NumPy,
 * and float has 4 in C. Data that looks like the other type is refused.
 */
#include "cli/plan/plan_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns true if the bits may be the exponent of an x87 number that a double can be, or an f16
 * near 1. */
static bool is_near_one(uint64_t bits)
{
    return (bits & 0x7fff) >= 0x3bc0 && (bits & 0x7fff) <= 0x43ff;
}

/* Returns true if all pairs of words are x87 numbers in 16 bytes: a significand with its first bit
 * set, an exponent near that of 1, and padding with any contents. 0, infinities and NaNs may be
 * among them. Negative f16 from -1 to -4 look the same, but then the bits in the significand look
 * like them too. */
static bool are_long_doubles(const struct sample *sample)
{
    size_t numbers = 0, padded = 0, inside = 0;
    for (size_t i = 0; i + 1 < sample->count; i += 2) {
        const uint64_t significand = sample->words[i], rest = sample->words[i + 1];
        const bool is_special = significand >> 63 == 1 && rest << 49 == UINT64_MAX << 49;
        if ((significand == 0 && rest << 49 == 0) || is_special)
            continue;
        if (significand >> 63 == 0 || !is_near_one(rest))
            return false;
        numbers++;
        padded += rest >> 16 == 0;
        inside += is_near_one(significand >> 16) || is_near_one(significand >> 32);
    }
    return numbers >= 2 && (padded == numbers || (numbers >= 4 && 2 * inside < numbers));
}

/* Returns true if the words are pairs of integers of 32 bits below 2^bits: about as many upper
 * halves as lower ones are neither 0 nor -1, and some of these are in one word. As integers of 64
 * bits, many would exceed 32 bits, and all would have a small lower half. */
static bool are_int_pairs(const struct sample *sample, unsigned bits)
{
    size_t lower_used = 0, upper_used = 0, both_used = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const int32_t lower = (int32_t)sample->words[i], upper = (int32_t)(sample->words[i] >> 32);
        if (abs(lower / 2) >> (bits - 1) != 0 || abs(upper / 2) >> (bits - 1) != 0)
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
           !raw_is_text(sample, endian, &has_lines);
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
    return raw_has_single_halves(sample) || (single >= WORDS_MIN && 4 * single >= used);
}

bool raw_check_word_of_c(struct source *source, const char *word, const struct key_type *type,
                         const struct key_type *named_type, enum key_endian endian,
                         struct error *error)
{
    static struct sample sample; /* large for a stack */
    const char of_c[] = {type->name[0], '3', '2', '\0'};
    if (strcmp(word, "float") != 0 && strcmp(word, "int") != 0 && strcmp(word, "uint") != 0)
        return true;
    if (!raw_take_sample(source, endian, &sample, error))
        return false;
    const bool is_named = named_type && strcmp(named_type->name, of_c) == 0;
    const bool are_pairs = *word == 'f'
                               ? are_single_pairs(&sample)
                               : are_int_pairs(&sample, 24) || are_near_pairs(&sample, endian);
    return !(is_named || are_pairs) ||
           error_set(error,
                     "%s: '%s' is NumPy's %s here, and these look like %s: use --type=%s, or "
                     "--type=%s if they are",
                     source_name(source), word, type->name, of_c, of_c, type->name);
}

/* Returns true if the words other than 0 and -1 are random integers, none negative, such as
 * hashes: no sign bit is set, and the highest bit of each lower byte is set in about half of the
 * words. If they were random bytes, the sign bits would be, too. */
static bool are_random_words(const struct sample *sample)
{
    size_t set[7] = {0}, used = 0;
    uint64_t signs = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const uint64_t word = sample->words[i];
        if (raw_is_blank(word))
            continue;
        used++;
        signs |= word >> 63;
        for (size_t byte = 0; byte < 7; byte++)
            set[byte] += word >> (8 * byte + 7) & 1;
    }
    for (size_t byte = 0; byte < 7; byte++)
        if (8 * set[byte] < 3 * used || 8 * set[byte] > 5 * used)
            return false;
    return used >= 8 * WORDS_MIN && signs == 0;
}

/* Returns the size of the integers that the words look like: "8", or "8 or 4" if they may be pairs
 * of 4 bytes. NULL: they look like neither. Pairs from 2^16 to 2^20 have most values in byte 1, and
 * few in byte 2, unlike colours. */
static const char *find_integer_bytes(const struct sample *sample)
{
    struct byte_values values;
    if (raw_are_times(sample) || are_random_words(sample))
        return "8";
    if (raw_are_small_words(sample, EVIDENCE))
        return raw_are_long_integers(sample) ? "8" : "8 or 4";
    raw_find_byte_values(sample, &values);
    return are_int_pairs(sample, 20) && values.different[1] > 128 && values.different[2] > 1
               ? "8 or 4"
               : NULL;
}

/* Returns true if the words, which the caller has swapped, are surely integers of 8 bytes. Bytes
 * can look the same: the last byte of each pixel may be constant, an image may be 0 outside one
 * column, and the first column of a table of u8 may have values of one magnitude, as times have. */
static bool are_swapped_integers(const struct sample *sample, const struct key_type *type)
{
    size_t used = 0;
    for (size_t i = 0; i < sample->count; i++)
        used += sample->words[i] != 0;
    return (type->kind == KEY_SIGNED && (raw_are_times(sample) || are_random_words(sample))) ||
           (3 * used > sample->count && raw_are_small_words(sample, EVIDENCE_OF_OTHER) &&
            !are_int_pairs(sample, 24) && raw_are_long_integers(sample));
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
    if (!raw_take_sample(source, ENDIAN_LITTLE, &sample, error))
        return false;
    const char *const little = find_integer_bytes(&sample);
    const bool is_finest = raw_is_top_byte_finest(&sample);
    raw_swap_words(&sample);
    const bool is_big = is_given && are_swapped_integers(&sample, type);
    const char *const bytes = little ? little : "8";
    if (!little && !is_big && !is_named)
        return true;
    snprintf(types, sizeof types, "%c64", letter);
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
                     is_big && !little && is_finest   ? " with --endian=big"
                     : is_big                         ? ", and --endian=big if they are big-endian"
                     : little && endian == ENDIAN_BIG ? " with --endian=little"
                                                      : "",
                     type->numpy_name);
}

bool raw_check_name(const struct options *options, const struct key_type *type,
                    const struct key_type *named_type, struct source *source, struct error *error)
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
    if (!raw_take_sample(source, ENDIAN_LITTLE, &sample, error)) /* as long doubles of x86 are */
        return false;
    return !are_long_doubles(&sample) ||
           error_set(error,
                     "%s: f16 is 2 bytes here, and these look like NumPy's f16 of 16 bytes, which "
                     "is not sorted: use --type=float16 if they are of 2 bytes",
                     source_name(source));
}
