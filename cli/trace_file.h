/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.h - --trace=FILE: the file that the trace is written to. */
#ifndef CLI_TRACE_FILE_H
#define CLI_TRACE_FILE_H

#include "cli/options.h"
#include "formats/output_path.h"

struct trace_file {
    int file;    /* -1: there is none */
    bool is_new; /* it was made when it was opened */
    struct output_path place;
};

/* Opens the file for writing, if a job is to be traced, and leaves its content as it is. The caller
 * calls trace_file_close, also after a failure. */
bool trace_file_open(const struct options *options, struct trace_file *trace, struct error *error);

/* Refuses a file that is an input, the list of inputs, or the output. */
bool trace_file_check(const struct options *options, const struct trace_file *trace,
                      struct error *error);

/* Writes the trace in place of the content, if the job began; else removes a file that is new.
 * Closes the file. */
bool trace_file_close(const struct options *options, struct trace_file *trace, bool has_begun,
                      struct error *error);

#endif
