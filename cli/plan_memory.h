/* SPDX-License-Identifier: Apache-2.0 */
/* plan_memory.h - how much memory the job may take, and so how much is sorted at a time. */
#ifndef CLI_PLAN_MEMORY_H
#define CLI_PLAN_MEMORY_H

#include "cli/plan.h"

/* Completes the plan, of which everything else is decided. May add the default directory to the
 * words. */
bool plan_choose_memory(struct options *options, struct plan *plan, struct error *error);

#endif
