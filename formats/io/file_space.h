/* SPDX-License-Identifier: Apache-2.0 */
/* file_space.h - a thread that allocates the space of a file before data is written to it.
 *
 *   file_space_want -> the thread: fallocate(2), window by window  -> file_space_wait
 *
 * Allocating space is half of the time that writing a file in memory (tmpfs) takes. It needs no
 * data, so the thread does it while the input is read and sorted. The size of the file does not
 * change, so the allocation is not visible to others. Space after the end of the file stays
 * allocated until the caller releases it by ftruncate(2).
 */
#ifndef FORMATS_FILE_SPACE_H
#define FORMATS_FILE_SPACE_H

#include <stddef.h>

struct file_space;

/* Starts the thread for a file that is open for writing. The caller keeps the file open until
 * file_space_close(). Returns NULL if the file system does not support it. */
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
