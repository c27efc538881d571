/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - gpusort: parses the options, makes the plan, runs it, and prints the error if there is
 * one.
 */
#include "cli/exit.h"
#include "cli/launcher.h"
#include "cli/options.h"
#include "cli/plan.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/stats.h"
#include "cli/trace_file.h"
#include "core/trace.h"

#include <stdio.h>
#include <stdlib.h>

static bool sort_as_planned(struct options *options, struct outcome *outcome, struct error *error)
{
    struct plan plan = {0};
    struct progress progress;
    struct trace_file trace;
    bool has_begun = false;
    if (!trace_start(options->trace != NULL, error)) /* planning reads from the inputs */
        return false;
    bool ok = trace_file_open(options, &trace, error) && plan_begin(options, &plan, error) &&
              trace_file_check(options, &trace, error);
    if (ok) {
        progress_start(&progress, options);
        ok = plan_make(options, &plan, error);
        has_begun = ok && options->action == ACTION_SORT;
        if (has_begun)
            ok = run_planned_job(options, &plan, &progress, outcome, error);
        progress_stop(&progress);
    }
    if (ok && options->action == ACTION_EXPLAIN) {
        report_plan(stdout, "", &plan);
        report_gpu(stdout, &plan);
    }
    plan_free(&plan); /* ends the reading threads, so nothing is recorded any more */
    ok = trace_file_close(options, &trace, has_begun, error) && ok;
    trace_stop();
    return ok;
}

/* Prints the error, if there is one. With --stats=json it is part of the object, so that standard
 * error has nothing else. */
static void report_outcome(const struct options *options, const struct outcome *outcome, bool ok,
                           const struct error *error)
{
    if (options->stats == STATS_JSON && (!ok || options->action == ACTION_SORT))
        stats_print_json(stderr, ok ? outcome->status : EXIT_TROUBLE, error, outcome->members);
    else if (!ok)
        report_error(error);
}

int main(int argc, char **argv)
{
    struct error error = {0};
    struct options options;
    struct outcome outcome = {EXIT_SUCCESS, NULL};
    exit_prepare();
    bool ok = options_parse(argc, argv, &options, &error);
    if (ok && options.action == ACTION_LIST)
        report_list(stdout);
    else
        ok = ok && launcher_refuse_ranks(&error) && sort_as_planned(&options, &outcome, &error);
    report_outcome(&options, &outcome, ok, &error);
    options_free(&options);
    free(outcome.members);
    return ok ? outcome.status : EXIT_TROUBLE;
}
