/* SPDX-License-Identifier: Apache-2.0 */
/* output_file.h - the descriptor that a sink writes to, how it is written, and how it is committed.
 *
 *   regular file:     temporary in its directory -> close -> rename
 *   standard output:  written directly from its offset on; afterwards the offset is at the end
 *   /dev/fd/N:        as standard output; a regular file is truncated at the end of the output
 *   in place:         a regular file that is overwritten, after a trial
 *   anything else:    opened and written directly
 *
 * Which thread writes it, and how:
 *
 *   announced?  --no, or no mapping--> write(2), in order (in place, and of ranks: at positions):
 *       |                              the calling thread. For 4 MiB or more, others of its OpenMP
 *       |                              team compute the checksum of the tap meanwhile
 *       +--------a mapping-----------> up to 16 threads of the caller's OpenMP team copy to it
 *
 * The callers, through sink.c: the main thread for numbers and gathered lines
 * (sink_write_observed()); the threads of a sort in place (sink_write_at()); the sink's writers for
 * text and indices (sink_put()); the compressors for frames, one at a time.
 *
 * A mapping (mapped_file.h) is used if at least 16 MiB are announced, or are in the file that is
 * overwritten in place; four threads or more may write; the file system profits (tmpfs, ext4, XFS);
 * and the file is a temporary of this host, a file in place, or a given empty file.
 */
#ifndef FORMATS_OUTPUT_FILE_H
#define FORMATS_OUTPUT_FILE_H

#include "core/check/tap.h"
#include "core/error.h"
#include "core/group.h"
#include "core/host_limits.h"
#include "formats/io/mapped_file.h"
#include "formats/io/output_path.h"

#include <stddef.h>
#include <stdint.h>

/* The table at the head of output_file.c states how each kind is opened, announced and ended. */
enum output_kind {
    OUTPUT_NONE,      /* not open */
    OUTPUT_TEMPORARY, /* of this process; to be renamed onto the target */
    OUTPUT_OF_RANKS,  /* a temporary of which each rank of `group` writes a range */
    OUTPUT_TRIAL,     /* a file to be overwritten in place: nothing is written yet, only counted */
    OUTPUT_IN_PLACE,  /* the same file, after the trial */
    OUTPUT_GIVEN,     /* standard output, or another descriptor that the process was given */
    OUTPUT_SPECIAL    /* a device or a named pipe, opened by its path */
};

struct output_file {
    enum output_kind kind;
    const char *name;    /* for messages; owned by the caller */
    int file;            /* open for writing */
    bool has_holes;      /* in place: the file had holes when it was opened */
    bool is_changed;     /* in place: bytes may have been overwritten */
    struct group *group; /* of OUTPUT_OF_RANKS; otherwise NULL */
    struct output_path target;
    bool replaces_input; /* the target must be this input when it is replaced or overwritten */
    struct stat input;   /* the status of the input when it was opened */
    bool has_tail;  /* the path names a given descriptor of a longer regular file: commit truncates
                       the rest of the file */
    int given_file; /* the given descriptor, if `file` was opened anew from it; otherwise 0 */
    struct file_space *space;   /* allocates space in advance; NULL: none */
    struct mapped_file *mapped; /* NULL: write(2) is used */
    unsigned writers;           /* maximum number of threads that write at once; 1: in order. In
                                   place any number of calls may overlap, and each copies to the
                                   mapping by this many threads */
    size_t ahead_bytes;         /* as in struct sink_spec */
    uint64_t expected;          /* announced bytes of a temporary or a claimed file; else 0 */
    uint64_t claimed;           /* bytes claimed, which is the position of the next ones */
    uint64_t lost;        /* 1 + the first position that was claimed but not written; 0: none */
    bool is_unfinished;   /* a signal handler truncates it (core/ending.h) */
    bool is_preallocated; /* write(2) need not request space, or has done so */
    bool takes_memory;    /* the file is in memory (tmpfs), and write(2) makes it grow */
    struct memory_watch watch; /* of such a file */
};

/* Returns an output with nothing open. */
struct output_file output_file_closed(void);

/* Returns true for a temporary, so that the target is unchanged until the commit. */
static inline bool output_file_replaces(const struct output_file *output)
{
    return output->kind == OUTPUT_TEMPORARY || output->kind == OUTPUT_OF_RANKS;
}

static inline bool output_file_is_in_place(const struct output_file *output)
{
    return output->kind == OUTPUT_TRIAL || output->kind == OUTPUT_IN_PLACE;
}

/* Reports the errors of output_file_open() that depend on the path. Creates and opens nothing. */
bool output_file_check(const char *path, const char *name, bool is_in_place, struct error *error);

/* path: NULL is standard output. name: for messages; outlives *output. input: NULL, or the status
 * of an input that had the path when it was opened: commit fails if another file has the path then,
 * or if the input was modified. group: NULL, or the ranks that share the output, which is a regular
 * file; then this is collective. Fills *output, which the caller ends with output_file_discard(),
 * after output_file_close() and output_file_publish() if it is to be kept. */
