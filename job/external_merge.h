/* SPDX-License-Identifier: Apache-2.0 */
/* external_merge.h - merges sorted runs of items, in memory or elsewhere, with all threads.
 *
 *   runs -> a window of each in memory -> the items that come before all unread ones
 *     -> cut into pieces -> each merged by one thread -> `write`, in order; then the next round
 *
 * `write` is called in the caller's thread while the next pieces are read and merged.
 */
#ifndef JOB_EXTERNAL_MERGE_H
#define JOB_EXTERNAL_MERGE_H

#include "core/error.h"
#include "core/key_order.h"
#include "formats/io/sink.h"
#include "formats/io/spill.h"

#include <stddef.h>
#include <stdint.h>

/* A sorted run of items. */
struct item_run {
    unsigned char *items; /* in memory, changed by merging; NULL: spilled, or read by `read` */
    bool is_encoded;      /* the items are ordered bits, not stored bits; set by merging */
    struct spill_run spilled;
    uint64_t begin; /* the item of `spilled` that is the first of this run */
    uint64_t count;

    /* NULL, or reads `count` items from item `first` on, instead of `items` and `spilled`. Each
     * call continues where the last one ended. Called by any thread, one at a time for each run. */
    bool (*read)(void *context, uint64_t first, void *items, size_t count, struct error *error);
    void *context;
    bool reads_anywhere; /* calls of `read` may be for any items, and by several threads at once */
};

/* Reads `count` items from item `first` on, from wherever the run is. */
bool item_run_read(const struct item_run *run, uint64_t first, void *items, size_t count,
                   unsigned item_bytes, struct error *error);

struct external_merge {
    unsigned item_bytes;    /* 4, 8 or 16 */
    struct key_order order; /* of the stored bits */
    struct item_run *runs;
    size_t run_count;
    uint64_t wanted;     /* maximum number of items written */
    unsigned threads;    /* maximum number of threads that read and merge */
    size_t memory_bytes; /* for windows and buffers, approximately; see external_merge_fan_in */
    /* Writes the next items, as stored bits. The memory is reused after it returns. */
    bool (*write)(void *context, const void *items, size_t count, struct error *error);
    void *context;
    const struct sink *output; /* of the job, for messages */
};

/* Returns the maximum number of runs to merge at once in this much memory, at least two, so that
 * windows are large enough to be read in turns. */
size_t external_merge_fan_in(size_t memory_bytes, unsigned threads);

/* Merges all runs, at least one, and passes the first `wanted` items, in order, to `write`. Runs in
 * memory are encoded in place; spilled ones stay unchanged. Both can be merged again. Fails if a
 * run cannot be read or is not in order, `write` fails, or there is no memory. */
bool external_merge_run(const struct external_merge *merge, struct error *error);

#endif
