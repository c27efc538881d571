/* SPDX-License-Identifier: Apache-2.0 */
/* host_files.h - reads numbers from system files: /proc, and the limits of control groups
 * (cgroups).
 *
 * A container is a control group. Both versions keep the limits of a group in the files of one
 * directory. The limits of all groups around a group apply to it too.
 */
#ifndef CORE_HOST_FILES_H
#define CORE_HOST_FILES_H

#include <stddef.h>

/* Returns the first number after `name`, in the first line of the file that begins with `name` and
 * has a number; every line begins with "". SIZE_MAX: no such file, line or number. */
size_t host_file_number(const char *path, const char *name);

struct control_group {
    unsigned version;      /* 1 or 2 */
    const char *directory; /* of the group's files; it need not exist */
};

/* As host_file_number(), for a file of the group. */
size_t control_group_number(const struct control_group *group, const char *file, const char *name);

/* Calls `visit` for the group of the process that the controller ("cpu" or "memory") limits, in
 * both versions, and for each group around it. A container may know its group only by the path on
 * the host, while its files are in the root directory. So the root is always visited. */
void control_groups_visit(const char *controller,
                          void (*visit)(const struct control_group *group, void *context),
                          void *context);

/* Returns the number of processors that the quotas of the groups allow, rounded up. UINT_MAX: no
 * quota. */
unsigned control_groups_processors(void);

#endif
