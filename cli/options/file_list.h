/* SPDX-License-Identifier: Apache-2.0 */
/* file_list.h - --files0-from=F: reads the names of the inputs, each terminated by NUL, from a
 * file.
 */
#ifndef CLI_FILE_LIST_H
#define CLI_FILE_LIST_H

#include "core/error.h"

#include <stddef.h>

struct file_list {
    const char **names; /* each from malloc(3) */
    size_t count;
};

/* Reads the list; "-" is standard input. Fails with the messages of sort(1) for an empty list, an
 * empty name, and "-" in a list from standard input. The caller calls file_list_free(), also after
 * a failure. */
bool file_list_read(const char *path, struct file_list *list, struct error *error);

void file_list_free(struct file_list *list);

#endif
