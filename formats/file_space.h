/* SPDX-License-Identifier: Apache-2.0 */
/* file_space.h - a thread that takes the space of a file ahead of what is written to it.
 *
 *   file_space_want -> the thread: fallocate(2), a window at a time -> file_space_wait
 *
 * Half of the time that a file in memory takes goes into its space, which needs no data: the thread
 * takes it while the input is read and sorted. The size of the file stays as it is, so that nobody
 * sees what was taken. Space behind the end stays with the file: who ends the file gives it back,
 * by ftruncate(2).
 */
#ifndef FORMATS_FILE_SPACE_H
#define FORMATS_FILE_SPACE_H

#include <stddef.h>

struct file_space;

/* Of a file that is open for writing, and that the caller keeps open until file_space_close. NULL
 * where the file system cannot do it. */
struct file_space *file_space_open(int file);

/* From now on the first `bytes` bytes may be taken; fewer than before mean nothing. */
void file_space_want(struct file_space *space, size_t bytes);

/* Waits until the first `bytes` bytes, which are wanted, have their space; returns errno of what
 * keeps it from being taken, 0: they have. Any thread. */
int file_space_wait(struct file_space *space, size_t bytes);

/* When it returns no more is taken, ever: what is behind the end can be given back. A signal
 * handler may do it. */
void file_space_halt(struct file_space *space);

/* Ends the thread; of space that is not needed. space may be NULL. */
void file_space_close(struct file_space *space);

#endif
