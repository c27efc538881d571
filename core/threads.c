/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - see threads.h. The queue has one mutex, and a condition variable for each side:
 * entries are buffers of megabytes, so the lock is taken rarely and its cost is not measurable.
 */
#include "core/threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct ring {
    pthread_mutex_t lock;
    pthread_cond_t has_room;
    pthread_cond_t has_entry;
    size_t capacity;
    size_t first; /* index of the oldest entry */
    size_t count;
    bool is_closed;
    bool is_stopped;
    struct ring_entry entries[];
};

struct ring *ring_create(size_t capacity)
{
    struct ring *ring = calloc(1, sizeof *ring + capacity * sizeof ring->entries[0]);
    if (!ring)
        return NULL;
    ring->capacity = capacity;
    pthread_mutex_init(&ring->lock, NULL); /* none of these can fail on Linux */
    pthread_cond_init(&ring->has_room, NULL);
    pthread_cond_init(&ring->has_entry, NULL);
    return ring;
}

bool ring_push(struct ring *ring, struct ring_entry entry)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->count == ring->capacity && !ring->is_stopped)
        pthread_cond_wait(&ring->has_room, &ring->lock);
    const bool taken = !ring->is_stopped;
    if (taken) {
        ring->entries[(ring->first + ring->count) % ring->capacity] = entry;
        ring->count++;
        pthread_cond_signal(&ring->has_entry);
    }
    pthread_mutex_unlock(&ring->lock);
    return taken;
}

bool ring_pop(struct ring *ring, struct ring_entry *entry)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->count == 0 && !ring->is_closed && !ring->is_stopped)
        pthread_cond_wait(&ring->has_entry, &ring->lock);
    const bool given = ring->count > 0 && !ring->is_stopped;
    if (given) {
        *entry = ring->entries[ring->first];
        ring->first = (ring->first + 1) % ring->capacity;
        ring->count--;
        pthread_cond_signal(&ring->has_room);
    }
    pthread_mutex_unlock(&ring->lock);
    return given;
}

void ring_close(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->is_closed = true;
    pthread_cond_broadcast(&ring->has_entry);
    pthread_mutex_unlock(&ring->lock);
}

void ring_stop(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->is_stopped = true;
    pthread_cond_broadcast(&ring->has_entry);
    pthread_cond_broadcast(&ring->has_room);
    pthread_mutex_unlock(&ring->lock);
}

void ring_free(struct ring *ring)
{
    if (!ring)
        return;
    pthread_cond_destroy(&ring->has_entry);
    pthread_cond_destroy(&ring->has_room);
    pthread_mutex_destroy(&ring->lock);
    free(ring);
}

int thread_start(pthread_t *thread, const char *name, void *(*run)(void *argument), void *argument)
{
    const int cause = pthread_create(thread, NULL, run, argument);
    if (cause == 0)
        (void)pthread_setname_np(*thread, name);
    return cause;
}

bool thread_set_error(int cause, const char *purpose, struct error *error)
{
    if (error->is_set)
        return false;
    errno = cause;
    error_set_errno(error, "cannot start a thread to %s", purpose);
    if (cause == EAGAIN)
        error_add(error, "; raise the limit on processes (ulimit -u) or on memory (ulimit -v)");
    return false;
}

bool thread_start_without_signals(pthread_t *thread, const char *name, void *(*run)(void *argument),
                                  void *argument)
{
    sigset_t all, old;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const bool started = thread_start(thread, name, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}
