/* main.c - gpusort: parse the words, make the plan, run it, print the error if there is one. */
#include "cli/exit.h"
#include "cli/options.h"
#include "cli/plan.h"
#include "cli/report.h"
#include "core/pipeline.h"

#include <stdio.h>
#include <stdlib.h>

static bool sort_as_planned(const struct options *options, struct error *error)
{
    struct plan plan;
    struct job_report report;
    bool ok = plan_make(options, &plan, error);
    if (ok && options->action == ACTION_EXPLAIN) {
        report_plan(stdout, "", &plan);
    } else if (ok) {
        if (options->verbose)
            report_plan(stderr, "gpusort: ", &plan);
        exit_is_trouble(true);
        ok = pipeline_run(&plan.job, &report, error);
        exit_is_trouble(false);
        if (ok && options->verbose)
            report_times(stderr, "gpusort: ", &plan, &report);
    }
    plan_free(&plan);
    return ok;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    struct options options;
    exit_prepare();
    bool ok = options_parse(argc, argv, &options, &error);
    if (ok && options.action == ACTION_LIST)
        report_list(stdout);
    else
        ok = ok && sort_as_planned(&options, &error);
    options_free(&options);
    if (!ok)
        report_error(&error);
    return ok ? EXIT_SUCCESS : EXIT_TROUBLE;
}
