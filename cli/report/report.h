/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - messages, lists, plans and times for the user. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/plan/plan.h"

#include <stdio.h>

/* Prints the error to standard error, on one line whatever a file's name contains. */
void report_error(const struct error *error);

/* -c: prints the line out of order to standard error, as sort(1) does, with '?' for each character
 * that is not shown. file: as the user gave it. Changes disorder->text. */
void report_disorder(const char *file, struct disorder *disorder, char terminator);

/* --list: types, formats, codecs, devices and their paths. */
void report_list(FILE *stream);

/* --explain and -v: prints the plan and its reasons, each line with `prefix`. */
void report_plan(FILE *stream, const char *prefix, const struct plan *plan);

/* --explain: prints the GPU that the plan does not use, or why there is none. Starts the GPU to
 * find out, which may take a second. Prints nothing for a plan that uses the GPU. */
void report_gpu(FILE *stream, const struct plan *plan);

/* -v: prints the time of each stage. */
void report_times(FILE *stream, const char *prefix, const struct plan *plan,
                  const struct job_report *report);

#endif
