/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - arrays straight from the kernel: page-aligned, in huge pages where it has them.
 *
 * An array whose size is not known beforehand is a reservation of addresses that is given memory
 * step by step, so that it grows in place and no item is ever copied.
 */
#ifndef CPU_PAGES_H
#define CPU_PAGES_H

#include "core/error.h"

#include <stddef.h>

struct pages {
    unsigned char *data;    /* page-aligned; NULL when nothing is held */
    size_t reserved_bytes;  /* addresses held */
    size_t committed_bytes; /* of them, from the start: readable and writable */
    size_t dropped_bytes;   /* of these, from the start: given back, to read as zero */
};

/* Maps `bytes` (0 is fine) that read as zero. The owner releases. */
bool pages_map(struct pages *pages, size_t bytes, struct error *error);

/* Reserves addresses for most_bytes, but no more than the machine has memory, or the largest half,
 * quarter, ... of that which is granted; nothing is committed. The owner releases. */
bool pages_reserve(struct pages *pages, size_t most_bytes, struct error *error);

/* Makes at least the first `bytes` bytes usable. */
bool pages_commit(struct pages *pages, size_t bytes, struct error *error);

/* Gives back the addresses that are not committed: no more will be. */
void pages_trim(struct pages *pages);

/* Gives back the memory of the first bytes, about, which are not used any more. */
void pages_drop(struct pages *pages, size_t bytes);

/* Gives everything back; fine on what holds nothing. */
void pages_release(struct pages *pages);

#endif
