/* SPDX-License-Identifier: Apache-2.0 */
/* sort_progress.h - which buckets are sorted: threads finish buckets in any order, and one thread
 * waits for the sorted prefix to grow.
 */
#ifndef CPU_SORT_PROGRESS_H
#define CPU_SORT_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Flags of finished buckets. The owner locks them. */
struct finished_buckets {
    unsigned char *is_finished; /* indexed by bucket */
    size_t buckets;
    size_t first_open; /* all buckets before it are finished */
};

static inline void finished_buckets_add(struct finished_buckets *row, size_t bucket)
{
    row->is_finished[bucket] = true;
    while (row->first_open < row->buckets && row->is_finished[row->first_open])
        row->first_open++;
}

/* Only sort_progress.c uses the fields, except the first two. */
struct sort_progress {
    struct finished_buckets finished; /* buckets is 0 until sort_progress_open */
    const size_t *starts;             /* bucket b is at starts[b]..starts[b + 1] of the items */
    size_t *own_starts;
    bool is_awaited;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

/* Returns the bytes of memory for at most buckets_max buckets. */
size_t sort_progress_bytes(size_t buckets_max);

/* Begins with no buckets. memory: sort_progress_bytes, aligned to a size_t; the caller keeps it
 * until sort_progress_end. */
void sort_progress_begin(struct sort_progress *progress, size_t buckets_max, void *memory);
void sort_progress_end(struct sort_progress *progress);

/* Copies the starts of `buckets` unfinished buckets. One thread calls it, before any other
 * function. */
void sort_progress_open(struct sort_progress *progress, const size_t *starts, size_t buckets);

/* Reports that the bucket's items are in their final position. Any thread. */
void sort_progress_finish(struct sort_progress *progress, size_t bucket);

/* Returns the number of items in the sorted prefix. One thread. */
size_t sort_progress_read(struct sort_progress *progress);

/* Waits until the sorted prefix has more than `known` items, which must not be all, and returns
 * its length. One thread. */
size_t sort_progress_await(struct sort_progress *progress, size_t known);

#endif
