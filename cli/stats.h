/* stats.h - --stats: the figures of a run, for who reads them and for programs that do. */
#ifndef CLI_STATS_H
#define CLI_STATS_H

#include "cli/plan.h"

#include <stdio.h>

/* Prints what the run was and what it took: as lines of text, or as one line of JSON, in which what
 * is no UTF-8 is U+FFFD. The same fields in both. */
void stats_print(FILE *stream, enum stats_form form, const struct plan *plan,
                 const struct job_report *report);

#endif
