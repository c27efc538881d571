/* SPDX-License-Identifier: Apache-2.0 */
/* plan_raw_header.c - see plan.h.
 *
 * What a file of raw data may have besides its numbers: lengths of records, a count, a header. They
 * would be sorted with the numbers. Only strong evidence leads to an error.
 */
#include "cli/plan/plan.h"
#include "formats/codec/codec.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- Fortran's records ----
 *
 * Fortran's unformatted files are sequences of records, unless they are opened with
 * access='stream': each record has its length before and after it, in 4 bytes. Read as raw numbers,
 * the lengths would be sorted too, and would shift numbers of 8 bytes by 4.
 */

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
    for (; records < RECORDS_MOST && all->bytes - place >= 8; records++) {
        if (!read_length(all, place, &before, error))
            return false;
        if (before < sizeof first)
            return true;
        if (before > all->bytes - place - 8)
            break;
        if (!read_length(all, place + 4, &first, error) ||
            !read_length(all, place + 4 + before, &after, error))
            return false;
        if (before != after)
            return true;
        varied += first != before;
        place += 8 + (uint64_t)before;
    }
    const bool is_cut = records < RECORDS_MOST && place < all->bytes;
    *are_records = !(is_cut && all->is_whole) && 2 * varied > records && place >= BYTES_MIN;
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
        all.bytes != SIZE_UNKNOWN && (all.bytes <= all.head_bytes || source_can_read_at(source));
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

/* ---- A count before the numbers ----
 *
 * Many programs write the count of the numbers before them, or of their bytes, or their shape, in
 * integers of 4 or 8 bytes. As floating point numbers they would be sorted before the others.
 */

/* Fewer numbers may follow a very small one, such as 4e-45, by chance. */
#define COUNT_MIN 8

/* Dimensions and their number, at most. */
#define SHAPE_INTEGERS_MOST ((size_t)8)

/* Words above this are f32 from 5e-10 on, or upper halves of f64 from 1e-77 on, and no counts. So
 * counts of 4 bytes above 805 million are not found. */
#define COUNT_WORD_MAX 0x2fffffffu

static uint32_t load_word(const unsigned char *bytes, bool is_big)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return is_big ? __builtin_bswap32(word) : word;
}

/* Returns the integer of 4 or 8 bytes before such numbers, or 0 if it is no count. */
static uint64_t load_count(const unsigned char *bytes, size_t width, bool is_big,
                           size_t number_bytes)
{
    const uint32_t low = load_word(bytes + (is_big ? width - 4 : 0), is_big);
    const uint32_t high = width == 8 ? load_word(bytes + (is_big ? 0 : 4), is_big) : 0;
    const bool is_low_free = width == 8 && number_bytes == 8;
    return high > COUNT_WORD_MAX || (low > COUNT_WORD_MAX && !is_low_free)
               ? 0
               : (uint64_t)high << 32 | low;
}

/* Returns true if `number`, the first one after the header, is not as small as integers are. */
static bool is_usual(const unsigned char *number, size_t width, bool is_big)
{
    const uint32_t top = load_word(number + (width == 8 && !is_big ? 4 : 0), is_big);
    const uint32_t low = width == 8 ? load_word(number + (is_big ? 4 : 0), is_big) : 0;
    return (top << 1 == 0 && low == 0) || top << 1 >> (width == 8 ? 21 : 24) != 0;
}

/* Returns true if the first `integers` integers of `width` bytes are the count of the numbers after
 * them, or of their bytes, or their shape, perhaps after the number of its dimensions. */
static bool begins_with_count(const unsigned char *head, size_t integers, size_t width, bool is_big,
                              uint64_t bytes, size_t number_bytes)
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
           (product == count || product == rest ||
            (integers > 1 && first == integers - 1 && product / first == count)) &&
           is_usual(head + integers * width, number_bytes, is_big);
}

/* Refuses floating point numbers that begin with their count. Integers may begin so by chance:
 * 3 2 1 0. Consumes nothing. */
static bool check_count(struct source *source, const struct key_type *type, enum key_endian endian,
                        struct error *error)
{
    const bool is_big = endian == ENDIAN_BIG;
    const unsigned char *head;
    size_t head_bytes;
    if (type->kind != KEY_FLOAT || type->bytes < 4) /* 1 and 0 as f16 are 15360 */
        return true;
    if (!source_peek(source, (SHAPE_INTEGERS_MOST + 1) * 8, &head, &head_bytes, error))
        return false;
    const uint64_t bytes = source_stop_and_get_left(source);
    for (size_t width = 4; width <= 8 && bytes != SIZE_UNKNOWN; width += 4)
        for (size_t n = 1; n <= SHAPE_INTEGERS_MOST && n * width + type->bytes <= head_bytes; n++)
            if (begins_with_count(head, n, width, is_big, bytes, type->bytes))
                return error_set(error,
                                 "%s: the first %zu bytes are the count or the shape of the "
                                 "numbers that follow: remove them (tail -c +%zu%s); if they are "
                                 "numbers, use --format=raw",
                                 source_name(source), n * width, n * width + 1,
                                 source_codec(source) == codecs[0] ? "" : ", once decompressed");
    return true;
}

/* ---- Text before the numbers ---- */

/* Fewer characters may be numbers by chance. */
#define TITLE_BYTES_MIN 24

/* Refuses numbers that begin with lines of text, as a header is, and continue with other bytes. In
 * numbers of 2 to 8 bytes, a newline may be a byte of each. Consumes nothing. */
static bool check_title(struct source *source, const struct key_type *type, struct error *error)
{
    const unsigned char *head;
    size_t bytes, title = 0, lines = 0, printable = 0;
    if (!source_peek(source, 4 * TITLE_BYTES_MIN, &head, &bytes, error))
        return false;
    while (title < bytes && (isprint(head[title]) || memchr("\t\n\r", head[title], 3)))
        lines += head[title++] == '\n';
    const size_t after = bytes - title < 4096 ? bytes - title : 4096;
    for (size_t i = title; i < title + after; i++)
        printable += isprint(head[i]) != 0;
    return type->bytes == 1 || title < TITLE_BYTES_MIN || lines == 0 || 8 * lines >= title ||
           after < TITLE_BYTES_MIN || 4 * printable > 3 * after ||
           error_set(error,
                     "%s: it begins with lines of text, as a header is: remove what is before the "
                     "numbers (tail -c +N, if byte N is the first of them); if these are numbers, "
                     "use --format=raw",
                     source_name(source));
}

/* ---- All of it ---- */

bool plan_check_raw_header(struct source *source, const struct key_type *type,
                           enum key_endian endian, struct error *error)
{
    return check_records(source, error) && check_count(source, type, endian, error) &&
           check_title(source, type, error);
}
