/* SPDX-License-Identifier: Apache-2.0 */
/* plan_raw.c - see plan.h.
 *
 * Fortran's unformatted files are sequences of records, unless they are opened with
 * access='stream': each record has its length before and after it, in 4 bytes. Read as raw numbers,
 * the lengths would be sorted too, and would shift numbers of 8 bytes by 4.
 *
 * Many programs write the count of the numbers before them, as an integer of 4 or 8 bytes, or the
 * rows and columns, as two of 4. As a floating point number it would be sorted before the others.
 *
 * Java, network protocols and some instruments write numbers in big-endian order. A name such as
 * x.f64, or --type=f64, does not say the order. Floating point numbers show it: in the wrong order
 * the last bits of their significands, which are random or zero, are their exponents. Integers do
 * not: samples of 16 bits at the top of 32 bits are usual in little-endian order too.
 */
#include "cli/plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* ---- Fortran's records ---- */

/* Maximum number of records that are examined. */
#define RECORDS_MOST 100

/* Fewer bytes may be numbers that look like records by chance, such as 8 0 0 8. */
#define BYTES_MIN 128

/* The bytes of an input: those that are peeked, and the file, unless only the first can be read. */
struct record_bytes {
    const struct source *source;
    const unsigned char *head;
    size_t head_bytes;
    uint64_t bytes;
    bool is_whole;   /* these are all bytes of the input */
    bool is_swapped; /* lengths have the other byte order */
};

static bool read_length(const struct record_bytes *all, uint64_t place, uint32_t *length,
                        struct error *error)
{
    size_t got = sizeof *length;
    if (place + sizeof *length <= all->head_bytes)
        memcpy(length, all->head + place, sizeof *length);
    else if (!source_read_at(all->source, place, length, got, &got, error))
        return false;
    *length = got < sizeof *length ? 0 : all->is_swapped ? __builtin_bswap32(*length) : *length;
    if (*length > INT32_MAX) /* gfortran negates a length where a record of 2 GiB is continued */
        *length = -*length;
    return true;
}

/* Sets *are_records if the input is a sequence of records, or its first bytes if only they can be
 * read. Numbers of which most are equal are none. */
static bool find_records(const struct record_bytes *all, bool *are_records, struct error *error)
{
    uint32_t before, first, after;
    uint64_t place = 0, records = 0, varied = 0;
    *are_records = false;
    for (; records < RECORDS_MOST && place < all->bytes; records++) {
        const uint64_t left = all->bytes - place;
        if (left < 8 && !all->is_whole)
            break;
        if (left < 8)
            return true;
        if (!read_length(all, place, &before, error))
            return false;
        if (before > left - 8 && before >= sizeof first && !all->is_whole)
            break;
        if (before < sizeof first || before > left - 8)
            return true;
        if (!read_length(all, place + 4, &first, error) ||
            !read_length(all, place + 4 + before, &after, error))
            return false;
        if (before != after)
            return true;
        varied += first != before;
        place += 8 + (uint64_t)before;
    }
    *are_records = 2 * varied > records && place >= BYTES_MIN;
    return true;
}

/* Refuses records. Consumes nothing. */
static bool check_records(struct source *source, struct error *error)
{
    struct record_bytes all = {.source = source};
    if (!source_peek(source, 1, &all.head, &all.head_bytes, error))
        return false;
    all.bytes = source_stop_and_get_left(source);
    all.is_whole =
        all.bytes != SIZE_UNKNOWN && (all.bytes <= all.head_bytes || source_has_places(source));
    if (!all.is_whole)
        all.bytes = all.head_bytes;
    for (size_t i = 0; i < 2; i++, all.is_swapped = true) {
        bool are_records;
        if (!find_records(&all, &are_records, error))
            return false;
        if (are_records)
            return error_set(error,
                             "%s: these are records of Fortran, each with its length before and "
                             "after it: write the numbers with access='stream'; if these are "
                             "numbers alone, use --format=raw",
                             source_name(source));
    }
    return true;
}

/* ---- A count before the numbers ---- */

/* Fewer numbers may follow a very small one, such as 4e-45, by chance. */
#define COUNT_MIN 8

/* Returns true if the first `header_bytes` bytes, 4 or 8, are the count of the numbers after them,
 * or its two factors. */
