/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_read.h - a large read of a regular file, divided among threads.
 *
 * A read from the page cache takes the time of copying and of page faults in new memory. The kernel
 * does both in the calling thread, so threads help: 2 GiB into new memory, with 1, 2, 4, 8 and 16
 * threads of a machine with 16 cores and ext4, took place at 2.3, 4.3, 8.2, 14.8 and 20 GB/s
 * (November 2026). They do not help write(2), which holds the file's lock: 4.7, 4.2, 4.3, 4.3 and
 * 4.0 GB/s. mapped_file.h is for writing with several threads.
 */
#ifndef FORMATS_PARALLEL_READ_H
#define FORMATS_PARALLEL_READ_H

#include "core/check/tap.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Minimum bytes, below which starting threads costs more than it saves; and the minimum with a
 * direct consumer, whose threads have already been started. */
#define PARALLEL_READ_MIN ((size_t)16 << 20)
#define PARALLEL_TAKE_MIN ((size_t)2 << 20)

/* Returns true if several threads should read `bytes` bytes. */
static inline bool parallel_read_pays(unsigned threads, size_t bytes, const struct tap *tap)
{
    return threads > 1 && bytes >= (tap && tap->taker ? PARALLEL_TAKE_MIN : PARALLEL_READ_MIN);
}

/* Reads up to `bytes` bytes at `offset` of the file, whose own offset does not change. Returns the
 * number of bytes without a gap. If that is less, *cause is the errno of the failure, or 0 at the
 * end of the file. The tap, which may be NULL, observes the bytes; `data` begins with a unit. If
 * the tap has a direct consumer, all bytes pass through TAP_PIECE_BYTES of `data` per thread. */
size_t parallel_read(int file, void *data, size_t bytes, off_t offset, unsigned threads,
                     struct tap *tap, int *cause);

#endif
