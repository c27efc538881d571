/* SPDX-License-Identifier: Apache-2.0 */
/* spill.h - room on disk for sorted runs that memory has no room for, until they are merged.
 *
 *   spill_begin -> spill_append, or a sink on the run
 *     -> spill_end -> spill_read, or a source
 *
 * There is one file in each directory, made when it is first needed, and runs are parts of it, one
 * behind the other. The files have no names, so that nothing is left of them however the process
 * ends. Runs take turns with the directories, as the temporary files of sort(1) do. A run whose
 * directory is full continues in the next one, and a full directory is left out until some of its
 * space is given back.
 */
#ifndef FORMATS_SPILL_H
#define FORMATS_SPILL_H

#include "core/check_sum.h"
#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct spill;

/* A run: what is in `before`, then a part of the file. */
struct spill_run {
    struct spill *spill;
    int file;                       /* the spill's, that the last part is in */
    const char *name;               /* for messages; the spill's */
    const struct spill_run *before; /* what was written until its directory was full; NULL */
    uint64_t begin;                 /* of the last part, in the file */
    uint64_t bytes;                 /* of all parts */
    struct check_sum content;       /* of text that a sink wrote (core/check.h) */
};

/* Fails as making a file in one of the directories would, if a directory does not exist or may not
 * be written to. */
bool spill_check(const char *const *directories, size_t count, struct error *error);

/* directories: at least one; borrowed. NULL when memory runs out. */
struct spill *spill_create(const char *const *directories, size_t count);

/* Begins a run at the end of the next directory's file. Until the run is ended, no other run of the
 * spill is begun. */
bool spill_begin(struct spill *spill, struct spill_run *run, struct error *error);

/* Writes data after what the run has. Fails with errno when all directories are full, among other
 * causes. */
bool spill_append(struct spill_run *run, const void *data, size_t bytes, struct error *error);

/* Ends the run: run->bytes is what was written. */
bool spill_end(struct spill_run *run, struct error *error);

/* Reads bytes [offset, offset + bytes) of the run. Any number of threads at a time. */
bool spill_read(const struct spill_run *run, uint64_t offset, void *data, size_t bytes,
                struct error *error);

/* Lets the system read ahead what will be wanted next. */
void spill_prefetch(const struct spill_run *run, uint64_t offset, size_t bytes);

/* Gives the run's space back, where the file system can do that before the file is closed. */
void spill_drop(const struct spill_run *run);

/* spill may be NULL. */
void spill_free(struct spill *spill);

#endif
