/* SPDX-License-Identifier: Apache-2.0 */
/* host_limits.h - the memory and the processors that a job may take, and the resulting size of its
 * parts.
 */
#ifndef CORE_HOST_LIMITS_H
#define CORE_HOST_LIMITS_H

#include "core/backend.h"

#include <stdbool.h>
#include <stddef.h>

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct memory_limits {
    size_t host_bytes;              /* of the host's memory: what the job may take */
    const char *host_reason;        /* of host_bytes, for people */
    size_t other_bytes;             /* of host_bytes, taken by MPI */
    size_t device_bytes;            /* of a GPU's memory: what the job may take */
    bool device_is_limited;         /* by the user, or by ranks; else it is all that the GPU has */
    const char *const *directories; /* for spilled runs, used in turns */
    size_t directory_count;         /* at least 1 */
    bool has_parts_in_memory;       /* all of the directories are in memory (tmpfs) */
    bool has_output_in_memory;      /* the output is a regular file in memory */
};

/* Prepares the process for its limits of address space or data (RLIMIT_AS, RLIMIT_DATA), if there
 * are any. Threads that start after this have small stacks, and all use one arena of malloc(3),
 * because each arena of glibc takes 64 MiB of address space. Returns how many threads have room, at
 * most `threads`: libgomp ends the process if it cannot start a thread. */
unsigned memory_limits_prepare(unsigned threads);

/* Returns the bytes left by the process's limits of address space and data, without the stacks of
 * `threads` threads that will start. SIZE_MAX: there are no limits. */
size_t memory_process_left(unsigned threads);

/* Returns the memory that a process with `threads` threads can take without displacing others: free
 * memory, and memory that can be freed at once, within the limits of the process. SIZE_MAX: not
 * known. */
size_t memory_available(unsigned threads);

/* Returns the size of all memory, or the lowest limit of the process's control groups if that is
 * less; SIZE_MAX: not known. */
size_t memory_total(void);

/* Returns the most memory that the process has had; 0: not known. */
size_t memory_peak(void);

/* Returns the memory that was available at the first call of this or of memory_available() in this
 * process, which must be before the sort takes memory. 0: not known. */
size_t memory_at_start(void);

/* Returns the same without the limits of the process (ulimit), in which files in memory do not
 * count. SIZE_MAX: not known. */
size_t memory_of_system_at_start(void);

/* Returns false if `bytes` bytes in one piece are more than three quarters of memory_at_start(),
 * and that is known. The system would grant them, and may then end the process when it uses them.
 */
bool memory_holds(size_t bytes);

/* Returns the maximum bytes of an output that may be allocated in advance, while twice as many are
 * in memory to sort: an eighth of memory_at_start(); 0: not known. */
size_t memory_ahead_most(void);

/* Memory of an MPI rank that MPI takes: up to 9 MiB with Open MPI 4.1. */
#define MEMORY_OF_MPI ((size_t)10 << 20)

/* Returns the minimum memory of a job beside files in memory. ranks: MPI ranks of this host; 0 for
 * a job without MPI. */
size_t memory_least(unsigned ranks);

/* Returns the maximum bytes of files in memory (tmpfs) beside a job: memory_of_system_at_start()
 * without memory_least(). SIZE_MAX: not known, or they may be swapped out. */
size_t memory_for_files(unsigned ranks);

/* Observes the free memory while a file in memory grows, because the system ends a process that
 * needs more than there is. Starts as zeros. */
struct memory_watch {
    size_t credit; /* bytes that the file may grow by before free memory is read again */
};

/* Returns false if there is no memory for `bytes` more bytes of the file; always true with swap
 * space. sorts_on: the sort may still grow to the memory that memory_plan() allows it. */
bool memory_watch_grow(struct memory_watch *watch, size_t bytes, bool sorts_on);

/* Sets the memory that the sort of each of `processes` processes may take, for memory_watch_grow().
 */
void memory_plan(size_t bytes, unsigned processes);

/* Returns the part of host_bytes that is left beside the program, MPI, `threads` threads, small
 * buffers, and `buffers_bytes` of large buffers; half of host_bytes if these take as much or more.
 */
size_t memory_limits_left(const struct memory_limits *limits, unsigned threads,
                          size_t buffers_bytes);

/* Minimum bytes of a part, however little memory there is. */
#define MEMORY_PART_BYTES_MIN ((size_t)16 << 10)

/* Returns how many items an engine can sort at once. is_host: its arrays are in host memory, beside
 * `buffers_bytes` of large buffers and the workspaces of its threads. */
size_t memory_limits_part(const struct memory_limits *limits, const struct sort_spec *spec,
                          bool is_host, size_t buffers_bytes);

/* Returns the number of processors that control groups allow, by their quotas, rounded up, and by
 * the threads that may be started. UINT_MAX: no limit. */
unsigned control_groups_processors(void);

#endif
