/* temporary.c - see temporary.h.
 *
 * What ends the process must know the file's name whenever the file exists (core/ending.h): so it
 * is created, renamed and removed within a change.
 */
#include "formats/temporary.h"

#include "core/ending.h"
#include "formats/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define SUFFIX ".gpusort-"
#define RANDOM_LETTERS 6
#define ATTEMPTS 100

/* Static, because a signal handler takes no arguments. Written within a change alone. */
static struct {
    bool exists;
    char path[PATH_MAX + NAME_MAX + 2];
} temporary;

static void remove_now(void)
{
    unlink(temporary.path);
}

/* Within a change. */
static void note_existence(bool exists)
{
    temporary.exists = exists;
    ending_set_task(ENDING_TEMPORARY, exists ? remove_now : NULL);
}

/* The bytes of `name` that leave room for the rest in a name of the directory's file system. */
static int kept_length(const char *directory, const char *name)
{
    long name_max = pathconf(directory, _PC_NAME_MAX);
    if (name_max <= 0 || name_max > NAME_MAX)
        name_max = NAME_MAX;
    const size_t added = 1 + strlen(SUFFIX) + RANDOM_LETTERS;
    const size_t room = (size_t)name_max > added ? (size_t)name_max - added : 0;
    size_t length = strlen(name);
    if (length > room) {
        length = room;
        while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
            length--; /* never inside a character of UTF-8 */
    }
    return (int)length;
}

static bool fill_random_letters(char *letters)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t bits;
    while (getrandom(&bits, sizeof bits, 0) != sizeof bits) /* never a part of so few bytes */
        if (errno != EINTR)
            return false;
    for (size_t i = 0; i < RANDOM_LETTERS; i++, bits /= sizeof alphabet - 1)
        letters[i] = alphabet[bits % (sizeof alphabet - 1)];
    return true;
}

/* Writes the path with a place for the random letters; returns that place, NULL with errno. */
static char *compose_path(const char *target)
{
    const char *slash = strrchr(target, '/');
    if (!slash || (size_t)(slash - target) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    char directory[PATH_MAX + 1];
    snprintf(directory, sizeof directory, "%.*s", (int)(slash - target) + 1, target);
    const int length =
        snprintf(temporary.path, sizeof temporary.path, "%s.%.*s" SUFFIX "%*s", directory,
                 kept_length(directory, slash + 1), slash + 1, RANDOM_LETTERS, "");
    if (length < 0 || (size_t)length >= sizeof temporary.path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return temporary.path + length - RANDOM_LETTERS;
}

/* As mkostemp(3), but with a mode that the umask and the directory's default ACL apply to. */
static int create_unique(const char *target, mode_t mode)
{
    char *letters = compose_path(target);
    if (!letters)
        return -1;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (!fill_random_letters(letters))
            return -1;
        const int file = open(temporary.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

bool temporary_create(const char *target, mode_t mode, int *file)
{
    sigset_t old_mask;
    *file = -1;
    ending_begin_change(&old_mask);
    if (temporary.exists) {
        errno = EBUSY;
    } else {
        const int created = create_unique(target, mode);
        *file = descriptor_raise(created);
        if (created >= 0 && *file < 0)
            unlink(temporary.path);
        note_existence(*file >= 0);
    }
    ending_end_change(&old_mask);
    return *file >= 0;
}

/* Where the file system cannot make it without a name: the name is there for a moment, in which the
 * signals wait. */
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

bool temporary_rename(const char *target)
{
    sigset_t old_mask;
    ending_begin_change(&old_mask);
    const bool renamed = rename(temporary.path, target) == 0;
    note_existence(!renamed);
    ending_end_change(&old_mask);
    return renamed;
}

void temporary_remove(void)
{
    const int cause = errno;
    sigset_t old_mask;
    ending_begin_change(&old_mask);
    unlink(temporary.path);
    note_existence(false);
    ending_end_change(&old_mask);
    errno = cause;
}
