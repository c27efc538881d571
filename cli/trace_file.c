/* trace_file.c - see trace_file.h.
 *
 * The file is opened before anything is sorted, so that one that cannot be written is known then.
 */
#include "cli/trace_file.h"

#include "core/trace.h"
#include "formats/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if the path, or if it is "-" or NULL the descriptor, is the regular file. */
static bool is_file(const char *path, int descriptor, const struct stat *file)
{
    struct stat status;
    const bool is_named = path && strcmp(path, "-") != 0;
    return (is_named ? stat(path, &status) : fstat(descriptor, &status)) == 0 &&
           S_ISREG(status.st_mode) && status.st_dev == file->st_dev &&
           status.st_ino == file->st_ino;
}

/* The file is there, as it was opened. */
static bool check_file(const struct options *options, int file, struct error *error)
{
    struct stat status;
    if (fstat(file, &status) != 0)
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

/* What a link leads to, not the link. */
static void remove_file(const char *path)
{
    char *const real = realpath(path, NULL);
    if (real)
        unlink(real);
    free(real);
}

bool trace_file_open(const struct options *options, int *file, struct error *error)
{
    const char *const path = options->trace;
    struct stat status;
    *file = -1;
    if (!path)
        return true;
    const bool is_new = stat(path, &status) != 0 && errno == ENOENT;
    *file = descriptor_raise(open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
    if (*file < 0)
        return error_set_errno(error, "--trace=%s", path);
    /* What is not there yet is compared when it is: links and all. */
    if (check_file(options, *file, error))
        return true;
    close(*file);
    *file = -1;
    if (is_new)
        remove_file(path);
    return false;
}

bool trace_file_write(const struct options *options, int file, struct error *error)
{
    if (file < 0)
        return true;
    struct stat status;
    const bool is_regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    FILE *const stream = fdopen(file, "w");
    bool ok = (stream && (!is_regular || ftruncate(file, 0) == 0) && trace_write(stream)) ||
              error_set_errno(error, "--trace=%s", options->trace);
    if ((stream ? fclose(stream) : close(file)) != 0)
        ok = error_set_errno(error, "--trace=%s", options->trace);
    return ok;
}
