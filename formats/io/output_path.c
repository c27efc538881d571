/* SPDX-License-Identifier: Apache-2.0 */
/* output_path.c - see output_path.h. */
#include "formats/io/output_path.h"

#include "formats/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SYMBOLIC_LINKS_MAX 40 /* as in Linux */

/* File systems that <linux/magic.h> may lack: its headers may be older, and ZFS is not in it. */
#ifndef BCACHEFS_SUPER_MAGIC
#    define BCACHEFS_SUPER_MAGIC 0xca451a4e
#endif
#define ZFS_SUPER_MAGIC 0x2fc12fc1

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

static void close_descriptor(int *file)
{
    const int cause = errno;
    if (*file >= 0)
        close(*file);
    *file = -1;
    errno = cause;
}

void output_path_close(struct output_path *found)
{
    close_descriptor(&found->directory);
    close_descriptor(&found->file);
}

/* Opens the file with the name, without following a link. O_PATH has no effect on the file. Returns
 * false with errno; ENOENT if the name is free. */
static bool open_name(struct output_path *found)
{
    close_descriptor(&found->file);
    found->file =
        descriptor_raise(openat(found->directory, found->name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return found->file >= 0 && fstat(found->file, &found->status) == 0;
}

/* Opens the directory of `path`, relative to the directory that is already open, if any, and sets
 * the name. Returns false with errno. */
static bool open_directory(const char *path, struct output_path *found)
{
    const char *const slash = strrchr(path, '/');
    const char *const name = slash ? slash + 1 : path;
    char parent[PATH_MAX] = ".";
    if (!*name || strlen(name) > NAME_MAX) {
        errno = *name ? ENAMETOOLONG : slash ? EISDIR : ENOENT;
        return false;
    }
    if (slash)
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - path) + 1, path);
    const int from = found->directory >= 0 ? found->directory : AT_FDCWD;
    const int directory = descriptor_raise(openat(from, parent, O_PATH | O_DIRECTORY | O_CLOEXEC));
    close_descriptor(&found->directory);
    found->directory = directory;
    strcpy(found->name, name);
    return directory >= 0 && fstat(directory, &found->directory_status) == 0;
}

/* Returns true if the owner may be one that the user name space of the process does not map, for
 * example in a container that a user has started. The system shows all such owners as one number.
 * So a file with this number counts as a stranger's, even for a user who has the number. */
static bool is_unknown(uid_t owner)
{
    unsigned first = 0, other = 0, count = 0, unknown = 0;
    FILE *const number = fopen("/proc/sys/kernel/overflowuid", "re");
    FILE *const map = fopen("/proc/self/uid_map", "re");
    const bool has_number = number && fscanf(number, "%u", &unknown) == 1;
    const bool maps_all =
        map && fscanf(map, "%u %u %u", &first, &other, &count) == 3 && count == UINT_MAX;
    const bool has_map = map;
    if (number)
        fclose(number);
    if (map)
        fclose(map);
    return has_number && owner == unknown && has_map && !maps_all;
}

static bool is_same_owner(uid_t a, uid_t b)
{
    return a == b && !is_unknown(a);
}

/* Returns true if the file may be a trap of another user in a sticky directory, such as /tmp. The
 * rule is that of the kernel's protected_regular=2 and protected_fifos=2, also for symbolic links;
 * the kernel need not have them set. It applies to root too. */
static bool is_strangers(const struct output_path *found)
{
    const mode_t mode = found->directory_status.st_mode;
    const uid_t owner = found->status.st_uid;
    return (mode & S_ISVTX) && (mode & (S_IWGRP | S_IWOTH)) && !is_same_owner(owner, geteuid()) &&
           !is_same_owner(owner, found->directory_status.st_uid);
}

/* Opens the file that a link in /proc leads to, unless that is a regular file with a path. Such a
 * link, for example /proc/PID/fd/N, can lead to a pipe or to a removed file, which have none.
 * Returns true if it is opened. */
static bool follow_magic_link(struct output_path *found)
{
    struct statfs system;
    struct stat status;
    if (fstatfs(found->file, &system) != 0 || system.f_type != PROC_SUPER_MAGIC)
        return false;
    int file = descriptor_raise(openat(found->directory, found->name, O_PATH | O_CLOEXEC));
    if (file < 0 || fstat(file, &status) != 0 || (S_ISREG(status.st_mode) && status.st_nlink > 0)) {
        close_descriptor(&file);
        return false;
    }
    close(found->file);
    found->file = file;
    found->status = status;
    return true;
}

