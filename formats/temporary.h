/* temporary.h - the one temporary file that output goes to, which no signal leaves behind.
 *
 * At most one exists at a time. From before it is created until it is renamed or removed, every
 * signal that would end the process removes it first (core/ending.h). The functions are called from
 * one thread at a time.
 */
#ifndef FORMATS_TEMPORARY_H
#define FORMATS_TEMPORARY_H

#include <stdbool.h>
#include <sys/types.h>

/* Creates a hidden file in the directory of `target`, an absolute path, with `mode` less the umask,
 * and opens it for writing. False with errno. */
bool temporary_create(const char *target, mode_t mode, int *file);

/* Creates a file in the directory that has no name, so that it goes with its last descriptor, and
 * opens it for reading and writing. There may be any number of these. False with errno. */
bool temporary_create_nameless(const char *directory, int *file);

/* Renames it over target. On failure, with errno, it is still there. */
bool temporary_rename(const char *target);

/* Removes it. Keeps errno. */
void temporary_remove(void);

#endif
