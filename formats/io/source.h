/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - a source of bytes: a file, a pipe or a terminal, decompressed.
 *
 *   file or pipe -> [codec found by its magic] -> source_read / source_peek
 *
 * Errors name the file, and in truncated or corrupt compressed data also the compressed byte. A
 * large read from a plain regular file is divided among threads.
 */
#ifndef FORMATS_SOURCE_H
#define FORMATS_SOURCE_H

#include "core/check/tap.h"
#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct source;
struct codec;
struct stat;

#define SIZE_UNKNOWN UINT64_MAX

/* Checks a path without opening it, so that it does not wait for the writer of a named pipe. Fails
 * as opening would if there is no file, if it is a directory, or if it may not be read. Fills
 * *status. */
bool source_check(const char *path, struct stat *status, struct error *error);

/* Returns true if the path leads to a named pipe. False for the pipes of a shell's <(...), which
 * have a writer each. */
bool source_is_named_pipe(const char *path);

/* Opens a named pipe without waiting for its writer, for source_spec.pipe. Returns -1 if the path
 * leads to no named pipe, or cannot be opened. */
int source_open_pipe(const char *path);

struct source_spec {
    const char *path; /* "-" is standard input */
    int pipe;         /* from source_open_pipe(), taken over; 0 or -1: the path is opened */
    const struct codec *codec; /* how its bytes are compressed; NULL: it is found */
    unsigned window_log;       /* log2 of the largest window of compressed data; 0: the default */
    unsigned threads;          /* maximum number of threads of a large read, or that decode */
    unsigned readers;          /* sources that are read at once, and share the memory; 0: one */
    uint64_t offset;           /* of a regular file: reading begins there */
};

/* Opens a file for reading. Fails for directories, and for a file that another job is overwriting
 * in place. The caller closes the source.
 *
 * A file that begins with the magic of a codec is taken as compressed, unless spec->codec says
 * otherwise. Plain data may begin so by chance: then reading it fails, also if all of it is
 * skippable frames, which have no content, and its name does not have the codec's extension.
 */
bool source_open_as(const struct source_spec *spec, struct source **source, struct error *error);

/* Opens a source on bytes that a function provides, one call at a time (input_file.h). */
struct input_stream;
bool source_open_stream(const struct input_stream *stream, const char *name, struct source **source,
                        struct error *error);

/* Opens a source on a regular file that is open, from its beginning, with a known codec. The file's
 * offset changes. The caller keeps and closes `file`. */
bool source_open_file(int file, const char *name, const struct codec *codec, unsigned threads,
                      struct source **source, struct error *error);

/* Return the name for messages: the path, or "standard input". */
const char *source_name(const struct source *source);
const char *source_path_name(const char *path);

/* Returns the codec: the given one, or the one found by its magic. */
const struct codec *source_codec(const struct source *source);

/* Returns what a message adds to a command for the input, such as tail(1): ", once decompressed" if
 * it is compressed, else "". */
const char *source_command_note(const struct source *source);

/* States that the plain bytes of the source were decoded from an input with this codec, which
 * source_codec() returns from now on. */
void source_note_codec(struct source *source, const struct codec *codec);

/* Returns true if the source is a regular file, and the same file as the descriptor `file`. */
bool source_is_file(const struct source *source, int file);

/* Returns the status that the file had when it was opened. */
const struct stat *source_status(const struct source *source);

/* Returns true if the path, of a file with this status, names what the source reads: standard
 * input, or the same pipe or socket. Reading the source then leaves nothing there. */
bool source_is_all_of(const struct source *source, const char *path, const struct stat *status);

/* Closes the file except during reads, for more inputs than a process may have open. If another
 * file has its name when it is opened again, reading fails. It has an effect only on plain regular
 * files, and on sources that were read to their end. */
void source_park(struct source *source);

/* Starts reading ahead in the background, into memory for `most` bytes, until the next call that
 * uses the source's bytes. It is a hint, and may have no effect. A plain regular file is not read
 * ahead, because the page cache is as fast. */
