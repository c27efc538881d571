/* SPDX-License-Identifier: Apache-2.0 */
/* read_ahead.c - see read_ahead.h. */
#include "formats/io/read_ahead.h"

#include "core/host_limits.h"
#include "core/threads.h"
#include "formats/descriptor.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maximum bytes of a read: enough to divide among threads, and a few milliseconds. */
#define PIECE_BYTES ((size_t)64 << 20)

/* Memory is released in multiples of this, so that huge pages stay whole. */
#define LARGE_PAGE_BYTES ((size_t)2 << 20)

struct read_ahead {
    struct read_ahead_spec spec;
    unsigned char *data;    /* room for spec.most bytes */
    size_t taken, released; /* bytes from the beginning */
    int waker;              /* an eventfd that is written to end the thread */
    pthread_t thread;
    bool is_running;       /* not joined yet */
    struct error error;    /* of the thread until it is joined */
    struct counter filled; /* bytes read; stopped when no more are read */
    atomic_bool has_ended; /* the input has ended or failed */
};

static void *reader_main(void *opaque)
{
    struct read_ahead *const ahead = opaque;
    const struct read_ahead_spec *const spec = &ahead->spec;
    size_t at = 0, got;
    while (at < spec->most && !ahead->has_ended &&
           descriptor_await_input(spec->file, ahead->waker)) {
        if (!spec->read(spec->context, ahead->data + at, smaller(PIECE_BYTES, spec->most - at),
                        &got, &ahead->error))
            got = 0;
        at += got;
        ahead->has_ended = got == 0;
        counter_raise(&ahead->filled, at);
    }
    counter_stop(&ahead->filled);
    return NULL;
}

struct read_ahead *read_ahead_start(const struct read_ahead_spec *spec)
{
    struct read_ahead *const ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return NULL;
    ahead->spec = *spec;
    ahead->waker = eventfd(0, EFD_CLOEXEC);
    void *const data = mmap(NULL, spec->most, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ahead->data = data == MAP_FAILED ? NULL : data;
    counter_start(&ahead->filled);
    if (ahead->data)
        (void)madvise(ahead->data, spec->most, MADV_HUGEPAGE); /* a hint */
    ahead->is_running = ahead->data && ahead->waker >= 0 &&
                        thread_start(&ahead->thread, "reading ahead", reader_main, ahead) == 0;
    if (ahead->is_running)
        return ahead;
    read_ahead_close(ahead);
    return NULL;
}

size_t read_ahead_await(struct read_ahead *ahead, size_t want, bool *ended)
{
    const size_t taken = ahead->taken;
    const size_t all = want < SIZE_MAX - taken ? taken + want : SIZE_MAX;
    const size_t filled = counter_await(&ahead->filled, all);
    *ended = ahead->has_ended;
    return filled - taken;
}

size_t read_ahead_stop(struct read_ahead *ahead)
{
    if (ahead->is_running) {
        (void)eventfd_write(ahead->waker, 1); /* cannot fail: the counter is 0 */
        pthread_join(ahead->thread, NULL);
    }
    ahead->is_running = false;
    return ahead->filled.value - ahead->taken;
}

bool read_ahead_take(struct read_ahead *ahead, void *data, size_t bytes, unsigned threads,
                     size_t *got, struct error *error)
{
    *got = smaller(bytes, ahead->filled.value - ahead->taken);
    if (*got == 0 && ahead->error.is_set) {
        error_merge(error, &ahead->error);
        return false;
    }
    shared_copy(data, ahead->data + ahead->taken, *got, threads);
    ahead->taken += *got;
    const size_t free_bytes = (ahead->taken - ahead->released) & ~(LARGE_PAGE_BYTES - 1);
    if (free_bytes > 0) /* if this fails, the memory is released at the end */
        (void)madvise(ahead->data + ahead->released, free_bytes, MADV_DONTNEED);
    ahead->released += free_bytes;
    return true;
}

void read_ahead_close(struct read_ahead *ahead)
{
    if (!ahead)
        return;
    (void)read_ahead_stop(ahead);
    if (ahead->data)
        munmap(ahead->data, ahead->spec.most);
    if (ahead->waker >= 0)
        close(ahead->waker);
    free(ahead);
}
