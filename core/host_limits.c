/* SPDX-License-Identifier: Apache-2.0 */
/* host_limits.c - see host_limits.h. */
#include "core/host_limits.h"

#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* ---- Numbers from system files: /proc, and the limits of control groups (cgroups) ----
 *
 * A container is a control group. Both versions keep the limits of a group in the files of one
 * directory. The limits of all groups around a group apply to it too.
 */

#define GROUPS_ROOT "/sys/fs/cgroup"

struct control_group {
    unsigned version;      /* 1 or 2 */
    const char *directory; /* of the group's files; it need not exist */
};

/* Returns the first number after `name`, in the first line of the file that begins with `name` and
 * has a number; every line begins with "". SIZE_MAX: no such file, line or number. */
static size_t host_file_number(const char *path, const char *name)
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

/* As host_file_number(), for a file of the group. */
static size_t control_group_number(const struct control_group *group, const char *file,
                                   const char *name)
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

/* If the controller limits the group of a line of /proc/self/cgroup, "ID:CONTROLLERS:PATH", visits
 * this group and the groups around it. Version 2 lists no controllers. */
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

/* Calls `visit` for the group of the process that the controller ("cpu", "memory" or "pids")
 * limits, in both versions, and for each group around it. A container may know its group only by
 * the path on the host, while its files are in the root directory. So the root is always visited.
 */
