/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor.h - file descriptors above the standard three.
 *
 * In a process started with standard output or error closed, the next file opened would become that
 * descriptor, and a message would end up in the data.
 */
#ifndef FORMATS_DESCRIPTOR_H
#define FORMATS_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Returns a copy of the descriptor above the standard ones, closed on exec; -1 with errno. */
static inline int descriptor_copy(int file)
{
    return fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* Returns true if the descriptor is open for writing; otherwise false with errno as write(2) would
 * set it. */
static inline bool descriptor_is_writable(int file)
{
    const int flags = fcntl(file, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
        errno = EBADF;
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/* Returns true if a read or write that failed with errno is to be made again: after EINTR, and
 * after EAGAIN, for which it first waits until the file is ready for `event` (poll(2)). Another
 * process that shares standard input or output may have set O_NONBLOCK. */
static inline bool descriptor_must_retry(int file, short event)
{
    struct pollfd ready = {.fd = file, .events = event};
    if (errno == EAGAIN)
        (void)poll(&ready, 1, -1);
    return errno == EAGAIN || errno == EINTR;
}

/* Waits until a read of the file would not block, or would fail, and returns true; returns false
 * once another thread has written to the eventfd `waker`. waker -1: none. file -1: looks at the
 * waker, and does not wait. */
static inline bool descriptor_await_input(int file, int waker)
{
    struct pollfd files[] = {{.fd = file, .events = POLLIN}, {.fd = waker, .events = POLLIN}};
    while (poll(files, 2, file >= 0 ? -1 : 0) < 0 && errno == EINTR)
        ;
    return files[1].revents == 0;
}

/* Moves a descriptor above the standard ones, closing the old one, and returns it; -1 with errno.
 * Takes the result of open(2), also -1. */
static inline int descriptor_raise(int file)
{
    if (file < 0 || file > STDERR_FILENO)
        return file;
    const int copy = descriptor_copy(file), cause = errno;
    close(file);
    errno = cause;
    return copy;
}

/* Returns true if the effective user may access the path below `directory` in this mode of
 * access(2); otherwise false with errno. Containers older than the system call faccessat2 refuse it
 * with EPERM. faccessat(3) does not fall back to the older call then, so this does; the older call
 * checks the real user instead. */
static inline bool descriptor_may_access(int directory, const char *path, int mode)
{
    return faccessat(directory, path, mode, AT_EACCESS) == 0 ||
           (errno == EPERM && syscall(SYS_faccessat, directory, path, mode) == 0);
}

/* Writes and returns the path in /proc that leads to the file of a descriptor. It requires that
 * /proc is mounted. */
#define DESCRIPTOR_PATH_BYTES 32
static inline const char *descriptor_path(int file, char path[DESCRIPTOR_PATH_BYTES])
{
    snprintf(path, DESCRIPTOR_PATH_BYTES, "/proc/self/fd/%d", file);
    return path;
}

/* Makes a pipe that is smaller than 1 MiB as large as is allowed, up to that size, which an
 * ordinary user may have. Errors are ignored, and so are files that are not pipes. */
static inline void descriptor_widen_pipe(int file)
{
    const int now = fcntl(file, F_GETPIPE_SZ); /* -1: no pipe */
    for (int bytes = 1 << 20; now > 0 && bytes > now && fcntl(file, F_SETPIPE_SZ, bytes) < 0;)
        bytes /= 2;
}

static inline bool descriptor_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns true if a file was not modified between `before` and `now`, by its size and times. */
static inline bool descriptor_same_content(const struct stat *before, const struct stat *now)
{
    return before->st_size == now->st_size && before->st_mtim.tv_sec == now->st_mtim.tv_sec &&
           before->st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

/* Returns true if a name still leads to the same file: its status was *before, and is *now. `file`
 * is any descriptor on the file system. FUSE may give a file another inode each time (sshfs), so
 * there a file with another inode is accepted if its size and times are the same. */
static inline bool descriptor_still_leads(const struct stat *before, const struct stat *now,
                                          int file)
{
    struct statfs system;
    return descriptor_same_file(before, now) ||
           (before->st_dev == now->st_dev && descriptor_same_content(before, now) &&
            fstatfs(file, &system) == 0 && system.f_type == FUSE_SUPER_MAGIC);
}

/* Returns true if the file is on one of the listed file systems, which need no server to answer.
 * False for all others, even local ones (ZFS, vfat). */
static inline bool descriptor_is_local(int file)
{
    static const long local_systems[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                         TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
    struct statfs system;
    bool is_local = false;
    const bool is_known = fstatfs(file, &system) == 0;
    for (size_t i = 0; is_known && i < sizeof local_systems / sizeof local_systems[0]; i++)
        is_local |= (long)system.f_type == local_systems[i];
    return is_local;
}

/* The length of the lock of a job that overwrites a file in place. It covers every byte of the
 * file, and differs from the length 0, by which scripts lock a whole file. */
#define IN_PLACE_LOCK_BYTES ((off_t)1 << 62)

/* Returns true if another job is overwriting the regular file in place. That job has an open file
 * description lock of these bytes, for which fcntl(2) reports the process -1. Other locks are
 * allowed. Always false if descriptor_is_local() is false. */
static inline bool descriptor_is_overwritten(int file)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return descriptor_is_local(file) && fcntl(file, F_OFD_GETLK, &lock) == 0 &&
           lock.l_type == F_WRLCK && lock.l_start == 0 && lock.l_len == IN_PLACE_LOCK_BYTES &&
           lock.l_pid == (pid_t)-1;
}

/* Returns true for a regular file that extends past the file offset and is not in append mode. */
static inline bool descriptor_has_tail(int file)
{
    struct stat status;
    const int flags = fcntl(file, F_GETFL);
    const off_t at = lseek(file, 0, SEEK_CUR);
    return flags >= 0 && !(flags & O_APPEND) && at >= 0 && fstat(file, &status) == 0 &&
           S_ISREG(status.st_mode) && status.st_size > at;
}

/* Truncates the file at the file offset. False with errno. */
static inline bool descriptor_cut_tail(int file)
{
    const off_t at = lseek(file, 0, SEEK_CUR);
    return at >= 0 && ftruncate(file, at) == 0;
}

#endif
