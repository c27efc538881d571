/* run.h - a plan is carried out, and what the user wants to be told of it is told. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/options.h"
#include "cli/plan.h"
#include "cli/progress.h"

/* Runs the job, and ends its progress. *status is what the process ends with if that succeeds. */
bool run_planned_job(const struct options *options, const struct plan *plan,
                     struct progress *progress, int *status, struct error *error);

#endif