/* Resolves the path. Returns false with errno, or with *error. */
static bool resolve(const char *path, const char *name, struct output_path *found,
                    struct error *error)
{
    char current[PATH_MAX];
    if (strlen(path) >= sizeof current) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(current, path);
    for (int links = 0; links <= SYMBOLIC_LINKS_MAX; links++) {
        found->descriptor = output_path_descriptor(current);
        if (found->descriptor >= 0)
            return true;
        if (!open_directory(current, found))
            return false;
        if (!open_name(found))
            return errno == ENOENT;
        found->exists = true;
        if (!S_ISLNK(found->status.st_mode) || follow_magic_link(found))
            return true;
        if (is_strangers(found))
            return error_set(error,
                             "%s: it leads to another user's symbolic link in a sticky directory, "
                             "which is not followed: name another file",
                             name);
        const ssize_t length = readlinkat(found->file, "", current, sizeof current - 1);
        if (length < 0)
            return false;
        current[length] = '\0';
        close_descriptor(&found->file);
        found->exists = false;
    }
    errno = ELOOP;
    return false;
}

bool output_path_open(const char *path, const char *name, struct output_path *found,
                      struct error *error)
{
    *found = (struct output_path){.descriptor = -1, .directory = -1, .file = -1};
    if (!resolve(path, name, found, error))
        return error_set_errno(error, "%s", name);
    if (found->exists && S_ISDIR(found->status.st_mode)) {
        errno = EISDIR;
        return error_set_errno(error, "%s", name);
    }
    return true;
}

static uint64_t attributes_of(int file)
{
    struct statx facts;
    return statx(file, "", AT_EMPTY_PATH, STATX_TYPE, &facts) == 0 ? facts.stx_attributes : 0;
}

/* Fails for a regular file that cannot be replaced, or whose replacement would surprise the
 * user. */
static bool check_replaceable(const struct output_path *found, const char *name,
                              struct error *error)
{
    static const char advice[] = "write another file and copy it here with cp";
    const uint64_t attributes = attributes_of(found->file);
    if (attributes & STATX_ATTR_MOUNT_ROOT)
        return error_set(error, "%s: it is a mount point, so it cannot be replaced: %s", name,
                         advice);
    if (attributes & STATX_ATTR_APPEND)
        return error_set(
            error, "%s: it is append-only, so it cannot be replaced: write another one", name);
    if (found->status.st_nlink > 1)
        return error_set(error,
                         "%s: it has %lu hard links, and the others would keep the old content: %s",
                         name, (unsigned long)found->status.st_nlink, advice);
    if (attributes_of(found->directory) & STATX_ATTR_APPEND)
        return error_set(error, "%s: its directory is append-only, so it cannot be replaced: %s",
                         name, advice);
    if (!descriptor_may_access(found->directory, ".", W_OK | X_OK))
        return error_set(error,
                         "%s: its directory may not be written (%s), so it cannot be replaced: %s",
                         name, strerror(errno), advice);
    return true;
}

static bool is_kept_by_sticky_directory(const struct output_path *found)
{
    const uid_t owner = found->status.st_uid, user = geteuid();
    return (found->directory_status.st_mode & S_ISVTX) && (user != 0 || is_unknown(owner)) &&
           !is_same_owner(owner, user) && !is_same_owner(found->directory_status.st_uid, user);
}

static bool refuse_strangers(const char *name, struct error *error)
{
    return error_set(error,
                     "%s: it is another user's, in a sticky directory, so that nothing is "
                     "written to it: name another one",
                     name);
}

/* Fails if another job is overwriting the regular file in place: its result would be lost. */
static bool check_lock(const struct output_path *found, const char *name, struct error *error)
{
    const int flags = O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
    const bool is_local = descriptor_is_local(found->file); /* otherwise it is not opened */
    int file = is_local ? openat(found->directory, found->name, O_RDONLY | flags) : -1;
    if (is_local && file < 0)
        file = openat(found->directory, found->name, O_WRONLY | flags);
    const bool is_overwritten = file >= 0 && descriptor_is_overwritten(file);
    close_descriptor(&file);
    return !is_overwritten ||
           error_set(
               error,
               "%s: another job is overwriting it with --in-place: wait for its end, or write "
               "another file",
               name);
}

bool output_path_check(const struct output_path *found, const char *name, struct error *error)
{
    const mode_t mode = found->status.st_mode;
    if (!found->exists)
        return descriptor_may_access(found->directory, ".", W_OK | X_OK) ||
               error_set_errno(error, "%s", name);
    if (!descriptor_may_access(found->directory, found->name, W_OK))
        return error_set_errno(error, "%s", name);
    if ((S_ISREG(mode) && (is_strangers(found) || is_kept_by_sticky_directory(found))) ||
        (S_ISFIFO(mode) && is_strangers(found)))
        return refuse_strangers(name, error);
    return !S_ISREG(mode) ||
           (check_replaceable(found, name, error) && check_lock(found, name, error));
}

