/* SPDX-License-Identifier: Apache-2.0 */
/* parallel_read.c - see parallel_read.h. The range is cut into pieces that the threads take in
 * ascending order, so that the kernel's read-ahead works, and no thread waits for a slow one.
 */
#include "formats/io/parallel_read.h"

#include "core/trace.h"

#include <errno.h>
#include <omp.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)2 << 20)

/* Reads one piece completely, if possible. Returns the bytes read. */
static size_t read_piece(int file, unsigned char *data, size_t bytes, off_t offset, struct tap *tap,
                         int *cause)
{
    size_t done = 0, seen = 0;
    *cause = 0;
    while (done < bytes) {
        const uint64_t begin_ns = trace_begin();
        const size_t left = bytes - done;
        const size_t want = tap && left > TAP_PIECE_BYTES ? TAP_PIECE_BYTES : left;
        const ssize_t got = pread(file, data + done, want, offset + (off_t)done);
        if (got > 0) {
            trace_end(TRACE_READ, begin_ns, (uint64_t)got);
            done += (size_t)got;
            seen += tap_see_units(tap, data + seen, done - seen);
        } else if (got == 0) {
            break;
        } else if (errno != EINTR) {
            *cause = errno;
            break;
        }
    }
    return done;
}

size_t parallel_read(int file, void *data, size_t bytes, off_t offset, unsigned threads,
                     struct tap *tap, int *cause)
{
    /* A thread without a piece would be waited for too. With 16 threads for 8 pieces on 16 cores,
     * reads of 0.7 ms came every 8.0 ms while another thread allocated the space of the output, and
     * every 0.65 ms after that: probably two ticks of the scheduler (2026-11-22). */
    const bool is_taken = tap && tap->taker;
    const size_t piece_bytes = is_taken ? TAP_PIECE_BYTES : PIECE_BYTES;
    const size_t pieces = bytes / piece_bytes + (bytes % piece_bytes != 0);
    const unsigned useful = pieces < threads ? (unsigned)pieces : threads;
    size_t first_gap = bytes; /* everything before it is read or being read */
    int gap_cause = 0;
#pragma omp parallel for num_threads(useful > 1 ? useful : 1) schedule(dynamic)
    for (size_t start = 0; start < bytes; start += piece_bytes) {
        size_t gap;
#pragma omp atomic read
        gap = first_gap;
        if (start >= gap)
            continue;
        const size_t left = bytes - start, piece = left < piece_bytes ? left : piece_bytes;
        const size_t place = is_taken ? (size_t)omp_get_thread_num() * piece_bytes : start;
        int piece_cause;
        const size_t done = read_piece(file, (unsigned char *)data + place, piece,
                                       offset + (off_t)start, tap, &piece_cause);
        if (done < piece) {
#pragma omp critical(parallel_read_gap)
            if (start + done < first_gap) {
#pragma omp atomic write
                first_gap = start + done;
                gap_cause = piece_cause;
            }
        }
    }
    *cause = gap_cause;
    return first_gap;
}
