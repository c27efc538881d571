/* SPDX-License-Identifier: Apache-2.0 */
/* mapped_file.h - fills a file of known size with several threads, through a mapping.
 *
 *   open:  file -> mapping
 *   write: wait for the space, and for the pages -> copy, pieces divided among threads
 *
 * write(2) holds the file's lock while it copies, so more threads do not make it faster
 * (input_file.h). A mapping has no such lock. Most of the remaining time is the allocation of disk
 * space and of pages, which happens meanwhile, or before.
 */
#ifndef FORMATS_MAPPED_FILE_H
#define FORMATS_MAPPED_FILE_H

#include "core/check/tap.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct file_space;
struct mapped_file;

/* Number of threads that write to a file at once. With fewer than OUTPUT_WRITERS_MIN threads, one
 * writes. */
#define OUTPUT_WRITERS_MIN 4
#define OUTPUT_WRITERS_MAX 16

/* Returns the maximum number of writers for `threads` threads. */
static inline unsigned output_writers_most(unsigned threads)
{
    if (threads < OUTPUT_WRITERS_MIN)
        return 1;
    return threads < OUTPUT_WRITERS_MAX ? threads : OUTPUT_WRITERS_MAX;
}

/* Minimum bytes: below this, starting threads costs more time than it saves. */
#define MAPPED_FILE_MIN ((size_t)16 << 20)

/* Returns the maximum number of threads that write faster through a mapping than write(2) does, on
 * the file system of `file`; 0 if none do. `finds_pages`: the file has its contents, or the caller
 * calls mapped_file_make_pages(). */
unsigned mapped_file_writers(int file, bool finds_pages);

/* Maps the first `bytes` bytes (1 to INT64_MAX) of a file that is open for reading and writing.
 * `has_pages`: the file has its size and its contents; otherwise none yet. The caller requests the
 * space from `space`. If `grows_in_steps`, the file grows step by step, so that its size shows
 * about how much was written if the job does not finish; otherwise it gets its full size at once.
 * `space` may be NULL if the file already has its size and all of its space. Returns NULL if the
 * file cannot be mapped. Its size may then be more than 0, but it can still be written. The caller
 * calls mapped_file_close(), and keeps `file` and `space` open until then. Installs a handler of
 * SIGBUS, which stays. */
struct mapped_file *mapped_file_open(int file, size_t bytes, bool has_pages, bool grows_in_steps,
                                     struct file_space *space);

/* Starts threads that make new pages up to `lead` bytes ahead of `writers` threads, as far as space
 * is requested. So the pages are made while the input is read. Has no effect on a file in memory,
 * whose pages come with its space. Called once at most, if the file has `space` and does not grow
 * in steps. Returns false if no thread can be started; the mapping must be closed then. */
bool mapped_file_make_pages(struct mapped_file *mapped, unsigned writers, size_t lead);

/* Copies `data` to the file from `position` on, with at most `threads` threads. Only bytes within
 * the mapping are copied; *done is set to their number. Returns false with errno if space could not
 * be allocated or the file system fails. The tap, which may be NULL, observes the copied bytes, the
 * first of which begins a unit: in the copying threads, or in `watchers` threads if these are more.
 * Thread-safe. */
bool mapped_file_write(struct mapped_file *mapped, size_t position, const void *data, size_t bytes,
                       unsigned threads, struct tap *tap, unsigned watchers, size_t *done);

/* Returns true if the file is shorter than it was made here, so another process truncated it. */
bool mapped_file_is_truncated(const struct mapped_file *mapped);

/* Returns the length of the prefix that was written without a gap, or up to 1 MiB less.
 * Async-signal-safe. */
size_t mapped_file_whole(const struct mapped_file *mapped);

/* Ends the threads that make pages, and unmaps the file, which may be longer than the bytes
 * written. `mapped` may be NULL. */
void mapped_file_close(struct mapped_file *mapped);

/* ---- Space ----
 *
 *   file_space_want -> a thread: fallocate(2), window by window -> file_space_wait
 *
 * Allocating space is half of the time that writing a file in memory (tmpfs) takes. It needs no
 * data, so the thread does it while the input is read and sorted. The size of the file does not
 * change, so the allocation is not visible to others. Space after the end of the file stays
 * allocated until the caller releases it by ftruncate(2).
 */

/* Allocates the space that bytes [begin, end) lack: of holes and, with unshares, of extents that
 * are shared with a copy. XFS requires free space also for what the file has, so the bytes before
 * the first hole or shared extent are left out; with unshares, nearly all that the file has alone.
 * The size of the file does not change. Returns 0, or errno. */
int file_space_take(int file, size_t begin, size_t end, bool unshares);

/* What file_space_check() may do: look at the figures of the file system; on ext4 and XFS also try
 * to allocate the space, if those show too little; or always allocate it, which finds quotas too
 * (60 GB of ext4: 0.2 s, and 1.2 s to release them). It stays allocated. */
enum space_use { SPACE_LOOK, SPACE_TRY, SPACE_TAKE };

/* Fails if the first `bytes` bytes of the file certainly have no room. Never fails on a file system
 * that has no mapped files here (mapped_file_writers()). */
bool file_space_check(int file, uint64_t bytes, enum space_use use, const char *name,
                      struct error *error);

/* Returns true if the file is in memory (tmpfs), and not on a disk. */
bool file_is_in_memory(int file);

/* Sets *bytes to the free bytes of the file system of the file, with those reserved for root.
 * Returns false if their number is not certain, as on XFS. */
bool file_space_free(int file, uint64_t *bytes);

/* Sets the error for `bytes` bytes where `room` bytes are free. Returns false. */
bool file_space_refuse(const char *name, uint64_t bytes, uint64_t room, struct error *error);

/* Starts the thread for a file that is open for writing. The caller keeps the file open until
 * file_space_close(). Returns NULL if the file system does not support it, the first byte has no
 * space, or the thread cannot be started. */
struct file_space *file_space_open(int file);

/* Requests the space of the first `bytes` bytes. A smaller value than before has no effect. */
void file_space_want(struct file_space *space, size_t bytes);

/* Waits until the first `bytes` bytes, which must have been requested, have their space. Returns 0,
 * or the errno of the failed allocation. Any thread may call it. */
int file_space_wait(struct file_space *space, size_t bytes);

/* Stops allocation for good. After it returns, space after the end of the file can be released. A
 * signal handler may call it. */
void file_space_halt(struct file_space *space);

/* Ends the thread and frees `space`, which may be NULL. Pending requests are dropped. */
void file_space_close(struct file_space *space);

#endif
