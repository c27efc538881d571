/* SPDX-License-Identifier: Apache-2.0 */
/* output_open.c - opens outputs: see output_file.h.
 *
 * FILE of "-o FILE" may be an input, so it is never opened for writing. The output is written to a
 * temporary in the same directory, which is then renamed onto FILE. The rules of opening FILE are
 * kept: a file that may not be written is refused, a symbolic link is followed, and owner, mode and
 * ACL of the file stay, as they are at the moment of the rename.
 */
#include "formats/descriptor.h"
#include "formats/io/output_file.h"
#include "formats/io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns false with errno as write(2) would set it. */
static bool is_open_for_writing(int descriptor)
{
    const int flags = fcntl(descriptor, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
        errno = EBADF;
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/* Opens standard output, or another given descriptor, with which it shares the offset. A closed
 * standard output is replaced by a descriptor that fails at the first write(2), so that an output
 * of no bytes succeeds, as in sort(1). */
static bool open_descriptor(int descriptor, bool is_named, const char *name,
                            struct output_file *output, struct error *error)
{
    output->is_given = true;
    if (is_open_for_writing(descriptor))
        output->file = descriptor_copy(descriptor);
    if (output->file < 0 && errno == EBADF && !is_named)
        output->file = descriptor_raise(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return output->file >= 0 || error_set_errno(error, "%s", name);
}

/* Creates a temporary. If it replaces a file, no other user can open it. */
static bool open_temporary(const char *name, struct output_file *output, struct error *error)
{
    const bool exists = output->target.exists;
    const mode_t mode = exists ? S_IRUSR | S_IWUSR : 0666;
    output->is_temporary = output->group != NULL;
    if (output->group)
        return temporary_create_shared(output->target.directory, mode, name, output->group,
                                       &output->file, error);
    output->is_temporary = temporary_create(output->target.directory, mode, &output->file);
    return output->is_temporary ||
           error_set_errno(error, exists ? "%s: cannot create a file beside it" : "%s", name);
}

/* Finds the regular file that the path names, or will name. */
static bool find_shared(const char *path, const char *name, struct output_path *target,
                        struct error *error)
{
    if (!output_path_open(path, name, target, error))
        return false;
    if (target->descriptor >= 0 || (target->exists && !S_ISREG(target->status.st_mode)))
        return error_set(error, "%s: several ranks write to a regular file alone: name one by -o",
                         name);
    return output_path_check(target, name, error);
}

/* Opens the output according to the type of the file that the path names. */
static bool open_path(const char *path, const char *name, struct output_file *output,
                      struct error *error)
{
    struct output_path *const target = &output->target;
    if (output->group)
        return group_agree(output->group, find_shared(path, name, target, error), error) &&
               open_temporary(name, output, error);
    if (!output_path_open(path, name, target, error))
        return false;
    if (target->descriptor >= 0)
        return open_descriptor(target->descriptor, true, name, output, error);
    if (!output_path_check(target, name, error))
        return false;
    if (!target->exists || S_ISREG(target->status.st_mode))
        return open_temporary(name, output, error);
    output->file = output_path_open_special(target);
    return output->file >= 0 || error_set_errno(error, "%s", name);
}

bool output_file_check(const char *path, const char *name, bool is_in_place, struct error *error)
{
    struct output_path found;
    bool is_well = output_path_open(path, name, &found, error);
    if (is_well && is_in_place)
        is_well = output_path_check_in_place(&found, name, error);
    else if (is_well && found.descriptor < 0)
        is_well = output_path_check(&found, name, error);
    else if (is_well)
        is_well = is_open_for_writing(found.descriptor) || error_set_errno(error, "%s", name);
    output_path_close(&found);
    return is_well;
}

bool output_file_open_in_place(const char *path, const char *name, unsigned threads,
                               struct output_file *output, struct error *error)
{
    *output = output_file_closed();
    struct output_path *const target = &output->target;
    if (!output_path_open(path, name, target, error) ||
        !output_path_check_in_place(target, name, error)) {
        output_file_discard(output);
        return false;
    }
    output->file = output_path_open_to_overwrite(target);
    if (output->file < 0)
        error_set_errno(error, "%s", name);
    if (output->file < 0) {
        output_file_discard(output);
        return false;
    }
    output->is_in_place = output->is_trial = true;
    output_file_choose_writers(output, threads);
    return true;
}

bool output_file_open(const char *path, const char *name, struct group *group,
                      struct output_file *output, struct error *error)
{
    *output = output_file_closed();
    output->group = group;
    const bool opened = path ? open_path(path, name, output, error)
                             : open_descriptor(STDOUT_FILENO, false, name, output, error);
    if (opened)
        descriptor_widen_pipe(output->file);
    else
        output_file_discard(output);
    output->has_tail = opened && path && output->is_given && descriptor_has_tail(output->file);
    return opened;
}
