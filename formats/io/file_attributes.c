/* SPDX-License-Identifier: Apache-2.0 */
/* file_attributes.c - see file_attributes.h. */
#include "formats/io/file_attributes.h"

#include "formats/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACCESS_ACL "system.posix_acl_access"

/* The file whose attributes are read. They cannot be read from an O_PATH descriptor, but from a
 * second descriptor, or by the path in /proc if the file may not be read. */
struct origin {
    int readable; /* -1: the path is used */
    char path[DESCRIPTOR_PATH_BYTES];
};

static void open_origin(const struct output_path *found, struct origin *origin)
{
    struct stat status;
    descriptor_path(found->file, origin->path);
    origin->readable = descriptor_raise(
        openat(found->directory, found->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (origin->readable < 0 ||
        (fstat(origin->readable, &status) == 0 && descriptor_same_file(&status, &found->status)))
        return;
    close(origin->readable);
    origin->readable = -1;
}

static ssize_t get_attribute(const struct origin *origin, const char *name, void *value,
                             size_t room)
{
    return origin->readable >= 0 ? fgetxattr(origin->readable, name, value, room)
                                 : getxattr(origin->path, name, value, room);
}

static ssize_t list_attributes(const struct origin *origin, char *names, size_t room)
{
    return origin->readable >= 0 ? flistxattr(origin->readable, names, room)
                                 : listxattr(origin->path, names, room);
}

/* Copies one attribute of the origin. False with errno; ENODATA if the origin has none. */
static bool copy_attribute(const struct origin *origin, const char *name, int file)
{
    const ssize_t room = get_attribute(origin, name, NULL, 0);
    void *const value = room >= 0 ? malloc((size_t)room + 1) : NULL;
    const ssize_t bytes = value ? get_attribute(origin, name, value, (size_t)room) : -1;
    const bool is_copied = bytes >= 0 && fsetxattr(file, name, value, (size_t)bytes, 0) == 0;
    const int cause = errno;
    free(value);
    errno = cause;
    return is_copied;
}

static bool is_kept(const char *attribute)
{
    return strncmp(attribute, "user.", 5) == 0 || strcmp(attribute, "security.selinux") == 0;
}

/* Copies the attributes that are kept, as far as the system allows it. */
static void copy_named_attributes(const struct origin *origin, int file)
{
    const ssize_t room = list_attributes(origin, NULL, 0);
    char *const names = room > 0 ? malloc((size_t)room) : NULL;
    const ssize_t end = names ? list_attributes(origin, names, (size_t)room) : 0;
    for (const char *name = names; name && name < names + end; name += strlen(name) + 1)
        if (is_kept(name))
            (void)copy_attribute(origin, name, file);
    free(names);
}

/* Replaces the ACL of the file, which may come from the directory, by that of the origin, if it has
 * one. False if the origin may have an ACL that was not copied. */
static bool copy_acl(const struct origin *origin, int file, bool is_group_kept)
{
    const bool has_none =
        get_attribute(origin, ACCESS_ACL, NULL, 0) < 0 && (errno == ENODATA || errno == EOPNOTSUPP);
    (void)fremovexattr(file, ACCESS_ACL);
    return has_none || (is_group_kept && copy_attribute(origin, ACCESS_ACL, file));
}

/* The mode of a file whose group could not be kept. Members of the old group are others now, and
 * members of the new group were others: so both get the permissions that group and others had. */
static mode_t without_group(mode_t mode)
{
    const mode_t both = mode & (mode >> 3) & S_IRWXO;
    return (mode & ~(mode_t)(S_IRWXG | S_IRWXO)) | both | both << 3;
}

bool file_attributes_copy(const struct output_path *found, int file)
{
    const struct stat *const old = &found->status;
    struct origin origin;
    mode_t mode = old->st_mode & ALLPERMS;
    open_origin(found, &origin);
    (void)fchmod(file, S_IRUSR | S_IWUSR); /* until the last step; some file systems fail */
    copy_named_attributes(&origin, file);
    const bool is_owner_kept = fchown(file, old->st_uid, old->st_gid) == 0;
    const bool is_group_kept = is_owner_kept || fchown(file, (uid_t)-1, old->st_gid) == 0;
    if (!is_owner_kept || geteuid() != 0)
        mode &= ~(mode_t)(S_ISUID | S_ISGID);
    if (!is_group_kept)
        mode = without_group(mode);
    if (!copy_acl(&origin, file, is_group_kept))
        mode &= ~(mode_t)(S_IRWXG | S_IRWXO);
    if (origin.readable >= 0)
        close(origin.readable);
    return fchmod(file, mode) == 0;
}
