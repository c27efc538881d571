/* SPDX-License-Identifier: Apache-2.0 */
/* host_files.c - see host_files.h. */
#include "core/host_files.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define GROUPS_ROOT "/sys/fs/cgroup"

size_t host_file_number(const char *path, const char *name)
{
    FILE *const file = fopen(path, "r");
    char line[256];
    size_t number = SIZE_MAX;
    if (!file)
        return SIZE_MAX;
    while (number == SIZE_MAX && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) != 0 ||
            sscanf(line + strlen(name), "%zu", &number) != 1)
            number = SIZE_MAX;
    (void)fclose(file);
    return number;
}

size_t control_group_number(const struct control_group *group, const char *file, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", group->directory, file);
    return host_file_number(path, name);
}

/* Returns true if the name is in a list of names separated by commas. */
static bool has_name(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (; list; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, name, length) == 0 && (list[length] == ',' || list[length] == '\0'))
            return true;
    }
    return false;
}

/* Visits the group of a line of /proc/self/cgroup, "ID:CONTROLLERS:PATH", and the groups around it.
 * Version 2 lists no controllers. */
static void visit_line(char *line, const char *controller,
                       void (*visit)(const struct control_group *, void *), void *context)
{
    char directory[PATH_MAX + sizeof GROUPS_ROOT];
    char *const controllers = strchr(line, ':');
    char *const path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *path = '\0';
    const unsigned version = controllers[1] ? 1 : 2;
    if (version == 1 && !has_name(controllers + 1, controller))
        return;
    const int root = snprintf(directory, sizeof directory, GROUPS_ROOT "%s%s",
                              version == 1 ? "/" : "", version == 1 ? controller : "");
    path[1 + strcspn(path + 1, "\n")] = '\0';
    if (strcmp(path + 1, "/") != 0)
        snprintf(directory + root, sizeof directory - (size_t)root, "%s", path + 1);
    const struct control_group group = {version, directory};
    for (char *slash = directory; slash;) {
        visit(&group, context);
        slash = strrchr(directory + root, '/');
        if (slash)
            *slash = '\0';
    }
}

void control_groups_visit(const char *controller,
                          void (*visit)(const struct control_group *group, void *context),
                          void *context)
{
    char line[PATH_MAX];
    FILE *const file = fopen("/proc/self/cgroup", "r");
    while (file && fgets(line, sizeof line, file))
        visit_line(line, controller, visit, context);
    if (file)
        (void)fclose(file);
}

/* Lowers *context, a number of processors, to the quota of the group. Version 2 has "QUOTA PERIOD"
 * or "max PERIOD" in one file. */
static void take_quota(const struct control_group *group, void *context)
{
    unsigned *const processors = context;
    size_t quota, period;
    if (group->version == 2) {
        char name[32];
        quota = control_group_number(group, "cpu.max", "");
        snprintf(name, sizeof name, "%zu ", quota);
        period = control_group_number(group, "cpu.max", name);
    } else {
        quota = control_group_number(group, "cpu.cfs_quota_us", "");
        period = control_group_number(group, "cpu.cfs_period_us", "");
    }
    if (quota > INT64_MAX || period > INT64_MAX || period == 0) /* version 1: -1 is no quota */
        return;
    const size_t whole = quota / period + (quota % period > 0);
    if (whole < *processors)
        *processors = whole > 0 ? (unsigned)whole : 1;
}

unsigned control_groups_processors(void)
{
    unsigned processors = UINT_MAX;
    control_groups_visit("cpu", take_quota, &processors);
    return processors;
}
