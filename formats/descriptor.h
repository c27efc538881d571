/* descriptor.h - file descriptors that keep clear of the standard three.
 *
 * In a process started with standard output or error closed, the next file opened would become that
 * descriptor, and a message would end up in the data.
 */
#ifndef FORMATS_DESCRIPTOR_H
#define FORMATS_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* A copy of the descriptor above the standard ones, closed on exec; -1 with errno. */
static inline int descriptor_copy(int file)
{
    return fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* The descriptor, which is closed, moved above the standard ones; -1 with errno. Takes the result
 * of open(2), -1 included. */
static inline int descriptor_raise(int file)
{
    if (file < 0 || file > STDERR_FILENO)
        return file;
    const int copy = descriptor_copy(file), cause = errno;
    close(file);
    errno = cause;
    return copy;
}

#endif
