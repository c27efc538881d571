/* SPDX-License-Identifier: Apache-2.0 */
/* partition_workspace.h - what one thread needs for a partition, beside the items.
 *
 * Its size goes by the task: where a few megabytes are sorted, untouched memory of many threads
 * would cost more than the sort, as the system clears it in huge pages.
 */
#ifndef CPU_PARTITION_WORKSPACE_H
#define CPU_PARTITION_WORKSPACE_H

#include "core/key_order.h"
#include "cpu/counting/few_values.h"
#include "cpu/partition/item_kernels.h"
#include "cpu/partition/bucket_model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys that a model is learned from, at the most. */
#define SAMPLES_MAX ((size_t)16 << 10)

/* Items that are together in one array, with the same cursors free in the other. */
struct item_range {
    unsigned char *from, *other;
    size_t begin, count;
    struct key_order order; /* of the keys as they are in `from` */
    size_t parent_count;    /* items of the range that this one is a bucket of */
};

/* Items of a part of the input: in their place, or in the room that belongs to it. */
struct quicksort_part {
    unsigned char *place, *room;
    size_t count;
    bool is_in_room;
};

struct partition_workspace {
    struct bucket_model model;
    uint64_t lowest, highest;            /* keys of the part */
    size_t value_counts[FEW_VALUES_MAX]; /* of the part, where there are few values */
    struct quicksort_part cut;           /* this thread's, where there are no buckets */
    /* By bucket: */
    size_t *positions;
    size_t *first;
    unsigned char *lines;
    /* Where the buckets of a partition begin, and the last one ends: of the team's, which is in the
     * workspace of member 0, and of one by this thread alone. */
    size_t *team_starts, *own_starts;
    /* Ranges that are still to be sorted, the last one first. */
    struct item_range *pending;
    size_t pending_count;
    /* For one thing after the other: */
    uint64_t *samples;   /* as many as the plan says, and room to sort them */
    unsigned char *room; /* for the items of a bucket that is sorted in cache */
};

/* Sizes that are the same for all threads of a task. */
struct partition_workspace_plan {
    unsigned buckets_max; /* of a model */
    size_t samples_max;
    size_t room_bytes; /* of a bucket that is sorted in cache */
    size_t pending_max;
    size_t bytes; /* of a workspace, a multiple of a cache line */
};

/* Sets plan->bytes by what the others say. */
void partition_workspace_measure(struct partition_workspace_plan *plan);

/* Rounded up to a multiple of a cache line. */
static inline size_t round_to_cache_line(size_t bytes)
{
    return (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
}

/* The workspace of the thread `number` in memory for all of them, aligned to a cache line. */
struct partition_workspace *partition_workspace_at(const struct partition_workspace_plan *plan,
                                                   void *memory, unsigned number);

/* Sets the pointers of one, with nothing pending; its thread does this before anything else. */
void partition_workspace_init(const struct partition_workspace_plan *plan,
                              struct partition_workspace *workspace);

#endif
