/* SPDX-License-Identifier: Apache-2.0 */
/* sink.h - writes the output, so that it is either complete or does not exist.
 *
 *   sink_write / sink_lend + sink_put -> [codec] -> temporary in the target's directory -> rename
 *
 * A regular file is written to a temporary in the target's directory. sink_commit() renames the
 * temporary onto the target, so on any failure the old file is unchanged; the target may therefore
 * be an input. The new file gets the owner, mode, ACL and attributes of the old one, where allowed.
 * Symbolic links are followed: the file that the link names is replaced. Devices, pipes, sockets
 * and standard output are written directly. In place, the file itself is overwritten, after a trial
 * that only checks (sink_is_trial). No temporary is left, except by SIGKILL or a crash where it has
 * a name (temporary.h).
 */
#ifndef FORMATS_SINK_H
#define FORMATS_SINK_H

#include "core/check/check.h"
#include "core/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct codec;
struct group;
struct sink;

struct sink_spec {
    const char *path;          /* NULL or "-": standard output */
    const struct codec *codec; /* codecs[0] writes plain bytes */
    int level;                 /* compression level; 0: the codec's default */
    unsigned threads;          /* maximum number of compressor and writer threads */
    bool is_in_place;          /* overwrites the regular file at the path; see sink_is_trial. The
                                  file must be the input */
    bool replaces_input;       /* the path led to an input when that was opened: it must still lead
                                  to this file, unmodified, when the file is replaced */
    struct stat input;         /* for both: the status of that input when it was opened */
    size_t ahead_bytes;        /* most bytes whose pages are made before they are written */
    struct group *group; /* NULL, or the ranks that each write a range of one regular file, in plain
                            bytes; then sink_open() is collective */
};

/* Reports the errors of sink_open that depend on the path: a missing directory, or a file that may
 * not be written or replaced. Creates nothing. If `path` is NULL or "-", there is nothing to
 * check. */
bool sink_check(const char *path, bool is_in_place, struct error *error);

/* Opens the output. A missing directory and missing permissions are reported here, before the work
 * begins; a full disk is not: see sink_check_room(). The caller ends the sink with commit or
 * discard. */
bool sink_open(const struct sink_spec *spec, struct sink **sink, struct error *error);

/* Opens a sink that appends to a run that was begun, with the codec, level and threads of `spec`.
 * The run stays at its address until commit or discard. sink_commit_run() does not end the run; the
 * caller does. */
struct spill_run;
bool sink_open_run(struct spill_run *run, const struct sink_spec *spec, struct sink **sink,
                   struct error *error);

/* Returns the name for messages: the path, or "standard output". */
const char *sink_name(const struct sink *sink);

bool sink_is_terminal(const struct sink *sink);

/* Sets the error "NAME: the proof failed: WHAT", and adds what happens to the output, except for a
 * file that is being overwritten (add_damage() in job/pipeline.c). Returns false. */
bool sink_fail_proof(const struct sink *sink, const char *what, struct error *error);

/* Returns true if commit renames a temporary onto the target. */
bool sink_replaces(const struct sink *sink);

/* Returns true if the sink can be discarded and opened again as if it had never been: a file that
 * is still as it was, or standard output that nothing was written to. */
bool sink_is_unused(const struct sink *sink);

/* Returns true if the sink is to overwrite a file and sink_end_trial() has not been called yet.
 * Until then the sink only counts the bytes and shows them to the tap. So all of the output is
 * verified before the first byte is overwritten. */
bool sink_is_trial(const struct sink *sink);

/* Returns true if the sink overwrites a file, after the trial. */
bool sink_is_overwriting(const struct sink *sink);

/* Returns true if bytes of a file have been overwritten, or its threads have bytes that they may
 * yet write, so that a failure leaves the file neither old nor new. */
bool sink_has_damage(struct sink *sink);

/* In place, counts the next `bytes` bytes as written: in a trial, bytes whose content is checked
 * elsewhere; also bytes that stay as they are in the file. */
void sink_skip(struct sink *sink, size_t bytes);

/* Ends the trial. The caller has written all of the output, and now writes the same bytes again,
 * which overwrite the file. Fails, and leaves the file unchanged, if its size would change, if it
 * was changed or replaced since it was opened, or if there is no space for its holes and shared
 * extents. From here on, signals that end the process wait for ending_release() (core/ending.h). */
bool sink_end_trial(struct sink *sink, struct error *error);

/* Returns true if the sink writes directly to the file that the source reads. */
struct source;
bool sink_writes_to(const struct sink *sink, const struct source *source);

/* For an output that ranks share: the bytes that are written next go to `position` in the file. At
 * commit, the position must be the size of the whole file. */
bool sink_move(struct sink *sink, uint64_t position, struct error *error);

