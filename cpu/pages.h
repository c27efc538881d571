/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - arrays mapped from the kernel: page-aligned, in huge pages where available.
 *
 * An array of unknown size is a reservation of addresses that is committed step by step, so that it
 * grows in place. Not thread-safe.
 */
#ifndef CPU_PAGES_H
#define CPU_PAGES_H

#include "core/error.h"

#include <stddef.h>

struct pages {
    unsigned char *data;    /* page-aligned; NULL: nothing is mapped */
    size_t reserved_bytes;  /* addresses held */
    size_t committed_bytes; /* of these, from the start: readable and writable */
    size_t dropped_bytes;   /* of these, from the start: memory given back; reads as zero */
};

/* Maps `bytes` (may be 0) that read as zero. The caller releases. */
bool pages_map(struct pages *pages, size_t bytes, struct error *error);

/* Fails if pages_map() would find no addresses for the bytes. Takes no memory. */
bool pages_check(size_t bytes, struct error *error);

/* Reserves addresses for most_bytes, but at most for the physical memory rounded up to a power of
 * two. If that is refused, tries a half, a quarter and so on, down to 64 MiB. Commits nothing. The
 * caller releases. */
bool pages_reserve(struct pages *pages, size_t most_bytes, struct error *error);

/* Commits at least the first `bytes` bytes. Fails if they are more than the reservation. */
bool pages_commit(struct pages *pages, size_t bytes, struct error *error);

/* Releases the addresses that are not committed. No pages_commit may follow. */
void pages_trim(struct pages *pages);

/* Gives back the memory of the first `bytes` bytes, rounded down to a multiple of 64 MiB, which the
 * caller no longer uses. */
void pages_drop(struct pages *pages, size_t bytes);

/* Releases everything; may be called with nothing mapped. */
void pages_release(struct pages *pages);

#endif