bool output_file_open(const char *path, const char *name, const struct stat *input,
                      struct group *group, struct output_file *output, struct error *error);

/* Opens the regular file at the path, which must be the input, to overwrite it with as many bytes
 * as it has. Until output_file_end_trial(), writes are only counted and shown to the tap. threads:
 * how many threads could write at once. */
bool output_file_open_in_place(const char *path, const char *name, const struct stat *input,
                               unsigned threads, struct output_file *output, struct error *error);

/* Ends the trial. Checks that the bytes counted are the size of the file and that the file is the
 * input, unmodified, and allocates its missing space. From now on writes overwrite it, from its
 * first byte, and signals that end the process wait for ending_release(). If this fails, the
 * content of the file is unchanged. */
bool output_file_end_trial(struct output_file *output, struct error *error);

/* Syncs all that was written to the disk, so that it is read from there again. Nothing may be
 * written afterwards. */
bool output_file_store(struct output_file *output, struct error *error);

/* Ends the writing and closes the file, with all checks. Collective if ranks share the output. */
bool output_file_close(struct output_file *output, struct error *error);

/* After output_file_close(): gives the temporary the name of the target, with the owner, mode, ACL
 * and attributes of the file that has this name at that moment. If this fails, the target is
 * unchanged. Does nothing for other kinds of output. Collective if ranks share the output. */
bool output_file_publish(struct output_file *output, struct error *error);

/* Closes the output and removes the temporary, if it was not published. The complete prefix on
 * standard output stays. */
void output_file_discard(struct output_file *output);

/* ---- Writing: output_write.c ---- */

/* Announces, before the first write, that about `bytes` bytes will be written and that up to
 * `threads` threads could write them. Chooses between write(2) and a mapping. Calls after the first
 * write have no effect, nor do calls after an announcement that was accepted. */
void output_file_expect(struct output_file *output, uint64_t bytes, unsigned threads);

/* Announces that at least `bytes` bytes will be written, while the number still grows. Only
 * allocates their space. */
void output_file_expect_least(struct output_file *output, uint64_t bytes, unsigned threads);

/* Fails if an output of `bytes` bytes certainly has no room. Call it before the first write. It
 * allocates the space of a temporary on ext4 or XFS. A file in place is checked when it is opened
 * (on btrfs and such), and for holes and shared extents by output_file_end_trial(). */
bool output_file_check_room(struct output_file *output, uint64_t bytes, struct error *error);

/* Returns true if the file has no bytes except those of this output: it is a temporary, was
 * reopened for it, or is an empty file whose descriptor does not append. */
bool output_file_is_new(const struct output_file *output);

/* Releases the space that output_file_check_room() has allocated, unless a thread allocates space
 * for the announced bytes, or ranks share the file. */
void output_file_release_room(struct output_file *output);

/* For an output that ranks share: the next bytes are written at `position`. At commit, the size of
 * the file must be the end of all bytes. */
void output_file_move(struct output_file *output, uint64_t position);

/* Collective, for an output that ranks share, before the first write of any rank after the header:
 * maps the file on all ranks if they are on one host and rank 0 could allocate the announced space,
 * for which it waits. Fails on all ranks if there is no space. All ranks must have announced the
 * same bytes, exactly; or none of them. */
bool output_file_map_shared(struct output_file *output, struct error *error);

/* Returns the position of the next `bytes` bytes, which the caller must then write, or report to
 * output_file_lose(). One thread at a time. */
uint64_t output_file_claim(struct output_file *output, size_t bytes);

/* Writes to a claimed position with at most `threads` threads. In place any number of threads may
 * call it at once, and else output->writers; if that is 1, positions must be written in order. The
 * tap, if not NULL, observes the data just before it is written, or meanwhile in the threads that
 * do not write. */
bool output_file_write(struct output_file *output, uint64_t position, const void *data,
                       size_t bytes, unsigned threads, struct tap *tap, struct error *error);

/* Sets what the thread that writes does before the first byte of an output that may be shown on a
 * terminal: the terminal itself, a device or a pipe. NULL, which is the default: nothing. */
void output_file_before_first_byte(void (*run)(void *context), void *context);

/* Records that the bytes claimed at `position` will not be written. On standard output, the bytes
 * before it are kept, with no gap. Thread-safe. */
void output_file_lose(struct output_file *output, uint64_t position);

/* ---- For output_file.c ---- */

/* Returns how many threads should write `bytes` bytes through a mapping; 0: write(2) is used. */
unsigned output_file_choose_writers(const struct output_file *output, uint64_t bytes,
                                    unsigned threads);

/* Ends the mapping and the allocation of space. */
void output_file_end_mapping(struct output_file *output);

/* Ends the mapping, and releases unused space; a file that ranks share has none. Returns false with
 * errno. */
bool output_file_settle(struct output_file *output);

#endif
