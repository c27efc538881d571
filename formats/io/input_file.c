/* SPDX-License-Identifier: Apache-2.0 */
/* input_file.c - see input_file.h. */
#include "formats/io/input_file.h"

#include "core/trace.h"
#include "formats/descriptor.h"
#include "formats/io/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <omp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Parallel reads ---- */

/* The range of a parallel read is cut into pieces, of TAP_PIECE_BYTES with a direct consumer. The
 * threads take them in ascending order, so that the kernel's read-ahead works, and no thread waits
 * for a slow one. */
#define PIECE_BYTES ((size_t)1 << 20)

/* Reads one piece completely, if possible. Returns the bytes read. */
static size_t read_piece(int file, unsigned char *data, size_t bytes, off_t offset, struct tap *tap,
                         int *cause)
{
    size_t done = 0, observed = 0;
    *cause = 0;
    while (done < bytes) {
        const uint64_t begin_ns = trace_begin();
        const size_t left = bytes - done;
        const size_t want = tap && left > TAP_PIECE_BYTES ? TAP_PIECE_BYTES : left;
        const ssize_t got = pread(file, data + done, want, offset + (off_t)done);
        if (got > 0) {
            trace_end(TRACE_READ, begin_ns, (uint64_t)got);
            done += (size_t)got;
            observed += tap_observe_units(tap, data + observed, done - observed);
        } else if (got == 0) {
            break;
        } else if (errno != EINTR) {
            *cause = errno;
            break;
        }
    }
    return done;
}

/* Reads up to `bytes` bytes at `offset` of the file, whose own offset does not change. Returns the
 * number of bytes without a gap. If that is less, *cause is the errno of the failure, or 0 at the
 * end of the file. The tap, which may be NULL, observes the bytes; `data` begins with a unit. If
 * the tap has a direct consumer, all bytes pass through TAP_PIECE_BYTES of `data` per thread. */
