/* main.c - gpusort: parse the words, make the plan, run it, print the error if there is one. */
#include "cli/exit.h"
#include "cli/options.h"
#include "cli/plan.h"
#include "cli/report.h"
#include "core/pipeline.h"

#include <stdio.h>
#include <stdlib.h>

/* Runs the job; *status is what the process ends with if that succeeds. */
static bool run_job(const struct options *options, const struct plan *plan, int *status,
                    struct error *error)
{
    struct job_report report = {0};
    if (options->verbose)
        report_plan(stderr, "gpusort: ", plan);
    exit_is_trouble(true);
    const bool ok = pipeline_run(&plan->job, &report, error);
    exit_is_trouble(false);
    if (ok && options->verbose)
        report_times(stderr, "gpusort: ", plan, &report);
    if (ok && report.disorder.is_found) {
        *status = EXIT_DISORDER;
        if (options->check == CHECK_SHOW)
            report_disorder(options->inputs[0], &report.disorder, plan->job.line_order.terminator);
    }
    free(report.disorder.text);
    return ok;
}

static bool sort_as_planned(struct options *options, int *status, struct error *error)
{
    struct plan plan;
    bool ok = plan_make(options, &plan, error);
    if (ok && options->action == ACTION_EXPLAIN)
        report_plan(stdout, "", &plan);
    else
        ok = ok && run_job(options, &plan, status, error);
    plan_free(&plan);
    return ok;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    struct options options;
    int status = EXIT_SUCCESS;
    exit_prepare();
    bool ok = options_parse(argc, argv, &options, &error);
    if (ok && options.action == ACTION_LIST)
        report_list(stdout);
    else
        ok = ok && sort_as_planned(&options, &status, &error);
    options_free(&options);
    if (!ok)
        report_error(&error);
    return ok ? status : EXIT_TROUBLE;
}
