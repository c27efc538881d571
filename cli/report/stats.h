/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h - --stats: the figures of a job, for users and for programs. */
#ifndef CLI_STATS_H
#define CLI_STATS_H

#include "cli/plan/plan.h"

#include <stdio.h>

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