static void control_groups_visit(const char *controller,
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

/* Threads of a job for each processor that it uses: a job with 32 had up to 69. */
#define THREADS_PER_PROCESSOR 3

/* Lowers *context, a number of processors, until the group may start the threads for them. libgomp
 * ends the process if it cannot start a thread. */
static void take_pids(const struct control_group *group, void *context)
{
    unsigned *const processors = context;
    const size_t most = control_group_number(group, "pids.max", "");
    const size_t used = control_group_number(group, "pids.current", "");
    if (most == SIZE_MAX || used == SIZE_MAX)
        return;
    const size_t left = (most > used ? most - used : 0) / THREADS_PER_PROCESSOR;
    if (left < *processors)
        *processors = left > 0 ? (unsigned)left : 1;
}

unsigned control_groups_processors(void)
{
    unsigned processors = UINT_MAX;
    control_groups_visit("cpu", take_quota, &processors);
    control_groups_visit("pids", take_pids, &processors);
    return processors;
}

/* ---- Memory ---- */

/* Memory of the program with its libraries and of reading and writing; and of a thread, with its
 * stack, small buffers and the beginning of its workspace. */
#define PROGRAM_BYTES ((size_t)10 << 20)
#define THREAD_BYTES ((size_t)1 << 20)

/* Stack of a thread if the process's memory is limited (RLIMIT_AS, RLIMIT_DATA), and stacks per
 * thread of the sort: its own, and those of reading and writing threads. */
#define STACK_BYTES ((size_t)1 << 20)
#define STACKS_PER_THREAD ((size_t)2)

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

/* Returns what is left of a limit: half of it if the usage is SIZE_MAX, which is not known. */
static size_t rest_of(size_t limit, size_t used)
{
    return used == SIZE_MAX ? limit / 2 : limit - smaller(limit, used);
}

/* Returns the bytes in a line of /proc/self/status; SIZE_MAX if they are not known, as /proc may
 * not be mounted. */
static size_t process_usage(const char *line)
{
    const size_t kilobytes = host_file_number("/proc/self/status", line);
    return kilobytes <= SIZE_MAX / 1024 ? kilobytes * 1024 : SIZE_MAX;
}

/* The files with the limits and the usage of a group, for both versions of control groups. */
static const struct group_files {
    const char *limits[2]; /* NULL: there is only one */
    const char *used;
    const char *cache[2]; /* lines of memory.stat: page cache in `used`, which can be freed */
} group_files[] = {
    {{"memory.limit_in_bytes", NULL},
     "memory.usage_in_bytes",
     {"total_inactive_file ", "total_active_file "}},
    {{"memory.max", "memory.high"}, "memory.current", {"inactive_file ", "active_file "}},
};

/* The memory limit of groups, or the free part of it if is_left is set. */
struct group_memory {
    bool is_left;
    size_t bytes;
};

/* Lowers the bytes to the limit of the group, or with is_left to what is left of it. */
static void take_group(const struct control_group *group, void *context)
{
    struct group_memory *const memory = context;
    const struct group_files *const files = &group_files[group->version - 1];
    size_t limit = control_group_number(group, files->limits[0], "");
    if (files->limits[1])
        limit = smaller(limit, control_group_number(group, files->limits[1], ""));
    if (limit == SIZE_MAX || limit >= physical_bytes(_SC_PHYS_PAGES))
        return; /* in version 1 a huge number means no limit */
    if (memory->is_left) {
        size_t used = control_group_number(group, files->used, "");
        for (size_t i = 0; used != SIZE_MAX && i < sizeof files->cache / sizeof *files->cache;
             i++) {
            const size_t cache = control_group_number(group, "memory.stat", files->cache[i]);
            used -= cache == SIZE_MAX ? 0 : smaller(used, cache);
        }
        limit = rest_of(limit, used);
    }
    memory->bytes = smaller(memory->bytes, limit);
}

/* Returns the lowest limit of the process's groups and the groups around them; with is_left, the
 * lowest rest of a limit. */
static size_t container_bytes(bool is_left)
{
    struct group_memory memory = {is_left, SIZE_MAX};
    control_groups_visit("memory", take_group, &memory);
    return memory.bytes;
}

/* Returns the bytes left by the process's limits of address space and data; SIZE_MAX: no limits. */
static size_t process_bytes(void)
{
    const size_t addresses = resource_limit(RLIMIT_AS), data = resource_limit(RLIMIT_DATA);
    size_t bytes = SIZE_MAX;
    if (addresses != SIZE_MAX)
        bytes = rest_of(addresses, process_usage("VmSize:"));
    if (data != SIZE_MAX)
        bytes = smaller(bytes, rest_of(data, process_usage("VmData:")));
    return bytes;
}

unsigned memory_limits_prepare(unsigned threads)
{
    pthread_attr_t attributes;
    const size_t bytes = process_bytes();
    if (bytes == SIZE_MAX)
        return threads;
    (void)mallopt(M_ARENA_MAX, 1);
    if (pthread_attr_init(&attributes) == 0) {
        if (pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0)
            (void)pthread_setattr_default_np(&attributes); /* if this fails, stacks are larger */
        pthread_attr_destroy(&attributes);
    }
    const size_t most = bytes / 4 / (THREAD_BYTES + STACKS_PER_THREAD * STACK_BYTES);
    return most >= threads ? threads : most > 0 ? (unsigned)most : 1;
}

size_t memory_process_left(unsigned threads)
{
    const size_t bytes = process_bytes(), stacks = threads * STACKS_PER_THREAD * STACK_BYTES;
    return bytes == SIZE_MAX ? SIZE_MAX : bytes - smaller(bytes, stacks);
}

/* The result of the first memory_available(), of any thread, and the same without the limits of the
 * process; 0: not found yet. */
static atomic_size_t at_start, system_at_start;

/* Returns the free memory of the machine, or of the container if that is less. */
static size_t system_bytes(void)
{
    const size_t kilobytes = host_file_number("/proc/meminfo", "MemAvailable:");
    size_t bytes =
        kilobytes <= SIZE_MAX / 1024 ? kilobytes * 1024 : physical_bytes(_SC_AVPHYS_PAGES);
    return smaller(bytes, container_bytes(true));
}

size_t memory_available(unsigned threads)
{
    const size_t system = system_bytes(), bytes = smaller(system, memory_process_left(threads));
    if (at_start == 0) {
        system_at_start = system;
        at_start = bytes;
    }
    return bytes;
}

size_t memory_total(void)
{
    return smaller(physical_bytes(_SC_PHYS_PAGES), container_bytes(false));
}

size_t memory_peak(void)
{
    const size_t bytes = process_usage("VmHWM:");
    return bytes == SIZE_MAX ? 0 : bytes;
}

size_t memory_at_start(void)
{
    if (at_start == 0)
        (void)memory_available(0);
    return at_start != SIZE_MAX ? at_start : 0;
}

size_t memory_of_system_at_start(void)
{
    (void)memory_at_start();
    return system_at_start;
}

bool memory_holds(size_t bytes)
{
    const size_t memory = memory_at_start();
    return memory == 0 || bytes <= memory / 4 * 3;
}

size_t memory_ahead_most(void)
{
    return memory_at_start() / 8;
}

/* True if the system may swap files in memory out, so that they can be larger than memory. */
static bool has_swap(void)
{
    struct sysinfo machine;
    return sysinfo(&machine) != 0 || machine.totalswap > 0;
}

#define LEAST_BYTES ((size_t)20 << 20)

size_t memory_least(unsigned ranks)
{
    return ranks > 0 ? ranks * (LEAST_BYTES + MEMORY_OF_MPI) : LEAST_BYTES;
}

/* Leaves 1/256 for the index of the page cache: the kernel takes 576 bytes for each 64 pages of a
 * file. */
size_t memory_for_files(unsigned ranks)
{
    const size_t memory = memory_of_system_at_start();
    if (memory == SIZE_MAX || has_swap())
        return SIZE_MAX;
    return (memory - smaller(memory, memory_least(ranks))) / 256 * 255;
}

/* What memory_plan() has set. */
static atomic_size_t planned_bytes;
static atomic_uint planned_processes;

void memory_plan(size_t bytes, unsigned processes)
{
    planned_bytes = bytes;
    planned_processes = processes;
}

/* Returns the planned memory that the processes do not have at this moment. */
static size_t planned_growth(void)
{
    const size_t used = process_usage("RssAnon:"), planned = planned_bytes;
    return used < planned ? (planned - used) * planned_processes : 0;
}

/* Minimum free memory while a file in memory grows: by a sorted part, which the plan has taken into
 * account, or by an output. The free memory includes pages of files, which the system cannot always
 * reclaim in time: with 1 MiB, 2 of 25 jobs whose output filled a container of 45 MiB were killed.
 */
#define WATCH_PART_BYTES ((size_t)1 << 20)
#define WATCH_OUTPUT_BYTES ((size_t)4 << 20)

/* Other memory may grow at the same time, so a quarter of the free memory is given before it is
 * read again. */
bool memory_watch_grow(struct memory_watch *watch, size_t bytes, bool sorts_on)
{
    if (watch->credit >= bytes) {
        watch->credit -= bytes;
        return true;
    }
    const size_t kept = sorts_on ? WATCH_PART_BYTES + planned_growth() : WATCH_OUTPUT_BYTES;
    const size_t left = has_swap() ? SIZE_MAX : system_bytes();
    if (left < kept || left - kept < bytes)
        return false;
    watch->credit = (left - kept - bytes) / 4;
    return true;
}

size_t memory_limits_left(const struct memory_limits *limits, unsigned threads,
                          size_t buffers_bytes)
{
    const size_t taken =
        PROGRAM_BYTES + limits->other_bytes + threads * THREAD_BYTES + buffers_bytes;
    const size_t bytes = limits->host_bytes;
    return bytes / 2 > taken ? bytes - taken : bytes / 2;
}

/* On a GPU, a sixteenth of the memory is reserved for the workspace of a path. Items of unknown
 * number are copied to a larger array there when one is full, so that array takes the memory of a
 * second one. On the host the count depends on the workspaces, and these on the count: the first
 * pass yields too few items, the second too many, and the third again somewhat too few. */
size_t memory_limits_part(const struct memory_limits *limits, const struct sort_spec *spec,
                          bool is_host, size_t buffers_bytes)
{
    const size_t bytes = is_host ? memory_limits_left(limits, spec->threads, buffers_bytes)
                                 : limits->device_bytes / 16 * 15;
    const size_t part = bytes > MEMORY_PART_BYTES_MIN ? bytes : MEMORY_PART_BYTES_MIN;
    const bool is_copied = !is_host && spec->count == COUNT_UNKNOWN;
    const unsigned buffers =
        is_copied && spec->algorithm->buffers < 2 ? 2 : spec->algorithm->buffers;
    const size_t item_bytes = (size_t)buffers * spec->item_bytes;
    size_t count = part / item_bytes;
    for (unsigned pass = 0; is_host && spec->algorithm->workspace_bytes && pass < 3; pass++) {
        const size_t needed =
            spec->algorithm->workspace_bytes(count, spec->item_bytes, spec->threads);
        const size_t planned = spec->threads * THREAD_BYTES;
        const size_t more = smaller(needed > planned ? needed - planned : 0, part / 2);
        count = (part - more) / item_bytes;
    }
    return count;
}
