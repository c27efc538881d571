/* trace_file.h - --trace=FILE: the file that the trace is written to. */
#ifndef CLI_TRACE_FILE_H
#define CLI_TRACE_FILE_H

#include "cli/options.h"

/* Opens the file for writing, if a trace is wanted, and leaves what is in it as it is. Refuses one
 * that is read, or that the output goes to. *file is -1 if there is none. */
bool trace_file_open(const struct options *options, int *file, struct error *error);

/* Replaces what is in the file by the trace, and closes it. Nothing if file is -1. */
bool trace_file_write(const struct options *options, int file, struct error *error);

#endif
