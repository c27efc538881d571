/* spill.h - room on disk for sorted runs that memory has no room for, until they are merged.
 *
 *   spill_begin -> spill_append, or a sink on the run's file
 *     -> spill_end -> spill_read, or a source
 *
 * There is one file in each directory, made when it is first needed, and runs are parts of it, one
 * behind the other. The files have no names, so that nothing is left of them however the process
 * ends. Runs take turns with the directories, as the temporary files of sort(1) do.
 */
#ifndef FORMATS_SPILL_H
#define FORMATS_SPILL_H

#include "core/check_sum.h"
#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct spill;

/* A run: bytes [begin, begin + bytes) of a file. */
struct spill_run {
    int file;         /* the spill's */
    const char *name; /* for messages; the spill's */
    uint64_t begin;
    uint64_t bytes;
    struct check_sum content; /* of text that a sink wrote (core/check.h) */
};

/* directories: at least one; borrowed. NULL when memory runs out. */
struct spill *spill_create(const char *const *directories, size_t count);

/* Begins a run at the end of the next directory's file. Until it is ended, what is written to the
 * file goes there, and no other run of the spill is begun. */
bool spill_begin(struct spill *spill, struct spill_run *run, struct error *error);

/* Writes data behind what the run has. */
bool spill_append(const struct spill_run *run, const void *data, size_t bytes, struct error *error);

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
