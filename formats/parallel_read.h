/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_read.h - one large read of a regular file, shared out to several threads.
 *
 * What bounds a read from the page cache is copying, and the faults of pages that are touched for
 * the first time; the kernel does both on the thread that asks. So threads pay: 2 GiB into
 * untouched memory took, at 1, 2, 4, 8 and 16 threads of a machine with 16 cores and
 * ext4, 2.3, 4.3, 8.2, 14.8 and 20 GB/s (November 2026). They do not pay for write(2), which
 * holds the file's lock all the while: 4.7, 4.2, 4.3, 4.3 and 4.0 GB/s. Writing by several threads
 * goes another way: mapped_file.h.
 */
#ifndef FORMATS_PARALLEL_READ_H
#define FORMATS_PARALLEL_READ_H

#include "core/tap.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Below this, starting threads costs more than they bring; or where they take what they read, and
 * have been started for what came before it. */
#define PARALLEL_READ_MIN ((size_t)16 << 20)
#define PARALLEL_TAKE_MIN ((size_t)2 << 20)

/* Whether several threads are to read so many bytes. */
static inline bool parallel_read_pays(unsigned threads, size_t bytes, const struct tap *tap)
{
    return threads > 1 && bytes >= (tap && tap->taker ? PARALLEL_TAKE_MIN : PARALLEL_READ_MIN);
}

/* Reads up to `bytes` bytes at `offset` of the file; the file's own offset stays. Returns how many
 * there are without a gap; where they are fewer, *cause is the errno of the failure, or 0 at the
 * end of the file. The tap, which may be NULL, sees what is read; data begins with a unit. With a
 * taker of the tap's, all goes through a piece of TAP_PIECE_BYTES for each thread. */
size_t parallel_read(int file, void *data, size_t bytes, off_t offset, unsigned threads,
                     struct tap *tap, int *cause);

#endif