/* Returns true if new content of a file needs new space. An overlay is judged by the figures of its
 * upper layer, which it reports: btrfs has 0 inodes, and a tmpfs without a size has 0 blocks. So a
 * tmpfs with a size and nr_inodes=0 is mistaken for btrfs. */
static bool copies_on_write(const struct statfs *system)
{
    static const long copying_systems[] = {BTRFS_SUPER_MAGIC, NILFS_SUPER_MAGIC,
                                           BCACHEFS_SUPER_MAGIC, ZFS_SUPER_MAGIC};
    for (size_t i = 0; i < sizeof copying_systems / sizeof copying_systems[0]; i++)
        if ((long)system->f_type == copying_systems[i])
            return true;
    return system->f_type == OVERLAYFS_SUPER_MAGIC && system->f_files == 0 && system->f_blocks > 0;
}

/* Returns the free space for new content of the file; UINT64_MAX if new content needs no space, or
 * if that is not known. */
static uint64_t room_to_copy(int file)
{
    struct statfs system;
    return fstatfs(file, &system) == 0 && copies_on_write(&system)
               ? (uint64_t)system.f_bavail * (uint64_t)system.f_bsize
               : UINT64_MAX;
}

bool output_path_check_room(int file, off_t bytes, const char *name, struct error *error)
{
    if (room_to_copy(file) >= (uint64_t)bytes)
        return true;
    (void)syncfs(file); /* the space of files that were removed is free after that */
    const uint64_t room = room_to_copy(file);
    return room >= (uint64_t)bytes ||
           error_set(error,
                     "%s: this file system may write new content to new space, so that overwriting "
                     "it takes %jd bytes, and %ju are free; nothing is written: use -o on another "
                     "disk",
                     name, (intmax_t)bytes, (uintmax_t)room);
}

bool output_path_check_in_place(const struct output_path *found, const char *name,
                                struct error *error)
{
    struct rlimit limit;
    if (found->descriptor >= 0)
        return error_set(error, "%s: --in-place needs the name of a file, and this has none", name);
    if (!found->exists || found->status.st_nlink == 0) { /* it was removed after it was opened */
        errno = ENOENT;
        return error_set_errno(error, "%s", name);
    }
    if (!S_ISREG(found->status.st_mode))
        return error_set(error,
                         "%s: --in-place overwrites a regular file, and this is none: leave "
                         "--in-place out",
                         name);
    if (!descriptor_may_access(found->directory, found->name, R_OK | W_OK))
        return error_set_errno(error, "%s", name);
    if (is_strangers(found))
        return refuse_strangers(name, error);
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)found->status.st_size)
        return error_set(error,
                         "%s: it is larger than this process may write (ulimit -f): raise the "
                         "limit",
                         name);
    if (attributes_of(found->file) & STATX_ATTR_APPEND)
        return error_set(error, "%s: it is append-only, so that it cannot be overwritten", name);
    return check_lock(found, name, error);
}

/* Locks the whole file until it is closed, against another job that overwrites it. A file system
 * without locks is no error. A script may hold a lock of flock(2) meanwhile, except on file systems
 * such as NFS, where both are the same. */
static bool lock(int file, const char *name, struct error *error)
{
    const struct flock whole = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = IN_PLACE_LOCK_BYTES};
    return fcntl(file, F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES) ||
           error_set(error, "%s: another process has locked it, such as another --in-place", name);
}

