/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.c - see report.h. The file is opened before any input is, so that a file that
 * cannot be written is reported first.
 */
#include "cli/report/report.h"

#include "core/ending.h"
#include "core/group.h"
#include "core/trace.h"
#include "formats/descriptor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if the path, or the descriptor if the path is "-" or NULL, is this file, unless it
 * is a terminal or another character device. */
static bool is_file(const char *path, int descriptor, const struct stat *file)
{
    struct stat status;
    const bool is_named = path && strcmp(path, "-") != 0;
    return (is_named ? stat(path, &status) : fstat(descriptor, &status)) == 0 &&
           !S_ISCHR(status.st_mode) && descriptor_same_file(&status, file);
}

struct trace_file trace_file_closed(void)
{
    return (struct trace_file){.file = -1, .path = {.descriptor = -1, .directory = -1, .file = -1}};
}

/* Removes the file if it still has its name. Async-signal-safe. */
static void remove_file(void *context)
{
    const struct trace_file *const trace = context;
    const int directory = trace->path.directory;
    struct stat made, named;
    if (fstat(trace->file, &made) == 0 &&
        fstatat(directory, trace->path.name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        descriptor_same_file(&made, &named))
        unlinkat(directory, trace->path.name, 0);
}

/* Creates the file. If a signal ends the process before keep_file(), the file is removed. */
static bool create_file(struct trace_file *trace, const char *name, struct error *error)
{
    sigset_t old_mask;
    ending_begin_change(&old_mask);
    trace->is_new = true;
    trace->file = output_path_open_or_create(&trace->path, name, error);
    ending_set_task(ENDING_TRACE, remove_file, trace);
    ending_end_change(&old_mask);
    return trace->file >= 0;
}

static void keep_file(void)
{
    sigset_t old_mask;
    ending_begin_change(&old_mask);
    ending_set_task(ENDING_TRACE, NULL, NULL);
    ending_end_change(&old_mask);
}

bool trace_file_open(const struct options *options, struct group *group, struct trace_file *trace,
                     struct error *error)
{
    const char *const path = options->trace;
    char name[PATH_MAX + 16];
    *trace = trace_file_closed();
    trace->group = group;
    if (!path || options->action != ACTION_SORT || (group && group->rank > 0))
        return true;
    snprintf(name, sizeof name, "--trace=%s", path);
    if (!output_path_open(path, name, &trace->path, error))
        return false;
    if (trace->path.descriptor >= 0) {
        if (descriptor_is_writable(trace->path.descriptor))
            trace->file = descriptor_copy(trace->path.descriptor);
        return trace->file >= 0 || error_set_errno(error, "%s", name);
    }
    if (!trace->path.exists)
        return create_file(trace, name, error);
    trace->file = output_path_open_or_create(&trace->path, name, error);
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
    if (trace->path.descriptor < 0 && S_ISREG(status.st_mode) &&
        is_file(NULL, STDERR_FILENO, &status))
        return error_set(error, "--trace=%s: this is standard error", options->trace);
    for (size_t i = 0; i < options->input_count; i++)
        if (is_file(options->inputs[i], STDIN_FILENO, &status))
            return error_set(error, "--trace=%s: this is an input", options->trace);
    if (options->input_list && is_file(options->input_list, STDIN_FILENO, &status))
        return error_set(error, "--trace=%s: this is the list of inputs", options->trace);
    return true;
}

/* Returns the name of this process in the trace: of a rank in `name`, else a constant. */
static const char *name_process(const struct group *group, char name[192])
{
    char host[128] = "";
    if (!group)
        return "gpusort";
    (void)gethostname(host, sizeof host - 1);
    snprintf(name, 192, "rank %u on %s", group->rank, host);
    return name;
}

/* Maximum bytes of a message. */
#define PIECE_BYTES ((size_t)64 << 10)

static size_t piece_bytes(uint64_t left)
{
    return left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
}

/* Collective: returns how many bytes the trace of each rank has; NULL with *error. */
static uint64_t *share_sizes(struct group *group, uint64_t bytes, struct error *error)
{
    return group_reserve(group, 1, error) ? group_gather(group, &bytes, 1, error) : NULL;
}

/* Collective, for other ranks than 0: sends the trace of this rank. If memory runs out, it sends
 * nothing, and the file lacks this rank. */
static bool send_trace(struct group *group, struct error *error)
{
    char name[192], *text = NULL;
    size_t bytes = 0;
    FILE *const stream = open_memstream(&text, &bytes);
    const bool is_made =
        stream && trace_write_process(stream, group->rank, name_process(group, name));
    const bool is_whole = (!stream || fclose(stream) == 0) && is_made;
    uint64_t *const sizes = share_sizes(group, is_whole ? bytes : 0, error);
    bool ok = sizes;
    for (uint64_t sent = 0; ok && sent < sizes[group->rank]; sent += PIECE_BYTES)
        ok = group_send(group, text + sent, piece_bytes(sizes[group->rank] - sent), 0, error);
    free(sizes);
    free(text);
    return ok;
}

/* Collective, for rank 0: writes the traces of the other ranks. stream: NULL if the file cannot be
 * written; then they are received and dropped, because the other ranks wait for that. */
static bool receive_traces(struct group *group, FILE *stream, struct error *error)
{
    char piece[PIECE_BYTES];
    uint64_t *const sizes = share_sizes(group, 0, error);
    bool ok = sizes;
    for (unsigned rank = 1; ok && rank < group->size; rank++) {
        if (stream && sizes[rank] > 0)
            fputc(',', stream);
        for (uint64_t left = sizes[rank]; ok && left > 0; left -= piece_bytes(left)) {
            ok = group_receive(group, piece, piece_bytes(left), rank, error);
            if (ok && stream)
                fwrite(piece, 1, piece_bytes(left), stream);
        }
    }
    free(sizes);
    return ok;
}

/* Replaces the content of the file by the trace, or writes it to a given descriptor, and closes the
 * file. Removes a new file that cannot be written. group: NULL, or the ranks whose traces are
 * included. */
static bool write_trace(const struct options *options, struct trace_file *trace,
                        struct group *group, struct error *error)
{
    char name[192];
    struct stat status;
    const int file = trace->file;
    const bool is_emptied =
        trace->path.descriptor < 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    FILE *const stream = fdopen(file, "w");
    bool ok = (stream && (!is_emptied || ftruncate(file, 0) == 0) && trace_write_head(stream) &&
               trace_write_process(stream, group ? 0 : 1, name_process(group, name))) ||
              error_set_errno(error, "--trace=%s", options->trace);
    if (group)
        ok = receive_traces(group, stream, error) && ok;
    if (ok && !trace_write_end(stream))
        ok = error_set_errno(error, "--trace=%s", options->trace);
    if (!ok && trace->is_new)
        remove_file(trace);
    if ((stream ? fclose(stream) : close(file)) != 0)
        ok = error_set_errno(error, "--trace=%s", options->trace);
    return ok;
}

bool trace_file_close(const struct options *options, struct trace_file *trace, bool has_begun,
                      bool has_succeeded, struct error *error)
{
    struct group *const group = has_succeeded ? trace->group : NULL;
    bool ok = true;
    if (options->trace && has_begun && group && group->rank > 0) {
        ok = send_trace(group, error);
    } else if (trace->file >= 0 && has_begun) {
        ok = write_trace(options, trace, group, error);
    } else if (trace->file >= 0) {
        if (trace->is_new)
            remove_file(trace);
        close(trace->file);
    }
    if (trace->is_new)
        keep_file();
    output_path_close(&trace->path);
    return options->trace && has_begun ? group_agree(group, ok, error) : ok;
}
