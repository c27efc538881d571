/* SPDX-License-Identifier: Apache-2.0 */
/* report_order.h - the order of lines in words, for --explain and -v. */
#ifndef CLI_REPORT_ORDER_H
#define CLI_REPORT_ORDER_H

#include "core/pipeline.h"

#include <stdio.h>

/* Prints the order of the job's lines, and what their header is, each line behind `prefix`. */
void report_line_order(FILE *stream, const char *prefix, const struct job *job);

#endif
