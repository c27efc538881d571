/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h - what threads share: a bounded queue, a number that threads wait for, and a large
 * copy; and threads with a name.
 */
#ifndef CORE_THREADS_H
#define CORE_THREADS_H

#include "core/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- a bounded FIFO queue of buffers between threads ----
 *
 * A full queue blocks the producer, an empty one the consumer. */

struct ring;

struct ring_entry {
    unsigned char *data;
    size_t bytes;
};

/* Creates a ring for up to `capacity` entries, at least 1, which does not own their buffers.
 * Returns NULL if memory runs out. */
struct ring *ring_create(size_t capacity);

/* Adds an entry; blocks while the ring is full. Returns false, without adding it, if the ring was
 * stopped. */
bool ring_push(struct ring *ring, struct ring_entry entry);

/* Removes the oldest entry; blocks while the ring is empty. Returns false if the ring is closed and
 * empty, or stopped. */
bool ring_pop(struct ring *ring, struct ring_entry *entry);

/* Ends the input: the caller pushes no more entries. Those in the ring can still be popped. */
void ring_close(struct ring *ring);

/* Wakes all blocked threads on both sides, and makes later calls fail. For failures. */
void ring_stop(struct ring *ring);

/* `ring` may be NULL. */
void ring_free(struct ring *ring);

/* ---- a number that only grows, and that threads wait for ----
 *
 * Such as turns that are over, bytes that are ready, slots that are free again.
 *
 * A thread that has waited for a value sees all that was written before the counter was raised to
 * it. A counter has nothing to release. No thread may wait when its memory is freed. */

struct counter {
    pthread_mutex_t lock; /* protects the other fields */
    pthread_cond_t has_changed;
    uint64_t value;
    bool is_stopped;
};

/* Starts at 0. */
static inline void counter_start(struct counter *counter)
{
    *counter = (struct counter){.lock = PTHREAD_MUTEX_INITIALIZER,
                                .has_changed = PTHREAD_COND_INITIALIZER};
}

/* Raises the value to `value`; no effect if it is as high already. */
static inline void counter_raise(struct counter *counter, uint64_t value)
{
    pthread_mutex_lock(&counter->lock);
    if (value > counter->value)
        counter->value = value;
    pthread_cond_broadcast(&counter->has_changed);
    pthread_mutex_unlock(&counter->lock);
}

/* Ends all waiting, now and later: the counter is not raised any more, or the waiting threads are
 * to end. */
static inline void counter_stop(struct counter *counter)
{
    pthread_mutex_lock(&counter->lock);
    counter->is_stopped = true;
    pthread_cond_broadcast(&counter->has_changed);
    pthread_mutex_unlock(&counter->lock);
}

/* Waits until the value is at least `least`, or the counter is stopped. Returns the value, which is
 * less only if the counter was stopped. */
static inline uint64_t counter_await(struct counter *counter, uint64_t least)
{
    pthread_mutex_lock(&counter->lock);
    while (counter->value < least && !counter->is_stopped)
        pthread_cond_wait(&counter->has_changed, &counter->lock);
    const uint64_t value = counter->value;
    pthread_mutex_unlock(&counter->lock);
    return value;
}

/* ---- threads with a name ---- */

/* Starts a thread with a name of up to 15 bytes, which gdb and `top -H` show. Returns 0, or the
 * cause as an errno. OpenMP's threads have the name of the thread that starts them. */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *argument), void *argument);

/* Sets the error of a thread that cannot be started. cause: the return value of thread_start().
 * Returns false. */
bool thread_set_error(int cause, const char *purpose, struct error *error);

/* As thread_start(), for a thread that takes no signal except SIGBUS, which its own store may
 * cause: other threads take the signals. Returns false if it cannot be started. */
bool thread_start_without_signals(pthread_t *thread, const char *name, void *(*run)(void *argument),
                                  void *argument);

/* ---- a large copy, divided among threads ---- */

/* As memcpy(3), with at most `threads` threads, at least 1. Each thread also takes the page faults
 * of its part of a new target. */
static inline void shared_copy(void *target, const void *source, size_t bytes, unsigned threads)
{
    const size_t piece = (size_t)1 << 20; /* that a thread copies in one step */
#pragma omp parallel for schedule(static) num_threads((int)threads) if (bytes > piece)
    for (size_t begin = 0; begin < bytes; begin += piece) {
        const size_t left = bytes - begin;
        memcpy((char *)target + begin, (const char *)source + begin, left < piece ? left : piece);
    }
}

#endif