static size_t parallel_read(int file, void *data, size_t bytes, off_t offset, unsigned threads,
                            struct tap *tap, int *cause)
{
    /* A thread without a piece would be waited for too. With 16 threads for 8 pieces on 16 cores,
     * reads of 0.7 ms came every 8.0 ms while another thread allocated the space of the output, and
     * every 0.65 ms after that: probably two ticks of the scheduler (2026-11-22). */
    const bool is_taken = tap && tap->consumer;
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
        const size_t position = is_taken ? (size_t)omp_get_thread_num() * piece_bytes : start;
        int piece_cause;
        const size_t done = read_piece(file, (unsigned char *)data + position, piece,
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

/* ---- The file ---- */

/* Smaller reads of a pipe are made without a pipe of our own. */
#define OWN_PIPE_BYTES_MIN ((size_t)128 << 10)

static bool cut_off(const struct input_file *input, uint64_t end, struct error *error)
{
    return error_set(error, "%s: the file was cut off while it was read, at %" PRIu64 " bytes",
                     input->name, end);
}

/* Reads the first and the last bytes of the file, up to the size it had when it was opened. Returns
 * the length of each; 0 if they cannot be read. */
static size_t read_ends(const struct input_file *input, char ends[2][INPUT_END_BYTES])
{
    const uint64_t bytes = (uint64_t)input->status.st_size;
    const size_t wanted = bytes < INPUT_END_BYTES ? (size_t)bytes : INPUT_END_BYTES;
    return pread(input->file, ends[0], wanted, 0) == (ssize_t)wanted &&
                   pread(input->file, ends[1], wanted, (off_t)(bytes - wanted)) == (ssize_t)wanted
               ? wanted
               : 0;
}

static bool has_ends(const struct input_file *input)
{
    char ends[2][INPUT_END_BYTES];
    return input->end_bytes == 0 || read_ends(input, ends) == 0 ||
           (memcmp(ends[0], input->ends[0], input->end_bytes) == 0 &&
            memcmp(ends[1], input->ends[1], input->end_bytes) == 0);
}

/* Lines may be appended meanwhile, which changes the time too. Times of file systems with a server
 * may change without a write. Files in /sys, which take no blocks, are shorter than their size. */
bool input_file_check_end(const struct input_file *input, uint64_t end, struct error *error)
{
    struct stat now;
    if (!input->is_sized || input->is_stream || fstat(input->file, &now) != 0)
        return true;
    if (end < input->bytes && ((uint64_t)now.st_size < input->bytes || now.st_blocks > 0))
        return cut_off(input, end, error);
    const bool is_same =
        (uint64_t)now.st_size > (uint64_t)input->status.st_size
            ? has_ends(input)
            : now.st_size < input->status.st_size || descriptor_same_content(&input->status, &now);
    return is_same || !descriptor_is_local(input->file) ||
           error_set(error, "%s: it was changed while it was read: run the command again",
                     input->name);
}

/* Opens our own pipe, if it is not open. If that fails, the input is read directly from now on. */
static bool has_own_pipe(struct input_file *input)
{
    if (input->own_pipe[0] == 0) {
        input->is_pipe = pipe2(input->own_pipe, O_CLOEXEC) == 0;
        for (int i = 0; i < 2 && input->is_pipe; i++)
            input->own_pipe[i] = descriptor_raise(input->own_pipe[i]);
        input->is_pipe = input->is_pipe && input->own_pipe[0] > 0 && input->own_pipe[1] > 0;
        if (input->is_pipe)
            descriptor_widen_pipe(input->own_pipe[0]);
    }
    return input->is_pipe;
}

/* As read(2): moves up to `bytes` bytes from the pipe to our own pipe, and copies them from there.
 * A copy locks the pipe it reads, so that our own pipe lets the writer continue meanwhile. */
static ssize_t read_pipe(struct input_file *input, unsigned char *data, size_t bytes)
{
    if (bytes < OWN_PIPE_BYTES_MIN || !has_own_pipe(input))
        return read(input->file, data, bytes);
    const ssize_t moved = splice(input->file, NULL, input->own_pipe[1], NULL, bytes, 0);
    if (moved < 0 && errno != EINTR && errno != EAGAIN) { /* cannot be spliced, or not here */
        input->is_pipe = false;
        return read(input->file, data, bytes);
    }
    for (ssize_t done = 0; done < moved;) {
        const ssize_t got = read(input->own_pipe[0], data + done, (size_t)(moved - done));
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return got;
        done += got > 0 ? got : 0;
    }
    return moved;
}

static bool read_stream(struct input_file *input, void *data, size_t bytes, size_t *got,
                        struct error *error)
{
    const uint64_t left = input->bytes - input->offset;
    *got = left < bytes ? (size_t)left : bytes;
    const struct input_stream *const stream = &input->stream;
    if (!stream->read(stream->context, input->offset, data, *got, error))
        return false;
    input->offset += *got;
    input->has_ended = *got == 0;
    return true;
}

bool input_file_read_once(struct input_file *input, void *data, size_t bytes, size_t *got,
                          struct error *error)
{
    ssize_t result;
    if (input->is_stream)
        return read_stream(input, data, bytes, got, error);
    const uint64_t left = input->bytes > input->offset ? input->bytes - input->offset : 0;
    if (input->is_narrow && bytes > left)
        bytes = (size_t)left;
    /* For a file in /proc/sys, Linux allocates as much memory as the read asks for, at most 4 MiB.
     */
    if (!input->is_sized && bytes > PIECE_BYTES)
        bytes = PIECE_BYTES;
    const uint64_t begin_ns = trace_begin();
    do
        result = input->is_pipe ? read_pipe(input, data, bytes) : read(input->file, data, bytes);
    while (result < 0 && descriptor_must_retry(input->file, POLLIN));
    if (result < 0)
        return error_set_errno(error, "%s", input->name);
    *got = (size_t)result;
    trace_end(TRACE_READ, begin_ns, *got);
    input->offset += *got;
    input->has_ended = *got == 0;
    return true;
}

/* Reads as many of `bytes` bytes as the file still has, with several threads, if that is faster;
 * otherwise nothing, with *got 0. The tap observes the whole units. */
static bool read_in_parallel(struct input_file *input, void *data, size_t bytes, struct tap *tap,
                             size_t *got, struct error *error)
{
    *got = 0;
    if (!input->is_sized || input->offset >= input->bytes)
        return true;
    const uint64_t left = input->bytes - input->offset;
    const size_t want = left < bytes ? (size_t)left : bytes;
    if (input->is_stream || !parallel_read_pays(input->threads, want, tap))
        return true;
    int cause;
    *got =
        parallel_read(input->file, data, want, (off_t)input->offset, input->threads, tap, &cause);
    input->offset += *got;
    errno = cause;
    if (*got < want && cause != 0)
        return error_set_errno(error, "%s", input->name);
    if (*got < want && tap && tap->consumer) /* which may have taken bytes after the gap */
        return cut_off(input, input->offset, error);
    if (lseek(input->file, (off_t)input->offset, SEEK_SET) < 0)
        return error_set_errno(error, "%s", input->name);
    return true;
}

static bool open_again(struct input_file *input, struct error *error)
{
    struct stat status;
    input->file = descriptor_raise(open(input->name, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (input->file < 0 || fstat(input->file, &status) < 0 ||
        lseek(input->file, (off_t)input->offset, SEEK_SET) < 0)
        return error_set_errno(error, "%s", input->name);
    return descriptor_still_leads(&input->status, &status, input->file) ||
           error_set(error, "%s: it was replaced by another file while it was read", input->name);
}

static void close_file(struct input_file *input)
{
    if (input->file >= 0)
        close(input->file);
    input->file = -1;
}

bool input_file_read(struct input_file *input, void *data, size_t bytes, struct tap *tap,
                     size_t *got, size_t *observed, struct error *error)
{
    bool ok = !input->is_parked || open_again(input, error);
    ok = ok && read_in_parallel(input, data, bytes, tap, got, error);
    if (tap && ok)
        *observed = *got - *got % tap->unit_bytes;
    ok = ok && (*got > 0 || input_file_read_once(input, data, bytes, got, error)) &&
         (*got > 0 || input_file_check_end(input, input->offset, error));
    if (input->is_parked)
        close_file(input);
    return ok;
}

bool input_file_read_at(const struct input_file *input, uint64_t offset, void *data, size_t bytes,
                        size_t *got, struct error *error)
{
    struct input_file own = *input; /* if it is parked, its file is open for this call */
    int cause = 0;
    *got = 0;
    if (input->is_stream) {
        const uint64_t left = offset < input->stream.bytes ? input->stream.bytes - offset : 0;
        *got = left < bytes ? (size_t)left : bytes;
        return input->stream.read(input->stream.context, offset, data, *got, error);
    }
    bool ok = !input->is_parked || open_again(&own, error);
    if (ok)
        *got = parallel_read(own.file, data, bytes, (off_t)offset, 1, NULL, &cause);
    if (input->is_parked)
        close_file(&own);
    errno = cause;
    if (ok && *got < bytes && cause != 0)
        ok = error_set_errno(error, "%s", input->name);
    return ok && (*got == bytes || input_file_check_end(input, offset + *got, error));
}

bool input_file_look_at(const struct input_file *input, uint64_t offset, void *data, size_t bytes)
{
    const struct iovec part = {data, bytes};
    const int flags = input->is_in_memory ? 0 : RWF_NOWAIT; /* which tmpfs does not know */
    return preadv2(input->file, &part, 1, (off_t)offset, flags) == (ssize_t)bytes;
}

bool input_file_begin(struct input_file *input, int file, struct error *error)
{
    struct stat status;
    input->file = file;
    if (input->file < 0 || fstat(input->file, &status) < 0)
        return error_set_errno(error, "%s", input->name);
    if (S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return error_set_errno(error, "%s", input->name);
    }
    input->status = status;
    input->is_pipe = S_ISFIFO(status.st_mode);
    descriptor_widen_pipe(input->file);
    if (!S_ISREG(status.st_mode))
        return true;
    (void)posix_fadvise(input->file, 0, 0, POSIX_FADV_SEQUENTIAL);
    const off_t offset = lseek(input->file, 0, SEEK_CUR); /* standard input may be in use */
    if (offset < 0)
        return error_set_errno(error, "%s", input->name);
    input->offset = (uint64_t)offset;
    input->bytes = (uint64_t)status.st_size;
    input->is_sized = status.st_size > 0; /* files in /proc have size 0, and contents */
    input->end_bytes = input->is_sized ? read_ends(input, input->ends) : 0;
    input->is_in_memory = file_is_in_memory(file);
    return true;
}

bool input_file_narrow(struct input_file *input, uint64_t begin, uint64_t end, struct error *error)
{
    if (end > input->bytes && end > input->offset) /* a file that grew may have been read further */
        return cut_off(input, input->bytes, error);
    input->is_narrow |= end < input->bytes;
    input->offset = begin;
    input->bytes = end;
    input->has_ended = false;
    return input->is_parked || input->is_stream ||
           lseek(input->file, (off_t)begin, SEEK_SET) >= 0 ||
           error_set_errno(error, "%s", input->name);
}

void input_file_park(struct input_file *input)
{
    close_file(input);
    input->is_parked = true;
}

void input_file_close(struct input_file *input)
{
    close_file(input);
    for (int i = 0; i < 2; i++)
        if (input->own_pipe[i] > 0)
            close(input->own_pipe[i]);
    input->own_pipe[0] = input->own_pipe[1] = 0;
}
