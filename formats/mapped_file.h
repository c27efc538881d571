/* SPDX-License-Identifier: Apache-2.0 */
/* mapped_file.h - a new file of a size known beforehand, filled by several threads through a
 * mapping.
 *
 *   open:  file -> mapping
 *   write: wait for the space (file_space.h) -> copy, pieces shared out to threads
 *
 * write(2) holds the file's lock while it copies, so more threads bring nothing (parallel_read.h);
 * a mapping has no such lock. Half of what is left is taking the space, which goes on meanwhile, or
 * before.
 */
#ifndef FORMATS_MAPPED_FILE_H
#define FORMATS_MAPPED_FILE_H

#include "core/tap.h"

#include <stdbool.h>
#include <stddef.h>

struct file_space;
struct mapped_file;

/* Below this, starting threads costs more than they bring. */
#define MAPPED_FILE_MIN ((size_t)16 << 20)

/* By how many threads at most a file on that file system is written faster through a mapping; 0: by
 * none. */
unsigned mapped_file_writers(int file);

/* Maps the first `bytes` bytes, more than 0 and no more than INT64_MAX, of an empty file that is
 * open for reading and writing, and whose space is wanted that far. is_seen: the file becomes
 * longer step by step, so that who looks at one that was not finished sees about what was written;
 * else it is as long at once. NULL where that cannot be done; then its size may be more than 0, and
 * it is still as good for writing. space may be NULL, if the file has its size and all of its
 * space. The caller closes, and keeps file and space until then. */
struct mapped_file *mapped_file_open(int file, size_t bytes, bool is_seen,
                                     struct file_space *space);

/* Copies data to the file's bytes from `position` on, by at most so many threads, as far as these
 * are among those mapped; *done says how many were. False with errno where the space could not be
 * taken, or the file system fails. The tap, which may be NULL, sees what is copied, of which a unit
 * begins at `position`: in the threads that copy, or if there may be more watchers than these, in
 * all. May be called by several threads at once. */
bool mapped_file_write(struct mapped_file *mapped, size_t position, const void *data, size_t bytes,
                       unsigned threads, struct tap *tap, unsigned watchers, size_t *done);

/* Of the first bytes, how many were written without a gap, or a little less. A signal handler may
 * ask. */
size_t mapped_file_whole(const struct mapped_file *mapped);

/* Lets go of it; the file may be longer than what was written. mapped may be NULL. */
void mapped_file_close(struct mapped_file *mapped);

#endif
