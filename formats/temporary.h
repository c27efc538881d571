/* temporary.h - the one temporary file that output goes to, which nothing leaves behind.
 *
 * It has no name until it is published, so that it goes with the process, whatever ends that. Where
 * the file system or the kernel has no such files, it is a hidden one, .gpusort-XXXXXX, which every
 * signal that would end the process removes first (core/ending.h). At most one exists at a time.
 * The functions are called from one thread at a time.
 */
#ifndef FORMATS_TEMPORARY_H
#define FORMATS_TEMPORARY_H

#include <stdbool.h>
#include <sys/types.h>

/* Creates it in the directory, an O_PATH descriptor that stays open until it is published or
 * removed, with the mode that open(2) would give a new file there: less the umask, or by the
 * default ACL. *file: open for reading and writing. False with errno. */
bool temporary_create(int directory, mode_t mode, int *file);

/* Creates a file in the directory that never has a name, and opens it for reading and writing.
 * There may be any number of these. False with errno. */
bool temporary_create_nameless(const char *directory, int *file);

/* Gives it, of which `file` is a descriptor, the name in its directory: in place of the file that
 * has it, if it replaces one; else it fails with EEXIST if there is one. On failure, with errno, it
 * is as it was. */
bool temporary_publish(int file, const char *name, bool replaces);

/* Removes it, unless it is published; the caller closes its descriptors. Keeps errno. */
void temporary_remove(void);

#endif
