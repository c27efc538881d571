/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - gpusort: parses the options, makes the plan, runs it, and prints the error if there is
 * one.
 */
#include "cli/exit.h"
#include "cli/launcher.h"
#include "cli/options/options.h"
#include "cli/plan/plan.h"
#include "cli/report/progress.h"
#include "cli/report/report.h"
#include "cli/report/trace_file.h"
#include "cli/run.h"
#include "core/trace.h"

#include <stdio.h>
#include <stdlib.h>

/* Only rank 0 prints what is not an error. */
static void quiet_other_ranks(struct options *options, const struct group *group)
{
    if (!group || group->rank == 0)
        return;
    options->quiet = true;
    options->verbose = false;
    options->progress = PROGRESS_OFF;
    if (options->stats == STATS_TEXT)
        options->stats = STATS_NONE;
}

static bool make_plan(struct options *options, struct group *group, struct trace_file *trace,
                      struct progress *progress, struct plan *plan, struct error *error)
{
    bool ok = trace_file_open(options, group, trace, error) && plan_begin(options, plan, error) &&
              trace_file_check(options, trace, error);
    plan->job.group = group;
    if (ok) {
        progress_start(progress, options);
        ok = plan_make(options, plan, error);
    }
    return plan_agree(plan, ok, error);
}

/* group: NULL, or the ranks that share the job. */
static bool sort_as_planned(struct options *options, struct group *group, struct outcome *outcome,
                            struct error *error)
{
    struct plan plan = {0};
    struct progress progress = {0};
    struct trace_file trace;
    if (!trace_start(options->trace != NULL, error)) /* planning reads from the inputs */
        return false;
    bool ok = make_plan(options, group, &trace, &progress, &plan, error);
    const bool has_begun = ok && options->action == ACTION_SORT;
    if (has_begun)
        ok = run_planned_job(options, &plan, &progress, outcome, error);
    progress_stop(&progress);
    if (ok && options->action == ACTION_EXPLAIN && (!group || group->rank == 0)) {
        report_plan(stdout, "", &plan);
        report_gpu(stdout, &plan);
    }
    plan_free(&plan); /* ends the reading threads, so nothing is recorded any more */
    ok = trace_file_close(options, &trace, has_begun, ok, error) && ok;
    trace_stop();
    return ok;
}

/* Prints the error, if there is one. With --stats=json it is in the object, so that standard error
 * holds nothing else. Of ranks that have agreed to fail, one prints it; the object is rank 0's. */
static void report_outcome(const struct options *options, const struct group *group,
                           const struct outcome *outcome, bool ok, const struct error *error)
{
    const bool is_first = !group || group->rank == 0;
    const bool is_json = options->stats == STATS_JSON;
    const bool has_agreed = group && group->has_agreed_to_fail;
    if (!ok && !has_agreed)
        launcher_let_rank_0_print(group != NULL);
    if (is_json && is_first && (!ok || options->action == ACTION_SORT))
        stats_print_json(stderr, ok ? outcome->status : EXIT_TROUBLE, error, outcome->members);
    else if (!ok && (has_agreed ? group->speaks && !is_json : true))
        report_error(error);
}

/* Sorts alone or, if a launcher has started other ranks, with these. */
static bool sort_or_share(struct options *options, struct outcome *outcome, struct error *error)
{
    struct group joined;
    bool is_one;
    if (!launcher_join(&joined, &is_one, error)) {
        report_outcome(options, NULL, outcome, false, error);
        return false;
    }
    struct group *const group = is_one ? &joined : NULL;
    unsigned rank;
    quiet_other_ranks(options, group);
    bool ok = !launcher_find_rank(&rank) || options_name_rank(options, rank, error);
    if (group)
        ok = group_agree(group, ok, error);
    ok = ok && sort_as_planned(options, group, outcome, error);
    report_outcome(options, group, outcome, ok, error);
    if (group)
        group_close(group, ok);
    return ok;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    struct options options;
    struct outcome outcome = {EXIT_SUCCESS, NULL};
    exit_prepare();
    bool ok = options_parse(argc, argv, &options, &error);
    if (!ok)
        report_outcome(&options, NULL, &outcome, false, &error);
    else if (options.action == ACTION_LIST)
        report_list(stdout);
    else
        ok = sort_or_share(&options, &outcome, &error);
    options_free(&options);
    free(outcome.members);
    return ok ? outcome.status : EXIT_TROUBLE;
}
