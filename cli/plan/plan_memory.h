/* SPDX-License-Identifier: Apache-2.0 */
/* plan_memory.h - limits the memory of a job, and so the size of the parts that are sorted. */
#ifndef CLI_PLAN_MEMORY_H
#define CLI_PLAN_MEMORY_H

#include "cli/plan/plan.h"

/* Sets the directories of temporary files, if they are not set yet. */
bool plan_choose_directories(struct options *options, struct memory_limits *memory,
                             struct error *error);

/* Sets the memory limits and part sizes of a plan that is complete otherwise. Without -T, adds the
 * default directory to `options`. */
bool plan_choose_memory(struct options *options, struct plan *plan, struct error *error);

#endif
