/* main.c - gpusort: parse the words, make the plan, run it. The one place that prints an error and
 * ends the process.
 */
#include "cli/options.h"
#include "cli/plan.h"
#include "cli/report.h"
#include "core/pipeline.h"

#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <unistd.h>

enum { EXIT_TROUBLE = 2 };

/* What was printed must have reached its place: `gpusort --help > /dev/full` fails. */
static void close_stdout(void)
{
    const bool pending = __fpending(stdout) > 0 || ferror(stdout);
    if (fclose(stdout) != 0 && pending) {
        fputs("gpusort: standard output: write failed\n", stderr);
        _exit(EXIT_TROUBLE);
    }
}

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
        ok = pipeline_run(&plan.job, &report, error);
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
    atexit(close_stdout);
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
