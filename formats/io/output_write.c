/* SPDX-License-Identifier: Apache-2.0 */
/* output_write.c - writes the bytes of an output file; see output_file.h. */
#include "formats/io/output_file.h"

#include "core/ending.h"
#include "core/trace.h"
#include "formats/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maximum bytes of one write(2), so that an observer of the file's size sees the progress. */
#define WRITE_BYTES ((size_t)64 << 20)

/* Data of fewer bytes is observed by the thread that writes it, before it writes. */
#define WATCHED_BYTES_MIN ((size_t)4 << 20)

/* ---- Announced bytes ---- */

/* A given file is new only if it is empty, as for ">FILE": after other bytes, the output could
 * begin within a page. A file in append mode is not new, because others may append to it too. */
bool output_file_is_new(const struct output_file *output)
{
    struct stat status;
    const int flags = fcntl(output->file, F_GETFL);
    return output_file_replaces(output) || output->given_file > 0 ||
           (output->kind == OUTPUT_GIVEN && flags >= 0 && !(flags & O_APPEND) &&
            fstat(output->file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0 &&
            lseek(output->file, 0, SEEK_CUR) == 0);
}

/* Opens a new given file again, for reading too, so that it can be mapped. Other processes may
 * write to it, as in `xargs -P2 gpusort >FILE`. They share the descriptor's offset, which is moved
 * past our `bytes` bytes in one step, so that they continue there. */
static bool open_anew(struct output_file *output, uint64_t bytes)
{
    char path[DESCRIPTOR_PATH_BYTES];
    if (!output_file_is_new(output))
        return false;
    const int file =
        descriptor_raise(open(descriptor_path(output->file, path), O_RDWR | O_CLOEXEC));
    if (file < 0)
        return false;
    const off_t end = lseek(output->file, (off_t)bytes, SEEK_CUR);
    if (end != (off_t)bytes) { /* another process wrote first */
        if (end >= 0)
            (void)lseek(output->file, -(off_t)bytes, SEEK_CUR);
        close(file);
        return false;
    }
    output->given_file = output->file;
    output->file = file;
    return true;
}

static uint64_t whole_bytes(const struct output_file *output)
{
    return output->lost > 0 ? output->lost - 1 : output->claimed;
}

/* Returns true if another process has written to standard output after the space that was
 * claimed. */
static bool is_followed(const struct output_file *output)
{
    return output->given_file > 0 &&
           lseek(output->given_file, 0, SEEK_CUR) != (off_t)output->expected;
}

/* Truncates the file to the `bytes` bytes that are complete, which releases the space after them.
 * The next process that writes to standard output continues there. If nothing was claimed, another
 * process may have written, so only an empty file is truncated. Nothing is done to a given file if
 * another process has written after the claimed bytes, or if all of these are complete, as another
 * process may be writing at this moment. Returns false with errno. Async-signal-safe. */
static bool cut_off(const struct output_file *output, uint64_t bytes)
{
    struct stat status;
    if (output->expected == 0)
        return fstat(output->file, &status) == 0 &&
               (status.st_size != 0 || ftruncate(output->file, 0) == 0);
    if ((output->given_file > 0 && bytes == output->expected) || is_followed(output))
        return true;
    const bool is_known = fstat(output->file, &status) == 0;
    if (is_known && (uint64_t)status.st_size < bytes)
        bytes = (uint64_t)status.st_size; /* another process truncated it */
    const bool has_size = is_known && (uint64_t)status.st_size == bytes;
    return (ftruncate(output->file, (off_t)bytes) == 0 || has_size) &&
           (output->given_file == 0 || lseek(output->given_file, (off_t)bytes, SEEK_SET) >= 0);
}

/* Truncates an output that other processes may continue, when a signal ends the process. Threads
 * that still copy beyond the new end wait for the end of the process (mapped_file.c). */
static void cut_off_unfinished(void *context)
{
    const struct output_file *const unfinished = context;
    struct file_space *const space = __atomic_load_n(&unfinished->space, __ATOMIC_ACQUIRE);
    const struct mapped_file *const mapped = __atomic_load_n(&unfinished->mapped, __ATOMIC_ACQUIRE);
    const off_t at = lseek(unfinished->file, 0, SEEK_CUR);
    if (space)
        file_space_halt(space);
    (void)cut_off(unfinished, mapped ? mapped_file_whole(mapped) : (uint64_t)at);
}

static void set_unfinished(struct output_file *output, bool is_unfinished)
{
    output->is_unfinished = is_unfinished;
    ending_set_task(ENDING_OUTPUT, is_unfinished ? cut_off_unfinished : NULL, output);
}

/* Claims the first `bytes` bytes of the file, so that no other process writes there. Returns false
 * if that is not possible. */
static bool claim_file(struct output_file *output, uint64_t bytes)
{
    sigset_t old_mask;
    if (output->kind == OUTPUT_TEMPORARY)
        return true;
    ending_begin_change(&old_mask);
    const bool is_ours = open_anew(output, bytes);
    if (is_ours) {
        output->expected = bytes;
        set_unfinished(output, true);
    }
    ending_end_change(&old_mask);
    return is_ours;
}

/* Opens the allocator of the file's space, if it is not open. Returns false if the file system does
 * not support it. */
static bool open_space(struct output_file *output)
{
    if (!output->space)
        __atomic_store_n(&output->space, file_space_open(output->file), __ATOMIC_RELEASE);
    return output->space;
}

/* Maps the file for `writers` threads, and requests its space and pages. Returns false if that
 * fails. It is mapped first because that sets its size, which would wait for the allocation: 25 ms
 * for 64 MiB of tmpfs. */
static bool map_file(struct output_file *output, unsigned writers)
{
    struct mapped_file *mapped = NULL;
    if (open_space(output))
        mapped = mapped_file_open(output->file, output->expected, false,
                                  output->kind == OUTPUT_GIVEN, output->space);
    if (mapped)
        file_space_want(output->space, output->expected);
    if (mapped && output->kind == OUTPUT_TEMPORARY &&
        !mapped_file_make_pages(mapped, writers, output->ahead_bytes)) {
        mapped_file_close(mapped);
        mapped = NULL;
    }
    __atomic_store_n(&output->mapped, mapped, __ATOMIC_RELEASE);
    return mapped;
}

/* Undoes claim_file() for a file that cannot be mapped: a signal handler could not truncate it
 * while other threads write to it by write(2). Keeps the claim if another process has already
 * written after it. */
static void unclaim_file(struct output_file *output)
{
    sigset_t old_mask;
    struct file_space *const space = output->space;
    if (output->given_file == 0)
        return;
    if (space)
        file_space_halt(space);
    ending_begin_change(&old_mask);
    output->space = NULL;
    if (!is_followed(output) && cut_off(output, 0)) {
        close(output->file);
        output->file = output->given_file;
        output->given_file = 0;
        output->expected = 0;
        set_unfinished(output, false);
    }
    ending_end_change(&old_mask);
    file_space_close(space);
}

unsigned output_file_choose_writers(const struct output_file *output, uint64_t bytes,
                                    unsigned threads)
{
    if (bytes < MAPPED_FILE_MIN || threads < OUTPUT_WRITERS_MIN)
        return 0;
    const bool finds_pages = output->kind == OUTPUT_TRIAL || output->kind == OUTPUT_TEMPORARY;
    const unsigned most = mapped_file_writers(output->file, finds_pages);
    return threads < most ? threads : most;
}

/* Returns how many threads of this rank should write through a mapping to an output that ranks
 * share; 0: pwrite(2) is used. All ranks together have no more writers than one process. Ranks of
 * several hosts never map the file: in a network file system each host writes whole pages back, and
 * would overwrite what another one wrote to the same page. */
static unsigned choose_shared_writers(const struct output_file *output, uint64_t bytes,
                                      unsigned threads)
{
    const unsigned ranks = output->group->host_size;
    if (ranks < output->group->size)
        return 0;
    return output_file_choose_writers(output, bytes, threads * ranks) / ranks;
}

/* Rank 0 allocates the space of the whole file. */
static void expect_shared(struct output_file *output, uint64_t bytes, unsigned threads)
{
    const unsigned writers = choose_shared_writers(output, bytes, threads);
    if (writers == 0)
        return;
    output->expected = bytes;
    output->writers = writers;
    output->is_preallocated = true;
    if (output->group->rank == 0 && open_space(output))
        file_space_want(output->space, bytes);
}

/* Returns true if announcements have no effect: a file in place has its size and space. */
static bool is_begun(const struct output_file *output)
{
    return output_file_is_in_place(output) || output->expected > 0 || output->claimed > 0;
}

void output_file_expect_least(struct output_file *output, uint64_t bytes, unsigned threads)
{
    sigset_t old_mask;
    if (is_begun(output) || output->kind == OUTPUT_OF_RANKS || bytes > INT64_MAX)
        return;
    if (!output->space && output->kind != OUTPUT_TEMPORARY) {
        if (!output_file_choose_writers(output, bytes, threads) || !output_file_is_new(output))
            return;
        ending_begin_change(&old_mask);
        set_unfinished(output, true);
        ending_end_change(&old_mask);
    }
    if ((output->space || output_file_choose_writers(output, bytes, threads)) && open_space(output))
        file_space_want(output->space, bytes);
}

void output_file_expect(struct output_file *output, uint64_t bytes, unsigned threads)
{
    if (is_begun(output) || bytes > INT64_MAX)
        return;
    if (output->kind == OUTPUT_OF_RANKS) {
        expect_shared(output, bytes, threads);
        return;
    }
    if (output->kind == OUTPUT_TEMPORARY)
        output->expected = bytes;
    const unsigned writers = output_file_choose_writers(output, bytes, threads);
    if (writers == 0 || !claim_file(output, bytes))
        return;
    if (map_file(output, writers))
        output->writers = writers;
    else
        unclaim_file(output);
}

bool output_file_check_room(struct output_file *output, uint64_t bytes, struct error *error)
{
    if (output_file_replaces(output))
        return (output->group && output->group->rank > 0) ||
               file_space_check(output->file, bytes, SPACE_TAKE, output->name, error);
    return !output_file_is_new(output) ||
           file_space_check(output->file, bytes, SPACE_LOOK, output->name, error);
}

void output_file_release_room(struct output_file *output)
{
    struct stat status;
    if (output->kind == OUTPUT_TEMPORARY && !output->space && fstat(output->file, &status) == 0)
        (void)!ftruncate(output->file, status.st_size);
}

uint64_t output_file_claim(struct output_file *output, size_t bytes)
{
    const uint64_t position = output->claimed;
    output->claimed += bytes;
    return position;
}

void output_file_move(struct output_file *output, uint64_t position)
{
    output->claimed = position;
}

/* Rank 0: waits for the space of the whole file, and gives the file its size. *is_ready: the ranks
 * can map it. */
static bool prepare_shared(struct output_file *output, uint64_t *is_ready, struct error *error)
{
    if (!output->space)
        return true;
    errno = file_space_wait(output->space, output->expected);
    *is_ready = errno == 0 && ftruncate(output->file, (off_t)output->expected) == 0;
    return *is_ready || error_set_errno(error, "%s", output->name);
}

bool output_file_map_shared(struct output_file *output, struct error *error)
{
    struct group *const group = output->group;
    uint64_t is_ready = 0;
    if (!group_agree(group, prepare_shared(output, &is_ready, error), error) ||
        !group_sum(group, &is_ready, 1, error))
        return false;
    if (is_ready && output->expected > 0) /* if this fails, pwrite(2) is used */
        output->mapped = mapped_file_open(output->file, output->expected, false, false, NULL);
    if (!output->mapped)
        output->writers = 1;
    return true;
}

/* ---- Writing ---- */

/* Allocates the announced space: this raised 4.7 to 5.2 GB/s on ext4 (2 GiB, November 2026). The
 * file size does not change. Failures are ignored: if the file system is full, a write reports it.
 * Only on the file systems of mapped_file.c: btrfs does not compress what is written to such
 * space. A file in memory is watched unless its space could be allocated. */
static void preallocate(struct output_file *output)
{
    if (output->is_preallocated)
        return; /* always true in place, where several threads call this */
    output->takes_memory = file_is_in_memory(output->file);
    if (output->expected > 0 && mapped_file_writers(output->file, true) > 0 &&
        (!output->takes_memory || memory_watch_grow(&output->watch, output->expected, false)) &&
        fallocate(output->file, FALLOC_FL_KEEP_SIZE, 0, (off_t)output->expected) == 0)
        output->takes_memory = false;
    output->is_preallocated = true;
}

/* Several threads may call this. */
static void set_changed(struct output_file *output)
{
    if (output->kind == OUTPUT_IN_PLACE)
        __atomic_store_n(&output->is_changed, true, __ATOMIC_RELAXED);
}

/* Writes to the file's offset, or to `position` if the file is mapped, overwritten in place or
 * shared by ranks. Returns false with errno. */
static bool write_piece(struct output_file *output, uint64_t position, const unsigned char *data,
                        size_t bytes)
{
    const bool has_position =
        output->mapped || output->kind == OUTPUT_IN_PLACE || output->kind == OUTPUT_OF_RANKS;
    for (size_t done = 0; done < bytes;) {
        const uint64_t begin_ns = trace_begin();
        const ssize_t written =
            has_position ? pwrite(output->file, data + done, bytes - done, (off_t)(position + done))
                         : write(output->file, data + done, bytes - done);
        if (written < 0 && !descriptor_must_retry(output->file, POLLOUT))
            return false;
        if (written > 0) {
            set_changed(output);
            trace_end(TRACE_WRITE, begin_ns, (uint64_t)written);
            done += (size_t)written;
        }
    }
    return true;
}

/* As write_piece(), while other threads pass the piece to the tap. */
static bool write_watched(struct output_file *output, uint64_t position, const unsigned char *data,
                          size_t bytes, unsigned threads, struct tap *tap)
{
    struct tap_watch watch = {tap, data, bytes, 0};
    int cause = 0;
#pragma omp parallel num_threads((int)threads)
    {
        if (omp_get_thread_num() == 0 && !write_piece(output, position, data, bytes))
            cause = errno;
        tap_watch_pieces(&watch);
    }
    errno = cause;
    return cause == 0;
}

static bool is_truncated(const struct output_file *output)
{
    struct stat status;
    if (output->mapped)
        return mapped_file_is_truncated(output->mapped);
    return output->kind == OUTPUT_IN_PLACE && fstat(output->file, &status) == 0 &&
           status.st_size < output->target.status.st_size;
}

/* Writes by write(2), in order; in place, and for ranks, to `position` by pwrite(2). Returns false
 * with errno: EIO if another process has truncated the file in place, which the next write would
 * make long again; ENOMEM if a file in memory has no memory left. */
static bool write_straight(struct output_file *output, uint64_t position, const void *data,
                           size_t bytes, unsigned threads, struct tap *tap)
{
    const bool is_watched = tap && threads > 1 && bytes >= WATCHED_BYTES_MIN;
    const size_t most = tap && !is_watched ? TAP_PIECE_BYTES : WRITE_BYTES;
    preallocate(output);
    for (size_t done = 0, piece; done < bytes; done += piece) {
        const unsigned char *const content = (const unsigned char *)data + done;
        piece = bytes - done < most ? bytes - done : most;
        if (!is_watched)
            tap_observe(tap, content, piece);
        if (output->takes_memory && !memory_watch_grow(&output->watch, piece, false)) {
            errno = ENOMEM;
            return false;
        }
        if (!(is_watched ? write_watched(output, position + done, content, piece, threads, tap)
                         : write_piece(output, position + done, content, piece)))
            return false;
        if (is_truncated(output)) {
            errno = EIO;
            return false;
        }
    }
    return true;
}

/* Writes through the mapping. Bytes after the mapping, if there are more than announced, are
 * written by pwrite(2). Returns false with errno. */
static bool write_mapped(struct output_file *output, uint64_t position, const void *data,
                         size_t bytes, unsigned threads, struct tap *tap)
{
    size_t done;
    const unsigned writers = threads < output->writers ? threads : output->writers;
    set_changed(output);
    if (!mapped_file_write(output->mapped, position, data, bytes, writers, tap, threads, &done))
        return false;
    const unsigned char *const rest = (const unsigned char *)data + done;
    tap_observe_all(tap, rest, bytes - done, threads);
    return write_piece(output, position + done, rest, bytes - done);
}

/* What output_file_before_first_byte() has set: static, because a process has one terminal. */
static struct {
    void (*run)(void *context);
    void *context;
} before_first_byte;

void output_file_before_first_byte(void (*run)(void *context), void *context)
{
    before_first_byte.run = run;
    before_first_byte.context = context;
}

static void begin_bytes(const struct output_file *output)
{
    struct stat status;
    const bool is_opened = output->kind == OUTPUT_GIVEN || output->kind == OUTPUT_SPECIAL;
    if (before_first_byte.run && is_opened && fstat(output->file, &status) == 0 &&
        !S_ISREG(status.st_mode))
        before_first_byte.run(before_first_byte.context);
}

bool output_file_write(struct output_file *output, uint64_t position, const void *data,
                       size_t bytes, unsigned threads, struct tap *tap, struct error *error)
{
    if (position == 0)
        begin_bytes(output);
    if (output->kind == OUTPUT_TRIAL) {
        tap_observe_all(tap, data, bytes, threads);
        return true;
    }
    const bool written = output->mapped
                             ? write_mapped(output, position, data, bytes, threads, tap)
                             : write_straight(output, position, data, bytes, threads, tap);
    const int cause = errno;
    if (written)
        return true;
    output_file_lose(output, position);
    if (cause == EIO && is_truncated(output))
        return error_set(error, "%s: another process truncated it while it was written",
                         output->name);
    if (cause == ENOMEM && file_is_in_memory(output->file))
        return error_set(error,
                         "%s: no memory is left for it, as it is stored in memory: use a "
                         "file system on a disk",
                         output->name);
    errno = cause;
    return error_set_errno(error, "%s", output->name);
}

void output_file_lose(struct output_file *output, uint64_t position)
{
    first_position_note(&output->lost, position);
}

/* ---- The end of writing ---- */

void output_file_end_mapping(struct output_file *output)
{
    mapped_file_close(output->mapped);
    file_space_close(output->space);
    output->mapped = NULL;
    output->space = NULL;
}

bool output_file_settle(struct output_file *output)
{
    const uint64_t begin_ns = trace_begin();
    const bool is_announced = output->expected > 0 || output->space;
    sigset_t old_mask;
    if (output->kind == OUTPUT_OF_RANKS || (!is_announced && !output->is_unfinished)) {
        output_file_end_mapping(output);
        return true;
    }
    if (output->space)
        file_space_halt(output->space);
    const bool is_shown = output->is_unfinished; /* a signal handler may truncate it too */
    if (is_shown)
        ending_begin_change(&old_mask);
    bool settled = !is_announced || cut_off(output, whole_bytes(output));
    if (is_shown) {
        set_unfinished(output, false);
        ending_end_change(&old_mask);
    }
    const int cause = errno;
    output_file_end_mapping(output);
    errno = cause;
    if (output->given_file > 0)
        settled = close(output->given_file) == 0 && settled;
    output->given_file = 0;
    output->expected = 0;
    trace_span(TRACE_WRITE, "unmap", begin_ns, trace_begin(), 0);
    return settled;
}
