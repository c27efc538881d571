/* SPDX-License-Identifier: Apache-2.0 */
/* rank_memory.h - the sorted runs of other ranks of this host, read from the memory of their
 * processes by process_vm_readv(2).
 *
 * A message between two processes is copied by one thread, into a buffer, from which the merge
 * copies it again. Here the threads of the merge copy what they need, once. The system may refuse
 * that to a process (a security module, a filter of system calls, ranks in different containers).
 */
#ifndef JOB_RANK_MEMORY_H
#define JOB_RANK_MEMORY_H

#include "job/external_exchange.h"

/* A range of a run in the memory of a rank. */
struct rank_memory {
    unsigned rank;
    int process;
    uint64_t address; /* of the first item */
    unsigned item_bytes;
};

/* Collective: finds out whether each rank can read the runs of all others: all ranks are on one
 * host, all runs are in memory, and the system allows it. Then sets *memory to an array with the
 * range of this rank in each run of the exchange, which the caller frees; else to NULL. The runs
 * must stay until all ranks have merged. Fails only if the group does, or memory runs out. */
bool rank_memory_open(const struct external_exchange *exchange, struct rank_memory **memory,
                      struct error *error);

/* A `read` of struct item_run; the context is a struct rank_memory. */
bool rank_memory_read(void *context, uint64_t first, void *items, size_t count,
                      struct error *error);

#endif
