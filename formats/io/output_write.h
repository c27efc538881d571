/* SPDX-License-Identifier: Apache-2.0 */
/* output_write.h - writes the bytes of an output file: announces them, chooses how they are
 * written, and writes them.
 *
 *   announced?  --no, or no mapping--> write(2), in order (in place: at positions): the calling
 *       |                              thread. Others of its OpenMP team compute the checksum of
 *       |                              the tap meanwhile
 *       +--------a mapping-----------> up to 16 threads of the caller's OpenMP team copy to it
 *
 * The callers, through sink.c: the main thread for numbers and gathered lines
 * (sink_write_observed()); the threads of a sort in place (sink_write_at()); the sink's writers for
 * text and indices (sink_put()); the compressors for frames, one at a time.
 *
 * A mapping (mapped_file.h) is used if at least 16 MiB are announced, four threads or more may
 * write, the file system profits (tmpfs, ext4, XFS), and the file is a temporary, a file in place,
 * or standard output that is an empty file.
 */
#ifndef FORMATS_OUTPUT_WRITE_H
#define FORMATS_OUTPUT_WRITE_H

#include "core/check/tap.h"
#include "formats/io/mapped_file.h"
#include "formats/io/output_file.h"

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
bool output_file_check_room(struct output_file *output, uint64_t bytes, const char *name,
                            struct error *error);

/* Returns true if the file has no bytes except those of this output. */
bool output_file_is_new(const struct output_file *output);

/* Releases the space that a check has allocated, unless it was announced too or ranks share it. */
void output_file_release_room(struct output_file *output);

/* For an output that ranks share: the next bytes are written at `position`. At commit, the size of
 * the file must be the end of all bytes. */
void output_file_move(struct output_file *output, uint64_t position);

/* Collective, for an output that ranks share, before the first write of any rank after the header:
 * maps the file on all ranks if they are on one host and rank 0 could allocate the announced space,
 * for which it waits. Fails on all ranks if there is no space. All ranks must have announced the
 * same bytes, exactly; or none of them. */
bool output_file_map_shared(struct output_file *output, const char *name, struct error *error);

/* Returns the position of the next `bytes` bytes, which the caller must then write. One thread at a
 * time. */
uint64_t output_file_claim(struct output_file *output, size_t bytes);

/* Writes to a claimed position with at most `threads` threads. In place any number of threads may
 * call it at once, and else output->writers; if that is 1, positions must be written in order. The
 * tap, if not NULL, observes the data just before it is written, or meanwhile in the threads that
 * do not write. */
bool output_file_write(struct output_file *output, uint64_t position, const void *data,
                       size_t bytes, unsigned threads, struct tap *tap, const char *name,
                       struct error *error);

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
