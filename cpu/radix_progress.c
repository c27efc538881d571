/* SPDX-License-Identifier: Apache-2.0 */
/* radix_progress.c - see radix_progress.h. A bucket is some 1 MB of items: a lock for each costs
 * nothing. */
#include "cpu/radix_progress.h"

#include <string.h>

size_t radix_progress_bytes(size_t buckets_max)
{
    return (buckets_max + 1) * sizeof(size_t) + buckets_max;
}

void radix_progress_begin(struct radix_progress *progress, size_t buckets_max, void *memory)
{
    *progress = (struct radix_progress){.own_starts = memory,
                                        .mutex = PTHREAD_MUTEX_INITIALIZER,
                                        .changed = PTHREAD_COND_INITIALIZER};
    progress->starts = progress->own_starts;
    progress->row.is_finished = (unsigned char *)(progress->own_starts + buckets_max + 1);
}

void radix_progress_end(struct radix_progress *progress)
{
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->mutex);
}

void radix_progress_open(struct radix_progress *progress, const size_t *starts, size_t buckets)
{
    memcpy(progress->own_starts, starts, (buckets + 1) * sizeof *starts);
    memset(progress->row.is_finished, 0, buckets);
    progress->row.buckets = buckets;
}

void radix_progress_finish(struct radix_progress *progress, size_t bucket)
{
    pthread_mutex_lock(&progress->mutex);
    radix_row_finish(&progress->row, bucket);
    if (progress->is_awaited)
        pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->mutex);
}

size_t radix_progress_look(struct radix_progress *progress)
{
    pthread_mutex_lock(&progress->mutex);
    const size_t finished = progress->starts[progress->row.first_open];
    pthread_mutex_unlock(&progress->mutex);
    return finished;
}

size_t radix_progress_await(struct radix_progress *progress, size_t known)
{
    pthread_mutex_lock(&progress->mutex);
    progress->is_awaited = true;
    while (progress->starts[progress->row.first_open] <= known)
        pthread_cond_wait(&progress->changed, &progress->mutex);
    progress->is_awaited = false;
    const size_t finished = progress->starts[progress->row.first_open];
    pthread_mutex_unlock(&progress->mutex);
    return finished;
}
