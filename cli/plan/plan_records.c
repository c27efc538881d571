/* SPDX-License-Identifier: Apache-2.0 */
/* plan_records.c - see plan.h.
 *
 * Fortran's unformatted files are sequences of records, unless they are opened with
 * access='stream': each record has its length before and after it, in 4 bytes. Read as raw numbers,
 * the lengths would be sorted too, and would shift numbers of 8 bytes by 4.
 */
#include "cli/plan/plan.h"

#include <string.h>

/* Maximum number of records that are examined. */
#define RECORDS_MOST 100

/* Fewer bytes may be numbers that look like records by chance, such as 8 0 0 8. */
#define BYTES_MIN 128

/* The bytes of an input of known size: those that are peeked, and the file. */
struct record_bytes {
    const struct source *source;
    const unsigned char *head;
    size_t head_bytes;
    uint64_t bytes;
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
    return true;
}

/* Sets *are_records if the input is a sequence of records. Equal numbers are none. */
static bool find_records(const struct record_bytes *all, bool *are_records, struct error *error)
{
    uint32_t before, first, after;
    bool vary = false;
    uint64_t place = 0;
    *are_records = false;
    for (size_t i = 0; i < RECORDS_MOST && place < all->bytes; i++) {
        const uint64_t left = all->bytes - place;
        if (left < 8)
            return true;
        if (!read_length(all, place, &before, error))
            return false;
        if (before < sizeof first || before > left - 8)
            return true;
        if (!read_length(all, place + 4, &first, error) ||
            !read_length(all, place + 4 + before, &after, error))
            return false;
        if (before != after)
            return true;
        vary |= first != before;
        place += 8 + (uint64_t)before;
    }
    *are_records = vary && place >= BYTES_MIN;
    return true;
}

bool plan_check_records(struct source *source, struct error *error)
{
    struct record_bytes all = {.source = source};
    if (!source_peek(source, 1, &all.head, &all.head_bytes, error))
        return false;
    all.bytes = source_stop_and_get_left(source);
    if (all.bytes == SIZE_UNKNOWN || (all.bytes > all.head_bytes && !source_has_places(source)))
        return true;
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
