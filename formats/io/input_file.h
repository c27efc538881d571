/* SPDX-License-Identifier: Apache-2.0 */
/* input_file.h - the file that a source reads, without decoding: a regular file, with several
 * threads if that is faster; a pipe, through a pipe of our own; or a stream.
 */
#ifndef FORMATS_INPUT_FILE_H
#define FORMATS_INPUT_FILE_H

#include "core/check/tap.h"
#include "core/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Bytes that a function provides. */
struct input_stream {
    /* Reads `bytes` bytes, at the end 0, from `first` on: where the last read ended, or anywhere
     * for input_file_read_at(), input_file_narrow() and source_last_byte(). */
    bool (*read)(void *context, uint64_t first, void *data, size_t bytes, struct error *error);
    /* Hints that these bytes will be read soon; NULL: no effect. */
    void (*prefetch)(const void *context, uint64_t first, size_t bytes);
    void *context;
    uint64_t bytes; /* of all of it */
};

/* Bytes of the ends of a file that are compared if it grows. */
#define INPUT_END_BYTES 64

struct input_file {
    const char *name; /* for messages; owned by the caller */
    int file;         /* -1: none, not open now, or a stream */
    unsigned threads; /* maximum number of threads for a large read */
    bool is_stream;   /* `stream` is read instead of a file */
    struct input_stream stream;
    bool is_pipe;       /* a pipe that may be read through own_pipe */
    int own_pipe[2];    /* the ends to read from and to write to; 0: not opened */
    bool is_sized;      /* a regular file whose size is known, or a stream */
    bool is_in_memory;  /* a regular file of a file system in memory */
    bool is_narrow;     /* nothing is read after the first `bytes` bytes, also of a longer file */
    bool is_parked;     /* `file` is open only while it is read */
    struct stat status; /* of the file when it was opened */
    char ends[2][INPUT_END_BYTES]; /* its first and last bytes then */
    size_t end_bytes;              /* of each; 0: not known */
    uint64_t bytes;  /* size of the file or stream; of a narrow one, the end of its range */
    uint64_t offset; /* where the next read from it starts */
    bool has_ended;
};

/* Takes the result of open(2), -1 with errno included, and finds the kind of file. Fails for
 * directories. The caller calls input_file_close(), also after a failure. */
bool input_file_begin(struct input_file *input, int file, struct error *error);

/* Makes one read(2), or reads from the stream. Sets *got to 0 at the end of the file. */
bool input_file_read_once(struct input_file *input, void *data, size_t bytes, size_t *got,
                          struct error *error);

/* Reads 1..bytes bytes; sets *got to 0 at the end. If the tap is not NULL, sets *observed to the
 * number of bytes that it has observed, from the first one on: the whole units of a read by several
 * threads, otherwise 0. The caller passes the others to the tap. */
bool input_file_read(struct input_file *input, void *data, size_t bytes, struct tap *tap,
                     size_t *got, size_t *observed, struct error *error);

/* Reads `bytes` bytes from `offset` on, fewer only at the end of the file, of a regular file, which
 * may be parked or narrow, or of a stream. Any number of threads may call it at once. The position
 * of the next read stays. */
bool input_file_read_at(const struct input_file *input, uint64_t offset, void *data, size_t bytes,
                        size_t *got, struct error *error);

/* As input_file_read_at(), but only if all the bytes are in memory already, and the file system is
 * in memory or can report that; else returns false. */
bool input_file_look_at(const struct input_file *input, uint64_t offset, void *data, size_t bytes);

/* Narrows a stream, or a regular file whose size is known, to its bytes [begin, end):
 * input_file_read() reads only these from now on. `bytes` becomes `end`. */
bool input_file_narrow(struct input_file *input, uint64_t begin, uint64_t end, struct error *error);

/* Call when all is read, up to the offset `end`. Fails if bytes are missing that the file had when
 * it was opened. On a local file system, also if it was overwritten, as its time shows; if it is
 * longer, only if its first or last bytes of then have changed. */
bool input_file_check_end(const struct input_file *input, uint64_t end, struct error *error);

/* Closes the file; from now on it is open only while it is read. For a plain regular file, or one
 * that was read to its end. */
void input_file_park(struct input_file *input);

void input_file_close(struct input_file *input);

/* ---- Parallel reads ----
 *
 * A read from the page cache takes the time of copying and of page faults in new memory. The kernel
 * does both in the calling thread, so threads help: 2 GiB into new memory, with 1, 2, 4, 8 and 16
 * threads of a machine with 16 cores and ext4, were read at 2.3, 4.3, 8.2, 14.8 and 20 GB/s
 * (November 2026). They do not help write(2), which holds the file's lock: 4.7, 4.2, 4.3, 4.3 and
 * 4.0 GB/s. mapped_file.h is for writing with several threads.
 */

/* Minimum bytes, below which starting threads costs more than it saves; and the minimum with a
 * direct consumer, whose threads have already been started. */
#define PARALLEL_READ_MIN ((size_t)16 << 20)
#define PARALLEL_TAKE_MIN ((size_t)2 << 20)

/* Returns true if several threads should read `bytes` bytes. */
static inline bool parallel_read_pays(unsigned threads, size_t bytes, const struct tap *tap)
{
    return threads > 1 && bytes >= (tap && tap->consumer ? PARALLEL_TAKE_MIN : PARALLEL_READ_MIN);
}

#endif
