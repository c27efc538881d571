/* SPDX-License-Identifier: Apache-2.0 */
/* mapped_file.c - see mapped_file.h.
 *
 * A write through a mapping must never touch a page that the file system has no room for, or that
 * is after the end of the file: that causes SIGBUS instead of an error. So no byte is touched
 * before its space is allocated and the file is long enough, and this program does not shorten the
 * file while bytes are written, except when a signal ends the process. Two cases remain: a failing
 * disk, and another process that truncates the file. Then the thread catches SIGBUS, and returns an
 * error.
 *
 * On ext4 and XFS a few threads make the new pages of a temporary ahead of the writers, from the
 * announcement of its size on (make_pages()). Elsewhere madvise(2) populates new pages before they
 * are written: 8 GB of tmpfs, 16 threads: 26 GB/s, without it 23. Pages the file has already are
 * faster without it, above all large pages of ext4: 23 and 31 GB/s, without it 34 and 42. On tmpfs
 * a read maps 16 such pages at once, all writable, and a write maps one: 51 GB/s if a byte of each
 * 16 pages is read first, 21 without that (H100 host, Linux 6.18, 2026-11).
 *
 * Each thread drops the pages that it filled from the mapping. Otherwise one thread would unmap all
 * of them at the end. 1 GB, two threads, a shared machine, 2026-11: that takes 0.1 of 1.0 s.
 */
#include "formats/io/mapped_file.h"

#include "core/ending.h"
#include "core/host_limits.h"
#include "core/threads.h"
#include "core/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Growth of a file that is visible to others. If the process is killed, the file ends with at most
 * this many zeros and unfinished bytes. */
#define STEP_BYTES ((size_t)64 << 20)

/* Bytes of a piece that a thread copies: each of 16 threads has two pieces of a chunk of 32 MiB
 * from a GPU. */
#define PIECE_BYTES ((size_t)1 << 20)

#ifndef MADV_POPULATE_WRITE
#    define MADV_POPULATE_WRITE 23 /* since Linux 5.14; the C library's headers may be older */
#endif

/* Threads that make pages ahead of the writers, and the writers for each of them. */
#define MAKERS_MAX 4
#define WRITERS_PER_MAKER 2

/* Bytes of the pages around a page that a read maps with it (fault_around_bytes of Linux). */
#define AROUND_BYTES ((size_t)64 << 10)

/* The file systems that are written faster through a mapping, and the maximum number of threads.
 * All others are written by write(2): there, allocated space may not mean that a page is available.
 * 4 GB, 16 cores of an Intel Xeon, 2026-11-20, GB/s:
 *
 *                                      tmpfs                     ext4
 *   write(2), any number of threads    2.9                       4.2
 *   fallocate, then write(2)           3.1                       5.0
 *   fallocate, then a mapping, by
 *     1, 2, 4, 8, 16 threads           1.6, 2.7, 4.0, 5.5, 6.8   3.3, 5.4, 8.4, 2.1, 2.1
 *     16, without fallocate's time     17                        -
 *
 * Pages that a file has already are overwritten faster by more threads, also on ext4: 4 GB by 4, 8
 * and 16 threads at 13, 16 and 15 GB/s if write(2) made the pages, which are large then, and at
 * 17, 23 and 39 GB/s if a mapping made them (16 cores of an H100 host, Linux 6.18). On ext4, 1, 2,
 * 3, 4 and 6 threads make pages at 5, 8, 9.5, 11 and 12 GB/s while 16 write to those that are made,
 * and 8 threads at 1 to 5.
 *
 * On two cores a mapping is slower than write(2): tmpfs 0.7 and 1.4, ext4 2 and 4. XFS is assumed
 * to be like ext4.
 *
 * On tmpfs, threads that write while space is allocated slow the allocation down. 8 GB of f64 from
 * file to file by a GPU take 1.78 s if the threads wait for the whole allocation, and 2.63 s if
 * they write to the space that there is (H200 host, 16 cores, 2026-11). */
static const struct mapped_system {
    long file_system;          /* f_type of statfs(2) */
    unsigned new_page_writers; /* maximum if they make new pages; fallocate(2) makes tmpfs's */
} mapped_systems[] = {
    {TMPFS_MAGIC, OUTPUT_WRITERS_MAX},
    {EXT4_SUPER_MAGIC, 4}, /* also ext2 and ext3, where fallocate fails */
    {XFS_SUPER_MAGIC, 4},
};

