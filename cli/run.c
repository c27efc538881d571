/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - see run.h. */
#include "cli/run.h"

#include "cli/exit.h"
#include "cli/report/report.h"
#include "job/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Reports, on a terminal, that raw numbers were assumed to be doubles because no type is given. */
static void report_assumption(const struct plan *plan)
{
    const struct job *const job = &plan->job;
    for (size_t i = 0; i < job->reader_count; i++)
        if (job->input_format == &format_raw && job->readers[i].is_type_assumed) {
            fprintf(stderr, "gpusort: %s: read as f64 (--type names another)\n",
                    source_name(job->readers[i].source));
            return;
        }
}

bool run_planned_job(const struct options *options, struct plan *plan, struct progress *progress,
                     struct outcome *outcome, struct error *error)
{
    struct job_report report = {0};
    const bool is_verbose = options->verbose && !options->quiet;
    progress_tell_plan(progress, plan);
    if (is_verbose)
        report_plan(stderr, "gpusort: ", plan);
    else if (!options->quiet && isatty(STDERR_FILENO) == 1)
        report_assumption(plan);
    progress_go_on(progress);
    exit_is_trouble(true);
    const bool ok = pipeline_run(&plan->job, &report, error);
    exit_is_trouble(false);
    progress_stop(progress);
    if (ok && is_verbose)
        report_times(stderr, "gpusort: ", plan, &report);
    if (ok && options->stats == STATS_TEXT)
        stats_print_text(stderr, plan, &report);
    if (options->stats == STATS_JSON) /* printed at the end, with the error */
        outcome->members = stats_make_members(plan, &report, ok);
    if (ok && report.disorder.is_found) {
        outcome->status = EXIT_DISORDER;
        if (options->check == CHECK_SHOW && options->stats != STATS_JSON) {
            report_disorder(options->inputs[0], &report.disorder, plan->job.line_order.terminator);
            if (ferror(stderr)) /* as sort(1): the line is the result */
                outcome->status = EXIT_TROUBLE;
        }
    }
    free(report.disorder.text);
    free(report.ranks);
    return ok;
}