void source_read_ahead(struct source *source, size_t most);

/* Hints that the next `bytes` bytes of a stream, such as a run, will be read soon, so that the disk
 * reads them into the page cache meanwhile. No effect on files, in which the kernel reads ahead
 * anyway. */
void source_prefetch(const struct source *source, size_t bytes);

/* Waits until `want` bytes can be read at once, reading ahead has stopped, or the input has ended.
 * Sets *ended at the end and after a read error, which the next read reports. Returns the number of
 * bytes that can be read at once. Without reading ahead, returns at once. */
uint64_t source_await(struct source *source, uint64_t want, bool *ended);

/* Stops reading ahead, and waits for its thread, which owns the position until then. Returns the
 * number of decoded bytes not yet read, or SIZE_UNKNOWN. It is known for streams; for regular
 * files, plain or of frames that all state their size and whose headers are in memory; and for
 * every source whose end was reached by a peek or by reading ahead. */
uint64_t source_stop_and_get_left(struct source *source);

/* Sets *byte to the last byte of a plain regular file or stream. Returns false if it is empty or
 * parked, if reading fails, or for other sources. */
bool source_last_byte(const struct source *source, char *byte);

/* Returns the next decoded bytes without consuming them. *data is valid until the next call on the
 * source. Sets *bytes to at least `want` (at most SOURCE_PEEK_MAX), or less at the end of the
 * source. */
#define SOURCE_PEEK_MAX ((size_t)1 << 20)
bool source_peek(struct source *source, size_t want, const unsigned char **data, size_t *bytes,
                 struct error *error);

/* Reads `bytes` decoded bytes into `data`. Sets *got, which is less only at the end. */
bool source_read(struct source *source, void *data, size_t bytes, size_t *got, struct error *error);

/* As source_read(). The tap, which may be NULL, observes the whole units that are read. If the tap
 * has a direct consumer and source_can_read_at() is true, the bytes pass through the beginning of
 * `data`: SOURCE_PEEK_MAX bytes, and TAP_PIECE_BYTES for each thread of the source. */
bool source_read_observed(struct source *source, void *data, size_t bytes, struct tap *tap,
                          size_t *got, struct error *error);

/* Returns true if source_read_at() may be called: for a plain regular file that is neither at its
 * end nor parked. */
bool source_can_read_at(const struct source *source);

/* Appends the next `most` bytes to a run that was begun, fewer at the end. If `run` is NULL, the
 * bytes are only read. Sets *stored to the number of bytes. */
struct spill_run;
bool source_store(struct source *source, uint64_t most, struct spill_run *run, uint64_t *stored,
                  struct error *error);

/* Returns true for a plain regular file that is not empty. source_narrow() may be called for it,
 * and for a stream. */
bool source_can_narrow(const struct source *source);

/* Narrows the source to `bytes` bytes, which the file must have, starting `position` bytes after
 * the position of source_read(). */
bool source_narrow(struct source *source, uint64_t position, uint64_t bytes, struct error *error);

/* Makes the size that a regular file had when it was opened the end of the source, so that lines
 * which are appended later are not read. No effect if the size is not known. */
void source_keep_end(struct source *source);

/* Reads up to `bytes` bytes, starting `position` bytes after the position of source_read(), which
 * does not move. May be called for a stream, too. *got is less only at the end of the file, even if
 * the source is narrow. Any number of threads may call this at once, while no other function of the
 * source is called. */
bool source_read_at(const struct source *source, uint64_t position, void *data, size_t bytes,
                    size_t *got, struct error *error);

/* Call after source_read_at() has read all bytes. Fails if the file was overwritten meanwhile. The
 * other reads check that themselves, at the end. */
bool source_check_end(const struct source *source, struct error *error);

/* As source_read_at(), but succeeds only if all `bytes` bytes are already in memory; otherwise
 * returns false. */
bool source_look_at(const struct source *source, uint64_t position, void *data, size_t bytes);

/* Closes the source, which may be NULL. */
void source_close(struct source *source);

#endif
