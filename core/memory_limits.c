/* memory_limits.c - see memory_limits.h. */
#include "core/memory_limits.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The program with its libraries, and what reading and writing take; and a thread, with the
 * workspace of a sort. */
#define PROGRAM_BYTES ((size_t)10 << 20)
#define THREAD_BYTES ((size_t)1 << 20)

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The number that a file of /proc or /sys/fs/cgroup holds, behind `name` if there is one, times
 * `unit`; SIZE_MAX if there is none, or "max". */
static size_t read_bytes(const char *path, const char *name, size_t unit)
{
    FILE *const file = fopen(path, "r");
    char line[256];
    size_t bytes = SIZE_MAX;
    if (!file)
        return bytes;
    while (bytes == SIZE_MAX && fgets(line, sizeof line, file)) {
        unsigned long long number;
        if (strncmp(line, name, strlen(name)) == 0 &&
            sscanf(line + strlen(name), "%llu", &number) == 1 && number < SIZE_MAX / unit)
            bytes = (size_t)number * unit;
    }
    (void)fclose(file);
    return bytes;
}

static size_t physical_bytes(int name)
{
    const long pages = sysconf(name), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (size_t)pages * (size_t)page_bytes : SIZE_MAX;
}

static size_t resource_limit(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
               ? (size_t)limit.rlim_cur
               : SIZE_MAX;
}

/* Where the two versions of control groups (cgroups) say what a group may have and has. */
static const struct group_files {
    const char *mark; /* before the group's path in a line of /proc/self/cgroup */
    const char *root;
    const char *limit, *used;
    const char *cache[2]; /* what of `used` is of files and can be freed, in memory.stat */
} group_files[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file ", "active_file "}},
    {":memory:",
     "/sys/fs/cgroup/memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file ", "total_active_file "}},
};

/* What a file of the group holds; SIZE_MAX if it does not say. */
static size_t read_group(const struct group_files *files, const char *group, const char *file,
                         const char *name)
{
    char path[PATH_MAX + 256];
    snprintf(path, sizeof path, "%s%s/%s", files->root, group, file);
    return read_bytes(path, name, 1);
}

/* What the group may still have, or may have at all; SIZE_MAX: it has no limit. */
static size_t group_bytes(const struct group_files *files, const char *group, bool is_left)
{
    const size_t limit = read_group(files, group, files->limit, "");
    if (limit >= physical_bytes(_SC_PHYS_PAGES))
        return SIZE_MAX; /* as version 1 says that there is none */
    if (!is_left)
        return limit;
    size_t used = read_group(files, group, files->used, "");
    for (size_t i = 0; i < sizeof files->cache / sizeof files->cache[0]; i++) {
        const size_t cache = read_group(files, group, "memory.stat", files->cache[i]);
        used -= cache == SIZE_MAX ? 0 : smaller(used, cache);
    }
    return limit - smaller(limit, used);
}

/* The path of the process's group, which must have room for PATH_MAX bytes; "" if it has none. */
static void find_group(const struct group_files *files, char *group)
{
    char line[PATH_MAX];
    FILE *const file = fopen("/proc/self/cgroup", "r");
    const char *found = NULL;
    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, files->mark);
    if (file)
        (void)fclose(file);
    snprintf(group, PATH_MAX, "%s", found ? found + strlen(files->mark) : "");
    group[strcspn(group, "\n")] = '\0';
}

/* What the process's groups, and those that they are in, may have: in all, or still. A container
 * sees its own group as the root. */
static size_t container_bytes(bool is_left)
{
    size_t bytes = SIZE_MAX;
    for (size_t i = 0; i < sizeof group_files / sizeof group_files[0]; i++) {
        char group[PATH_MAX], *slash;
        find_group(&group_files[i], group);
        do {
            bytes = smaller(bytes, group_bytes(&group_files[i], group, is_left));
            slash = strrchr(group, '/');
            if (slash)
                *slash = '\0';
        } while (slash);
    }
    return bytes;
}

size_t memory_available(void)
{
    size_t bytes = read_bytes("/proc/meminfo", "MemAvailable:", 1024);
    if (bytes == SIZE_MAX)
        bytes = physical_bytes(_SC_AVPHYS_PAGES);
    bytes = smaller(bytes, container_bytes(true));
    bytes = smaller(bytes, resource_limit(RLIMIT_DATA));
    return smaller(bytes, resource_limit(RLIMIT_AS));
}

size_t memory_total(void)
{
    return smaller(physical_bytes(_SC_PHYS_PAGES), container_bytes(false));
}

size_t memory_ahead_most(void)
{
    const size_t total = memory_total();
    return total != SIZE_MAX ? total / 8 : 0;
}

size_t memory_limits_left(const struct memory_limits *limits, unsigned threads,
                          size_t buffers_bytes)
{
    const size_t taken = PROGRAM_BYTES + threads * THREAD_BYTES + buffers_bytes;
    const size_t bytes = limits->host_bytes;
    return bytes / 2 > taken ? bytes - taken : bytes / 2;
}

/* Of a GPU's memory, a sixteenth is left for the workspace of a path. What comes in an unknown
 * number is copied to one array there, before any scratch is had. */
size_t memory_limits_part(const struct memory_limits *limits, const struct sort_spec *spec,
                          bool is_host, size_t buffers_bytes)
{
    const size_t bytes = is_host ? memory_limits_left(limits, spec->threads, buffers_bytes)
                                 : limits->device_bytes / 16 * 15;
    const size_t part = bytes > MEMORY_PART_BYTES_MIN ? bytes : MEMORY_PART_BYTES_MIN;
    const bool is_copied = !is_host && spec->count == COUNT_UNKNOWN;
    const unsigned buffers =
        is_copied && spec->algorithm->buffers < 2 ? 2 : spec->algorithm->buffers;
    return part / buffers / spec->item_bytes;
}
