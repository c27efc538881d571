/* mapped_file.h - a new file of a size known beforehand, filled by several threads through a
 * mapping.
 *
 *   open:  file -> mapping, and a thread that takes the file's space, a window at a time; of a file
 *          that others see, no more than the next window
 *   write: wait for the space -> copy, pieces shared out to threads
 *   close: end the thread, unmap
 *
 * write(2) holds the file's lock while it copies, so more threads bring nothing (parallel_read.h);
 * a mapping has no such lock. Half of what is left is taking the space, which needs no data: the
 * thread does it while the input is still being read and sorted.
 */
#ifndef FORMATS_MAPPED_FILE_H
#define FORMATS_MAPPED_FILE_H

#include "core/tap.h"

#include <stdbool.h>
#include <stddef.h>

struct mapped_file;

/* Below this, starting threads costs more than they bring. */
#define MAPPED_FILE_MIN ((size_t)16 << 20)

/* Begins to take `bytes` bytes, more than 0, of an empty file that is open for reading and writing;
 * its size becomes that, ahead of what is written. is_seen: it is little ahead only, so that who
 * looks at a file that was not finished sees about what was written. NULL where it cannot be done;
 * then the size may be more than 0, and the file is still as good for writing. The caller closes,
 * and keeps the file open until then. */
struct mapped_file *mapped_file_open(int file, size_t bytes, bool is_seen);

/* Copies data to the file's bytes from `position` on, by at most so many threads, as far as these
 * are among those mapped; *done says how many were. False with errno where the space could not be
 * taken, or the file system fails. The tap, which may be NULL, sees what is copied, of which a unit
 * begins at `position`: in the threads that copy, or if there may be more watchers than these, in
 * all. May be called by several threads at once. */
bool mapped_file_write(struct mapped_file *mapped, size_t position, const void *data, size_t bytes,
                       unsigned threads, struct tap *tap, unsigned watchers, size_t *done);

/* Lets go of it, at once: of the space, more may be taken than was written. mapped may be NULL. */
void mapped_file_close(struct mapped_file *mapped);

#endif
