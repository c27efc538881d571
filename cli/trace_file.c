/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.c - see trace_file.h. The file is opened before any input is, so that a file that
 * cannot be written is reported first.
 */
#include "cli/trace_file.h"

#include "core/trace.h"
#include "formats/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if the path, or the descriptor if the path is "-" or NULL, is this regular file. */
static bool is_file(const char *path, int descriptor, const struct stat *file)
{
    struct stat status;
    const bool is_named = path && strcmp(path, "-") != 0;
    return (is_named ? stat(path, &status) : fstat(descriptor, &status)) == 0 &&
           S_ISREG(status.st_mode) && status.st_dev == file->st_dev &&
           status.st_ino == file->st_ino;
}

bool trace_file_open(const struct options *options, struct trace_file *trace, struct error *error)
{
    const char *const path = options->trace;
    char name[PATH_MAX + 16];
    *trace =
        (struct trace_file){.file = -1, .place = {.descriptor = -1, .directory = -1, .file = -1}};
    if (!path || options->action != ACTION_SORT)
        return true;
    snprintf(name, sizeof name, "--trace=%s", path);
    if (!output_path_open(path, name, &trace->place, error))
        return false;
    if (trace->place.descriptor >= 0) {
        trace->file = descriptor_raise(open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY));
        return trace->file >= 0 || error_set_errno(error, "%s", name);
    }
    trace->is_new = !trace->place.exists;
    trace->file = output_path_open_in_place(&trace->place, name, error);
    return trace->file >= 0;
}

/* The files are compared after the trace file was created, so that links to it are found. */
bool trace_file_check(const struct options *options, const struct trace_file *trace,
                      struct error *error)
{
    struct stat status;
    if (trace->file < 0)
        return true;
    if (fstat(trace->file, &status) != 0)
        return error_set_errno(error, "--trace=%s", options->trace);
    if (options->check == CHECK_NO && is_file(options->output, STDOUT_FILENO, &status))
        return error_set(error, "--trace=%s: this is the output", options->trace);
    for (size_t i = 0; i < options->input_count; i++)
        if (is_file(options->inputs[i], STDIN_FILENO, &status))
            return error_set(error, "--trace=%s: this is an input", options->trace);
    if (options->input_list && is_file(options->input_list, STDIN_FILENO, &status))
        return error_set(error, "--trace=%s: this is the list of inputs", options->trace);
    return true;
}

/* Removes the file if it still has its name. */
static void remove_file(const struct trace_file *trace)
{
    const int directory = trace->place.directory;
    struct stat made, named;
    if (fstat(trace->file, &made) == 0 &&
        fstatat(directory, trace->place.name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        descriptor_same_file(&made, &named))
        unlinkat(directory, trace->place.name, 0);
}

/* Replaces the content of the file by the trace, and closes the file. */
static bool write_trace(const struct options *options, int file, struct error *error)
{
    struct stat status;
    const bool is_regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    FILE *const stream = fdopen(file, "w");
    bool ok = (stream && (!is_regular || ftruncate(file, 0) == 0) && trace_write(stream)) ||
              error_set_errno(error, "--trace=%s", options->trace);
    if ((stream ? fclose(stream) : close(file)) != 0)
        ok = error_set_errno(error, "--trace=%s", options->trace);
    return ok;
}

bool trace_file_close(const struct options *options, struct trace_file *trace, bool has_begun,
                      struct error *error)
{
    bool ok = true;
    if (trace->file >= 0 && has_begun) {
        ok = write_trace(options, trace->file, error);
    } else if (trace->file >= 0) {
        if (trace->is_new)
            remove_file(trace);
        close(trace->file);
    }
    output_path_close(&trace->place);
    return ok;
}
