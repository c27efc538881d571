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

/* What the process's group (cgroup, version 2) and those that it is in may have; a container sees
 * its own group as the root. Of version 1, that root alone. */
static size_t container_limit(void)
{
    static const char root[] = "/sys/fs/cgroup";
    char line[PATH_MAX] = "", path[sizeof root + PATH_MAX + sizeof "/memory.max"];
    size_t bytes = read_bytes("/sys/fs/cgroup/memory/memory.limit_in_bytes", "", 1);
    FILE *const file = fopen("/proc/self/cgroup", "r");
    while (file && fgets(line, sizeof line, file) && strncmp(line, "0::", 3) != 0)
        line[0] = '\0';
    if (file)
        (void)fclose(file);
    char *const group = line[0] ? line + 3 : line;
    group[strcspn(group, "\n")] = '\0';
    for (;;) {
        snprintf(path, sizeof path, "%s%s/memory.max", root, group);
        bytes = smaller(bytes, read_bytes(path, "", 1));
        char *const slash = strrchr(group, '/');
        if (!slash)
            return bytes;
        *slash = '\0';
    }
}

size_t memory_available(void)
{
    size_t bytes = read_bytes("/proc/meminfo", "MemAvailable:", 1024);
    if (bytes == SIZE_MAX)
        bytes = physical_bytes(_SC_AVPHYS_PAGES);
    bytes = smaller(bytes, container_limit());
    bytes = smaller(bytes, resource_limit(RLIMIT_DATA));
    return smaller(bytes, resource_limit(RLIMIT_AS));
}

size_t memory_total(void)
{
    return smaller(physical_bytes(_SC_PHYS_PAGES), container_limit());
}

size_t memory_limits_left(const struct memory_limits *limits, unsigned threads,
                          size_t buffers_bytes)
{
    const size_t taken = PROGRAM_BYTES + threads * THREAD_BYTES + buffers_bytes;
    const size_t bytes = limits->host_bytes;
    return bytes / 2 > taken ? bytes - taken : bytes / 2;
}

/* Of a GPU's memory, a sixteenth is left for the workspace of a path. */
size_t memory_limits_part(const struct memory_limits *limits, const struct sort_spec *spec,
                          bool is_host, size_t buffers_bytes)
{
    const size_t bytes = is_host ? memory_limits_left(limits, spec->threads, buffers_bytes)
                                 : limits->device_bytes / 16 * 15;
    const size_t part = bytes > MEMORY_PART_BYTES_MIN ? bytes : MEMORY_PART_BYTES_MIN;
    return part / spec->algorithm->buffers / spec->item_bytes;
}
