/* SPDX-License-Identifier: Apache-2.0 */
/* file_space.c - see file_space.h. */
#include "formats/io/file_space.h"

#include "core/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* Bytes per fallocate(2), which limit how long a waiting thread waits. tmpfs allocates 11 GB/s
 * (2026-11). */
#define WINDOW_BYTES ((size_t)64 << 20)

struct file_space {
    int file;
    pthread_t thread;
    atomic_bool is_halted; /* no more is allocated */
    atomic_bool is_taking; /* set before is_halted is checked */
    pthread_mutex_t lock;  /* protects the fields below */
    pthread_cond_t has_taken;
    pthread_cond_t has_wanted;
    size_t wanted; /* bytes requested */
    size_t taken;  /* bytes allocated, from the start */
    int cause;     /* errno of a failed allocation; 0: none */
};

/* Allocates the space of bytes [begin, end). Returns 0, or errno. */
static int take(int file, size_t begin, size_t end)
{
    while (fallocate(file, FALLOC_FL_KEEP_SIZE, (off_t)begin, (off_t)(end - begin)) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

/* Calls take(), unless allocation is halted. */
static int take_window(struct file_space *space, size_t begin, size_t end)
{
    const uint64_t begin_ns = trace_begin();
    atomic_store(&space->is_taking, true);
    const int cause = atomic_load(&space->is_halted) ? ECANCELED : take(space->file, begin, end);
    atomic_store(&space->is_taking, false);
    trace_end(TRACE_SPACE, begin_ns, cause ? 0 : end - begin);
    return cause;
}

/* Waits for a request, and sets *end to the end of its next window. Returns false if allocation has
 * ended. */
static bool wait_for_work(struct file_space *space, size_t *end)
{
    pthread_mutex_lock(&space->lock);
    while (!space->is_halted && !space->cause && space->taken >= space->wanted)
        pthread_cond_wait(&space->has_wanted, &space->lock);
    const size_t left = space->wanted - space->taken;
    const bool goes_on = !space->is_halted && !space->cause;
    *end = space->taken + (left < WINDOW_BYTES ? left : WINDOW_BYTES);
    pthread_mutex_unlock(&space->lock);
    return goes_on;
}

static void *take_space(void *opaque)
{
    struct file_space *const space = opaque;
    for (size_t begin = 0, end; wait_for_work(space, &end); begin = end) {
        const int cause = take_window(space, begin, end);
        pthread_mutex_lock(&space->lock);
        space->cause = cause;
        space->taken = cause ? begin : end;
        pthread_cond_broadcast(&space->has_taken);
        pthread_mutex_unlock(&space->lock);
    }
    return NULL;
}

/* Starts the thread, which takes no signals. SIGXFSZ, for a size beyond the limit, must be an error
 * of the write that needs the space, and other signals would interrupt fallocate(2). */
static bool start_thread(struct file_space *space)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const bool started = pthread_create(&space->thread, NULL, take_space, space) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}

struct file_space *file_space_open(int file)
{
    /* Tests whether the file system supports it, before any caller depends on it. */
    struct file_space *const space = take(file, 0, 1) == 0 ? calloc(1, sizeof *space) : NULL;
    if (!space)
        return NULL;
    space->file = file;
    pthread_mutex_init(&space->lock, NULL); /* none of these can fail on Linux */
    pthread_cond_init(&space->has_taken, NULL);
    pthread_cond_init(&space->has_wanted, NULL);
    if (start_thread(space))
        return space;
    free(space);
    return NULL;
}

void file_space_want(struct file_space *space, size_t bytes)
{
    pthread_mutex_lock(&space->lock);
    space->wanted = bytes > space->wanted ? bytes : space->wanted;
    pthread_cond_signal(&space->has_wanted);
    pthread_mutex_unlock(&space->lock);
}

int file_space_wait(struct file_space *space, size_t bytes)
{
    pthread_mutex_lock(&space->lock);
    while (space->taken < bytes && !space->cause)
        pthread_cond_wait(&space->has_taken, &space->lock);
    const int cause = space->taken < bytes ? space->cause : 0;
    pthread_mutex_unlock(&space->lock);
    return cause;
}

void file_space_halt(struct file_space *space)
{
    atomic_store(&space->is_halted, true);
    while (atomic_load(&space->is_taking))
        poll(NULL, 0, 1);
}

void file_space_close(struct file_space *space)
{
    if (!space)
        return;
    file_space_halt(space);
    pthread_mutex_lock(&space->lock); /* the thread is waiting by now, or will see is_halted */
    pthread_cond_signal(&space->has_wanted);
    pthread_mutex_unlock(&space->lock);
    pthread_join(space->thread, NULL);
    pthread_cond_destroy(&space->has_wanted);
    pthread_cond_destroy(&space->has_taken);
    pthread_mutex_destroy(&space->lock);
    free(space);
}
