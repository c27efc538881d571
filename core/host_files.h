/* SPDX-License-Identifier: Apache-2.0 */
/* host_files.h - numbers in files of the system: /proc, and the limits of control groups (cgroups).
 *
 * A container is a control group. Both versions keep the limits of a group in the files of one
 * directory, and a group obeys the limits of all groups that it is nested in.
 */
#ifndef CORE_HOST_FILES_H
#define CORE_HOST_FILES_H

#include <stddef.h>

/* The first number after `name`, in the first line of the file that begins with `name` and has one;
 * "" is every line. SIZE_MAX if there is no such file, line or number. */
size_t host_file_number(const char *path, const char *name);

struct control_group {
    unsigned version;      /* 1 or 2 */
    const char *directory; /* with the files of the group; it need not exist */
};

/* As host_file_number, of a file of the group. */
size_t control_group_number(const struct control_group *group, const char *file, const char *name);

/* Calls `visit` for the group of the process that the controller ("cpu" or "memory") limits, in
 * either version, and for each group around it. A container may know its group by the path that the
 * host uses, but finds the files in the root: so the root is always visited. */
void control_groups_visit(const char *controller,
                          void (*visit)(const struct control_group *group, void *context),
                          void *context);

/* The processors that the quotas of the groups allow for, rounded up. UINT_MAX: no quota. */
unsigned control_groups_processors(void);

#endif
