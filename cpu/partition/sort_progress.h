/* SPDX-License-Identifier: Apache-2.0 */
/* sort_progress.h - how far a sort is: threads finish buckets in any order, and one thread follows
 * them from the first one on.
 */
#ifndef CPU_SORT_PROGRESS_H
#define CPU_SORT_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Buckets that are finished one by one; whoever has it locks it. */
struct finished_buckets {
    unsigned char *is_finished; /* by bucket */
    size_t buckets;
    size_t first_open; /* all buckets before it are finished */
};

static inline void finished_buckets_add(struct finished_buckets *row, size_t bucket)
{
    row->is_finished[bucket] = true;
    while (row->first_open < row->buckets && row->is_finished[row->first_open])
        row->first_open++;
}

/* Its fields are sort_progress.c's, but for the first two. */
struct sort_progress {
    struct finished_buckets finished; /* of no buckets: there are none to follow */
    const size_t *starts;             /* bucket b is at starts[b]..starts[b + 1] of the items */
    size_t *own_starts;
    bool is_awaited;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

/* The memory that it needs for at most so many buckets. */
size_t sort_progress_bytes(size_t buckets_max);

/* memory: of sort_progress_bytes, aligned to a size_t. Ended by sort_progress_end. */
void sort_progress_begin(struct sort_progress *progress, size_t buckets_max, void *memory);
void sort_progress_end(struct sort_progress *progress);

/* Copies the starts of so many buckets, none of which is finished. One thread, before the others
 * come. */
void sort_progress_open(struct sort_progress *progress, const size_t *starts, size_t buckets);

/* The bucket's items are in their place for good. Any thread. */
void sort_progress_finish(struct sort_progress *progress, size_t bucket);

/* How many items, from the first one on, are in their place for good. One thread. */
size_t sort_progress_read(struct sort_progress *progress);

/* The same, when they are more than `known`, which are not all. */
size_t sort_progress_await(struct sort_progress *progress, size_t known);

#endif
