/* SPDX-License-Identifier: Apache-2.0 */
/* spill.h - stores sorted runs on disk that do not fit in memory, until they are merged.
 *
 *   spill_begin -> spill_append, or a sink on the run
 *     -> spill_end -> spill_read, or a source
 *
 * Each directory has one file, created when it is first needed, with runs one after another. The
 * files have no names, so that they disappear however the process ends. Runs use the directories in
 * turns, as the temporary files of sort(1) do.
 *
 * If a directory is full while a run is appended (ENOSPC, EDQUOT, EFBIG, or ENOMEM in memory), the
 * run continues in the next one, so that it consists of several *extents*. The full directory is
 * skipped until spill_drop() releases some of its space. If all are full, the append fails with an
 * error that names them all; the job ends, and the space is released with the files.
 * spill_check_room() finds most such jobs before they begin.
 */
#ifndef FORMATS_SPILL_H
#define FORMATS_SPILL_H

#include "core/check/tap.h"
#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct spill;

/* A run: the bytes of `before`, then an extent of the file. */
struct spill_run {
    struct spill *spill;
    int file;                       /* the file with the last extent; owned by the spill */
    const char *name;               /* for messages; owned by the spill */
    const struct spill_run *before; /* the extents in directories that became full; NULL: none */
    uint64_t begin;                 /* of the last extent in the file */
    uint64_t bytes;                 /* of all extents */
    struct check_sum content;       /* checksum of text that a sink wrote (core/check/check.h) */
};

/* Fails if no file can be created in one of the directories, because it does not exist or may not
 * be written to. */
bool spill_check(const char *const *directories, size_t count, struct error *error);

/* Another file that needs space: `bytes` bytes, some of which it may have already. */
struct spill_neighbour {
    int file;
    uint64_t bytes; /* 0: there is no such file */
};

/* Fails if runs of `bytes` bytes certainly have no room in the directories, beside the neighbour
 * if that is in one of their file systems. *fits_alone: there is such a neighbour, and the runs
 * certainly have room without it. */
bool spill_check_room(const char *const *directories, size_t count, uint64_t bytes,
                      struct spill_neighbour neighbour, bool *fits_alone, struct error *error);

/* Creates an empty spill. directories: at least one; the names are borrowed, the array is not.
 * Returns NULL if memory runs out. */
struct spill *spill_create(const char *const *directories, size_t count);

/* Begins a run at the end of the file of the next directory that is not full. No other run of the
 * spill may be begun until this one is ended. */
bool spill_begin(struct spill *spill, struct spill_run *run, struct error *error);

/* Appends data to the run. Fails if all directories are full, or a write fails otherwise. */
bool spill_append(struct spill_run *run, const void *data, size_t bytes, struct error *error);

/* Ends the run, and sets run->bytes. */
bool spill_end(struct spill_run *run, struct error *error);

/* Reads bytes [offset, offset + bytes) of the run. Thread-safe. */
bool spill_read(const struct spill_run *run, uint64_t offset, void *data, size_t bytes,
                struct error *error);

/* Returns the run as a stream, for a source. The run stays at its address until the source is
 * closed. */
struct input_stream;
struct input_stream spill_stream(struct spill_run *run);

/* Hints that these bytes will be read soon. No effect if they begin before the last extent. */
void spill_prefetch(const struct spill_run *run, uint64_t offset, size_t bytes);

/* Releases the run's space, if the file system can do that before the file is closed. */
void spill_drop(const struct spill_run *run);

/* Closes the files, which releases their space. `spill` may be NULL. */
void spill_free(struct spill *spill);

#endif