/* Announces, before the first write, that about `bytes` bytes will be written; to standard output,
 * exactly `bytes`. A value above INT64_MAX means that the size is unknown. For a large plain file
 * the sink then allocates disk space in the background and writes with several threads. Only the
 * first call with a known size counts. It is a hint: allocation errors are reported by the write
 * that needs the space. On an output that ranks share, `bytes` is its exact size. */
void sink_expect(struct sink *sink, uint64_t bytes);

/* Returns the bytes that an ordinary user may write to the file system of the regular file that is,
 * or would be, at the path, and sets *device to its device. UINT64_MAX: not known, as of a tmpfs
 * without a size, or no regular file. */
uint64_t sink_free_bytes(const char *path, dev_t *device);

/* Fails if a plain output of `bytes` bytes certainly has no room. Call it before the first write.
 * It may allocate the space. sink_release_room() releases that space, so that runs can be merged on
 * the same file system before the output is written. */
bool sink_check_room(struct sink *sink, uint64_t bytes, struct error *error);
void sink_release_room(struct sink *sink);

/* Returns the file of the output, and its need of space for spill_check_room(): `bytes` bytes if it
 * is plain and has no other content, else 0. */
struct spill_neighbour sink_needs(const struct sink *sink, uint64_t bytes);

/* Collective, for an output that ranks share and on which all have announced the same bytes, or
 * none has: waits for the space, so that the ranks can write at once. Called when the file has its
 * header. For other sinks it does nothing. */
bool sink_map_shared(struct sink *sink, struct error *error);

/* Announces that at least `bytes` bytes will be written. May be called repeatedly with growing
 * values, before sink_expect(). The sink allocates space for a large plain file. */
void sink_expect_least(struct sink *sink, uint64_t bytes);

/* Writes `bytes` bytes of `data`. The caller may reuse `data` on return. Plain data is not copied
 * to a buffer first. */
bool sink_write(struct sink *sink, const void *data, size_t bytes, struct error *error);

/* As sink_write(). The tap, which may be NULL, observes the data just before it goes to the file or
 * the codec, or meanwhile in other threads. `bytes` must be a multiple of the tap's unit. */
bool sink_write_observed(struct sink *sink, const void *data, size_t bytes, struct tap *tap,
                         struct error *error);

/* `write` of an item_writer (core/backend.h) whose context is a sink that overwrites a file and
 * does not sum its content. The caller counts the bytes by sink_skip(). Thread-safe. */
bool sink_write_at(void *sink, uint64_t position, const void *data, size_t bytes, unsigned threads,
                   struct tap *tap, struct error *error);

/* sink_lend() lends an empty buffer of SINK_BUFFER_BYTES; it blocks until one is free. Several
 * buffers may be lent at once. sink_put() returns a buffer with `bytes` bytes filled. The sink's
 * threads write the buffers in the background, in the order of sink_put(). The buffer must not
 * change after sink_put(). A change is detected and reported as an error. One thread at a time may
 * call sink_lend(), and one thread at a time any other function; these two threads may differ. */
#define SINK_BUFFER_BYTES ((size_t)1 << 20)
bool sink_lend(struct sink *sink, unsigned char **buffer, struct error *error);
bool sink_put(struct sink *sink, unsigned char *buffer, size_t bytes, struct error *error);

/* Returns the maximum number of bytes that the buffers of a sink with `threads` threads take, once
 * the first one was lent. */
size_t sink_buffers_bytes(unsigned threads);

/* Enables the checksum that sink_content() returns. Call it before the first write. */
void sink_sum_content(struct sink *sink);

/* For a sink that replaces or overwrites a file: ends the codec's stream, writes what is buffered,
 * syncs the new content to the disk and drops its pages, if possible. Nothing may be written
 * afterwards. *file is a descriptor open for reading, owned by the sink. */
bool sink_store(struct sink *sink, int *file, struct error *error);

/* Returns, after sink_store(), the number of bytes written, before compression, and their checksum
 * as a text (check.h). */
struct check_sum sink_content(const struct sink *sink);

/* Ends the codec's stream, writes what is buffered, closes the file, checks the result and renames
 * the temporary onto the target. group: NULL, or the ranks that all commit a sink; then no rank
 * renames a temporary before all files are complete. The sink is freed, whether or not this
 * succeeds. */
bool sink_commit(struct sink *sink, struct group *group, struct error *error);

/* As sink_commit(), for a sink on a run. Fills *content with the size and checksum of the bytes
 * in the run. */
bool sink_commit_run(struct sink *sink, struct check_sum *content, struct error *error);

/* Closes the sink and removes the temporary. `sink` may be NULL. */
void sink_discard(struct sink *sink);

#endif
