/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.c - see temporary.h.
 *
 * A signal handler removes a hidden file, so it must know the name whenever the file exists: the
 * file is created, renamed and removed within a change (core/ending.h). linkat(2) cannot replace a
 * file. So to replace a file, a temporary without a name is linked to a hidden name and renamed,
 * within one change.
 */
#include "formats/io/temporary.h"

#include "core/clock.h"
#include "core/ending.h"
#include "formats/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PREFIX ".gpusort-"
#define RANDOM_LETTERS 6
#define ATTEMPTS 100

/* The one temporary of the process. While has_name is set, it is written within a change only. */
static struct {
    bool has_name;
    int directory; /* the caller's */
    char name[sizeof PREFIX + RANDOM_LETTERS];
} temporary;

static void remove_now(void)
{
    unlinkat(temporary.directory, temporary.name, 0);
}

static void remove_on_signal(void *context)
{
    (void)context;
    remove_now();
}

/* Sets or clears the task that removes the file. Called between ending_begin_change() and _end_. */
static void note_name(bool has_name)
{
    temporary.has_name = has_name;
    ending_set_task(ENDING_TEMPORARY, has_name ? remove_on_signal : NULL, NULL);
}

/* Containers may refuse getrandom(2). The letters are from the time then, which others can guess.
 * That is safe, because the file is created only if there is none of that name. */
static void fill_random_letters(char *letters)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits)
        bits = clock_now_ns() ^ (uint64_t)getpid() << 32;
    for (size_t i = 0; i < RANDOM_LETTERS; i++, bits /= sizeof alphabet - 1)
        letters[i] = alphabet[bits % (sizeof alphabet - 1)];
}

/* Calls `make` with random hidden names until it does not fail with EEXIST. Returns its result; -1
 * with errno. */
static int make_hidden(int (*make)(int argument), int argument)
{
    strcpy(temporary.name, PREFIX);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        fill_random_letters(temporary.name + strlen(PREFIX));
        const int result = make(argument);
        if (result >= 0 || errno != EEXIST)
            return result;
    }
    return -1;
}

static int create_hidden(int mode)
{
    return openat(temporary.directory, temporary.name,
                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)mode);
}

