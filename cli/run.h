/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - runs a plan, and prints the reports that the user requested. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/options/options.h"
#include "cli/plan/plan.h"
#include "cli/report/progress.h"

/* The result of a job, for main. */
struct outcome {
    int status;    /* exit status if there is no error */
    char *members; /* for stats_print_json; the caller frees it; NULL: none */
};

/* Runs the job, and ends its progress. Fills *outcome, also after a failure. */
bool run_planned_job(const struct options *options, struct plan *plan, struct progress *progress,
                     struct outcome *outcome, struct error *error);

#endif
