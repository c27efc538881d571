/* SPDX-License-Identifier: Apache-2.0 */
/* rank_memory.h - reads the memory of the other ranks of a host, by process_vm_readv(2).
 *
 * The system may refuse that to a process: a security module, a filter of system calls, ranks in
 * different containers. Memory that others read must stay until all ranks have agreed that they
 * are done.
 */
#ifndef CORE_RANK_MEMORY_H
#define CORE_RANK_MEMORY_H

#include "core/group.h"

#include <sys/uio.h>

/* The processes of all ranks. */
struct rank_memory {
    unsigned count;  /* ranks */
    int processes[]; /* indexed by rank */
};

/* Collective: finds out whether each rank can read the memory of all others. If so, sets *memory,
 * which the caller frees; otherwise sets it to NULL. Fails only if the group does, or memory runs
 * out. */
bool rank_memory_open(struct group *group, struct rank_memory **memory, struct error *error);

/* Copies `bytes` bytes at the address in the rank's memory to `out`. Any number of threads may call
 * this and rank_memory_gather(). */
bool rank_memory_read(const struct rank_memory *memory, unsigned rank, uint64_t address, void *out,
                      size_t bytes, struct error *error);

/* Maximum pieces of rank_memory_gather(): the system takes no more in one call. */
#define RANK_MEMORY_PIECES_MAX 1024

/* Copies pieces of the rank's memory to `out`, one after the other. bytes: their total, less than 2
 * GiB. Fails unless all of them can be read. */
bool rank_memory_gather(const struct rank_memory *memory, unsigned rank, const struct iovec *pieces,
                        size_t count, void *out, size_t bytes, struct error *error);

#endif
