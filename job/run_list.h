/* SPDX-License-Identifier: Apache-2.0 */
/* run_list.h - the sorted runs of a job in parts, in the order of the input.
 *
 *   run | run | run | run | run    adjacent ones are merged, until few enough are left
 *   \_______________/
 *          run          | run
 */
#ifndef JOB_RUN_LIST_H
#define JOB_RUN_LIST_H

#include "job/external_merge.h"
#include "job/job_state.h"

/* Initialize with zeros. */
struct run_list {
    struct item_run *runs; /* owned, but not their memory */
    size_t count, room;
};

/* Adds a copy of the run at the end. Returns the copy, which may move when the next one is added;
 * NULL if memory runs out. */
struct item_run *run_list_add(struct run_list *list, const struct item_run *run,
                              struct error *error);

/* Replaces `count` runs from `first` on by *merged, and releases their memory and disk space. */
void run_list_replace(struct run_list *list, size_t first, size_t count,
                      const struct item_run *merged);

/* Merges adjacent runs, no more than necessary and at most `fan_in` (at least 2) at once, until
 * there are at most `most`, which is at least 1. `merge` merges runs and calls run_list_replace().
 */
bool run_list_reduce(struct job_state *state, struct run_list *list, size_t most, size_t fan_in,
                     bool (*merge)(void *context, size_t first, size_t count, struct error *error),
                     void *context, struct error *error);

#endif
