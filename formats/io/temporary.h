/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.h - the temporary file that output is written to.
 *
 * The temporary has no name until it is published, so the kernel removes it when the process ends,
 * even by SIGKILL. If the file system has no files without a name, and for a moment before it
 * replaces a file, the temporary is a hidden file, .gpusort-XXXXXX. That is removed when a signal
 * ends the process, except SIGKILL and signals of a crash (core/ending.h). At most one temporary
 * for output exists at the same time. Calls must not overlap.
 */
#ifndef FORMATS_TEMPORARY_H
#define FORMATS_TEMPORARY_H

#include "core/group.h"

#include <stdbool.h>
#include <sys/types.h>

/* Creates the temporary in the directory, an O_PATH descriptor that must stay open until the
 * temporary is published or removed. The umask or the directory's default ACL applies to `mode`, as
 * in open(2). *file: open for reading and writing. False with errno. */
bool temporary_create(int directory, mode_t mode, int *file);

/* Collective: the same for one temporary that all ranks of the group write to. On several hosts, or
 * if ranks of one host cannot share a file without a name, it has its name from the start, and
 * every rank removes it, so that none is left when a signal ends a rank. output_name: for messages.
 */
bool temporary_create_shared(int directory, mode_t mode, const char *output_name,
                             struct group *group, int *file, struct error *error);

/* Creates a file without a name in the directory, and opens it for reading and writing. It has a
 * name for a moment, in which signals wait, if the file system has no files without one. There may
 * be any number of these. False with errno. */
bool temporary_create_nameless(const char *directory, int *file);

/* Gives the temporary, of which *file is a descriptor, the name in its directory. With `replaces`,
 * it replaces the file that has the name. Otherwise the call fails with EEXIST if the name is
 * taken, where the file system can refuse to replace a file. Returns false with errno; the
 * temporary is then unchanged. Closes *file and sets it to -1 if the temporary has a name, because
 * some drives refuse to rename an open file; after a failure *file is open again, or -1. */
bool temporary_publish(int *file, const char *name, bool replaces);

/* Removes the temporary unless it was published; the caller closes its descriptors. Keeps errno. */
void temporary_remove(void);

#endif
