/* SPDX-License-Identifier: Apache-2.0 */
/* plan_raw_header.c - see plan.h.
 *
 * Raw data may have lengths of records, a count or a header in addition to its numbers. They would
 * be sorted with the numbers. Floating point numbers may be in the other byte order. Only strong
 * evidence leads to an error.
 */
#include "cli/plan/plan.h"
#include "formats/codec/codec.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Minimum bytes that are peeked: HEADER_BYTES, the integers of a shape, and a number. The format's
 * choice has peeked more, 64 KiB of a file and 1 MiB of a pipe. */
#define PEEK_BYTES (HEADER_BYTES + (SHAPE_INTEGERS_MOST + 1) * 8)

/* Maximum bytes before the count in a header, or before a word in it. */
#define HEADER_BYTES ((size_t)64)

/* Maximum integers of a shape: its dimensions, perhaps after their number. */
#define SHAPE_INTEGERS_MOST ((size_t)8)

/* Returns the unsigned integer in `width` bytes, 4 or 8. */
static uint64_t load_bits(const unsigned char *bytes, size_t width, bool is_big)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes, width);
    return is_big ? __builtin_bswap64(bits) >> (64 - 8 * width) : bits;
}

/* Returns the bits of a floating point number of 4 or 8 bytes without its sign, at the top. */
static uint64_t magnitude_of(uint64_t bits, size_t width)
{
    return bits << (65 - 8 * width);
}

/* Returns the exponent field; 0 for 0 and denormal numbers. */
static int exponent_of(uint64_t bits, size_t width)
{
    return (int)(magnitude_of(bits, width) >> (width == 8 ? 53 : 56));
}

static bool is_denormal(uint64_t bits, size_t width)
{
    return magnitude_of(bits, width) != 0 && exponent_of(bits, width) == 0;
}

/* Returns how far from the exponent of 1 the exponents of usual numbers are: of f64 from 1e-90 to
 * 1e90, and of f32 from 1e-12 to 1e12. */
static int far_exponent(size_t width)
{
    return width == 8 ? FAR_EXPONENT : 40;
}

/* The input, and how it would be read. */
struct raw {
    struct source *source;
    const struct key_type *type;
    bool is_big;
    bool is_wide_float; /* of 4 or 8 bytes */
    const unsigned char *head;
    size_t head_bytes;
    uint64_t left;  /* bytes of the input; SIZE_UNKNOWN: not known */
    bool is_whole;  /* all of them can be read at any position */
    uint64_t bytes; /* number of those that can be read: all, or the head */
};

/* ---- Records and blocks ----
 *
 * Fortran's unformatted files are sequences of records, unless they are opened with
 * access='stream': each record has its length before and after it, in 4 bytes, or in 8. Other
 * programs write the count of the numbers of a block, or of their bytes, before it. Read as raw
 * numbers, these lengths would be sorted too, and would shift numbers of 8 bytes by 4.
 */

/* Maximum number of records that are examined. */
#define RECORDS_MOST 100

/* Fewer bytes may be numbers that look like records by chance, such as 8 0 0 8. */
#define BYTES_MIN 128

struct lengths {
    size_t width;         /* 4 or 8 bytes each */
    size_t unit_bytes;    /* they are counts of items of this size */
    size_t number_bytes;  /* of a number, in blocks of floating point numbers; 0: records */
    bool are_swapped;     /* they have the other byte order than this machine */
    uint64_t most;        /* greater integers are no lengths */
    size_t records_least; /* minimum number of records if they are all of the input */
    size_t records_min;   /* the same if the bytes after them were not examined */
};

/* Returns true for records, each of which has its length after it, too. */
static bool are_after(const struct lengths *lengths)
{
    return lengths->number_bytes == 0;
}

