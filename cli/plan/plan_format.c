/* SPDX-License-Identifier: Apache-2.0 */
/* plan_format.c - see plan.h.
 *
 * The format is taken from the options, else from the first bytes, else from the name, else from
 * the content. An ambiguous content is an error, not a guess: a wrong guess would destroy a file
 * that is sorted onto itself.
 */
#include "cli/plan/plan.h"
#include "formats/array/format.h"
#include "formats/codec/codec.h"
#include "formats/lines/line_error.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Whether raw data may have the type that it would be read as ----
 *
 * Raw data has no type. Two types are checked against a sample of some thousand words from all over
 * the input: f64 if the user gives no type, and a type whose name means another type in NumPy or C.
 * Only strong evidence leads to an error.
 *
 * Doubles that were measured or computed have exponents near that of 1. Below the first 20 bits of
 * their significands, their bits look random, or are zero. Other types, read as doubles, have these
 * properties:
 *
 *   small integers                  most are denormal, or NaNs that no computation makes
 *   large integers, random bytes    exponents over the whole range, most beyond 1e-90 and 1e90
 *   f32, f16, large i32             the lower half of a word resembles the upper half
 */

/* The sample. Reading it from the page cache takes 40 microseconds, if the input is larger than
 * it. */
#define SAMPLE_PLACES ((size_t)32)
#define PLACE_WORDS ((size_t)128)
#define SAMPLE_WORDS (SAMPLE_PLACES * PLACE_WORDS)

/* Fewer words than this are refused only if all of them agree. */
#define WORDS_MIN ((size_t)8)

/* 2^299 is about 1e90. */
#define FAR_EXPONENT 299

/* Exponents of f32 that differ by at most this are nearly equal. */
#define NEARLY 3

/* Exponent fields of f32 from 1e-12 to 1e12. */
#define SINGLE_LEAST 87
#define SINGLE_MOST 167

