/* SPDX-License-Identifier: Apache-2.0 */
/* mapped_file.h - fills a new file of known size with several threads, through a mapping.
 *
 *   open:  file -> mapping
 *   write: wait for the space (file_space.h) -> copy, pieces divided among threads
 *
 * write(2) holds the file's lock while it copies, so more threads do not make it faster
 * (parallel_read.h). A mapping has no such lock. Half of the remaining time is the allocation of
 * disk space, which happens meanwhile, or before.
 */
#ifndef FORMATS_MAPPED_FILE_H
#define FORMATS_MAPPED_FILE_H

#include "core/check/tap.h"

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
 * the file system of `file`; 0 if none do. `has_pages`: the file has its size and its contents. */
unsigned mapped_file_writers(int file, bool has_pages);

/* Maps the first `bytes` bytes (1 to INT64_MAX) of an empty file that is open for reading and
 * writing. The caller requests their space from `space`. If `is_seen`, the file grows step by step,
 * so that its size shows about how much was written if the job does not finish; otherwise it gets
 * its full size at once. `space` may be NULL if the file already has its size and all of its space.
 * Returns NULL if the file cannot be mapped. Its size may then be more than 0, but it can still be
 * written. The caller calls mapped_file_close(), and keeps `file` and `space` open until then. */
struct mapped_file *mapped_file_open(int file, size_t bytes, bool is_seen,
                                     struct file_space *space);

/* Copies `data` to the file from `position` on, with at most `threads` threads. Only bytes within
 * the mapping are copied; *done returns their number. Returns false with errno if space could not
 * be allocated or the file system fails. The tap observes the copied bytes, the first of which
 * begins a unit: in the copying threads, or in `watchers` threads if that is more. Thread-safe. */
bool mapped_file_write(struct mapped_file *mapped, size_t position, const void *data, size_t bytes,
                       unsigned threads, struct tap *tap, unsigned watchers, size_t *done);

/* Returns true if the file is shorter than it was made here, so another process truncated it. */
bool mapped_file_is_truncated(const struct mapped_file *mapped);

/* Returns the length of the prefix that was written without a gap, or slightly less.
 * Async-signal-safe. */
size_t mapped_file_whole(const struct mapped_file *mapped);

/* Unmaps the file, which may be longer than the bytes written. `mapped` may be NULL. */
void mapped_file_close(struct mapped_file *mapped);

#endif
