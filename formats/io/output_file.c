/* SPDX-License-Identifier: Apache-2.0 */
/* output_file.c - see output_file.h.
 *
 * FILE of "-o FILE" may be an input, so a regular file is opened for writing only with --in-place.
 * Otherwise a temporary in its directory is written, and renamed onto FILE. The rules of opening
 * FILE are kept: a file that may not be written is refused, a symbolic link is followed, and owner,
 * mode and ACL of the file stay, as they are at the moment of the rename.
 *
 *   OUTPUT_    what is opened            if the bytes are announced       at the end
 *   TEMPORARY  a file beside the target  space is allocated, and mapped   cut off, renamed
 *   OF_RANKS   one such file, by each    rank 0 allocates space, all map  renamed by rank 0
 *   IN_PLACE   the target, as a TRIAL    ignored; mapped after the trial  left as it is
 *   GIVEN      a copy of the descriptor  if empty, claimed and mapped     cut off unless continued
 *   SPECIAL    a device or a named pipe  ignored                          left as it is
 */
#include "formats/io/output_file.h"

#include "core/ending.h"
#include "core/trace.h"
#include "formats/descriptor.h"
#include "formats/io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Attempts to publish, if other processes create or remove the target meanwhile. */
#define PUBLISH_ATTEMPTS 10

struct output_file output_file_closed(void)
{
    return (struct output_file){
        .file = -1, .writers = 1, .target = {.descriptor = -1, .directory = -1, .file = -1}};
}

/* ---- Opening ---- */

/* Copies standard output, or another given descriptor; the copy shares its offset. Standard output
 * that is closed or read-only is replaced by a descriptor that fails at the first write(2), so that
 * an output of no bytes succeeds, as in sort(1). */
