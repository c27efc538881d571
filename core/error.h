/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - the one form of error: a function that can fail returns bool and fills a struct error.
 *
 * The caller owns the struct error and starts it as {0}. The first error stays: a later one, met
 * while cleaning up, does not overwrite it. Only main prints errors and ends the process.
 */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct error {
    bool is_set;
    char message[5120]; /* "FILE:LINE: what is wrong; what to do", no newline at the end */
};

/* Sets *error to the formatted message unless it is set already. Always returns false, so that
 * `return error_set(...)` reads as what it is. */
bool error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with ": " and the text of errno behind the message. */
bool error_set_errno(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends the text to the message. */
void error_add(struct error *error, const char *text);

/* Copies source to *error when source is set and *error is not. For errors that cross threads. */
void error_merge(struct error *error, const struct error *source);

/* Leaves the function through its `done:` label when a step fails. */
#define TRY(step)                                                                                  \
    do {                                                                                           \
        if (!(step))                                                                               \
            goto done;                                                                             \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