/* NULL for a file system that is not in the table. */
static const struct mapped_system *find_system(int file)
{
    struct statfs status;
    if (fstatfs(file, &status) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof mapped_systems / sizeof mapped_systems[0]; i++)
        if ((long)status.f_type == mapped_systems[i].file_system)
            return &mapped_systems[i];
    return NULL;
}

unsigned mapped_file_writers(int file, bool finds_pages)
{
    const struct mapped_system *const system = find_system(file);
    return !system ? 0 : finds_pages ? OUTPUT_WRITERS_MAX : system->new_page_writers;
}

/* New pages, made ahead of the writers by threads that take the pieces in turn. */
struct page_making {
    pthread_t threads[MAKERS_MAX];
    unsigned thread_count; /* 0: the writers make the pages */
    size_t lead;           /* maximum bytes made ahead of the writers */
    size_t next;           /* the next piece to take */
    pthread_mutex_t noting;
    bool *is_made;          /* of each piece; written while noting is locked, as is the prefix */
    size_t prefix;          /* number of pieces made without a gap */
    struct counter made;    /* that number; stopped by a failure, and at the end */
    struct counter reached; /* bytes that writers have reached */
    int failure;            /* errno; ECANCELED at the end */
};

struct mapped_file {
    int file;
    unsigned char *data;
    size_t bytes;
    struct file_space *space; /* owned by the caller */
    bool is_in_memory;        /* tmpfs */
    bool has_pages;           /* the file has its contents */
    pthread_mutex_t growing;  /* held while the file grows */
    size_t size;              /* file size, as far as it was grown here */
    size_t step;              /* bytes to grow at once */
    uint32_t *written;        /* bytes written of each piece; read in a signal handler */
    struct page_making pages;
};

/* Where a thread continues if a page that it stores to is not there: another process may truncate
 * the file. NULL: the thread stores to no mapping. */
static _Thread_local sigjmp_buf *volatile escape;

static void escape_fault(int signal_number)
{
    sigset_t fault;
    sigemptyset(&fault);
    sigaddset(&fault, signal_number);
    (void)pthread_sigmask(SIG_UNBLOCK, &fault, NULL); /* a sanitizer's handler blocks it */
    if (escape)
        siglongjmp(*escape, 1);
    const struct sigaction default_action = {.sa_handler = SIG_DFL};
    sigaction(signal_number, &default_action, NULL); /* the fault repeats, and ends the process */
}

static void catch_faults(void)
{
    const struct sigaction action = {.sa_handler = escape_fault, .sa_flags = SA_NODEFER};
    sigaction(SIGBUS, &action, NULL);
}

/* Reads a byte of each AROUND_BYTES bytes. */
static void touch(const volatile unsigned char *pages, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += AROUND_BYTES)
        (void)pages[i];
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Copies to the mapping at `to`; if `from` is NULL, stores a zero to each of its new pages. Returns
 * false if a page is not there. */
static bool store(const struct mapped_file *mapped, unsigned char *to, const unsigned char *from,
                  size_t bytes)
{
    sigjmp_buf back;
    if (sigsetjmp(back, 0) != 0) {
        escape = NULL;
        return false;
    }
    escape = &back;
    atomic_signal_fence(memory_order_seq_cst);
    if (mapped->is_in_memory && mapped->has_pages)
        touch(to, bytes);
    if (from)
        memcpy(to, from, bytes);
    for (size_t i = 0; !from && i < bytes; i += page_bytes())
        *(volatile unsigned char *)(to + i) = 0;
    atomic_signal_fence(memory_order_seq_cst);
    escape = NULL;
    return true;
}

