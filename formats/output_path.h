/* output_path.h - the file that the path of an output names, looked at without following links.
 *
 * A path can lead to another file from one system call to the next. So it is resolved once, to a
 * directory, which stays open, and a name in it; everything after works with these two, and what is
 * known of the file comes from one descriptor.
 */
#ifndef FORMATS_OUTPUT_PATH_H
#define FORMATS_OUTPUT_PATH_H

#include "core/error.h"

#include <limits.h>
#include <sys/stat.h>

struct output_path {
    int descriptor; /* that is open already and that the path names, as /dev/fd/3; else -1 */
    int directory;  /* O_PATH; -1: not opened */
    int file;       /* O_PATH, of what has or had the name; -1: nothing has had it */
    bool exists;    /* it has the name, as far as is known */
    struct stat directory_status, status; /* of the two */
    char name[NAME_MAX + 1];              /* in the directory */
};

/* The descriptor that a path of /dev or /proc names, or -1. */
int output_path_descriptor(const char *path);

/* Resolves the path, whose last component need not exist. The links of the last component are read
 * one by one; one of another user in a sticky directory is refused. name: for messages. The caller
 * ends it with output_path_close, whatever is returned. */
bool output_path_open(const char *path, const char *name, struct output_path *found,
                      struct error *error);

/* Checks that the path may be written to, and that a regular file may be replaced; creates
 * nothing. */
bool output_path_check(const struct output_path *found, const char *name, struct error *error);

/* Before a file is put in its place: looks what has the name now. Refuses what is no regular file,
 * and another file than before where output_path_check refuses it. */
bool output_path_look_again(struct output_path *found, const char *name, struct error *error);

/* Opens the file, which is no regular one, for writing; -1 with errno. */
int output_path_open_special(const struct output_path *found);

void output_path_close(struct output_path *found);

#endif