/* Sets *bits to the `width` bytes at this position; to 0 at the end of the input. */
static bool read_bits(const struct raw *raw, const struct lengths *lengths, size_t width,
                      uint64_t position, uint64_t *bits, struct error *error)
{
    unsigned char bytes[8];
    size_t got = 0;
    if (position + width <= raw->head_bytes)
        memcpy(bytes, raw->head + position, got = width);
    else if (position + width <= raw->bytes &&
             !source_read_at(raw->source, position, bytes, width, &got, error))
        return false;
    *bits = got == width ? load_bits(bytes, width, lengths->are_swapped) : 0;
    return true;
}

/* As read_bits() of a length. */
static bool read_length(const struct raw *raw, const struct lengths *lengths, uint64_t position,
                        uint64_t *length, struct error *error)
{
    if (!read_bits(raw, lengths, lengths->width, position, length, error))
        return false;
    if (lengths->width == 4 && are_after(lengths) && *length > INT32_MAX)
        *length = -(uint32_t)*length; /* gfortran's, where a record of 2 GiB is continued */
    return true;
}

/* Sets *are_records if the input, or its first bytes if only they can be read, is a sequence of
 * records or blocks, of which the first RECORDS_MOST are examined. Equal numbers look like records,
 * so most records must begin with another value than their length. A denormal number does not begin
 * a block. */
static bool find_records(const struct raw *raw, const struct lengths *lengths, bool *are_records,
                         struct error *error)
{
    const size_t width = lengths->width, around = are_after(lengths) ? 2 * width : width;
    uint64_t before, first, after, place = 0, records = 0, varied = 0;
    *are_records = false;
    for (; records < RECORDS_MOST && raw->bytes - place >= around; records++) {
        if (!read_length(raw, lengths, place, &before, error))
            return false;
        const uint64_t bytes = before * lengths->unit_bytes;
        if (before > lengths->most || bytes < width)
            return true;
        if (bytes > raw->bytes - place - around)
            break;
        if (are_after(lengths)) {
            if (!read_length(raw, lengths, place + width, &first, error) ||
                !read_length(raw, lengths, place + width + bytes, &after, error))
                return false;
            if (before != after)
                return true;
        } else {
            const size_t number_bytes = lengths->number_bytes;
            if (!read_bits(raw, lengths, number_bytes, place + width, &first, error))
                return false;
            if (is_denormal(first, number_bytes))
                return true;
        }
        varied += first != before;
        place += around + bytes;
    }
    const bool is_cut = records < RECORDS_MOST && place < raw->bytes;
    const size_t least = place == raw->bytes ? lengths->records_least : lengths->records_min;
    *are_records = !(is_cut && raw->is_whole) && 2 * varied > records && records >= least &&
                   place >= BYTES_MIN;
    return true;
}

/* Refuses records, and blocks of floating point numbers after their counts or lengths, which would
 * be denormal numbers. Integers may have such values by chance. */
static bool check_records(const struct raw *raw, struct error *error)
{
    const bool is_float = raw->is_wide_float, is_big = raw->is_big;
    const size_t least = is_float ? 1 : 8, unit = raw->type->bytes;
    const uint64_t small = 1 << 23, most = unit == 8 ? UINT64_C(1) << 40 : small;
    const struct lengths kinds[] = {
        {4, 1, 0, false, UINT32_MAX, 1, 1},    {4, 1, 0, true, UINT32_MAX, 1, 1},
        {8, 1, 0, is_big, most, least, least}, {8, 1, unit, is_big, most, 2, 8},
        {8, unit, unit, is_big, most, 2, 8},   {4, 1, unit, is_big, small, 2, 8},
        {4, unit, unit, is_big, small, 2, 8},
    };
    const size_t count = is_float ? sizeof kinds / sizeof kinds[0] : 3;
    for (const struct lengths *lengths = kinds; lengths < kinds + count; lengths++) {
        bool are_records;
        if (!find_records(raw, lengths, &are_records, error))
            return false;
        if (are_records)
            return error_set(error,
                             "%s: these are %s, each with its length or count of %zu bytes: write "
                             "the numbers alone (in Fortran with access='stream'); if these are "
                             "numbers alone, use --format=raw",
                             source_name(raw->source),
                             are_after(lengths) ? "records of Fortran" : "blocks of numbers",
                             lengths->width);
    }
    return true;
}

