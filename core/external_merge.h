/* SPDX-License-Identifier: Apache-2.0 */
/* external_merge.h - sorted runs of items, in memory or on disk, merged by all threads.
 *
 *   runs -> a window of each in memory -> what is sure to go before all that is not yet read
 *     -> cut into pieces -> each merged by a thread -> `write`, in order; then the next round
 *
 * `write` is called by the caller's thread while the next pieces are read and merged.
 */
#ifndef CORE_EXTERNAL_MERGE_H
#define CORE_EXTERNAL_MERGE_H

#include "core/error.h"
#include "core/key_order.h"
#include "formats/spill.h"

#include <stddef.h>
#include <stdint.h>

/* Sorted items, as stored bits. */
struct item_run {
    unsigned char *items; /* NULL: they are spilled; else malloc'ed, and changed by merging */
    struct spill_run spilled;
    uint64_t count;
};

struct external_merge {
    unsigned item_bytes;    /* 4, 8 or 16 */
    struct key_order order; /* of the stored bits */
    struct item_run *runs;
    size_t run_count;
    uint64_t wanted;     /* at most so many items are written */
    unsigned threads;    /* at most so many read and merge */
    size_t memory_bytes; /* for windows and buffers, about; see external_merge_fan_in */
    /* Takes the next items, as stored bits; done with them on return. */
    bool (*write)(void *context, const void *items, size_t count, struct error *error);
    void *context;
};

/* The most runs that are merged at a time in so much memory, so that windows are not too small to
 * be read in turns; two at least. */
size_t external_merge_fan_in(size_t memory_bytes, unsigned threads);

/* Merges all runs, and hands the first `wanted` items, in order, to `write`. Runs in memory are
 * encoded where they are; spilled ones stay as they are. Fails where a run cannot be read, `write`
 * fails, or there is no memory. */
bool external_merge_run(const struct external_merge *merge, struct error *error);

#endif