int output_path_open_in_place(const struct output_path *found, const char *name,
                              struct error *error)
{
    struct stat status;
    int file = descriptor_raise(
        openat(found->directory, found->name, O_RDWR | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
    if (file < 0 || fstat(file, &status) != 0)
        error_set_errno(error, "%s", name);
    else if (!descriptor_same_file(&status, &found->status))
        error_set(error,
                  "%s: it was replaced meanwhile, or is in a lower layer of an overlay file system "
                  "and was copied when it was opened: run the command again",
                  name);
    else if (lock(file, name, error))
        return file;
    close_descriptor(&file);
    return -1;
}

bool output_path_check_input(const struct output_path *found, const struct stat *input,
                             const char *name, struct error *error)
{
    static const char advice[] =
        "while this job ran; nothing is written: run the command again, or write another file";
    struct stat now;
    const bool is_found = fstatat(found->directory, found->name, &now, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_found && errno != ENOENT)
        return error_set_errno(error, "%s", name);
    if (!is_found || !descriptor_still_leads(input, &now, found->directory))
        return error_set(error, "%s: it was moved, removed or replaced %s", name, advice);
    return descriptor_same_content(input, &now) ||
           error_set(error, "%s: it was changed %s", name, advice);
}

bool output_path_look_again(struct output_path *found, const char *name, struct error *error)
{
    struct output_path now = *found;
    now.file = -1;
    now.exists = open_name(&now);
    if (!now.exists && errno != ENOENT)
        return error_set_errno(error, "%s", name);
    if (!now.exists) { /* the last file with the name is kept for its owner and mode */
        found->exists = false;
        return true;
    }
    const bool is_known = found->file >= 0 && descriptor_same_file(&now.status, &found->status);
    close_descriptor(&found->file);
    *found = now;
    if (!S_ISREG(now.status.st_mode))
        return error_set(error,
                         "%s: something that is no regular file took this name meanwhile; it is "
                         "left as it is",
                         name);
    return is_known ? check_lock(found, name, error) : output_path_check(found, name, error);
}

/* Opens by the descriptor, or by the name if /proc is not mounted. */
int output_path_open_special(const struct output_path *found)
{
    const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
    char path[DESCRIPTOR_PATH_BYTES];
    struct stat status;
    int file = descriptor_raise(open(descriptor_path(found->file, path), flags));
    if (file >= 0 || errno != ENOENT)
        return file;
    file = descriptor_raise(openat(found->directory, found->name, flags | O_NOFOLLOW));
    if (file >= 0 &&
        (fstat(file, &status) != 0 || !descriptor_same_file(&status, &found->status))) {
        close_descriptor(&file);
        errno = ELOOP; /* the name leads to another file now */
    }
    return file;
}

int output_path_open_or_create(const struct output_path *found, const char *name,
                               struct error *error)
{
    const mode_t mode = found->status.st_mode;
    if (found->exists && (S_ISREG(mode) || S_ISFIFO(mode)) && is_strangers(found)) {
        refuse_strangers(name, error);
        return -1;
    }
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
    const int file = found->exists
                         ? output_path_open_special(found)
                         : descriptor_raise(openat(found->directory, found->name, flags, 0666));
    if (file < 0)
        error_set_errno(error, "%s", name);
    return file;
}

/* ---- Attributes ---- */

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
 * members of the new group were others: so both get the permissions that both had. */
static mode_t without_group(mode_t mode)
{
    const mode_t both = mode & (mode >> 3) & S_IRWXO;
    return (mode & ~(mode_t)(S_IRWXG | S_IRWXO)) | both | both << 3;
}

/* Sets the mode. If a file system refuses that, because it has no modes or fixed ones, the file's
 * own mode remains, provided that it permits no more, and that the file belongs to the effective
 * user or to the old file's owner. A mounted drive can give all files to one user. */
static bool set_mode(int file, mode_t mode, uid_t old_owner)
{
    struct stat status;
    return fchmod(file, mode) == 0 || (fstat(file, &status) == 0 &&
                                       (status.st_uid == geteuid() || status.st_uid == old_owner) &&
                                       (status.st_mode & ALLPERMS & ~mode) == 0);
}

static void set_owner(int file, const struct stat *old, bool *is_owner_kept, bool *is_group_kept)
{
    struct stat now;
    const bool is_known = fstat(file, &now) == 0;
    *is_group_kept = is_known && now.st_gid == old->st_gid;
    *is_owner_kept = (*is_group_kept && now.st_uid == old->st_uid) ||
                     fchown(file, old->st_uid, old->st_gid) == 0;
    *is_group_kept = *is_group_kept || *is_owner_kept || fchown(file, (uid_t)-1, old->st_gid) == 0;
}

bool output_path_copy_attributes(const struct output_path *found, int file)
{
    const struct stat *const old = &found->status;
    struct origin origin;
    mode_t mode = old->st_mode & ALLPERMS;
    open_origin(found, &origin);
    (void)fchmod(file, S_IRUSR | S_IWUSR); /* until the last step; some file systems fail */
    copy_named_attributes(&origin, file);
    bool is_owner_kept, is_group_kept;
    set_owner(file, old, &is_owner_kept, &is_group_kept);
    if (!is_owner_kept || geteuid() != 0)
        mode &= ~(mode_t)(S_ISUID | S_ISGID);
    if (!is_group_kept)
        mode = without_group(mode);
    if (!copy_acl(&origin, file, is_group_kept))
        mode &= ~(mode_t)(S_IRWXG | S_IRWXO);
    if (origin.readable >= 0)
        close(origin.readable);
    return set_mode(file, mode, old->st_uid);
}