/* ---- A count before the numbers ----
 *
 * Many programs write the count of the numbers before them, or of their bytes, or their shape, in
 * integers of 4 or 8 bytes. As floating point numbers they are tiny, and would be sorted among the
 * others.
 */

/* Fewer numbers may follow a very small one, such as 4e-45, by chance. */
#define COUNT_MIN 8

/* Minimum of the numbers of a table. The first two of fewer integers may be its size by chance. */
#define TABLE_MIN 1024

/* Words above this are f32 from 5e-10 on, or upper halves of f64 from 1e-77 on, and no counts. So
 * counts of 4 bytes above 805 million are not found. */
#define COUNT_WORD_MAX 0x2fffffffu

/* Returns an integer of 4 or 8 bytes before floating point numbers, or 0 if it is no count. */
static uint64_t load_count(const unsigned char *bytes, size_t width, bool is_big,
                           size_t number_bytes)
{
    const uint64_t count = load_bits(bytes, width, is_big);
    const bool is_low_free = width == 8 && number_bytes == 8;
    return count >> 32 > COUNT_WORD_MAX || ((uint32_t)count > COUNT_WORD_MAX && !is_low_free)
               ? 0
               : count;
}

/* Returns true if the first `integers` integers of `width` bytes are the count of the numbers after
 * them, or with may_be_bytes of their bytes, or their shape, perhaps after the number of its
 * dimensions; and if these are at least COUNT_MIN numbers, the first of which is not denormal, as a
 * small integer is. */
static bool begins_with_count(const unsigned char *head, size_t integers, size_t width, bool is_big,
                              uint64_t bytes, size_t number_bytes, bool may_be_bytes)
{
    const uint64_t rest = bytes - integers * width, count = rest / number_bytes;
    const uint64_t first = load_count(head, width, is_big, number_bytes);
    uint64_t product = 1;
    for (size_t i = 0; i < integers; i++) {
        const uint64_t next = load_count(head + i * width, width, is_big, number_bytes);
        if (next == 0 || __builtin_mul_overflow(product, next, &product))
            return false;
    }
    return rest % number_bytes == 0 && count >= COUNT_MIN &&
           (product == count || (product == rest && may_be_bytes) ||
            (integers > 1 && first == integers - 1 && product / first == count)) &&
           !is_denormal(load_bits(head + integers * width, number_bytes, is_big), number_bytes);
}

/* Returns true if the bytes are printable, and the first one is not blank. */
static bool is_word(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isgraph(bytes[i]) && (i == 0 || bytes[i] != ' '))
            return false;
    return true;
}

/* The bytes of a number of IDX, by the type in its header. */
static const unsigned char idx_number_bytes[] = {[8] = 1, 1, [11] = 2, 4, 4, 8};

/* Returns the bytes of a header of IDX, as the files of MNIST have it: two bytes 0, a type, the
 * number of dimensions, and these in big-endian order. 0: the numbers do not begin so. */
static size_t idx_header_bytes(const struct raw *raw)
{
    const unsigned char *const head = raw->head;
    if (raw->head_bytes < 8 || load_bits(head, 4, true) >= sizeof idx_number_bytes << 8 ||
        head[3] == 0)
        return 0;
    const size_t bytes = 4 + 4 * (size_t)head[3];
    uint64_t product = idx_number_bytes[head[2]];
    for (size_t i = 4; i < bytes && i + 4 <= raw->head_bytes; i += 4)
        if (__builtin_mul_overflow(product, load_bits(head + i, 4, true), &product))
            return 0;
    return product > 0 && product + bytes == raw->left ? bytes : 0;
}

