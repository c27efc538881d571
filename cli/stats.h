/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h - --stats: the figures of a run, for who reads them and for programs that do. */
#ifndef CLI_STATS_H
#define CLI_STATS_H

#include "cli/plan.h"

#include <stdio.h>

/* Prints what the run was and what it took, a line for each group of figures. */
void stats_print_text(FILE *stream, const struct plan *plan, const struct job_report *report);

/* The same figures as members of an object of JSON, for stats_print_json; of a job that failed,
 * those that there are. The caller frees the text; NULL if memory is out. Bytes that are not UTF-8
 * are U+FFFD. */
char *stats_make_members(const struct plan *plan, const struct job_report *report, bool is_done);

/* Prints the object on one line. status: what the process ends with. error: as it is, set or not.
 * members: NULL if there was no run. */
void stats_print_json(FILE *stream, int status, const struct error *error, const char *members);

#endif