struct sample {
    uint64_t words[SAMPLE_WORDS]; /* 8 bytes each, in this machine's byte order */
    size_t count;
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

/* ---- Raw data: doubles ---- */

/* Counts of words that are not 0, infinite, or a NaN as computations or R make it. */
struct exponents {
    size_t counted;
    size_t tiny;              /* denormal, or another NaN: small integers */
    size_t far;               /* beyond 1e-90 and 1e90 */
    unsigned lowest, highest; /* sign and exponent */
};

static struct exponents count_exponents(const struct sample *sample, size_t begin, size_t step)
{
    struct exponents counts = {.lowest = ~0u};
    for (size_t i = begin; i < sample->count; i += step) {
        const uint64_t word = sample->words[i];
        const int exponent = (int)(word >> 52 & 0x7ff);
        const uint32_t payload = (uint32_t)word;
        const bool is_special = exponent == 0x7ff && (payload == 0 || payload == 1954);
        if (word << 1 == 0 || word == UINT64_MAX || is_special)
            continue;
        const unsigned top = (unsigned)(word >> 52);
        counts.lowest = top < counts.lowest ? top : counts.lowest;
        counts.highest = top > counts.highest ? top : counts.highest;
        counts.counted++;
        if (exponent == 0 || exponent == 0x7ff)
            counts.tiny++;
        else if (exponent < 1023 - FAR_EXPONENT || exponent > 1023 + FAR_EXPONENT)
            counts.far++;
    }
    return counts;
}

/* Returns true if most words are hardly doubles, or nearly all with an even or an odd index are
 * integers, as in records of an integer or a time and a double. */
static bool has_strange_exponents(const struct sample *sample)
{
    const struct exponents counts = count_exponents(sample, 0, 1);
    for (size_t begin = 0; begin < 2; begin++) {
        const struct exponents half = count_exponents(sample, begin, 2);
        const bool are_near = half.highest < half.lowest + 9; /* times of a year, in ns */
        const size_t strange = half.tiny + (are_near ? half.far : 0);
        if (half.counted >= 2 * WORDS_MIN && 10 * strange > 9 * half.counted)
            return true;
    }
    if (counts.counted < WORDS_MIN)
        return (counts.tiny > 0 && counts.tiny == counts.counted) ||
               (counts.far > 1 && counts.far == counts.counted && counts.lowest == counts.highest);
    return 2 * (counts.tiny + counts.far) > counts.counted;
}

/* Returns sign and exponent of half a word, as an f32. */
static size_t half_exponent(uint32_t half)
{
    return half >> 23;
}

/* Returns true if the lower halves of the words have the signs, and nearly the exponents, of the
 * upper halves, and these cover at most half of the 512 values. The lower half of a double looks
 * random, or is zero, or has only some of its first bits; the first two bits do not count. */
static bool has_equal_halves(const struct sample *sample)
{
    bool is_upper[512 + 2 * NEARLY] = {false}; /* index: half_exponent + NEARLY */
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

/* ---- Raw data: integers of 64 bits ---- */

/* Returns true if all words are small integers of 64 bits: other data would hardly have all bytes
 * that do not extend the sign in the lower bytes of the words. Each such byte adds the logarithm of
 * that probability, and so do words of both signs. If all words are equal, there must be at least
 * WORDS_MIN. */
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

/* Returns true if the words have one magnitude, as times do: their top bytes are nearly equal, and
 * the middle bytes have many values. */
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

/* Returns true if the words are integers of 64 bits, and not pairs of small ones. In a pair the
 * upper half is used, and byte 3 extends a sign, as byte 7 does. */
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
    const struct exponents counts = count_exponents(sample, 0, 1);
    return counts.counted > 0 && 10 * (counts.tiny + counts.far) <= counts.counted;
}

/* Returns the only type that fits; NULL if none or several do. */
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

/* Fails for data that is hardly doubles in this byte order. The error names another type only if no
 * third type fits as well. Consumes nothing. */
static bool raw_content_check_doubles(struct source *source, enum key_endian endian,
                                      struct error *error)
{
    static struct sample sample; /* large for a stack */
    if (!take_sample(source, endian, &sample, error))
        return false;
    if (!has_strange_exponents(&sample) && !has_equal_halves(&sample))
        return true;
    const char *const fitting = find_fitting(&sample);
    swap_words(&sample);
    const char *const other = find_fitting(&sample);
    const char *const own = are_usual_doubles(&sample) ? NULL : fitting;
    return error_set(error,
                     "%s: no type is given, and these are hardly f64: use --type=%s%s, or "
                     "--type=f64 if they are",
                     source_name(source),
                     own     ? own
                     : other ? other
                             : "TYPE (gpusort --list has the types)",
                     own || !other          ? ""
                     : endian == ENDIAN_BIG ? " with --endian=little"
                                            : " with --endian=big");
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

/* Returns true if the words are pairs of small integers of 32 bits, most of them not 0. As integers
 * of 64 bits, most would exceed 32 bits, and all would have a small lower half. */
static bool are_int_pairs(const struct sample *sample)
{
    size_t used = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const int32_t lower = (int32_t)sample->words[i], upper = (int32_t)(sample->words[i] >> 32);
        if (abs(lower / 2) >> 23 != 0 || abs(upper / 2) >> 23 != 0)
            return false;
        used += lower != 0 && upper != 0 && upper != -1;
    }
    return sample->count >= WORDS_MIN && 4 * used >= 3 * sample->count;
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
    return !(is_named || (*word == 'f' ? are_singles(&sample) : are_int_pairs(&sample))) ||
           error_set(error,
                     "%s: '%s' is NumPy's %s here, and these look like %s: use --type=%s, or "
                     "--type=%s if they are",
                     source_name(source), word, type->name, of_c, of_c, type->name);
}

/* Fails for data with the type i8, u8 or f16, which have 1 and 2 bytes here, if it looks like
 * NumPy's types of these names, which have 8 and 16 bytes, or if its file is named as such 8 bytes.
 * named_type: that of the file's name, or NULL. Accepts data of any other type. Consumes nothing.
 */
static bool raw_content_check_name(struct source *source, const struct key_type *type,
                                   const struct key_type *named_type, enum key_endian endian,
                                   struct error *error)
{
    static struct sample sample; /* large for a stack */
    const bool is_byte = type->id == KEY_TYPE_i8 || type->id == KEY_TYPE_u8;
    const bool is_named = named_type && named_type->kind == type->kind && named_type->bytes == 8;
    const uint64_t left = source_stop_and_get_left(source);
    const unsigned bytes = is_byte ? 8 : 16; /* size of NumPy's type */
    if (!(is_byte || type->id == KEY_TYPE_f16) || (left != SIZE_UNKNOWN && left % bytes != 0))
        return true;
    if (!take_sample(source, endian, &sample, error))
        return false;
    if (is_byte && (is_named || are_small_words(&sample) || are_times(&sample)))
        return error_set(error,
                         "%s: %s is one byte here, and these look like NumPy's %s of 8 bytes: use "
                         "--type=%s64, or --type=%s for bytes",
                         source_name(source), type->name, type->name,
                         type->kind == KEY_SIGNED ? "i" : "u", type->numpy_name);
    return is_byte || !are_long_doubles(&sample) ||
           error_set(error,
                     "%s: f16 is 2 bytes here, and these look like NumPy's f16 of 16 bytes, which "
                     "is not sorted: use --type=float16 if they are of 2 bytes",
                     source_name(source));
}

/* ---- The format of an input ---- */

/* Maximum bytes of an input that are examined to distinguish text from binary data. */
#define CONTENT_PROBE_BYTES ((size_t)64 << 10)

/* Up to this many bytes of numbers or lines may look like text, or UTF-16, by chance. */
#define SOME_NUMBERS_BYTES ((size_t)32)

#define MAGIC_BYTES_MAX 262 /* with that of tar, 5 bytes at 257 */
#define MAGIC_BYTES_USUAL 64

/* The first bytes of an input. */
struct probe {
    const unsigned char *head;
    size_t bytes;
};

static bool probe_source(struct source *source, struct probe *probe, struct error *error)
{
    const size_t most =
        source_stop_and_get_left(source) == SIZE_UNKNOWN ? SOURCE_PEEK_MAX : CONTENT_PROBE_BYTES;
    if (!source_peek(source, most, &probe->head, &probe->bytes, error))
        return false;
    probe->bytes = probe->bytes < CONTENT_PROBE_BYTES ? probe->bytes : CONTENT_PROBE_BYTES;
    return true;
}

static bool begins_as_npy(const struct probe *probe)
{
    return format_npy.recognises(probe->head, probe->bytes);
}

/* Refuses another program's format. otherwise: the option that reads the input anyway, for the
 * message; "" if that could do damage. */
static bool refuse_foreign(const struct foreign *foreign, const struct probe *probe,
                           const char *name, const char *otherwise, struct error *error)
{
    const char *const known = foreign_begins_so(foreign, probe->head, probe->bytes)
                                  ? "this is"
                                  : "not text, and named as";
    if (!foreign->unpack)
        return error_set(error, "%s: %s %s data, to be converted to .npy or text first%s", name,
                         known, foreign->name, otherwise);
    return error_set(error, "%s: %s %s data, to be unpacked first (%s)%s", name, known,
                     foreign->name, foreign->unpack, otherwise);
}

/* Returns the bytes of the printable character or white space that has this first byte; 0 for
 * none. */
static size_t character_bytes(unsigned char first)
{
    return isprint(first) || isspace(first) ? 1
           : first >= 0xc2 && first < 0xe0  ? 2
           : first >= 0xe0 && first < 0xf0  ? 3
           : first >= 0xf0 && first < 0xf5  ? 4
                                            : 0;
}

/* Returns true if the probe has only printable ASCII or UTF-8 and white space. */
static bool is_printable(const struct probe *probe)
{
    for (size_t i = 0, end; i < probe->bytes; i = end) {
        const size_t length = character_bytes(probe->head[i]);
        if (length == 0)
            return false;
        for (end = i + 1; end < i + length && end < probe->bytes; end++)
            if ((probe->head[end] & 0xc0) != 0x80)
                return false;
    }
    return true;
}

/* Returns the other program's format that the name indicates, with or without .zst, or NULL. */
static const struct foreign *find_named_foreign(const char *name)
{
    size_t stem_length;
    codec_find_by_name(name, &stem_length);
    return foreign_find_by_name(name, stem_length);
}

/* Returns the other program's format that the content has: by its magic, or by the name, unless
 * that is a format of text or the content is text. A file whose format packs its content (.xlsx as
 * zip) is known by its name. */
static const struct foreign *find_foreign(const char *name, const struct probe *probe)
{
    const struct foreign *const found = foreign_find_by_magic(probe->head, probe->bytes);
    const struct foreign *const named = find_named_foreign(name);
    if (!named || named->kind == FOREIGN_TEXT || is_printable(probe))
        return found;
    return !found || (found->unpack && !named->unpack) ? named : found;
}

/* Returns true if the probe may be text. A few numbers may be printable by chance, but hardly with
 * a line feed among them, and small ones of 2 bytes look like UTF-16 without a mark. */
static bool may_be_text(const struct probe *probe, const struct key_type *type)
{
    const bool is_long = !type || memchr(probe->head, '\n', probe->bytes);
    return format_text.recognises(probe->head, probe->bytes) ||
           (!type && line_error_find_mark(probe->head, probe->bytes)) ||
           (is_long && (is_printable(probe) || ((!type || type->bytes != 2) &&
                                                line_error_is_wide(probe->head, probe->bytes))));
}

static bool refuse_doubtful(const char *name, const struct key_type *type, struct error *error)
{
    return error_set(error, "%s: this may be text or raw %s: use --format=text or --format=raw",
                     name, type->name);
}

/* Finds the format by the content, which is not an .npy file. */
static bool detect_by_content(const struct options *options, const struct probe *probe,
                              const char *name, const struct format **format, char reason[256],
                              struct error *error)
{
    const struct key_type *const type = options->type;
    const struct foreign *const foreign = find_foreign(name, probe);
    if (may_be_text(probe, type)) { /* if a line is not a number, its reader names the line */
        const bool is_text = format_text.recognises(probe->head, probe->bytes);
        if (type && (!is_text || type->bytes == 1))
            return refuse_doubtful(name, type, error);
        *format = &format_text;
        snprintf(reason, 256, "by its content");
        return true;
    }
    if (foreign && !options->input_codec)
        return refuse_foreign(foreign, probe, name, type ? "; if it is not, use --format=raw" : "",
                              error);
    if (!type)
        return error_set(
            error, "%s: neither .npy nor text, nor named as raw data: use --type, or --format",
            name);
    *format = &format_raw;
    snprintf(reason, 256, "neither .npy nor text, and --type says of what");
    return true;
}

/* Checks the content of an input whose name gives its format. If the name is that of raw numbers,
 * the content must not be text, whatever their type. It must never be another program's format. */
static bool check_named(const struct options *options, const struct format *named,
                        const struct key_type *named_type, const struct probe *probe,
                        const char *name, struct error *error)
{
    const struct key_type *const type = options->type ? options->type
                                        : named_type  ? named_type
                                                      : &key_types[KEY_TYPE_f64];
    const bool is_raw = named == &format_raw;
    const struct foreign *const foreign = foreign_find_by_magic(probe->head, probe->bytes);
    /* A few numbers may look like a word by chance, or, less often, like a line of words. */
    const bool is_short = probe->bytes <= SOME_NUMBERS_BYTES;
    const bool has_lines = !is_short || memchr(probe->head, '\n', probe->bytes);
    if (is_raw && probe->bytes > 0 && has_lines && may_be_text(probe, type)) {
        if (type->bytes == 1 || !is_printable(probe) ||
            (is_short && !format_text.recognises(probe->head, probe->bytes)))
            return refuse_doubtful(name, type, error);
        return error_set(error, "%s: named as raw data, but it is text: use --format=text", name);
    }
    if (!foreign || options->input_codec || is_printable(probe))
        return true;
    return refuse_foreign(foreign, probe, name,
                          is_raw && options->type ? "; if it is not, use --format=raw" : "", error);
}

/* Finds the format by --format, else by magic, else by the name, else by the content. */
static bool detect_format(const struct options *options, const struct format *named,
                          const struct key_type *named_type, struct source *source,
                          const struct format **format, char reason[256], struct error *error)
{
    struct probe probe;
    if (!probe_source(source, &probe, error))
        return false;
    if (options->input_format) {
        *format = options->input_format;
        snprintf(reason, 256, "as --format says");
        return *format == &format_npy || !begins_as_npy(&probe) ||
               error_set(error,
                         "%s: this is a NumPy array, and --format=%s would take its header for "
                         "data: leave --format out",
                         source_name(source), (*format)->name);
    }
    if (begins_as_npy(&probe)) {
        *format = &format_npy;
        snprintf(reason, 256, "by its first bytes");
    } else if (named) {
        *format = named;
        snprintf(reason, 256, "by its name");
        return check_named(options, named, named_type, &probe, source_name(source), error);
    } else if (probe.bytes == 0 && options->type) {
        *format = &format_raw;
        snprintf(reason, 256, "empty");
    } else {
        return detect_by_content(options, &probe, source_name(source), format, reason, error);
    }
    return true;
}

/* Sets *is_npy if the source begins as a NumPy array. Waits only for the first byte if that
 * excludes an array. */
static bool look_for_npy(struct source *source, bool *is_npy, struct error *error)
{
    struct probe probe = {0};
    *is_npy = false;
    for (size_t want = 1; want <= 6; want += 5) { /* the first byte, then all of the magic */
        if (!source_peek(source, want, &probe.head, &probe.bytes, error))
            return false;
        if (probe.bytes == 0 || probe.head[0] != 0x93)
            return true;
    }
    *is_npy = begins_as_npy(&probe);
    return true;
}

/* Returns the end of advice to leave an option out: what a job without -c does. */
static const char *job_without_check(const struct options *options)
{
    return options->check ? ", and the numbers are sorted, not checked" : "";
}

/* Sets *has_mark if the text begins with a byte order mark of UTF-8, and refuses UTF-16, whose
 * lines do not end where its bytes 0x0a are. Waits only for the first byte if that excludes a mark.
 */
static bool look_for_mark(struct source *source, bool *has_mark, struct error *error)
{
    struct probe probe;
    *has_mark = false;
    if (!source_peek(source, 1, &probe.head, &probe.bytes, error))
        return false;
    if (probe.bytes == 0 || !memchr("\xef\xff\xfe", probe.head[0], 3))
        return true;
    if (!probe_source(source, &probe, error))
        return false;
    const char *const remedy = line_error_find_mark(probe.head, probe.bytes);
    *has_mark = remedy && probe.head[0] == 0xef;
    return !remedy || *has_mark || probe.bytes <= SOME_NUMBERS_BYTES ||
           !line_error_is_wide(probe.head, probe.bytes) ||
           error_set(error, "%s: %s; if it is not, use --format=text", source_name(source), remedy);
}

/* With an option for lines any input is text, except a NumPy array, and, without -z and
 * --format=text, UTF-16 and binary content that is named so: sorting their lines destroys them. */
static bool check_lines(const struct options *options, const char *path, const struct format *named,
                        const char *line_word, struct reader *reader, struct error *error)
{
    struct source *const source = reader->source;
    struct probe probe;
    bool is_npy;
    const struct foreign *const named_foreign = find_named_foreign(path);
    const bool is_suspect = named_foreign || (named && named != &format_text);
    if (!look_for_npy(source, &is_npy, error))
        return false;
    if (is_npy && named != &format_npy)
        return error_set(error,
                         "%s: %s is for lines of text, and this is a NumPy array: leave %s out%s",
                         source_name(source), line_word, line_word, job_without_check(options));
    if (!is_npy && (options->input_format || options->order.zero_terminated))
        return true;
    if (!look_for_mark(source, &reader->begins_with_mark, error))
        return false;
    if (!is_npy && !is_suspect)
        return true;
    if (!probe_source(source, &probe, error))
        return false;
    if (named_foreign && !is_npy) {
        const struct foreign *const foreign =
            is_printable(&probe) ? named_foreign : find_foreign(path, &probe);
        const bool is_sure = foreign && foreign_begins_so(foreign, probe.head, probe.bytes);
        return !foreign || (!is_sure && is_printable(&probe)) ||
               refuse_foreign(foreign, &probe, source_name(source),
                              is_sure ? "" : "; if it is not, use --format=text", error);
    }
    return is_printable(&probe) ||
           error_set(error,
                     "%s: %s is for lines of text, and this is named as %s and is no text: leave "
                     "%s out%s",
                     source_name(source), line_word, named->name, line_word,
                     job_without_check(options));
}

/* Refuses data that is compressed twice, or a foreign format inside compressed data. Any bytes
 * would pass as lines or raw numbers. */
static bool check_content(struct source *source, struct error *error)
{
    struct probe probe = {0};
    const char *const codec = source_codec(source)->name;
    if (!source_peek(source, MAGIC_BYTES_MAX, &probe.head, &probe.bytes, error))
        return false;
    const struct codec *const inner = codec_find_by_magic(probe.head, probe.bytes);
    const struct probe begin = {
        .head = probe.head,
        .bytes = probe.bytes < MAGIC_BYTES_USUAL ? probe.bytes : MAGIC_BYTES_USUAL,
    };
    const struct foreign *const usual = foreign_find_by_magic(begin.head, begin.bytes);
    const struct foreign *const foreign =
        usual ? usual : foreign_find_by_magic(probe.head, probe.bytes);
    if (!inner->decode && (!foreign || is_printable(usual ? &begin : &probe)))
        return true;
    if (inner->decode) {
        if (!source_peek(source, SOURCE_PEEK_MAX, &probe.head, &probe.bytes, error))
            return false;
        const uint64_t skipped = inner->skippable_bytes(probe.head, probe.bytes);
        if (skipped >= probe.bytes ||
            !inner->recognises(probe.head + skipped, probe.bytes - skipped) ||
            !inner->is_sound(probe.head + skipped, probe.bytes - skipped))
            return true;
    }
    return error_set(error,
                     "%s: this is %s data inside %s data, to be unpacked first; if it is not, "
                     "use --format=FORMAT:%s",
                     source_name(source), inner->decode ? inner->name : foreign->name, codec,
                     codec);
}

/* Refuses an input with the name of compressed data and other content. It may be damaged, and any
 * bytes would pass as raw numbers or lines. An empty input is refused too, because zstd(1) writes a
 * frame even for no data. Printable text and .npy files are accepted. */
static bool check_codec(const struct options *options, const char *path, struct source *source,
                        const struct format *format, struct error *error)
{
    struct probe probe;
    size_t stem_length;
    char otherwise[64];
    const struct codec *const named = codec_find_by_name(path, &stem_length);
    if (options->input_codec || !named->decode || source_codec(source) == named ||
        format == &format_npy)
        return true;
    if (!probe_source(source, &probe, error))
        return false;
    if (probe.bytes == 0)
        return error_set(error,
                         "%s: it is empty, and %s data has some bytes even for no content: leave "
                         "it out if it should be empty",
                         source_name(source), named->name);
    const struct foreign *const foreign = foreign_find_by_magic(probe.head, probe.bytes);
    const bool is_text = format == &format_text && is_printable(&probe);
    snprintf(otherwise, sizeof otherwise, "; if it is not, use --format=%s:plain", format->name);
    if (foreign && !is_text)
        return refuse_foreign(foreign, &probe, source_name(source), otherwise, error);
    const bool may_be_text = is_text || (format == &format_text && options->order.zero_terminated);
    return may_be_text ||
           error_set(error,
                     "%s: named as %s data, but it is not: unless it is damaged, --format=%s:plain "
                     "reads it as it is",
                     source_name(source), named->name, format->name);
}

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
        return raw_content_check_name(reader->source, layout->type, named_type, options->endian,
                                      error);
    return check_word_of_c(reader->source, options->type_word, layout->type, named_type,
                           options->endian, error);
}

bool plan_choose_format(const struct options *options, const char *path, struct reader *reader,
                        const struct format **format, char reason[256], struct error *error)
{
    const struct key_type *named_type = NULL;
    const struct format *const named = format_find_by_name(path, &named_type);
    const char *const line_word = line_words_find(options);
    if (!options->input_codec && source_codec(reader->source)->decode &&
        !check_content(reader->source, error))
        return false;
    if (line_word) {
        if (!check_lines(options, path, named, line_word, reader, error))
            return false;
        *format = &format_text;
        snprintf(reason, 256, "as %s says", line_word);
    } else if (!detect_format(options, named, named_type, reader->source, format, reason, error)) {
        return false;
    }
    if (!check_codec(options, path, reader->source, *format, error))
        return false;
    reader->layout.type = options->type            ? options->type
                          : *format == &format_raw ? named_type
                                                   : NULL;
    return *format != &format_raw ||
           (plan_check_raw(options, reader->layout.type, reader->source, error) &&
            check_raw_type(options, named_type, reader, reason, error));
}