/* Returns true if most of the numbers from byte `begin` on are greater than `count`, and the first
 * one differs from it by more than 1. So they are neither indices of `count` items nor a range that
 * continues `count`. */
static bool are_beyond(const struct raw *raw, size_t begin, uint64_t count)
{
    const size_t bytes = raw->type->bytes;
    const unsigned shift = 64 - 8 * (unsigned)bytes;
    const uint64_t first = load_bits(raw->head + begin, bytes, raw->is_big);
    size_t numbers = 0, beyond = 0;
    for (size_t i = begin; i + bytes <= raw->head_bytes; i += bytes) {
        const uint64_t number = load_bits(raw->head + i, bytes, raw->is_big);
        const bool is_negative = raw->type->kind != KEY_UNSIGNED && number << shift >> 63 != 0;
        numbers++;
        beyond += number > count && !is_negative;
    }
    return 2 * beyond > numbers && first != count + 1 && first != count - 1;
}

/* Returns the bytes of integers before other integers: the rows and columns of a table, whose
 * product is the count of the numbers; or their count alone, if the numbers have 4 bytes or more
 * and are beyond it, as 3 2 1 0 begins with a count too. 0: there are none. */
static size_t integer_header_bytes(const struct raw *raw)
{
    const size_t number_bytes = raw->type->bytes;
    for (size_t width = 4; width <= 8 && 2 * width <= raw->head_bytes; width += 4) {
        const uint64_t first = load_bits(raw->head, width, raw->is_big);
        const uint64_t second = load_bits(raw->head + width, width, raw->is_big);
        const uint64_t rest = raw->left - 2 * width, count = rest / number_bytes;
        if (first > 1 && second > 1 && count >= TABLE_MIN && count % first == 0 &&
            count / first == second && rest % number_bytes == 0)
            return 2 * width;
        if (number_bytes >= 4 && first >= TABLE_MIN &&
            (raw->left - width) / number_bytes == first &&
            (raw->left - width) % number_bytes == 0 && are_beyond(raw, width, first))
            return width;
    }
    return 0;
}

/* Returns the bytes of the count or the shape before the numbers. Before floating point numbers, up
 * to HEADER_BYTES of a word, a version or the like may precede it, and are included. After a
 * version, a count of bytes may be of other integers too, so it is none. 0: none. */
static size_t count_header_bytes(const struct raw *raw)
{
    const unsigned char *const head = raw->head;
    const size_t head_bytes = raw->head_bytes, number_bytes = raw->type->bytes;
    if (!raw->is_wide_float) /* no count: 1 and 0 as f16 are 15360 */
        return integer_header_bytes(raw);
    for (size_t i = 0; i <= HEADER_BYTES; i += 4)
        for (size_t j = 1; j <= 2 * SHAPE_INTEGERS_MOST; j++) {
            const size_t width = j % 2 ? 4 : 8, n = (j + 1) / 2, end = i + n * width;
            if (end + number_bytes <= head_bytes &&
                begins_with_count(head + i, n, width, raw->is_big, raw->left - i, number_bytes,
                                  i == 0 || is_word(head, 4)))
                return end;
        }
    return 0;
}

static bool check_count(const struct raw *raw, struct error *error)
{
    if (raw->left == SIZE_UNKNOWN) /* of a pipe that does not end among the peeked bytes */
        return true;
    const size_t idx_bytes = idx_header_bytes(raw);
    const size_t bytes = idx_bytes > 0 ? idx_bytes : count_header_bytes(raw);
    const bool is_swapped = idx_bytes > 0 && !raw->is_big && raw->type->bytes > 1 &&
                            raw->type->bytes == idx_number_bytes[raw->head[2]];
    return bytes == 0 ||
           error_set(error,
                     "%s: the first %zu bytes are the count or the shape of the numbers that "
                     "follow%s: remove them (tail -c +%zu%s); if they are numbers, use "
                     "--format=raw",
                     source_name(raw->source), bytes,
                     is_swapped ? ", which are big-endian (--endian=big)" : "", bytes + 1,
                     source_command_note(raw->source));
}

