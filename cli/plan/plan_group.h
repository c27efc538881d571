/* SPDX-License-Identifier: Apache-2.0 */
/* plan_group.h - the plan of a job that several ranks share. Each rank makes the plan itself, as
 * memory and devices are those of its host, and compares with rank 0 what must be the same. */
#ifndef CLI_PLAN_GROUP_H
#define CLI_PLAN_GROUP_H

#include "cli/plan/plan.h"

/* Collective: replaces *flag by that of rank 0, unless there is no group. */
bool plan_tell(struct plan *plan, bool *flag, struct error *error);

/* Called once the order is known: refuses what ranks cannot share, and plans that are not for the
 * same job, and narrows the inputs to the part of this rank, or receives it. Collective; without a
 * group it does nothing. */
bool plan_share(struct plan *plan, struct error *error);

/* Collective, called after the plan was made, or was not: returns true if all ranks have one. */
bool plan_agree(struct plan *plan, bool is_made, struct error *error);

#endif
