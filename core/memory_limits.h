/* SPDX-License-Identifier: Apache-2.0 */
/* memory_limits.h - how much memory a job may take, and what that means for its parts.
 */
#ifndef CORE_MEMORY_LIMITS_H
#define CORE_MEMORY_LIMITS_H

#include "core/backend.h"

#include <stdbool.h>
#include <stddef.h>

struct memory_limits {
    size_t host_bytes;              /* of this machine's memory */
    bool host_said;                 /* by the user; else it is most of what is free */
    size_t device_bytes;            /* of a GPU's */
    bool device_said;               /* by the user; else it is what it has */
    const char *const *directories; /* for what memory has no room for, in turns */
    size_t directory_count;         /* at least 1 */
};

/* Prepares the process for its limits, if there are any of addresses or data (RLIMIT_AS,
 * RLIMIT_DATA): threads that start from now on have small stacks, and take from one arena of
 * malloc(3), as each arena of glibc takes 64 MiB of addresses. Returns how many threads have room,
 * at most `threads`: libgomp ends the process where one has none. */
unsigned memory_limits_prepare(unsigned threads);

/* What the process's limits of addresses and data leave, besides the stacks of `threads` threads to
 * come. SIZE_MAX: there are no limits. */
size_t memory_process_left(unsigned threads);

/* The memory that a process with so many threads can take without pushing others out: what is free
 * or can be freed at once, but no more than its limits let it have. SIZE_MAX: not known. */
size_t memory_available(unsigned threads);

/* All memory that there is; SIZE_MAX: not known. */
size_t memory_total(void);

/* Of an output, the bytes that may be taken while twice as many are in memory that it is made of:
 * an eighth of all memory. 0: not known. */
size_t memory_ahead_most(void);

/* What is left of the host's bytes beside the program, its threads and small buffers, and besides
 * `buffers_bytes` of large ones. */
size_t memory_limits_left(const struct memory_limits *limits, unsigned threads,
                          size_t buffers_bytes);

/* Less than this is no part worth its while, however little memory there is. */
#define MEMORY_PART_BYTES_MIN ((size_t)16 << 10)

/* The items that an engine can sort at a time. is_host: its arrays are in the host's memory. */
size_t memory_limits_part(const struct memory_limits *limits, const struct sort_spec *spec,
                          bool is_host, size_t buffers_bytes);

#endif
