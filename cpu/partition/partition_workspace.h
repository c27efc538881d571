/* SPDX-License-Identifier: Apache-2.0 */
/* partition_workspace.h - what one thread needs for a partition, apart from the items.
 *
 * Its size depends on the task: for a few megabytes of input, fresh memory for many threads would
 * cost more than the sort, as the kernel clears it in huge pages.
 */
#ifndef CPU_PARTITION_WORKSPACE_H
#define CPU_PARTITION_WORKSPACE_H

#include "core/key_order.h"
#include "cpu/few_values.h"
#include "cpu/items/streaming_store.h"
#include "cpu/partition/bucket_model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of sample keys for a model. */
#define SAMPLES_MAX ((size_t)16 << 10)

/* Contiguous items in one array, with the same positions free in the other. */
struct item_range {
    unsigned char *from, *other;
    size_t begin, count;
    struct key_order order; /* of the keys in `from` */
    size_t parent_count;    /* items of the range that this is a bucket of */
};

/* A part of the input for the team quicksort: in `place`, its final position, or in `room`. */
struct quicksort_part {
    unsigned char *place, *room;
    size_t count;
    bool is_in_room;
};

struct partition_workspace {
    struct bucket_model model;
    uint64_t lowest, highest;            /* range of the keys of the part */
    size_t value_counts[FEW_VALUES_MAX]; /* counts of the part, for few_values.h */
    struct quicksort_part quicksort;     /* for the team quicksort */
    /* Indexed by bucket: */
    size_t *positions;
    size_t *first;
    unsigned char *write_buffers;
    /* Bucket starts of the team's partition (in member 0's workspace) and of this thread's own. */
    size_t *team_starts, *own_starts;
    /* Stack of ranges still to be sorted. */
    struct item_range *pending;
    size_t pending_count;
    /* Used one after the other: */
    uint64_t *samples;   /* room for twice plan->samples_max keys */
    unsigned char *room; /* plan->room_bytes, to sort a bucket in cache */
};

/* Sizes, equal for all threads of a task. */
struct partition_workspace_plan {
    unsigned buckets_max; /* maximum buckets of a model */
    size_t samples_max;
    size_t room_bytes; /* maximum bytes of a bucket that is sorted in cache */
    size_t pending_max;
    size_t bytes; /* size of a workspace, a multiple of a cache line */
};

/* Sets plan->bytes from the other fields. */
void partition_workspace_measure(struct partition_workspace_plan *plan);

/* Rounds up to a multiple of a cache line. */
static inline size_t round_to_cache_line(size_t bytes)
{
    return (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
}

/* Returns the workspace of thread `number`. memory: plan->bytes per thread, aligned to a cache
 * line. */
struct partition_workspace *partition_workspace_at(const struct partition_workspace_plan *plan,
                                                   void *memory, unsigned number);

/* Sets the pointers of a workspace, with nothing pending. Its own thread calls this first. */
void partition_workspace_init(const struct partition_workspace_plan *plan,
                              struct partition_workspace *workspace);

#endif