static bool open_descriptor(int descriptor, bool is_named, struct output_file *output,
                            struct error *error)
{
    output->kind = OUTPUT_GIVEN;
    if (descriptor_is_writable(descriptor))
        output->file = descriptor_copy(descriptor);
    if (output->file < 0 && errno == EBADF && !is_named)
        output->file = descriptor_raise(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return output->file >= 0 || error_set_errno(error, "%s", output->name);
}

/* Creates a temporary. If it replaces a file, no other user can open it. */
static bool open_temporary(struct output_file *output, struct error *error)
{
    const bool exists = output->target.exists;
    const mode_t mode = exists ? S_IRUSR | S_IWUSR : 0666;
    if (output->group) {
        output->kind = OUTPUT_OF_RANKS;
        return temporary_create_shared(output->target.directory, mode, output->name, output->group,
                                       &output->file, error);
    }
    if (!temporary_create(output->target.directory, mode, &output->file))
        return error_set_errno(error, exists ? "%s: cannot create a file beside it" : "%s",
                               output->name);
    output->kind = OUTPUT_TEMPORARY;
    return true;
}

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

static bool open_path(const char *path, struct output_file *output, struct error *error)
{
    struct output_path *const target = &output->target;
    if (output->group)
        return group_agree(output->group, find_shared(path, output->name, target, error), error) &&
               open_temporary(output, error);
    if (!output_path_open(path, output->name, target, error))
        return false;
    if (target->descriptor >= 0)
        return open_descriptor(target->descriptor, true, output, error);
    if (!output_path_check(target, output->name, error))
        return false;
    if (!target->exists || S_ISREG(target->status.st_mode))
        return open_temporary(output, error);
    output->kind = OUTPUT_SPECIAL;
    output->file = output_path_open_special(target);
    return output->file >= 0 || error_set_errno(error, "%s", output->name);
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
        is_well = descriptor_is_writable(found.descriptor) || error_set_errno(error, "%s", name);
    output_path_close(&found);
    return is_well;
}

/* Fails if the output is to replace or overwrite an input that is not there any more, or was
 * changed: what another job or a logger has written meanwhile would be lost. */
static bool check_input(const struct output_file *output, struct error *error)
{
    return !output->replaces_input ||
           output_path_check_input(&output->target, &output->input, output->name, error);
}

/* Fails if there is certainly no space to overwrite the file in place. If an allocation fails
 * instead, what it took of the disk stays allocated. */
static bool check_space(const struct output_file *output, struct error *error)
{
    const off_t bytes = output->target.status.st_size;
    return output_path_check_room(output->file, bytes, output->name, error) &&
           (!output->has_holes ||
            file_space_check(output->file, (uint64_t)bytes, SPACE_LOOK, output->name, error));
}

bool output_file_open_in_place(const char *path, const char *name, const struct stat *input,
                               unsigned threads, struct output_file *output, struct error *error)
{
    *output = output_file_closed();
    output->name = name;
    output->replaces_input = true;
    output->input = *input;
    struct output_path *const target = &output->target;
    if (!output_path_open(path, name, target, error) ||
        !output_path_check_in_place(target, name, error)) {
        output_file_discard(output);
        return false;
    }
    output->file = output_path_open_in_place(target, name, error);
    const off_t bytes = target->status.st_size;
    output->has_holes = output->file >= 0 && bytes > 0 && lseek(output->file, 0, SEEK_HOLE) < bytes;
    if (output->file < 0 || !check_input(output, error) || !check_space(output, error)) {
        output_file_discard(output);
        return false;
    }
    output->kind = OUTPUT_TRIAL;
    const unsigned writers = output_file_choose_writers(output, (uint64_t)bytes, threads);
    output->writers = writers > 0 ? writers : 1;
    return true;
}

bool output_file_open(const char *path, const char *name, const struct stat *input,
                      struct group *group, struct output_file *output, struct error *error)
{
    *output = output_file_closed();
    output->name = name;
    output->group = group;
    output->replaces_input = input != NULL;
    if (input)
        output->input = *input;
    const bool opened = path ? open_path(path, output, error)
                             : open_descriptor(STDOUT_FILENO, false, output, error);
    if (opened)
        descriptor_widen_pipe(output->file);
    else
        output_file_discard(output);
    output->has_tail =
        opened && path && output->kind == OUTPUT_GIVEN && descriptor_has_tail(output->file);
    return opened;
}

/* ---- In place: the end of the trial ---- */

/* Allocates the space of holes and, if the file system can, of extents that the file shares with a
 * copy. */
static bool take_space(const struct output_file *output, struct error *error)
{
    const off_t bytes = output->target.status.st_size;
    if (!check_space(output, error))
        return false;
    errno = file_space_take(output->file, 0, (size_t)bytes, true);
    if (errno == ENOSPC || errno == EDQUOT)
        return error_set_errno(error, "%s: no space to overwrite it; nothing is written",
                               output->name);
    if (errno == 0 || !output->has_holes)
        return true;
    errno = file_space_take(output->file, 0, (size_t)bytes, false);
    if (errno == 0)
        return true;
    if (errno == EOPNOTSUPP)
        return error_set(error,
                         "%s: it has holes, which this file system cannot fill beforehand; nothing "
                         "is written: use -o instead",
                         output->name);
    return error_set_errno(error, "%s: no space to fill its holes; nothing is written",
                           output->name);
}

bool output_file_end_trial(struct output_file *output, struct error *error)
{
    const uint64_t bytes = (uint64_t)output->target.status.st_size;
    if (!check_input(output, error))
        return false;
    if (output->claimed != bytes)
        return error_set(error,
                         "%s: sorted it has %" PRIu64 " bytes, not %" PRIu64
                         ", and --in-place keeps the size: leave it out, and use -o",
                         output->name, output->claimed, bytes);
    if (!take_space(output, error))
        return false;
    if (output->writers > 1) /* otherwise, or if this fails, pwrite(2) is used */
        output->mapped = mapped_file_open(output->file, bytes, true, false, NULL);
    output->claimed = 0;
    output->kind = OUTPUT_IN_PLACE;
    output->is_preallocated = true;
    ending_hold();
    return true;
}

/* ---- The end: commit, discard ---- */

/* Checks that a temporary, or a file written in place, has as many bytes as were written. at_least:
 * it may have more, because unused space was not released yet. Another process may have truncated
 * it. */
static bool check_bytes(const struct output_file *output, bool at_least, struct error *error)
{
    struct stat status;
    struct statx facts;
    if (!output_file_replaces(output) && !output_file_is_in_place(output))
        return true;
    if (output->group) /* fetches the size from the server of a network file system */
        (void)statx(output->file, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &facts);
    if (fstat(output->file, &status) != 0)
        return error_set_errno(error, "%s", output->name);
    const uint64_t bytes = (uint64_t)status.st_size;
    return bytes == output->claimed || (at_least && bytes > output->claimed) ||
           error_set(error, "%s: %" PRIu64 " bytes were written, but the %sfile has %" PRIu64,
                     output->name, output->claimed,
                     output_file_replaces(output) ? "temporary " : "", bytes);
}

/* Returns true if another process truncated the file while it was overwritten. Later writes make it
 * as long as it was, and the bytes between are holes. Finds that only if the file had no holes
 * before, and on the file systems of mapped_file.c, where bytes that were written are no holes. */
static bool was_truncated(const struct output_file *output)
{
    if (output->kind != OUTPUT_IN_PLACE || output->has_holes ||
        mapped_file_writers(output->file, false) == 0)
        return false;
    const off_t hole = lseek(output->file, 0, SEEK_HOLE);
    return hole >= 0 && hole < (off_t)output->claimed;
}

/* Ends the writing, and checks that the file has the bytes that were written; of a temporary, that
 * it has no others. */
static bool finish(struct output_file *output, struct error *error)
{
    if (!check_bytes(output, true, error))
        return false;
    if (was_truncated(output))
        return error_set(error, "%s: another process truncated it while it was written",
                         output->name);
    if (!output_file_settle(output) || (output->has_tail && !descriptor_cut_tail(output->file)))
        return error_set_errno(error, "%s", output->name);
    return output_file_is_in_place(output) || check_bytes(output, false, error);
}

/* Pages that are on the disk are dropped from memory, if the file system can do that. */
bool output_file_store(struct output_file *output, struct error *error)
{
    if (!finish(output, error))
        return false;
    if (fdatasync(output->file) != 0)
        return error_set_errno(error, "%s", output->name);
    (void)posix_fadvise(output->file, 0, 0, POSIX_FADV_DONTNEED); /* a hint */
    return true;
}

/* Closes the descriptor, because close(2) may report lost data. Keeps a copy of the descriptor of a
 * temporary, which still needs its name. Returns false with errno. */
static bool close_written(struct output_file *output)
{
    const int written = output->file;
    output->file = output_file_replaces(output) ? descriptor_copy(written) : -1;
    const bool is_kept = !output_file_replaces(output) || output->file >= 0;
    const int cause = errno;
    const bool is_closed = close(written) == 0; /* the descriptor is closed even if this fails */
    if (!is_kept)
        errno = cause;
    return is_closed && is_kept;
}

/* Gives the temporary its name, with the owner, mode and attributes of the file that has this name
 * now, which it replaces. Fails if that file should be an input and is not (check_input()). Tries
 * again if the name was free and another process has taken it. */
static bool publish(struct output_file *output, struct error *error)
{
    struct output_path *const target = &output->target;
    for (int attempt = 0; attempt < PUBLISH_ATTEMPTS; attempt++) {
        if (!output_path_look_again(target, output->name, error))
            return false;
        if (target->file >= 0 && !output_path_copy_attributes(target, output->file))
            break;
        if (!check_input(output, error))
            return false;
        if (temporary_publish(&output->file, target->name, target->exists))
            return true;
        if (errno != EEXIST)
            break;
    }
    return error_set_errno(error, "%s", output->name);
}

/* For one process, or for rank 0. Checks the input here too, before any rank replaces a file;
 * publish() checks it again. */
static bool close_alone(struct output_file *output, struct error *error)
{
    if (!finish(output, error))
        return false;
    if (!close_written(output))
        return error_set_errno(error, "%s", output->name);
    return !output_file_replaces(output) || check_input(output, error);
}

static bool publish_alone(struct output_file *output, struct error *error)
{
    const uint64_t begin_ns = trace_begin();
    const bool published = !output_file_replaces(output) || publish(output, error);
    trace_span(TRACE_WRITE, "rename", begin_ns, trace_begin(), 0);
    return published;
}

/* The other ranks close the file first, which makes their bytes visible to rank 0 on a network file
 * system. They remove the temporary's name, if it is still there, in output_file_discard(). */
static bool close_shared(struct output_file *output, struct error *error)
{
    struct group *const group = output->group;
    bool ok = true;
    if (group->rank != 0) {
        output_file_end_mapping(output);
        ok = close(output->file) == 0 || error_set_errno(error, "%s", output->name);
        output->file = -1;
    }
    ok = ok && check_input(output, error); /* each rank may have inputs of its own */
    return group_agree(group, ok, error) &&
           group_agree(group, group->rank != 0 || close_alone(output, error), error);
}

bool output_file_close(struct output_file *output, struct error *error)
{
    return output->kind == OUTPUT_OF_RANKS ? close_shared(output, error)
                                           : close_alone(output, error);
}

bool output_file_publish(struct output_file *output, struct error *error)
{
    struct group *const group = output->group;
    const bool is_for_rank_0 = group && group->rank != 0;
    return group_agree(group, is_for_rank_0 || publish_alone(output, error), error);
}

void output_file_discard(struct output_file *output)
{
    if (output->file >= 0) {
        (void)output_file_settle(output); /* on standard output, the complete prefix stays */
        close(output->file);
    }
    if (output_file_replaces(output))
        temporary_remove(); /* unless it was published */
    output_path_close(&output->target);
    *output = output_file_closed();
}