/* Opens the file by its name. Returns -1 with errno. */
static int open_hidden(void)
{
    return descriptor_raise(
        openat(temporary.directory, temporary.name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
}

/* Fails with errno in an append-only directory, where the file could not be removed. */
static bool check_removable(void)
{
    struct statx facts;
    const bool is_append_only =
        statx(temporary.directory, "", AT_EMPTY_PATH, STATX_TYPE, &facts) == 0 &&
        (facts.stx_attributes & STATX_ATTR_APPEND);
    if (is_append_only)
        errno = EPERM;
    return !is_append_only;
}

/* -1 with errno. */
static int create_named(mode_t mode)
{
    sigset_t old_mask;
    if (!check_removable())
        return -1;
    ending_begin_change(&old_mask);
    const int created = make_hidden(create_hidden, (int)mode);
    const int file = descriptor_raise(created);
    if (created >= 0 && file < 0)
        remove_now();
    note_name(file >= 0);
    ending_end_change(&old_mask);
    return file;
}

/* Links by the descriptor, which kernels before 6.10 allow only root, or by its path in /proc.
 * False with errno. */
static bool link_to(int file, const char *name)
{
    char path[DESCRIPTOR_PATH_BYTES];
    return linkat(file, "", temporary.directory, name, AT_EMPTY_PATH) == 0 ||
           (errno == ENOENT && linkat(AT_FDCWD, descriptor_path(file, path), temporary.directory,
                                      name, AT_SYMLINK_FOLLOW) == 0);
}

/* Requests a link that cannot be made: EEXIST means that the call is allowed. */
static bool can_be_linked(int file)
{
    return !link_to(file, ".") && errno == EEXIST;
}

/* Kernels before 5.19 do not apply the umask to a file without a name if the file system has no
 * ACLs. A mode with bits of the umask is right only if the directory has a default ACL. */
static bool ignores_umask(int file)
{
    char path[DESCRIPTOR_PATH_BYTES];
    struct stat status;
    const mode_t mask = umask(0);
    umask(mask);
    return fstat(file, &status) != 0 ||
           ((status.st_mode & mask) && getxattr(descriptor_path(temporary.directory, path),
                                                "system.posix_acl_default", NULL, 0) <= 0);
}

static int create_unnamed(mode_t mode)
{
    const int file =
        descriptor_raise(openat(temporary.directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode));
    if (file < 0 || (can_be_linked(file) && !ignores_umask(file)))
        return file;
    close(file);
    return -1;
}

bool temporary_create(int directory, mode_t mode, int *file)
{
    temporary.directory = directory;
    *file = create_unnamed(mode);
    if (*file < 0)
        *file = create_named(mode);
    return *file >= 0;
}

static void set_has_name(bool has_name)
{
    sigset_t old_mask;
    ending_begin_change(&old_mask);
    note_name(has_name);
    ending_end_change(&old_mask);
}

/* The descriptor of rank 0, which ranks of the same host can open by its path in /proc. */
struct first_descriptor {
    int process, file; /* file -1: none */
    struct stat status;
};

/* Opens the file of rank 0's descriptor. Returns -1 if that fails, or if it is another file. */
static int open_of_first(const struct first_descriptor *first)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", first->process, first->file);
    const int file = first->file < 0 ? -1 : descriptor_raise(open(path, O_RDWR | O_CLOEXEC));
    if (file < 0 || (fstat(file, &status) == 0 && descriptor_same_file(&status, &first->status)))
        return file;
    close(file);
    return -1;
}

/* Ranks of one host can share a file without a name, which disappears however they end. Sets *file
 * to -1 on all ranks if one of them cannot open it. Returns false if the group fails. */
static bool create_unnamed_shared(mode_t mode, struct group *group, int *file, struct error *error)
{
    struct first_descriptor first = {.process = (int)getpid(), .file = -1};
    if (group->rank == 0)
        first.file = *file = create_unnamed(mode);
    if (*file >= 0 && fstat(*file, &first.status) != 0)
        first.file = -1;
    if (!group_broadcast(group, &first, sizeof first, error))
        return false;
    if (group->rank != 0)
        *file = open_of_first(&first);
    uint64_t opened = *file >= 0;
    if (!group_sum(group, &opened, 1, error))
        return false;
    if (opened < group->size && *file >= 0) {
        close(*file);
        *file = -1;
    }
    return true;
}

/* Rank 0 creates the file. All ranks have noted its name by then, so that each rank removes the
 * file if a signal ends the rank. */
static bool create_noted(mode_t mode, const char *output_name, struct group *group, int *file,
                         struct error *error)
{
    char name[sizeof temporary.name] = PREFIX;
    fill_random_letters(name + strlen(PREFIX));
    bool ok = group->rank != 0 || check_removable();
    if (!ok)
        error_set_errno(error, "%s", output_name);
    if (!group_broadcast(group, name, sizeof name, error) || !group_agree(group, ok, error))
        return false;
    memcpy(temporary.name, name, sizeof name);
    set_has_name(true);
    if (!group_agree(group, true, error)) /* all have noted it */
        return false;
    if (group->rank == 0)
        *file = descriptor_raise(create_hidden((int)mode));
    ok = group->rank != 0 || *file >= 0 ||
         error_set_errno(error, "%s: cannot create a file beside it", output_name);
    if (group_agree(group, ok, error))
        return true;
    set_has_name(false); /* there is no such file of ours */
    return false;
}

static bool open_noted(const char *output_name, int *file, struct error *error)
{
    *file = open_hidden();
    return *file >= 0 ||
           error_set_errno(error,
                           "%s: the file that rank 0 created beside it cannot be opened, and all "
                           "ranks must share its directory",
                           output_name);
}

bool temporary_create_shared(int directory, mode_t mode, const char *output_name,
                             struct group *group, int *file, struct error *error)
{
    *file = -1;
    temporary.directory = directory;
    if (group->host_size == group->size && !create_unnamed_shared(mode, group, file, error))
        return false;
    if (*file >= 0)
        return true;
    return create_noted(mode, output_name, group, file, error) &&
           group_agree(group, group->rank == 0 || open_noted(output_name, file, error), error);
}

/* Creates the file if the file system has no files without a name. It has a name for a moment, in
 * which signals wait. Fails where an open file cannot be removed, as on drives of Windows. */
static int create_and_unlink(const char *directory)
{
    char *path;
    if (asprintf(&path, "%s/gpusort%.*s", directory, RANDOM_LETTERS, "XXXXXX") < 0)
        return -1;
    sigset_t old_mask;
    ending_begin_change(&old_mask);
    int file = mkostemp(path, O_CLOEXEC);
    const bool is_stuck = file >= 0 && unlink(path) != 0;
    const int cause = errno;
    if (is_stuck) {
        close(file);
        unlink(path);
        file = -1;
    }
    ending_end_change(&old_mask);
    free(path);
    errno = cause; /* free() may change it before glibc 2.33 */
    return file;
}

bool temporary_create_nameless(const char *directory, int *file)
{
    const int made = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, S_IRUSR | S_IWUSR);
    *file = descriptor_raise(made >= 0 ? made : create_and_unlink(directory));
    return *file >= 0;
}

static int link_hidden(int file)
{
    return link_to(file, temporary.name) ? 0 : -1;
}

/* Some file systems cannot refuse to replace a file, and old containers refuse the system call with
 * EPERM. There the caller has found the name free before. */
static bool rename_to(const char *name, bool replaces)
{
    const int directory = temporary.directory;
    if (!replaces) {
        if (renameat2(directory, temporary.name, directory, name, RENAME_NOREPLACE) == 0)
            return true;
        if (errno != EINVAL && errno != ENOSYS && errno != EPERM)
            return false;
    }
    return renameat(directory, temporary.name, directory, name) == 0;
}

/* Renames a temporary that has a name. Call it within a change. Returns false with errno. */
static bool rename_closed(int *file, const char *name, bool replaces)
{
    const bool renamed = close(*file) == 0 && rename_to(name, replaces);
    const int cause = errno;
    *file = renamed ? -1 : open_hidden();
    if (renamed)
        note_name(false);
    errno = cause;
    return renamed;
}

/* Replaces a file by a temporary without a name. Call it within a change. Returns false with
 * errno. */
static bool link_and_rename(int file, const char *name)
{
    if (make_hidden(link_hidden, file) != 0)
        return false;
    const bool renamed = rename_to(name, true);
    const int cause = errno;
    if (!renamed)
        remove_now();
    errno = cause;
    return renamed;
}

bool temporary_publish(int *file, const char *name, bool replaces)
{
    sigset_t old_mask;
    if (!temporary.has_name && !replaces)
        return link_to(*file, name);
    ending_begin_change(&old_mask);
    const bool published =
        temporary.has_name ? rename_closed(file, name, replaces) : link_and_rename(*file, name);
    ending_end_change(&old_mask);
    return published;
}

void temporary_remove(void)
{
    const int cause = errno;
    sigset_t old_mask;
    if (temporary.has_name) {
        ending_begin_change(&old_mask);
        remove_now();
        note_name(false);
        ending_end_change(&old_mask);
    }
    errno = cause;
}