static size_t piece_count(size_t bytes)
{
    return (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
}

/* Makes the file at least `end` bytes long. Returns 0, or errno. */
static int grow(struct mapped_file *mapped, size_t end)
{
    int cause = 0;
    sigset_t old_mask;
    if (__atomic_load_n(&mapped->size, __ATOMIC_ACQUIRE) >= end)
        return 0;
    pthread_mutex_lock(&mapped->growing);
    if (mapped->size < end) {
        const size_t next = mapped->size + mapped->step;
        const size_t size = next < end ? end : next < mapped->bytes ? next : mapped->bytes;
        ending_begin_change(&old_mask); /* a truncated file must not grow again */
        while (!cause && fallocate(mapped->file, 0, (off_t)size - 1, 1) != 0)
            cause = errno == EINTR ? 0 : errno;
        if (!cause)
            __atomic_store_n(&mapped->size, size, __ATOMIC_RELEASE);
        ending_end_change(&old_mask);
    }
    pthread_mutex_unlock(&mapped->growing);
    return cause;
}

struct mapped_file *mapped_file_open(int file, size_t bytes, bool has_pages, bool grows_in_steps,
                                     struct file_space *space)
{
    struct mapped_file *const mapped = calloc(1, sizeof *mapped);
    if (!mapped)
        return NULL;
    *mapped = (struct mapped_file){.file = file,
                                   .bytes = bytes,
                                   .space = space,
                                   .is_in_memory = file_is_in_memory(file),
                                   .has_pages = has_pages,
                                   .size = space ? 0 : bytes,
                                   .step = grows_in_steps ? STEP_BYTES : bytes,
                                   .written = calloc(piece_count(bytes), sizeof(uint32_t))};
    mapped->data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pthread_mutex_init(&mapped->growing, NULL); /* cannot fail on Linux */
    pthread_mutex_init(&mapped->pages.noting, NULL);
    counter_start(&mapped->pages.made);
    counter_start(&mapped->pages.reached);
    catch_faults();
    if (mapped->written && mapped->data != MAP_FAILED && grow(mapped, 1) == 0)
        return mapped;
    mapped_file_close(mapped);
    return NULL;
}

/* Makes the new pages of bytes [begin, end) of the mapping writable. Returns 0, or errno. */
static int populate(const struct mapped_file *mapped, size_t begin, size_t end)
{
    const size_t first = begin - begin % page_bytes();
    if (madvise(mapped->data + first, end - first, MADV_POPULATE_WRITE) == 0)
        return 0;
    /* Other errors are of Linux before 5.14, or of a filter that refuses madvise(2). */
    return errno == EFAULT ? EIO : errno == ENOMEM || errno == EHWPOISON ? errno : 0;
}

/* Removes the whole pages of bytes [begin, end) from the mapping; the file keeps them. */
static void drop_pages(const struct mapped_file *mapped, size_t begin, size_t end)
{
    const size_t first = (begin + page_bytes() - 1) / page_bytes() * page_bytes();
    const size_t last = end - end % page_bytes();
    if (first < last)
        (void)madvise(mapped->data + first, last - first, MADV_DONTNEED);
}

/* ---- Pages made ahead ---- */

/* Makes the pages of a piece, once its space is allocated and writers are near enough. Returns 0,
 * or errno. */
static int make_piece(struct mapped_file *mapped, size_t piece)
{
    struct page_making *const pages = &mapped->pages;
    const size_t begin = piece * PIECE_BYTES, left = mapped->bytes - begin;
    const size_t end = begin + (left < PIECE_BYTES ? left : PIECE_BYTES);
    if (end > pages->lead)
        (void)counter_await(&pages->reached, end - pages->lead);
    int cause = __atomic_load_n(&pages->failure, __ATOMIC_RELAXED);
    if (!cause)
        cause = file_space_wait(mapped->space, end);
    const uint64_t begin_ns = trace_begin();
    if (!cause && !store(mapped, mapped->data + begin, NULL, end - begin))
        cause = EIO;
    trace_end(TRACE_SPACE, begin_ns, 0);
    return cause;
}

static void note_made(struct page_making *pages, size_t piece, size_t count)
{
    pthread_mutex_lock(&pages->noting);
    pages->is_made[piece] = true;
    while (pages->prefix < count && pages->is_made[pages->prefix])
        pages->prefix++;
    counter_raise(&pages->made, pages->prefix);
    pthread_mutex_unlock(&pages->noting);
}

/* Ends the making of pages; writers that wait fail with `cause`. */
static void stop_pages(struct page_making *pages, int cause)
{
    __atomic_store_n(&pages->failure, cause, __ATOMIC_RELAXED);
    counter_stop(&pages->made);
    counter_stop(&pages->reached);
}

/* Pieces are taken in turn: if each of four threads made every fourth one, all would be three times
 * slower (ext4, Linux 6.18). */
static void *make_pages(void *opaque)
{
    struct mapped_file *const mapped = opaque;
    struct page_making *const pages = &mapped->pages;
    const size_t count = piece_count(mapped->bytes);
    size_t piece;
    while ((piece = __atomic_fetch_add(&pages->next, 1, __ATOMIC_RELAXED)) < count) {
        const int cause = make_piece(mapped, piece);
        if (cause) {
            stop_pages(pages, cause);
            break;
        }
        note_made(pages, piece, count);
    }
    return NULL;
}

/* Waits until the pages of the piece are made. Returns 0, or errno. */
static int await_pages(struct page_making *pages, size_t piece)
{
    counter_raise(&pages->reached, (piece + 1) * PIECE_BYTES);
    return counter_await(&pages->made, piece + 1) > piece
               ? 0
               : __atomic_load_n(&pages->failure, __ATOMIC_RELAXED);
}

bool mapped_file_make_pages(struct mapped_file *mapped, unsigned writers, size_t lead)
{
    struct page_making *const pages = &mapped->pages;
    const unsigned most = writers / WRITERS_PER_MAKER;
    const unsigned count = most < MAKERS_MAX ? most : MAKERS_MAX;
    if (mapped->is_in_memory)
        return true;
    pages->lead = lead;
    pages->is_made = calloc(piece_count(mapped->bytes), sizeof *pages->is_made);
    while (pages->is_made && pages->thread_count < count &&
           thread_start_without_signals(&pages->threads[pages->thread_count], "pages", make_pages,
                                        mapped))
        pages->thread_count++;
    return pages->thread_count > 0;
}

static void end_pages(struct page_making *pages)
{
    stop_pages(pages, ECANCELED);
    for (unsigned i = 0; i < pages->thread_count; i++)
        pthread_join(pages->threads[i], NULL);
    pthread_mutex_destroy(&pages->noting);
    free(pages->is_made);
}

/* ---- Writing ---- */

/* Copies to bytes [begin, end) of the file. Returns 0, or errno. */
static int copy_piece(struct mapped_file *mapped, size_t begin, size_t end,
                      const unsigned char *data, struct tap *tap)
{
    const size_t awaited = mapped->is_in_memory ? mapped->bytes : end;
    int cause = mapped->space ? file_space_wait(mapped->space, awaited) : 0;
    const uint64_t begin_ns = trace_begin();
    if (!cause)
        cause = grow(mapped, end);
    if (!cause && mapped->pages.thread_count > 0)
        cause = await_pages(&mapped->pages, begin / PIECE_BYTES);
    else if (!cause && !mapped->has_pages)
        cause = populate(mapped, begin, end);
    if (cause)
        return cause;
    for (size_t done = 0, bytes; done < end - begin; done += bytes) {
        bytes = end - begin - done < TAP_PIECE_BYTES ? end - begin - done : TAP_PIECE_BYTES;
        tap_observe(tap, data + done, bytes);
        if (!store(mapped, mapped->data + begin + done, data + done, bytes))
            return EIO;
    }
    drop_pages(mapped, begin, end);
    __atomic_fetch_add(&mapped->written[begin / PIECE_BYTES], (uint32_t)(end - begin),
                       __ATOMIC_RELEASE);
    trace_end(TRACE_WRITE, begin_ns, end - begin);
    return 0;
}

struct copy {
    struct mapped_file *mapped;
    size_t position, end; /* in the file */
    const unsigned char *data;
    struct tap *tap;
    size_t next; /* the next piece to copy */
    int failure; /* errno of a failed piece; 0: none */
};

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
        if (cause) {
            ending_wait_if_ending(); /* not an error if a signal handler truncated the file */
            __atomic_store_n(&copy->failure, cause, __ATOMIC_RELAXED);
        }
    }
}

