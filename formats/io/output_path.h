/* SPDX-License-Identifier: Apache-2.0 */
/* output_path.h - resolves the path of an output.
 *
 * A path can lead to another file from one system call to the next. So the path is resolved once,
 * to a directory, which stays open, and a name in it. All later calls use this directory and name,
 * and the owner, mode and type of the file come from its descriptor.
 */
#ifndef FORMATS_OUTPUT_PATH_H
#define FORMATS_OUTPUT_PATH_H

#include "core/error.h"

#include <limits.h>
#include <sys/stat.h>

struct output_path {
    int descriptor; /* 3 of /dev/fd/3: the descriptor that the path names, open or not; else -1 */
    int directory;  /* O_PATH; -1: not open */
    int file;       /* O_PATH, the last file with the name; -1: there was none */
    bool exists;    /* the name had a file at the last check */
    struct stat directory_status;
    struct stat status;      /* of the file */
    char name[NAME_MAX + 1]; /* in the directory */
};

/* Returns the descriptor that a path in /dev or /proc names, or -1. */
int output_path_descriptor(const char *path);

/* Resolves the path, whose last component need not exist. Symbolic links in the last component are
 * read one by one; a link of another user in a sticky directory is refused. name: for messages. The
 * caller calls output_path_close, also after a failure. */
bool output_path_open(const char *path, const char *name, struct output_path *found,
                      struct error *error);

/* Checks that the path, which names no descriptor, may be written to, and that a regular file may
 * be replaced. Refuses another user's file or FIFO in a sticky directory, and a file that another
 * job is overwriting in place. Creates nothing. */
bool output_path_check(const struct output_path *found, const char *name, struct error *error);

/* For --in-place: checks that the path is a regular file that may be overwritten. */
bool output_path_check_in_place(const struct output_path *found, const char *name,
                                struct error *error);

/* Fails if the disk may lack the space to overwrite a file of `bytes` bytes, of which `file` is a
 * descriptor. btrfs and others write new content to new space, and release the old space later, or
 * never if a snapshot shares it. With less free space than its size, a file of one extent was
 * damaged. */
bool output_path_check_room(int file, off_t bytes, const char *name, struct error *error);

/* Opens the file for reading and writing, for --in-place, and locks it. Returns -1 with *error. */
int output_path_open_in_place(const struct output_path *found, const char *name,
                              struct error *error);

/* Fails unless the name leads to the file that had the status *input, and that was not modified. */
bool output_path_check_input(const struct output_path *found, const struct stat *input,
                             const char *name, struct error *error);

/* Opens the file, if any, that has the name now, just before it is replaced. Fails if it is no
 * regular file. A file that was not there before is checked as by output_path_check(); the same
 * file as before is checked only for another job that overwrites it. */
bool output_path_look_again(struct output_path *found, const char *name, struct error *error);

/* Opens the file, such as a FIFO or device, for writing. Waits until a FIFO has a reader. Returns
 * -1 with errno. */
int output_path_open_special(const struct output_path *found);

/* For --trace: opens the file for writing, without truncating it, and creates it if no file has the
 * name. Refuses another user's file or FIFO in a sticky directory. Returns -1 with *error. */
int output_path_open_or_create(const struct output_path *found, const char *name,
                               struct error *error);

/* Copies user.* attributes, SELinux label, owner, ACL and mode from found->file to the temporary
 * `file`, as far as the system allows it. No user has more access at any moment than to the file
 * that was found: if the group or the ACL cannot be kept, permissions are removed. setuid and
 * setgid are kept as a write into the file would keep them: by root, if the owner is kept. False
 * with errno. */
bool output_path_copy_attributes(const struct output_path *found, int file);

void output_path_close(struct output_path *found);

#endif