static bool begins_with_count(const unsigned char *head, size_t header_bytes, uint64_t bytes,
                              size_t number_bytes)
{
    uint64_t header = 0, first = 0; /* the first number, which f32 has in the upper half */
    const uint64_t rest = bytes - header_bytes, count = rest / number_bytes;
    memcpy(&header, head, header_bytes);
    memcpy((unsigned char *)&first + (sizeof first - number_bytes), head + header_bytes,
           number_bytes);
    if (first << 1 != 0 && first << 1 >> (number_bytes == 8 ? 53 : 56) == 0)
        return false; /* a small integer too */
    return rest % number_bytes == 0 && count >= COUNT_MIN &&
           (header == count || (header >> 32) * (uint32_t)header == count);
}

/* Refuses floating point numbers that begin with their count. Integers may begin so by chance: 3 2
 * 1 0. Consumes nothing. */
static bool check_count(struct source *source, const struct key_type *type, struct error *error)
{
    const unsigned char *head;
    size_t head_bytes;
    if (type->kind != KEY_FLOAT || type->bytes < 4) /* 1 and 0 as f16 are 15360 */
        return true;
    if (!source_peek(source, 16, &head, &head_bytes, error))
        return false;
    const uint64_t bytes = source_stop_and_get_left(source);
    for (size_t header = 4; header <= 8 && head_bytes >= 16 && bytes != SIZE_UNKNOWN; header += 4)
        if (begins_with_count(head, header, bytes, type->bytes))
            return error_set(error,
                             "%s: the first %zu bytes are the count of the numbers that follow: "
                             "remove them (tail -c +%zu); if they are numbers, use --format=raw",
                             source_name(source), header, header + 1);
    return true;
}

/* ---- The byte order ---- */

/* Maximum of the bytes that are examined, and minimum of the numbers in them that are counted. */
#define ORDER_BYTES ((size_t)32 << 10)
#define ORDER_NUMBERS_MIN ((size_t)16)

/* Numbers that are neither 0 nor infinite nor equal to the one before, and those of them from 1e-90
 * to 1e90, or with 4 bytes from 1e-12 to 1e12. */
struct magnitudes {
    size_t counted, usual;
};

static struct magnitudes count_magnitudes(const unsigned char *numbers, size_t bytes,
                                          size_t number_bytes, bool is_swapped)
{
    struct magnitudes magnitudes = {0};
    uint64_t last = 0;
    for (size_t i = 0; i + number_bytes <= bytes; i += number_bytes) {
        uint64_t bits = 0; /* as f64, and for f32 in the upper half */
        memcpy((unsigned char *)&bits + (sizeof bits - number_bytes), numbers + i, number_bytes);
        if (is_swapped)
            bits = __builtin_bswap64(bits) << (64 - 8 * number_bytes);
        const bool is_double = number_bytes == 8;
        const int exponent = (int)(bits << 1 >> (is_double ? 53 : 56));
        const int distance = abs(exponent - (is_double ? 1023 : 127));
        if (bits << 1 == 0 || bits == last ||
            (exponent == (is_double ? 2047 : 255) && bits << 16 == 0))
            continue;
        last = bits;
        magnitudes.counted++;
        magnitudes.usual += distance <= (is_double ? 299 : 40);
    }
    return magnitudes;
}

/* Refuses floating point numbers that are hardly such in little-endian order, and surely in
 * big-endian order. Consumes nothing. */
static bool check_byte_order(struct source *source, const struct key_type *type,
                             struct error *error)
{
    const unsigned char *head;
    size_t bytes;
    if (type->id != KEY_TYPE_f64 && type->id != KEY_TYPE_f32)
        return true;
    if (!source_peek(source, 1, &head, &bytes, error))
        return false;
    bytes = bytes < ORDER_BYTES ? bytes : ORDER_BYTES;
    const struct magnitudes little = count_magnitudes(head, bytes, type->bytes, false);
    const struct magnitudes big = count_magnitudes(head, bytes, type->bytes, true);
    return little.counted < ORDER_NUMBERS_MIN || big.counted < ORDER_NUMBERS_MIN ||
           2 * little.usual >= little.counted || 20 * big.usual < 19 * big.counted ||
           error_set(error,
                     "%s: these look like big-endian %s: use --endian=big, or --endian=little if "
                     "they are not",
                     source_name(source), type->name);
}

bool plan_check_raw(const struct options *options, const struct key_type *type,
                    struct source *source, struct error *error)
{
    const struct key_type *const read_as = type ? type : &key_types[KEY_TYPE_f64];
    if (!options->input_format &&
        (!check_records(source, error) || !check_count(source, read_as, error)))
        return false;
    return options->endian_said || !type || check_byte_order(source, type, error);
}