bool mapped_file_write(struct mapped_file *mapped, size_t position, const void *data, size_t bytes,
                       unsigned threads, struct tap *tap, unsigned watchers, size_t *done)
{
    const size_t room = position < mapped->bytes ? mapped->bytes - position : 0;
    const size_t end = position + (bytes < room ? bytes : room);
    const size_t first = position / PIECE_BYTES, pieces = piece_count(end);
    *done = end - position;
    if (end == position)
        return true;
    const size_t useful = pieces - first < threads ? pieces - first : threads;
    /* Pieces end at multiples of PIECE_BYTES in the file, and so at the end of a unit of the tap
     * unless the data begins within one: then the tap gets pieces of its own. */
    const bool are_units_cut = tap && position % tap->unit_bytes != 0;
    const bool is_watched = are_units_cut || (tap && pieces - first > 1 && watchers > useful);
    const size_t team = watchers > useful ? watchers : useful;
    struct copy copy = {mapped, position, end, data, is_watched ? NULL : tap, first, 0};
    struct tap_watch watch = {is_watched ? tap : NULL, data, is_watched ? *done : 0, 0};
#pragma omp parallel num_threads(is_watched ? (int)team : (int)useful)
    {
        if ((size_t)omp_get_thread_num() < useful)
            copy_pieces(&copy);
        tap_watch_pieces(&watch);
    }
    errno = copy.failure;
    return copy.failure == 0;
}

