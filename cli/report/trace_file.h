/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.h - --trace=FILE: the file for the trace. */
#ifndef CLI_TRACE_FILE_H
#define CLI_TRACE_FILE_H

#include "cli/options/options.h"
#include "formats/io/output_path.h"

struct trace_file {
    struct group *group; /* NULL, or the ranks whose traces go to the file of rank 0 */
    int file;            /* -1: none */
    bool is_new;         /* trace_file_open() created it */
    struct output_path place;
};

/* Opens the file for writing, if a job is traced, and keeps its content. The caller calls
 * trace_file_close(), also after a failure. */
bool trace_file_open(const struct options *options, struct group *group, struct trace_file *trace,
                     struct error *error);

/* Fails if the file is an input, the list of inputs, or the output. */
bool trace_file_check(const struct options *options, const struct trace_file *trace,
                      struct error *error);

/* Replaces the content by the trace if the job has begun; otherwise removes a file that was
 * created. Closes the file. Collective if ranks share the job and the job has succeeded. */
bool trace_file_close(const struct options *options, struct trace_file *trace, bool has_begun,
                      bool has_succeeded, struct error *error);

#endif
