/* mapped_file.c - see mapped_file.h.
 *
 * What a write through a mapping must never meet is a page that the file system has no room for:
 * that is a SIGBUS and no error. So no byte is touched before fallocate(2) has taken its space, the
 * size included, and nobody here makes the file smaller while it is mapped. What is left is a disk
 * that fails, and another process that cuts the temporary off. Therefore the pages of a piece are
 * asked for by madvise(2) first, which says as an error what a touch would say as a signal. What
 * comes in the microseconds between that and the copy still ends the process.
 *
 * Pages are dropped from the mapping by the thread that filled them: unmapping all of them in the
 * end is the work of one thread. Here, 1 GB, two threads, a shared machine, 2026-11: 0.1 s of 1.0.
 */
#include "formats/mapped_file.h"

#include "core/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Space taken at a time: who waits, waits for no more than that. tmpfs gives 11 GB/s (2026-11). */
#define WINDOW_BYTES ((size_t)64 << 20)

/* Of a file that others see, space is taken so far ahead of what is written. Without it every
 * window is waited for: 8 GB on ext4 by 4 threads, 2.0 s for 1.1 (H200's host, 2026-11-22). */
#define SEEN_AHEAD_BYTES (2 * WINDOW_BYTES)

/* Bytes that a thread copies at a time: 16 threads have one each of the 16 MiB that a GPU gives. */
#define PIECE_BYTES ((size_t)1 << 20)

#ifndef MADV_POPULATE_WRITE
#    define MADV_POPULATE_WRITE 23 /* since Linux 5.14; the C library's headers may be older */
#endif

struct mapped_file {
    int file;
    unsigned char *data;
    size_t bytes;
    pthread_t taker;
    pthread_mutex_t lock; /* over the rest */
    pthread_cond_t has_taken;
    pthread_cond_t has_wanted;
    size_t wanted; /* bytes whose space is needed, or may be taken */
    size_t taken;  /* bytes whose space is taken, from the start */
    bool is_stopped;
    int cause; /* errno of the failure to take more; 0: none */
};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Takes the space of bytes [begin, end); returns errno, 0: done. */
static int take_window(int file, size_t begin, size_t end)
{
    while (fallocate(file, 0, (off_t)begin, (off_t)(end - begin)) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

static void *take_space(void *opaque)
{
    struct mapped_file *mapped = opaque;
    bool goes_on = true;
    for (size_t begin = 0, end; goes_on; begin = end) {
        end = mapped->bytes - begin < WINDOW_BYTES ? mapped->bytes : begin + WINDOW_BYTES;
        const uint64_t begin_ns = trace_begin();
        const int cause = take_window(mapped->file, begin, end);
        trace_end(TRACE_SPACE, begin_ns, cause ? 0 : end - begin);
        pthread_mutex_lock(&mapped->lock);
        mapped->cause = cause;
        mapped->taken = cause ? begin : end;
        pthread_cond_broadcast(&mapped->has_taken);
        while (!mapped->is_stopped && mapped->wanted <= end && end < mapped->bytes)
            pthread_cond_wait(&mapped->has_wanted, &mapped->lock);
        goes_on = !cause && !mapped->is_stopped && end < mapped->bytes;
        pthread_mutex_unlock(&mapped->lock);
    }
    return NULL;
}

/* Starts the thread, which takes no signals: SIGXFSZ for a size beyond the limit is an error of the
 * write that it is for, and the others would interrupt fallocate. */
static bool start_taker(struct mapped_file *mapped)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const bool started = pthread_create(&mapped->taker, NULL, take_space, mapped) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}

struct mapped_file *mapped_file_open(int file, size_t bytes, bool is_seen)
{
    /* That the file system can do it is known before anybody counts on it. */
    if (bytes > INT64_MAX || take_window(file, 0, 1) != 0)
        return NULL;
    struct mapped_file *mapped = malloc(sizeof *mapped);
    if (!mapped)
        return NULL;
    *mapped = (struct mapped_file){
        .file = file, .bytes = bytes, .wanted = is_seen ? SEEN_AHEAD_BYTES : bytes};
    mapped->data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped->data == MAP_FAILED) {
        free(mapped);
        return NULL;
    }
    pthread_mutex_init(&mapped->lock, NULL); /* neither can fail on Linux */
    pthread_cond_init(&mapped->has_taken, NULL);
    pthread_cond_init(&mapped->has_wanted, NULL);
    if (!start_taker(mapped)) {
        munmap(mapped->data, bytes);
        free(mapped);
        return NULL;
    }
    return mapped;
}

/* Waits until the first `bytes` bytes have their space; returns errno, 0: they have. */
static int wait_for_space(struct mapped_file *mapped, size_t bytes)
{
    pthread_mutex_lock(&mapped->lock);
    if (mapped->wanted < bytes + SEEN_AHEAD_BYTES) {
        mapped->wanted = bytes + SEEN_AHEAD_BYTES;
        pthread_cond_signal(&mapped->has_wanted);
    }
    while (mapped->taken < bytes && !mapped->cause)
        pthread_cond_wait(&mapped->has_taken, &mapped->lock);
    const int cause = mapped->taken < bytes ? mapped->cause : 0;
    pthread_mutex_unlock(&mapped->lock);
    return cause;
}