bool mapped_file_is_truncated(const struct mapped_file *mapped)
{
    struct stat status;
    return fstat(mapped->file, &status) == 0 &&
           (size_t)status.st_size < __atomic_load_n(&mapped->size, __ATOMIC_ACQUIRE);
}

size_t mapped_file_whole(const struct mapped_file *mapped)
{
    for (size_t begin = 0, piece = 0; begin < mapped->bytes; begin += PIECE_BYTES, piece++) {
        const size_t left = mapped->bytes - begin;
        if (__atomic_load_n(&mapped->written[piece], __ATOMIC_ACQUIRE) <
            (left < PIECE_BYTES ? left : PIECE_BYTES))
            return begin;
    }
    return mapped->bytes;
}

void mapped_file_close(struct mapped_file *mapped)
{
    if (!mapped)
        return;
    end_pages(&mapped->pages);
    if (mapped->data != MAP_FAILED)
        munmap(mapped->data, mapped->bytes);
    pthread_mutex_destroy(&mapped->growing);
    free(mapped->written);
    free(mapped);
}

/* ---- Space ---- */

/* Bytes per fallocate(2), which limit how long a waiting thread waits. tmpfs allocates 11 GB/s
 * (2026-11). */
#define WINDOW_BYTES ((size_t)64 << 20)

struct file_space {
    int file;
    bool is_in_memory;
    struct memory_watch watch; /* if it is in memory */
    pthread_t thread;
    atomic_bool is_halted; /* no more is allocated */
    atomic_bool is_taking; /* set before is_halted is checked */
    struct counter wanted; /* bytes requested; stopped when the space is closed */
    struct counter taken;  /* bytes allocated, from the start; stopped by a failure */
    int cause;             /* errno of that failure */
};

/* Extents per call of FIEMAP. */
#define EXTENTS_PER_CALL 64

/* Bytes per fallocate(2) that copies shared extents: XFS requires as many bytes of free space. */
#define UNSHARE_BYTES ((size_t)4 << 20)

/* Returns the first byte of [begin, end) that may be in a hole or in a shared extent; `end` or more
 * if there is none. */
static size_t skip_own_space(int file, size_t begin, size_t end)
{
    union {
        struct fiemap map;
        char bytes[sizeof(struct fiemap) + EXTENTS_PER_CALL * sizeof(struct fiemap_extent)];
    } room;
    struct fiemap *const map = &room.map;
    while (begin < end) {
        *map = (struct fiemap){
            .fm_start = begin, .fm_length = end - begin, .fm_extent_count = EXTENTS_PER_CALL};
        if (ioctl(file, FS_IOC_FIEMAP, map) != 0 || map->fm_mapped_extents == 0)
            return begin;
        for (unsigned i = 0; i < map->fm_mapped_extents; i++) {
            const struct fiemap_extent *const extent = &map->fm_extents[i];
            const size_t extent_end = extent->fe_logical + extent->fe_length;
            if (extent->fe_logical > begin || extent_end <= begin ||
                (extent->fe_flags & FIEMAP_EXTENT_SHARED))
                return begin;
            begin = extent_end;
        }
    }
    return begin;
}

int file_space_take(int file, size_t begin, size_t end, bool unshares)
{
    const int mode = FALLOC_FL_KEEP_SIZE | (unshares ? FALLOC_FL_UNSHARE_RANGE : 0);
    while ((begin = skip_own_space(file, begin, end)) < end) {
        const size_t left = end - begin;
        const size_t bytes = unshares && left > UNSHARE_BYTES ? UNSHARE_BYTES : left;
        while (fallocate(file, mode, (off_t)begin, (off_t)bytes) != 0)
            if (errno != EINTR)
                return errno;
        begin += bytes;
    }
    return 0;
}

/* Allocates the space of bytes [begin, end), unless allocation is halted. */
static int take_window(struct file_space *space, size_t begin, size_t end)
{
    const uint64_t begin_ns = trace_begin();
    const bool has_memory =
        !space->is_in_memory || memory_watch_grow(&space->watch, end - begin, false);
    atomic_store(&space->is_taking, true); /* a signal handler waits for what follows */
    const int cause = atomic_load(&space->is_halted) ? ECANCELED
                      : has_memory ? file_space_take(space->file, begin, end, false)
                                   : ENOMEM;
    atomic_store(&space->is_taking, false);
    trace_end(TRACE_SPACE, begin_ns, cause ? 0 : end - begin);
    return cause;
}

