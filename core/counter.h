/* SPDX-License-Identifier: Apache-2.0 */
/* counter.h - a number that only grows, and that threads wait for: turns that are over, bytes that
 * are ready, slots that are free again.
 *
 * A thread that has waited for a value sees all that was written before the counter was raised to
 * it. A counter has nothing to release. No thread may wait when its memory is freed.
 */
#ifndef CORE_COUNTER_H
#define CORE_COUNTER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
