/* radix_workspace.h - what one thread needs for a partition, beside the items.
 *
 * Its size goes by the task: where a few megabytes are sorted, untouched memory of many threads
 * would cost more than the sort, as the system clears it in huge pages.
 */
#ifndef CPU_RADIX_WORKSPACE_H
#define CPU_RADIX_WORKSPACE_H

#include "cpu/radix_model.h"

#include <stddef.h>
#include <stdint.h>

/* Keys that a model is learned from, at the most. */
#define RADIX_SAMPLE_MAX ((size_t)16 << 10)

struct radix_workspace {
    struct radix_model model;
    uint64_t lowest, highest; /* keys of the part */
    /* By bucket: */
    size_t *positions;
    size_t *first;
    unsigned char *lines;
    /* For one thing after the other: */
    uint64_t *samples;   /* two times RADIX_SAMPLE_MAX, or the number of items if that is less */
    unsigned char *room; /* for the items of a bucket that is sorted in cache */
};

/* Sizes that are the same for all threads of a task. */
struct radix_workspace_plan {
    unsigned buckets_max;
    size_t samples_max;
    size_t room_bytes;
    size_t bytes; /* of a workspace, a multiple of a cache line */
};

/* For models of so many buckets, samples and buckets in cache of so many bytes. */
struct radix_workspace_plan radix_workspace_make_plan(unsigned buckets_max, size_t samples_max,
                                                      size_t room_bytes);

/* The workspace of the thread `number` in memory for all of them, aligned to a cache line. */
struct radix_workspace *radix_workspace_at(const struct radix_workspace_plan *plan, void *memory,
                                           unsigned number);

/* Sets the pointers of one; its thread does this before anything else. */
void radix_workspace_init(const struct radix_workspace_plan *plan,
                          struct radix_workspace *workspace);

#endif