/* ---- Text before the numbers ---- */

/* Fewer characters may be numbers by chance. */
#define TITLE_BYTES_MIN 24

/* Returns true if numbers begin with lines of text, as a header is, and continue with other bytes.
 * In numbers of 2 to 8 bytes, a newline may be a byte of each. */
static bool begins_with_lines(const struct raw *raw)
{
    const unsigned char *const head = raw->head;
    const size_t bytes = raw->head_bytes;
    size_t title = 0, lines = 0, printable = 0;
    while (title < bytes && (isprint(head[title]) || memchr("\t\n\r", head[title], 3)))
        lines += head[title++] == '\n';
    const size_t after = bytes - title < 4096 ? bytes - title : 4096;
    for (size_t i = title; i < title + after; i++)
        printable += isprint(head[i]) != 0;
    return raw->type->bytes > 1 && title >= TITLE_BYTES_MIN && lines > 0 && 8 * lines < title &&
           after >= TITLE_BYTES_MIN && 4 * printable <= 3 * after;
}

/* ---- A word or an integer before the numbers ----
 *
 * Many headers have a word in their first bytes. Numbers of which a part is a word have an exponent
 * by chance. The bytes are a header if all other numbers have exponents near that of 1, and one of
 * the first numbers is far from them.
 */

/* Maximum of the bytes that are examined, and minimum of the numbers in them. */
#define USUAL_BYTES ((size_t)32 << 10)
#define USUAL_MIN 32

/* Minimum of the usual numbers for each far number after the first one. */
#define USUAL_PER_FAR 512

struct exponent_range {
    int lowest, highest;
    uint64_t far_bits; /* the last number that is far from these, such as a mark of no value */
};

/* Finds the exponents of the numbers from byte `begin` on, without 0, infinities and NaNs. Returns
 * false if these are few, or if several are far from that of 1. A far number that is repeated, such
 * as a mark of no value, counts once. */
static bool find_exponents(const struct raw *raw, size_t begin, struct exponent_range *exponents)
{
    const size_t number_bytes = raw->type->bytes;
    const size_t bytes = raw->head_bytes < USUAL_BYTES ? raw->head_bytes : USUAL_BYTES;
    const int middle = number_bytes == 8 ? 1023 : 127;
    const int far = far_exponent(number_bytes);
    size_t counted = 0, far_count = 0;
    *exponents = (struct exponent_range){INT_MAX, 0, 0};
    for (size_t i = begin; i + number_bytes <= bytes; i += number_bytes) {
        const uint64_t bits = load_bits(raw->head + i, number_bytes, raw->is_big);
        const int exponent = exponent_of(bits, number_bytes);
        if (exponent == 2 * middle + 1 || magnitude_of(bits, number_bytes) == 0)
            continue;
        if (abs(exponent - middle) > far) {
            far_count += bits != exponents->far_bits;
            exponents->far_bits = bits;
            continue;
        }
        exponents->lowest = exponent < exponents->lowest ? exponent : exponents->lowest;
        exponents->highest = exponent > exponents->highest ? exponent : exponents->highest;
        counted++;
    }
    return counted >= USUAL_MIN && far_count <= 1 + counted / USUAL_PER_FAR;
}

/* Returns true if floating point numbers begin with a header. A word has 8 characters. If the
 * number is denormal, because an integer follows the word, 4 are enough. */
