/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what gpusort says about itself: the lists, the plan, the times. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/plan.h"

#include <stdio.h>

/* Prints the error on standard error: one line, whatever a file's name holds. */
void report_error(const struct error *error);

/* -c: shows the line that is out of order on standard error, as sort(1) does, but for what is not
 * shown as itself: a '?' is put into its text for that. file: as the user says it. */
void report_disorder(const char *file, struct disorder *disorder, char terminator);

/* --list: types, formats, codecs, devices and their paths. */
void report_list(FILE *stream);

/* --explain and -v: the plan and why, each line behind `prefix`. */
void report_plan(FILE *stream, const char *prefix, const struct plan *plan);

/* --explain: the GPU that the plan leaves out, or why there is none. Starts it to find out, which
 * may take a second. Prints nothing for a plan that is for the GPU. */
void report_gpu(FILE *stream, const struct plan *plan);

/* -v: the time of each stage. */
void report_times(FILE *stream, const char *prefix, const struct plan *plan,
                  const struct job_report *report);

#endif
