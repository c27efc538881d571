/* SPDX-License-Identifier: Apache-2.0 */
/* output_file.h - the descriptor that a sink writes to, and what becomes of it at the end.
 *
 *   regular file:     temporary in its directory -> close -> its name
 *   standard output:  written straight, from where it stands, and left where the output ends
 *   /dev/fd/N:        the same, and a file ends there
 *   in place:         a regular file that is overwritten where it is, after a trial
 *   anything else:    opened and written straight
 *
 * Bytes go by write(2), one after the other; or, where their number is told beforehand and the file
 * system is one that gains by it, into a mapping, several threads at once (mapped_file.h): of the
 * temporary, or of standard output if that is an empty file.
 */
#ifndef FORMATS_OUTPUT_FILE_H
#define FORMATS_OUTPUT_FILE_H

#include "core/error.h"
#include "core/tap.h"
#include "formats/output_path.h"

#include <stddef.h>
#include <stdint.h>

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

struct file_space;
struct mapped_file;

struct output_file {
    int file;          /* open for writing */
    bool is_temporary; /* it is to take the place of the target; else it is written straight */
    bool is_in_place;  /* the file itself is overwritten */
    bool is_trial;     /* of one in place: nothing is written yet, only counted */
    struct output_path target;
    bool is_given; /* standard output, or another descriptor that was open before */
    bool has_tail; /* such a one that a path named, in the midst of a file: what is behind goes */
    int shared;    /* that descriptor where `file` is opened anew; 0: it is not */
    struct file_space *space;   /* taken ahead; NULL: none is */
    struct mapped_file *mapped; /* NULL: by write(2) */
    unsigned writers;           /* at most so many threads may write at once; 1: in order */
    uint64_t expected;          /* bytes that will come, as told; 0: nothing was told */
    uint64_t claimed;           /* bytes that came: where the next ones go */
    uint64_t lost;        /* the first place, counted from 1, that was not written to; 0: none */
    bool is_preallocated; /* by write(2): space for `expected` has been asked for */
};

/* Nothing is open. */
struct output_file output_file_closed(void);

/* Reports, before any work, what output_file_open would refuse; creates and opens nothing. */
bool output_file_check(const char *path, const char *name, bool is_in_place, struct error *error);

/* path: NULL is standard output. name: for messages. Fills *output, which the caller ends with
 * commit or discard. */
bool output_file_open(const char *path, const char *name, struct output_file *output,
                      struct error *error);

/* Opens the regular file at the path, to be overwritten with as many bytes as it has. Until
 * output_file_end_trial, what is written to it is only shown to the tap and counted. threads: could
 * write at once. */
bool output_file_open_in_place(const char *path, const char *name, unsigned threads,
                               struct output_file *output, struct error *error);

/* Between output_open.c and output_file.c: how many threads write to a file in place at once. */
void output_file_choose_writers(struct output_file *output, unsigned threads);

/* What was counted is the size of the file, which is the one that was opened and has not changed:
 * takes the space that it lacks. From now on writing overwrites it, from its first byte, and
 * signals that end the process wait until the output is committed or discarded. Else fails, and the
 * file is as it was. */
bool output_file_end_trial(struct output_file *output, const char *name, struct error *error);

/* Announces, before the first write, that about `bytes` bytes will be written and that up to
 * `threads` threads could write them. Chooses between write(2) and a mapping. Later calls have no
 * effect. */
void output_file_expect(struct output_file *output, uint64_t bytes, unsigned threads);

/* Announces that at least `bytes` bytes will be written, while the number still grows. Only
 * allocates their space. */
void output_file_expect_least(struct output_file *output, uint64_t bytes, unsigned threads);

/* Returns the position of the next `bytes` bytes, which the caller must then write. One thread at a
 * time. */
uint64_t output_file_claim(struct output_file *output, size_t bytes);

/* Writes to a claimed position with at most `threads` threads. output->writers threads may call it
 * at once; if that is 1, positions must be written in order. The tap, which may be NULL, observes
 * the data just before it is written, or meanwhile in the threads that do not write. */
bool output_file_write(struct output_file *output, uint64_t place, const void *data, size_t bytes,
                       unsigned threads, struct tap *tap, const char *name, struct error *error);

/* Records that the bytes claimed at `place` will not be written. On standard output, the bytes
 * before it are kept, with no gap. Thread-safe. */
void output_file_lose(struct output_file *output, uint64_t place);

/* Syncs all that was written to the disk, so that it is read from there again. Nothing may be
 * written afterwards. */
bool output_file_store(struct output_file *output, const char *name, struct error *error);

/* Closes, checked, and gives the temporary the name of the target, with what belongs to a file that
 * has it at that moment: owner, mode, ACL, attributes. On failure the temporary is removed, and the
 * target is as it was. */
bool output_file_commit(struct output_file *output, const char *name, struct error *error);

/* Closes and removes the temporary. */
void output_file_discard(struct output_file *output);

#endif
