/* SPDX-License-Identifier: Apache-2.0 */
/* sort_progress.c - see sort_progress.h. A lock per bucket of about 1 MB costs nothing. */
#include "cpu/partition/sort_progress.h"

#include <string.h>

size_t sort_progress_bytes(size_t buckets_max)
{
    return (buckets_max + 1) * sizeof(size_t) + buckets_max;
}

void sort_progress_begin(struct sort_progress *progress, size_t buckets_max, void *memory)
{
    *progress = (struct sort_progress){.own_starts = memory,
                                       .mutex = PTHREAD_MUTEX_INITIALIZER,
                                       .changed = PTHREAD_COND_INITIALIZER};
    progress->starts = progress->own_starts;
    progress->finished.is_finished = (unsigned char *)(progress->own_starts + buckets_max + 1);
}

void sort_progress_end(struct sort_progress *progress)
{
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->mutex);
}

void sort_progress_open(struct sort_progress *progress, const size_t *starts, size_t buckets)
{
    memcpy(progress->own_starts, starts, (buckets + 1) * sizeof *starts);
    memset(progress->finished.is_finished, 0, buckets);
    progress->finished.buckets = buckets;
}

void sort_progress_finish(struct sort_progress *progress, size_t bucket)
{
    pthread_mutex_lock(&progress->mutex);
    finished_buckets_add(&progress->finished, bucket);
    if (progress->is_awaited)
        pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->mutex);
}

size_t sort_progress_read(struct sort_progress *progress)
{
    pthread_mutex_lock(&progress->mutex);
    const size_t finished = progress->starts[progress->finished.first_open];
    pthread_mutex_unlock(&progress->mutex);
    return finished;
}

size_t sort_progress_await(struct sort_progress *progress, size_t known)
{
    pthread_mutex_lock(&progress->mutex);
    progress->is_awaited = true;
    while (progress->starts[progress->finished.first_open] <= known)
        pthread_cond_wait(&progress->changed, &progress->mutex);
    progress->is_awaited = false;
    const size_t finished = progress->starts[progress->finished.first_open];
    pthread_mutex_unlock(&progress->mutex);
    return finished;
}
