/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_proof.h - what a job proves of its output before the old one is replaced.
 *
 *   numbers   read == written, which are in order
 *   indices   numbers read == those that items were made of; items made == those whose indices are
 *             written, which are in order: so the indices are a permutation, and each the place of
 *             its number
 *
 * `==` is of counts and of sums of hashes (check.h). Each point sees the numbers where a thread has
 * them in its cache anyway. Where only the first of all are wanted, how many and their order is
 * proved, but not which ones they are. What is made of numbers in the sink's buffers, text and
 * indices, must be in them still when they are written (sink.h).
 *
 * With `verify`, what is in the file is read back and proved again.
 */
#ifndef CORE_PIPELINE_PROOF_H
#define CORE_PIPELINE_PROOF_H

#include "core/check.h"
#include "core/error.h"

struct job;
struct lines;
struct lines_written;
struct run;

struct proof {
    struct key_check read;    /* numbers, as they were read */
    struct key_check taken;   /* of indices: numbers that items were made of */
    struct key_check made;    /* of indices: the items */
    struct key_check written; /* numbers or items, as they go out */
};

/* How much is proved. */
enum proof_scope {
    PROOF_NONE,
    PROOF_LINES, /* of a merge: no line is lost, nor made */
    PROOF_ORDER, /* of some of what was read: it is in order */
    PROOF_ALL,   /* what is written is what was read, and in order */
    PROOF_SCOPE_COUNT
};
extern const char *const proof_scope_texts[PROOF_SCOPE_COUNT]; /* as sentences */

/* What was proved of a job, for reports. */
struct proof_report {
    enum proof_scope scope;
    bool is_verified; /* in the file too */
};

/* Begins the proof of a job that sorts numbers, and lets its readers take part in it. */
void proof_start_keys(struct run *run);

/* All has been written: fails, with the difference, if it is not what was read, or not in order. */
bool proof_finish_keys(struct run *run, struct error *error);

/* The same of lines, or their indices, that were sorted as items and are written now: all of them,
 * or some. */
bool proof_finish_lines(struct run *run, const struct lines *lines,
                        const struct lines_written *written, bool are_all, struct error *error);
bool proof_finish_indices(struct run *run, uint64_t count, bool are_all, struct error *error);

/* The same of lines that an engine of lines has given; written: as they went to the sink. */
bool proof_finish_text(struct run *run, const struct lines *lines, struct check_sum written,
                       struct error *error);

/* "OUT: the proof failed: DIFFERENCE; OUT is left as it was". Returns false. */
bool proof_fail(const struct run *run, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fails, naming the place, if what was written is not in order. */
bool proof_check_order(const struct run *run, const struct key_check *written, struct error *error);

/* Refuses what cannot be read back; the sink is open. */
bool proof_check_verify(const struct run *run, struct error *error);

/* Whether the sink is to sum up what is written, as there is no better way to verify it. */
bool proof_sums_content(const struct job *job);

/* Reads the new file back, before it takes the place of the old one. */
bool proof_verify(struct run *run, struct error *error);

#endif
