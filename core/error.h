/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - errors: a function that can fail returns bool and fills a struct error.
 *
 * The caller owns the struct error and initialises it with {0}. The first error is kept: a later
 * one, from cleaning up, does not overwrite it. Only main prints errors and ends the process.
 */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct error {
    bool is_set;
    bool is_of_device;  /* a GPU has failed, or has no room: the job may be done without it */
    unsigned device;    /* which one, if is_of_device */
    char message[5120]; /* "FILE:LINE: what is wrong; what to do", no newline at the end */
};

/* Sets *error to the formatted message unless it is already set. Always returns false, so that a
 * caller can write `return error_set(...)`. */
bool error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As error_set(), with "device N: " before the message, for an error with is_of_device. */
bool error_set_of_device(struct error *error, unsigned device, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns true if the cause, a value of errno, is a limit on the size of files that this process
 * writes. */
bool error_is_size_limit(int cause);

/* As error_set(), with ": " and the text of errno after the message. If the cause is a limit on
 * open files, or on the size of files, the message also says what to do. */
bool error_set_errno(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends the text to the message. */
void error_add(struct error *error, const char *text);

/* Copies source to *error if source is set and *error is not. For errors from other threads. */
void error_merge(struct error *error, const struct error *source);

/* Jumps to the function's `done:` label if a step fails, for functions that clean up there. Others
 * return false at once, or return `step && step`. */
#define TRY(step)                                                                                  \
    do {                                                                                           \
        if (!(step))                                                                               \
            goto done;                                                                             \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
