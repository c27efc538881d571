/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - a plan is carried out, and what the user wants to be told of it is told. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/options.h"
#include "cli/plan.h"
#include "cli/progress.h"

/* How a run went, for main to end with. */
struct outcome {
    int status;    /* what the process ends with if there is no error */
    char *members; /* for stats_print_json, which the caller frees; NULL: none */
};

/* Runs the job, and ends its progress. */
bool run_planned_job(const struct options *options, struct plan *plan, struct progress *progress,
                     struct outcome *outcome, struct error *error);

#endif
