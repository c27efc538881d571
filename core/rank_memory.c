/* SPDX-License-Identifier: Apache-2.0 */
/* rank_memory.c - see rank_memory.h. */
#include "core/rank_memory.h"

#include "core/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A row for each rank: its process ID, and the address and the value of a word in its memory. A
 * rank that reads this value there knows that the ID names the same process in its own name space.
 */
enum { MARK_PROCESS, MARK_ADDRESS, MARK_VALUE, MARK_WORDS };

static bool read_memory(int process, uint64_t address, void *out, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const struct iovec own = {(char *)out + done, bytes - done};
        const struct iovec other = {(void *)(uintptr_t)(address + done), bytes - done};
        const ssize_t got = process_vm_readv(process, &own, 1, &other, 1, 0);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Returns true if this rank can read the memory of all others. */
static bool can_read(const struct group *group, const uint64_t *marks)
{
    for (unsigned rank = 0; rank < group->size; rank++) {
        const uint64_t *const mark = marks + (size_t)rank * MARK_WORDS;
        uint64_t found;
        if (!read_memory((int)mark[MARK_PROCESS], mark[MARK_ADDRESS], &found, sizeof found) ||
            found != mark[MARK_VALUE])
            return false;
    }
    return true;
}

/* Collective: returns the marks of all ranks, which the caller frees, and sets *is_usable. */
static uint64_t *share_marks(struct group *group, bool *is_usable, struct error *error)
{
    const uint64_t value = clock_now_ns(); /* all have read it when the last sum returns */
    const uint64_t own[MARK_WORDS] = {(uint64_t)getpid(), (uintptr_t)&value, value};
    /* The security module Yama lets only ancestors read a process, unless that is allowed. */
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    uint64_t *const marks = group_gather(group, own, MARK_WORDS, error);
    uint64_t refusals = marks && !can_read(group, marks);
    if (marks && group_sum(group, &refusals, 1, error)) {
        *is_usable = refusals == 0;
        return marks;
    }
    free(marks);
    return NULL;
}

bool rank_memory_open(struct group *group, struct rank_memory **memory, struct error *error)
{
    bool is_usable = false;
    *memory = NULL;
    if (group->host_size < group->size)
        return true;
    uint64_t *const marks = share_marks(group, &is_usable, error);
    bool ok = marks;
    if (ok && is_usable) {
        *memory = malloc(sizeof **memory + group->size * sizeof *(*memory)->processes);
        ok = group_agree(group, *memory || error_set(error, "out of memory"), error);
    }
    if (ok && is_usable) {
        (*memory)->count = group->size;
        for (unsigned rank = 0; rank < group->size; rank++)
            (*memory)->processes[rank] = (int)marks[(size_t)rank * MARK_WORDS + MARK_PROCESS];
    }
    free(marks);
    return ok;
}

static bool fail(unsigned rank, struct error *error)
{
    return error_set_errno(error, "cannot read the memory of rank %u", rank);
}

bool rank_memory_read(const struct rank_memory *memory, unsigned rank, uint64_t address, void *out,
                      size_t bytes, struct error *error)
{
    return read_memory(memory->processes[rank], address, out, bytes) || fail(rank, error);
}

bool rank_memory_gather(const struct rank_memory *memory, unsigned rank, const struct iovec *pieces,
                        size_t count, void *out, size_t bytes, struct error *error)
{
    const struct iovec own = {out, bytes};
    const ssize_t got = process_vm_readv(memory->processes[rank], &own, 1, pieces, count, 0);
    if (got >= 0)
        errno = EFAULT;
    return (got >= 0 && (size_t)got == bytes) || fail(rank, error);
}
