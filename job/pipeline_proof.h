/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_proof.h - checks of a job's output before it replaces the old file.
 *
 *   numbers   read == written, and the written ones are in order
 *   indices   numbers read == numbers that items were made of; items made == items whose indices
 *             are written, and these are in order: so the indices are a permutation, and each is
 *             the position of its number
 *
 * `==` compares counts and sums of hashes (check.h). Each point observes the numbers while a thread
 * has them in its cache. If only the first items are wanted, their count and order are checked, but
 * not which ones they are. Text and indices that are made of numbers in the sink's buffers must
 * still be there unchanged when they are written (sink.h).
 *
 * With `verify`, the file is read back and checked again.
 */
#ifndef JOB_PIPELINE_PROOF_H
#define JOB_PIPELINE_PROOF_H

#include "core/check/check.h"
#include "core/error.h"

struct job;
struct lines;
struct lines_written;
struct job_state;
struct spill_run;

struct proof {
    struct key_check read;    /* the numbers read */
    struct key_check taken;   /* for indices: the numbers that items were made of */
    struct key_check made;    /* for indices: the items made */
    struct key_check written; /* the numbers or items written */
    struct check_sum file;    /* the numbers in the file of this rank, if each has one */
    struct check_sum content; /* for `verify`: the bytes written */
};

/* The extent of the checks. */
enum proof_scope {
    PROOF_NONE,
    PROOF_LINES, /* for a merge: no line was lost or added */
    PROOF_ORDER, /* only some of the input was written: that is in order */
    PROOF_ALL,   /* all of the input was written, in order */
    PROOF_SCOPE_COUNT
};
extern const char *const proof_scope_texts[PROOF_SCOPE_COUNT]; /* as sentences */

/* The checks of a job, for reports. */
struct proof_report {
    enum proof_scope scope;
    bool is_verified; /* the file was read back and checked */
};

/* Starts the checks of a job that sorts numbers, and sets the taps of its readers. */
void proof_start_keys(struct job_state *state);

/* Compares the numbers written with those read, and checks their order. Fails with the
 * difference. */
bool proof_finish_keys(struct job_state *state, struct error *error);

/* As proof_finish_keys(), for lines, or for indices of lines, that were sorted as items. are_all:
 * the output has all lines of the input. */
bool proof_finish_lines(struct job_state *state, const struct lines *lines,
                        const struct lines_written *written, bool are_all, struct error *error);
bool proof_finish_indices(struct job_state *state, uint64_t count, bool are_all,
                          struct error *error);

/* As proof_finish_keys(), for text that an engine of lines has given. written: checksum of the text
 * given to the sink. */
bool proof_finish_text(struct job_state *state, const struct lines *lines, struct check_sum written,
                       struct error *error);

/* Sets the error "OUT: the proof failed: DIFFERENCE; OUT is left as it was", or with what else
 * happens to OUT. Returns false. */
bool proof_fail(const struct job_state *state, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A run on disk that is read once, from its beginning to its end. */
struct proof_reader {
    const struct job_state *state;
    const struct spill_run *stored;
    uint64_t done;          /* bytes read */
    struct check_sum found; /* of these bytes */
};

/* Reads the next bytes of the run, at most `most`, and sets *bytes to their number; 0 at the end.
 * With the last bytes, fails unless all were as they had been written. */
bool proof_read_stored(struct proof_reader *reader, void *data, size_t most, size_t *bytes,
                       struct error *error);

/* Fails, with the position, if the numbers written are not in order. */
bool proof_check_order(const struct job_state *state, const struct key_check *written,
                       struct error *error);

/* Fails if the job is to read back its output and cannot. The sink is open. */
bool proof_check_verify(const struct job_state *state, struct error *error);

/* Returns true if the sink must compute the checksum of its content, because numbers cannot be
 * compared. */
bool proof_sums_content(const struct job *job);

/* Reads the new file back and checks it, before it replaces the old one. */
bool proof_verify(struct job_state *state, struct error *error);

#endif
