/* output_path.c - see output_path.h. */
#include "formats/output_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYMBOLIC_LINKS_MAX 40 /* as Linux */

#ifndef STATX_ATTR_MOUNT_ROOT
#    define STATX_ATTR_MOUNT_ROOT 0x2000 /* since Linux 5.8 */
#endif

int output_path_descriptor(const char *path)
{
    static const char *const directories[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        const size_t length = strlen(directories[i]);
        const char *digits = path + length;
        if (strncmp(path, directories[i], length) == 0 && *digits && strlen(digits) < 9 &&
            digits[strspn(digits, "0123456789")] == '\0')
            return atoi(digits);
    }
    return -1;
}

/* The path of directory/name, malloc'd; a directory "" is the root. */
static char *join(const char *directory, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* The absolute path of the last component of `path` inside its real directory, malloc'd; NULL with
 * errno. *directory_length: where that component's slash is. */
static char *locate(const char *path, size_t *directory_length)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!*name) {
        errno = slash ? EISDIR : ENOENT;
        return NULL;
    }
    char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *directory = parent ? realpath(parent, NULL) : NULL;
    char *located = NULL;
    if (directory) {
        *directory_length = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
        directory[*directory_length] = '\0';
        located = join(directory, name);
    }
    free(parent);
    free(directory);
    return located;
}

char *output_path_resolve(const char *path)
{
    char *current = strdup(path);
    for (int links = 0; current && links <= SYMBOLIC_LINKS_MAX; links++) {
        size_t directory_length;
        char *located = locate(current, &directory_length);
        free(current);
        if (!located)
            return NULL;
        char link[PATH_MAX];
        const ssize_t length = readlink(located, link, sizeof link - 1);
        if (length < 0 && (errno == EINVAL || errno == ENOENT))
            return located; /* not a link, or not there */
        if (length < 0) {
            free(located);
            return NULL;
        }
        link[length] = '\0';
        located[directory_length] = '\0';
        current = link[0] == '/' ? strdup(link) : join(located, link);
        free(located);
    }
    if (current)
        errno = ELOOP;
    free(current);
    return NULL;
}

/* True if the owner of a file in the directory of `path` has to be ours for that. */
static bool is_in_sticky_directory(const char *path)
{
    struct stat status;
    char *const directory = strndup(path, (size_t)(strrchr(path, '/') - path) + 1);
    const bool is_found = directory && stat(directory, &status) == 0;
    free(directory);
    return is_found && (status.st_mode & S_ISVTX) && status.st_uid != geteuid() && geteuid() != 0;
}

const char *output_path_obstacle(const char *path)
{
    struct statx facts;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_UID, &facts) != 0)
        return NULL;
    return facts.stx_attributes & STATX_ATTR_MOUNT_ROOT ? "it is a mount point"
           : facts.stx_attributes & STATX_ATTR_APPEND   ? "it is append-only"
           : facts.stx_uid != geteuid() && is_in_sticky_directory(path)
               ? "it is another user's, in a sticky directory"
               : NULL;
}