static void *take_space(void *opaque)
{
    struct file_space *const space = opaque;
    for (size_t begin = 0, wanted; (wanted = counter_await(&space->wanted, begin + 1)) > begin;) {
        const size_t end = wanted - begin < WINDOW_BYTES ? wanted : begin + WINDOW_BYTES;
        space->cause = take_window(space, begin, end);
        if (space->cause) {
            counter_stop(&space->taken);
            break;
        }
        counter_raise(&space->taken, end);
        begin = end;
    }
    return NULL;
}

/* True if statfs(2) counts all free space. It does not count what XFS, and tmpfs with large pages,
 * have allocated beyond the end of other files, and release if there is no other space. */
static bool is_free_space_exact(int file, const struct statfs *system)
{
    struct stat status;
    if ((long)system->f_type == TMPFS_MAGIC)
        return system->f_blocks > 0 && fstat(file, &status) == 0 &&
               (size_t)status.st_blksize == page_bytes();
    return (long)system->f_type == EXT4_SUPER_MAGIC;
}

bool file_space_refuse(const char *name, uint64_t bytes, uint64_t room, struct error *error)
{
    return error_set(error,
                     "%s: %" PRIu64 " bytes will be written there, and %" PRIu64
                     " are free: use another file system",
                     name, bytes, room);
}

bool file_is_in_memory(int file)
{
    struct statfs system;
    return fstatfs(file, &system) == 0 && (long)system.f_type == TMPFS_MAGIC;
}

bool file_space_free(int file, uint64_t *bytes)
{
    struct statfs system;
    if (fstatfs(file, &system) != 0 || !is_free_space_exact(file, &system))
        return false;
    *bytes = (uint64_t)system.f_bfree * (uint64_t)system.f_bsize;
    return true;
}

/* This user may be allowed to use ext4's reserved blocks, so f_bfree counts. The space that the
 * file already has is added. */
bool file_space_check(int file, uint64_t bytes, enum space_use use, const char *name,
                      struct error *error)
{
    struct statfs system;
    struct stat status;
    if (!find_system(file) || fstatfs(file, &system) != 0 || fstat(file, &status) != 0)
        return true;
    const uint64_t block_bytes = (uint64_t)system.f_bsize, own = (uint64_t)status.st_blocks * 512;
    const uint64_t room = own + (uint64_t)system.f_bavail * block_bytes;
    const bool is_short = own + (uint64_t)system.f_bfree * block_bytes < bytes;
    int cause = EOPNOTSUPP;
    if ((long)system.f_type != TMPFS_MAGIC &&
        (use == SPACE_TAKE || (use == SPACE_TRY && room < bytes)))
        cause = file_space_take(file, 0, bytes, false);
    if (cause == EOPNOTSUPP && is_short && is_free_space_exact(file, &system))
        cause = ENOSPC; /* for ext2 and ext3, too, which cannot allocate space */
    if (cause == ENOSPC)
        return file_space_refuse(name, bytes, room, error);
    errno = cause;
    return (cause != EDQUOT && cause != EFBIG) ||
           error_set_errno(error, "%s: %" PRIu64 " bytes will be written there", name, bytes);
}

struct file_space *file_space_open(int file)
{
    /* Tests whether the file system supports it, before any caller depends on it. */
    const bool is_supported = file_space_take(file, 0, 1, false) == 0;
    struct file_space *const space = is_supported ? calloc(1, sizeof *space) : NULL;
    if (!space)
        return NULL;
    space->file = file;
    space->is_in_memory = file_is_in_memory(file);
    counter_start(&space->wanted);
    counter_start(&space->taken);
    /* SIGXFSZ, for a size beyond the limit, must be an error of the write that needs the space, and
     * other signals would interrupt fallocate(2). */
    if (thread_start_without_signals(&space->thread, "space", take_space, space))
        return space;
    free(space);
    return NULL;
}

void file_space_want(struct file_space *space, size_t bytes)
{
    counter_raise(&space->wanted, bytes);
}

int file_space_wait(struct file_space *space, size_t bytes)
{
    return counter_await(&space->taken, bytes) < bytes ? space->cause : 0;
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
    counter_stop(&space->wanted);
    pthread_join(space->thread, NULL);
    free(space);
}
