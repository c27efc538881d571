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

/* ---- --stats, the figures of a job for users and for programs: stats.c ---- */

/* Prints the figures of a job, one line per group. */
void stats_print_text(FILE *stream, const struct plan *plan, const struct job_report *report);

/* Returns the same figures as members of a JSON object, for stats_print_json(). is_done: the job
 * succeeded; otherwise some figures are left out. The caller frees the text; NULL if memory runs
 * out. Bytes that are not UTF-8 become U+FFFD. */
char *stats_make_members(const struct plan *plan, const struct job_report *report, bool is_done);

/* Prints the object on one line. status: the exit status. error: set or not. members: NULL if no
 * job was run. */
void stats_print_json(FILE *stream, int status, const struct error *error, const char *members);

#endif