/* Makes the pages of bytes [begin, end) of the mapping writable; returns errno, 0: they are. */
static int populate(const struct mapped_file *mapped, size_t begin, size_t end)
{
    const size_t first = begin - begin % page_bytes();
    if (madvise(mapped->data + first, end - first, MADV_POPULATE_WRITE) == 0 || errno == EINVAL)
        return 0; /* EINVAL: Linux before 5.14 */
    return errno == EFAULT ? EIO : errno;
}

/* Takes the whole pages of bytes [begin, end) out of the mapping; the file keeps them. */
static void drop_pages(const struct mapped_file *mapped, size_t begin, size_t end)
{
    const size_t first = (begin + page_bytes() - 1) / page_bytes() * page_bytes();
    const size_t last = end - end % page_bytes();
    if (first < last)
        (void)madvise(mapped->data + first, last - first, MADV_DONTNEED);
}

/* Copies to bytes [begin, end) of the file; returns errno, 0: done. */
static int copy_piece(struct mapped_file *mapped, size_t begin, size_t end,
                      const unsigned char *data, struct tap *tap)
{
    int cause = wait_for_space(mapped, end);
    const uint64_t begin_ns = trace_begin();
    if (!cause)
        cause = populate(mapped, begin, end);
    if (cause)
        return cause;
    for (size_t done = 0, bytes; done < end - begin; done += bytes) {
        bytes = end - begin - done < TAP_PIECE_BYTES ? end - begin - done : TAP_PIECE_BYTES;
        tap_see(tap, data + done, bytes);
        memcpy(mapped->data + begin + done, data + done, bytes);
    }
    drop_pages(mapped, begin, end);
    trace_end(TRACE_WRITE, begin_ns, end - begin);
    return 0;
}

/* A write under way. */
struct copy {
    struct mapped_file *mapped;
    size_t position, end; /* of the file */
    const unsigned char *data;
    struct tap *tap;
    size_t next; /* the piece that nobody has taken yet */
    int failure; /* errno of one, 0: none */
};

/* Copies pieces until all are taken, or one has failed. */
static void copy_pieces(struct copy *copy)
{
    size_t piece;
    while (__atomic_load_n(&copy->failure, __ATOMIC_RELAXED) == 0 &&
           (piece = __atomic_fetch_add(&copy->next, 1, __ATOMIC_RELAXED)) * PIECE_BYTES <
               copy->end) {
        const size_t start = piece * PIECE_BYTES, limit = start + PIECE_BYTES;
        const size_t begin = start > copy->position ? start : copy->position;
        const int cause = copy_piece(copy->mapped, begin, limit < copy->end ? limit : copy->end,
                                     copy->data + (begin - copy->position), copy->tap);
        if (cause)
            __atomic_store_n(&copy->failure, cause, __ATOMIC_RELAXED);
    }
}

bool mapped_file_write(struct mapped_file *mapped, size_t position, const void *data, size_t bytes,
                       unsigned threads, struct tap *tap, unsigned watchers, size_t *done)
{
    const size_t room = position < mapped->bytes ? mapped->bytes - position : 0;
    const size_t end = position + (bytes < room ? bytes : room);
    const size_t first = position / PIECE_BYTES, pieces = (end + PIECE_BYTES - 1) / PIECE_BYTES;
    *done = end - position;
    if (end == position)
        return true;
    const size_t useful = pieces - first < threads ? pieces - first : threads;
    const bool is_watched = tap && pieces - first > 1 && watchers > useful;
    struct copy copy = {mapped, position, end, data, is_watched ? NULL : tap, first, 0};
    struct tap_watch watch = {is_watched ? tap : NULL, data, is_watched ? *done : 0, 0};
#pragma omp parallel num_threads(is_watched ? (int)watchers : (int)useful)
    {
        if ((size_t)omp_get_thread_num() < useful)
            copy_pieces(&copy);
        tap_watch_pieces(&watch);
    }
    errno = copy.failure;
    return copy.failure == 0;
}

void mapped_file_close(struct mapped_file *mapped)
{
    if (!mapped)
        return;
    pthread_mutex_lock(&mapped->lock);
    mapped->is_stopped = true;
    pthread_cond_signal(&mapped->has_wanted);
    pthread_mutex_unlock(&mapped->lock);
    pthread_join(mapped->taker, NULL);
    munmap(mapped->data, mapped->bytes);
    pthread_cond_destroy(&mapped->has_wanted);
    pthread_cond_destroy(&mapped->has_taken);
    pthread_mutex_destroy(&mapped->lock);
    free(mapped);
}
