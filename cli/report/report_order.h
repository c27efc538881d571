/* SPDX-License-Identifier: Apache-2.0 */
/* report_order.h - describes the order of lines, for --explain and -v. */
#ifndef CLI_REPORT_ORDER_H
#define CLI_REPORT_ORDER_H

#include "job/pipeline.h"

#include <stdio.h>

/* Prints the order of the job's lines and the size of their header, each line with `prefix`. */
void report_line_order(FILE *stream, const char *prefix, const struct job *job);

#endif