static bool begins_with_word(const struct raw *raw)
{
    const unsigned char *const head = raw->head;
    const size_t number_bytes = raw->type->bytes;
    const int margin = number_bytes == 8 ? 64 : 16;
    struct exponent_range exponents;
    size_t begin = HEADER_BYTES;
    while (begin < raw->head_bytes && isprint(head[begin])) /* the text of a longer header */
        begin++;
    if (!raw->is_wide_float || !find_exponents(raw, (begin + 7) / 8 * 8, &exponents))
        return false;
    for (size_t i = 0; i < HEADER_BYTES; i += number_bytes) {
        const uint64_t bits = load_bits(head + i, number_bytes, raw->is_big);
        const int exponent = exponent_of(bits, number_bytes);
        const bool is_far =
            exponent < exponents.lowest - margin || exponent > exponents.highest + margin;
        if (is_far && bits != exponents.far_bits && magnitude_of(bits, number_bytes) != 0 &&
            is_word(head + i / 8 * 8, exponent == 0 ? 4 : 8))
            return true;
    }
    return false;
}

/* Maximum bytes of integers before the numbers, if they are not their exact count or shape. */
#define INTEGERS_BYTES ((size_t)16)

/* Returns true if floating point numbers begin with integers, as a count, a shape or the length of
 * a record are. Such integers are denormal numbers, in pipes also f32 below 3.9e-34, or shift
 * numbers of 8 bytes by 4, so that only the shifted ones have usual exponents. */
static bool begins_with_integers(const struct raw *raw)
{
    const size_t number_bytes = raw->type->bytes;
    struct exponent_range exponents;
    if (!raw->is_wide_float)
        return false;
    for (size_t end = 4; end <= INTEGERS_BYTES && end < raw->head_bytes; end += 4) {
        if (raw->left != SIZE_UNKNOWN && (raw->left - end) % number_bytes != 0)
            continue;
        const size_t width = end % number_bytes == 0 ? number_bytes : 4;
        const int bits = width == 8 ? 52 : number_bytes == 8 ? 30 : raw->is_whole ? 23 : 27;
        uint64_t greatest = 0;
        for (size_t i = 0; i < end; i += width) {
            const uint64_t next = load_bits(raw->head + i, width, raw->is_big);
            greatest = next > greatest ? next : greatest;
        }
        if (greatest >= COUNT_MIN && greatest >> bits == 0 &&
            find_exponents(raw, end, &exponents) && greatest != exponents.far_bits)
            return true;
    }
    return false;
}

/* ---- Truth values ---- */

/* Refuses truth values that are neither 0 nor 1 among the first bytes, unless they are 0 and one
 * other value, as in a mask. */
static bool check_truth(const struct raw *raw, struct error *error)
{
    const unsigned char *const head = raw->head;
    const size_t bytes = raw->head_bytes;
    size_t i = 0;
    unsigned char truth = 0;
    if (raw->type->id != KEY_TYPE_bool)
        return true;
    for (; i < bytes && (head[i] == 0 || truth == 0 || head[i] == truth); i++)
        truth = head[i] != 0 ? head[i] : truth;
    return i == bytes ||
           error_set(error,
                     "%s: byte %zu is %u, after one that is %u, and bool has only 0 and 1: use "
                     "--type=uint8 for bytes, or --format=raw to sort them as bool",
                     source_name(raw->source), i + 1, head[i], truth);
}

/* ---- The check ---- */

bool plan_check_raw_header(struct source *source, const struct key_type *type,
                           enum key_endian endian, struct error *error)
{
    struct raw raw = {
        .source = source,
        .type = type,
        .is_big = endian == ENDIAN_BIG,
        .is_wide_float = type->kind == KEY_FLOAT && type->bytes >= 4,
    };
    if (!source_peek(source, PEEK_BYTES, &raw.head, &raw.head_bytes, error))
        return false;
    raw.left = source_stop_and_get_left(source);
    raw.is_whole =
        raw.left != SIZE_UNKNOWN && (raw.left <= raw.head_bytes || source_can_read_at(source));
    raw.bytes = raw.is_whole ? raw.left : raw.head_bytes;
    if (!check_truth(&raw, error) || !check_records(&raw, error) || !check_count(&raw, error))
        return false;
    if (begins_with_lines(&raw) || begins_with_word(&raw))
        return error_set(
            error,
            "%s: it begins with text, as a header is: remove what is before the numbers "
            "(tail -c +N, if byte N is the first of them%s); if these are numbers, use "
            "--format=raw",
            source_name(source), source_command_note(source));
    return !begins_with_integers(&raw) ||
           error_set(error,
                     "%s: it begins with an integer, such as the count of the numbers or the "
                     "length of a record: write the numbers alone; if these are numbers, use "
                     "--format=raw",
                     source_name(source));
}

