/* SPDX-License-Identifier: Apache-2.0 */
/* file_list.h - --files0-from=F: the names of the inputs, each ended by a NUL, from a file. */
#ifndef CLI_FILE_LIST_H
#define CLI_FILE_LIST_H

#include "core/error.h"

#include <stddef.h>

struct file_list {
    const char **names; /* each malloc'ed */
    size_t count;
};

/* Reads the list; "-" is standard input. An empty list, an empty name, and "-" in a list that comes
 * from standard input are errors, worded as sort(1)'s. The caller ends with file_list_free. */
bool file_list_read(const char *path, struct file_list *list, struct error *error);

void file_list_free(struct file_list *list);

#endif
