/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - where bytes come from: a file, a pipe, a terminal; decompressed on the way.
 *
 *   file or pipe -> [codec found by its magic] -> source_read / source_peek
 *
 * Failing reads, truncated and corrupt compressed data are errors that name the file and the
 * compressed byte. A large read from a plain regular file is shared out to several threads.
 */
#ifndef FORMATS_SOURCE_H
#define FORMATS_SOURCE_H

#include "core/error.h"
#include "core/tap.h"

#include <stddef.h>
#include <stdint.h>

struct source;
struct codec;
struct stat;

#define SIZE_UNKNOWN UINT64_MAX

/* Fails as opening the path would, if it names no file, a directory or a file that may not be read;
 * opens nothing, and so does not wait for the writer of a named pipe. Fills *status. */
bool source_check(const char *path, struct stat *status, struct error *error);

struct source_spec {
    const char *path;          /* "-" is standard input */
    const struct codec *codec; /* how its bytes are compressed; NULL: found as below */
    bool is_text;              /* the bytes are lines unless they are shown to be compressed */
    unsigned window_log;       /* the largest window of compressed data; 0: the codec's default */
    unsigned threads;          /* maximum number of threads of a large read */
};

/* Opens a file for reading. Refuses directories. The caller closes.
 *
 * If the codec is not given, bytes that begin with the magic of a codec are compressed if the name
 * says so. Else some of them are looked at (codec_choice.c): skippable frames alone are plain
 * bytes, and so is text unless the first frame behind these is sound. */
bool source_open_as(const struct source_spec *spec, struct source **source, struct error *error);

/* Opens the path with the codec found as above, and default options. */
bool source_open(const char *path, unsigned threads, struct source **source, struct error *error);

/* The bytes of a run that was spilled, as they are, which outlives the source. Any number of such
 * sources may be read at a time. */
struct spill_run;
bool source_open_run(const struct spill_run *run, struct source **source, struct error *error);

/* A regular file that is open already and stays open, from its beginning, of a codec that is known;
 * its offset is moved. */
bool source_open_file(int file, const char *name, const struct codec *codec, unsigned threads,
                      struct source **source, struct error *error);

/* Returns the name for messages: the path, or "standard input". */
const char *source_name(const struct source *source);

/* Returns the codec: the given one, or the one found by its magic. */
const struct codec *source_codec(const struct source *source);

/* Returns true if the source is a regular file, and the same file as the descriptor `file`. */
bool source_is_file(const struct source *source, int file);

/* Whether nothing is left at path, a file of that status, once the source is read: both are
 * standard input, or one pipe or socket. */
bool source_is_all_of(const struct source *source, const char *path, const struct stat *status);

/* From now on the file is open only while it is read, for more inputs than a process may have open;
 * if it is not the same file any more when it is opened again, reading fails. Only plain regular
 * files can be closed, and what has been read to its end: any other source stays as it is. */
void source_park(struct source *source);

/* Begins to read on behind the caller's back, into memory for `most` bytes, until something else is
 * asked of the source: what it then has is read first. Only a help, which may not come to pass; a
 * plain regular file is read from the page cache as fast as from memory, and so is not. */
void source_read_ahead(struct source *source, size_t most);

/* Waits until `want` bytes can be read at once, reading ahead has stopped, or the input has ended.
 * Sets *ended at the end and after a read error, which the next read reports. Returns the number of
 * bytes that can be read at once. */
uint64_t source_await(struct source *source, uint64_t want, bool *ended);

/* Returns the number of decoded bytes not yet read, or SIZE_UNKNOWN. It is known for regular files,
 * plain or of frames that all state their size, and for every source whose end a peek has reached.
 */
uint64_t source_bytes_left(const struct source *source);

/* The byte that a plain regular file ends with; false where it has none, or is not known to be one.
 */
bool source_last_byte(const struct source *source, char *byte);

/* The next decoded bytes, not consumed: *data is the source's until the next call on it. At least
 * `want` of them (at most SOURCE_PEEK_MAX) unless the end comes first; *bytes says how many. */
#define SOURCE_PEEK_MAX ((size_t)1 << 20)
bool source_peek(struct source *source, size_t want, const unsigned char **data, size_t *bytes,
                 struct error *error);

/* Reads up to `bytes` decoded bytes into data. Fewer only at the end; *got says how many. */
bool source_read(struct source *source, void *data, size_t bytes, size_t *got, struct error *error);

/* As source_read(). The tap, which may be NULL, observes the whole units that are read. If the tap
 * has a taker and source_has_places() is true, the bytes go through the beginning of `data`:
 * SOURCE_PEEK_MAX, and TAP_PIECE_BYTES for each thread of the source. */
bool source_read_seen(struct source *source, void *data, size_t bytes, struct tap *tap, size_t *got,
                      struct error *error);

/* Returns true if source_read_at() may be called: for a plain regular file that is not at its end.
 */
bool source_has_places(const struct source *source);

/* Reads up to `bytes` bytes, starting `place` bytes after the position of source_read(), which does
 * not move. *got is less only at the end. Any number of threads may call this at a time, while no
 * other function of the source is called. */
bool source_read_at(const struct source *source, uint64_t place, void *data, size_t bytes,
                    size_t *got, struct error *error);

/* As source_read_at(), but succeeds only if all `bytes` bytes are already in memory; otherwise
 * returns false. */
bool source_look_at(const struct source *source, uint64_t place, void *data, size_t bytes);

/* Closes the source, which may be NULL. */
void source_close(struct source *source);

#endif