/* ---- Byte order ----
 *
 * Java, network protocols and some instruments write numbers in big-endian order. A name such as
 * x.f64, or --type=f64, does not say the order. Floating point numbers show it: in the wrong order
 * the last bits of their significands, which are random or zero, are their exponents. Integers do
 * not: samples of 16 bits at the top of 32 bits, or hashes above a tag in 64, are usual in
 * little-endian order too.
 */

/* Maximum of the bytes that are examined, and minimum of the numbers in them that are counted. */
#define ORDER_BYTES ((size_t)32 << 10)
#define ORDER_NUMBERS_MIN ((size_t)16)

/* counted: numbers that are neither 0 nor infinite nor a NaN nor equal to the one before. usual:
 * those from 1e-90 to 1e90, or with 4 bytes from 1e-12 to 1e12. */
struct magnitudes {
    size_t counted, usual;
};

static struct magnitudes count_magnitudes(const unsigned char *numbers, size_t bytes,
                                          size_t number_bytes, bool is_big)
{
    struct magnitudes magnitudes = {0};
    uint64_t last = 0;
    const int middle = number_bytes == 8 ? 1023 : 127;
    for (size_t i = 0; i + number_bytes <= bytes; i += number_bytes) {
        const uint64_t word = load_bits(numbers + i, number_bytes, is_big);
        const int exponent = exponent_of(word, number_bytes);
        const bool is_far = abs(exponent - middle) > far_exponent(number_bytes);
        if (magnitude_of(word, number_bytes) == 0 || word == last || exponent == 2 * middle + 1)
            continue;
        last = word;
        magnitudes.counted++;
        magnitudes.usual += !is_far;
    }
    return magnitudes;
}

bool plan_look_for_swapped(struct source *source, const struct key_type *type,
                           enum key_endian endian, bool *are_swapped, struct error *error)
{
    const bool is_big = endian == ENDIAN_BIG;
    const unsigned char *head;
    size_t bytes;
    *are_swapped = false;
    if (type->id != KEY_TYPE_f64 && type->id != KEY_TYPE_f32)
        return true;
    if (!source_peek(source, 1, &head, &bytes, error))
        return false;
    bytes = bytes < ORDER_BYTES ? bytes : ORDER_BYTES;
    const struct magnitudes own = count_magnitudes(head, bytes, type->bytes, is_big);
    const struct magnitudes other = count_magnitudes(head, bytes, type->bytes, !is_big);
    *are_swapped = own.counted >= ORDER_NUMBERS_MIN && other.counted >= ORDER_NUMBERS_MIN &&
                   2 * own.usual < own.counted && 20 * other.usual >= 19 * other.counted;
    return true;
}

bool plan_check_byte_order(struct source *source, const struct key_type *type,
                           enum key_endian endian, struct error *error)
{
    bool are_swapped;
    if (!plan_look_for_swapped(source, type, endian, &are_swapped, error))
        return false;
    if (!are_swapped)
        return true;
    if (endian == ENDIAN_BIG)
        return error_set(
            error,
            "%s: these look like little-endian %s: leave --endian=big out, in a job of "
            "their own if other files need it, or use --type='>f%u' if they are not",
            source_name(source), type->name, type->bytes);
    return error_set(error,
                     "%s: these look like big-endian %s: use --endian=big, or --endian=little if "
                     "they are not",
                     source_name(source), type->name);
}
