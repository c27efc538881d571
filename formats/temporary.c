/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.c - see temporary.h.
 *
 * A signal handler removes a hidden file, so it must know the name whenever the file exists: the
 * file is created, renamed and removed within a change (core/ending.h). linkat(2) cannot replace a
 * file. So a temporary without a name that replaces one is linked to a hidden name and renamed,
 * within one change.
 */
#include "formats/temporary.h"

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

/* Static, because a signal handler takes no arguments. While has_name is set, it is written within
 * a change only. */
static struct {
    bool exists;
    bool has_name;
    int directory; /* the caller's */
    char name[sizeof PREFIX + RANDOM_LETTERS];
} temporary;

static void remove_now(void)
{
    unlinkat(temporary.directory, temporary.name, 0);
}

/* Sets the task that removes the file. Call it within a change. */
static void note_name(bool has_name)
{
    temporary.has_name = has_name;
    ending_set_task(ENDING_TEMPORARY, has_name ? remove_now : NULL);
}

static bool fill_random_letters(char *letters)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t bits;
    while (getrandom(&bits, sizeof bits, 0) != sizeof bits) /* never partial for 8 bytes */
        if (errno != EINTR)
            return false;
    for (size_t i = 0; i < RANDOM_LETTERS; i++, bits /= sizeof alphabet - 1)
        letters[i] = alphabet[bits % (sizeof alphabet - 1)];
    return true;
}

/* Calls `make` with random hidden names until it does not fail with EEXIST. Returns its result; -1
 * with errno. */
static int make_hidden(int (*make)(int argument), int argument)
{
    strcpy(temporary.name, PREFIX);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (!fill_random_letters(temporary.name + strlen(PREFIX)))
            return -1;
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

/* Fails in an append-only directory, where the file could not be removed. -1 with errno. */
static int create_named(mode_t mode)
{
    struct statx facts;
    sigset_t old_mask;
    if (statx(temporary.directory, "", AT_EMPTY_PATH, STATX_TYPE, &facts) == 0 &&
        (facts.stx_attributes & STATX_ATTR_APPEND)) {
        errno = EPERM;
        return -1;
    }
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
    *file = -1;
    if (temporary.exists) {
        errno = EBUSY;
        return false;
    }
    temporary.directory = directory;
    *file = create_unnamed(mode);
    if (*file < 0)
        *file = create_named(mode);
    temporary.exists = *file >= 0;
    return *file >= 0;
}

/* Creates the file if the file system has no files without a name. It has a name for a moment, in
 * which signals wait. */
static int create_and_unlink(const char *directory)
{
    char *path;
    if (asprintf(&path, "%s/gpusort%.*s", directory, RANDOM_LETTERS, "XXXXXX") < 0)
        return -1;
    sigset_t old_mask;
    ending_begin_change(&old_mask);
    const int file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        unlink(path);
    ending_end_change(&old_mask);
    free(path);
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

/* Some file systems cannot refuse to replace a file. There the caller has found the name free
 * before. */
static bool rename_to(const char *name, bool replaces)
{
    const int directory = temporary.directory;
    if (!replaces) {
        if (renameat2(directory, temporary.name, directory, name, RENAME_NOREPLACE) == 0)
            return true;
        if (errno != EINVAL && errno != ENOSYS)
            return false;
    }
    return renameat(directory, temporary.name, directory, name) == 0;
}

/* Gives the temporary its name. Call it within a change. Returns false with errno. */
static bool publish_hidden(int file, const char *name, bool replaces)
{
    if (!temporary.has_name && make_hidden(link_hidden, file) != 0)
        return false;
    const bool renamed = rename_to(name, replaces);
    const int cause = errno;
    if (renamed && temporary.has_name)
        note_name(false);
    if (!renamed && !temporary.has_name)
        remove_now();
    errno = cause;
    return renamed;
}

bool temporary_publish(int file, const char *name, bool replaces)
{
    sigset_t old_mask;
    bool published;
    if (!temporary.has_name && !replaces) {
        published = link_to(file, name);
    } else {
        ending_begin_change(&old_mask);
        published = publish_hidden(file, name, replaces);
        ending_end_change(&old_mask);
    }
    temporary.exists = !published;
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
    temporary.exists = false;
    errno = cause;
}
