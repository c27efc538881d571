/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - see error.h. */
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void error_format(struct error *error, const char *format, va_list arguments)
{
    vsnprintf(error->message, sizeof error->message, format, arguments);
    error->is_set = true;
}

bool error_set(struct error *error, const char *format, ...)
{
    if (!error->is_set) {
        va_list arguments;
        va_start(arguments, format);
        error_format(error, format, arguments);
        va_end(arguments);
    }
    return false;
}

bool error_set_of_device(struct error *error, unsigned device, const char *format, ...)
{
    if (!error->is_set) {
        const int length = snprintf(error->message, sizeof error->message, "device %u: ", device);
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message + length, sizeof error->message - (size_t)length, format,
                  arguments);
        va_end(arguments);
        error->is_set = error->is_of_device = true;
        error->device = device;
    }
    return false;
}

bool error_is_size_limit(int cause)
{
    struct rlimit limit;
    return cause == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY;
}

bool error_set_errno(struct error *error, const char *format, ...)
{
    const int cause = errno;
    if (!error->is_set) {
        va_list arguments;
        va_start(arguments, format);
        error_format(error, format, arguments);
        va_end(arguments);
        const size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, ": %s%s", strerror(cause),
                 cause == EMFILE              ? "; raise the limit on open files (ulimit -n)"
                 : error_is_size_limit(cause) ? "; raise the limit on the size of files (ulimit -f)"
                                              : "");
    }
    return false;
}

void error_add(struct error *error, const char *text)
{
    const size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length, "%s", text);
}

void error_merge(struct error *error, const struct error *source)
{
    if (source->is_set && !error->is_set)
        *error = *source;
}
