/* SPDX-License-Identifier: Apache-2.0 */
/* rank_memory.c - see rank_memory.h. */
#include "job/rank_memory.h"

#include "core/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

/* A row for each rank: its process, and a mark in its memory. A reader that finds the mark knows
 * that the number means the same process in its own name space. */
enum { MARK_PROCESS, MARK_ADDRESS, MARK_TIME, MARK_WORDS };

/* The address of a run without items, which need not be in memory. */
#define UNREAD 1

static bool read_memory(int process, uint64_t address, void *out, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const struct iovec own = {(char *)out + done, bytes - done};
        const struct iovec other = {(void *)(uintptr_t)(address + done), bytes - done};
        const ssize_t got = process_vm_readv(process, &own, 1, &other, 1, 0);
        if (got == 0)
            errno = EFAULT;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool rank_memory_read(void *context, uint64_t first, void *items, size_t count, struct error *error)
{
    const struct rank_memory *const memory = context;
    const uint64_t address = memory->address + first * memory->item_bytes;
    return read_memory(memory->process, address, items, count * memory->item_bytes) ||
           error_set_errno(error, "cannot read the memory of rank %u", memory->rank);
}

/* Returns true if this rank can read the memory of all others. */
static bool can_read(const struct group *group, const uint64_t *marks)
{
    for (unsigned rank = 0; rank < group->size; rank++) {
        const uint64_t *const mark = marks + (size_t)rank * MARK_WORDS;
        uint64_t found;
        if (!read_memory((int)mark[MARK_PROCESS], mark[MARK_ADDRESS], &found, sizeof found) ||
            found != mark[MARK_TIME])
            return false;
    }
    return true;
}

/* Collective: fills in the marks of all ranks and the addresses of all runs. The caller has filled
 * in the addresses of this rank's runs. Sets *is_usable. */
static bool share(struct group *group, uint64_t *words, size_t count, bool *is_usable,
                  struct error *error)
{
    const size_t all = (size_t)group->size * MARK_WORDS;
    uint64_t *const own = words + (size_t)group->rank * MARK_WORDS;
    const uint64_t mark = clock_now_ns(); /* on the stack until the last sum, so all have read it */
    /* The security module Yama lets only ancestors read a process, unless that is allowed. */
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    own[MARK_PROCESS] = (uint64_t)getpid();
    own[MARK_ADDRESS] = (uintptr_t)&mark;
    own[MARK_TIME] = mark;
    if (!group_sum(group, words, count, error))
        return false;
    uint64_t refusals = !can_read(group, words);
    for (size_t i = all; i < count; i++)
        refusals |= words[i] == 0;
    if (!group_sum(group, &refusals, 1, error))
        return false;
    *is_usable = refusals == 0;
    return true;
}

/* Returns the range of this rank in each run; NULL if there is no memory. */
static struct rank_memory *find_ranges(const struct external_exchange *exchange,
                                       const uint64_t *marks, const uint64_t *addresses)
{
    const uint64_t *const begins = exchange->positions + exchange->group->rank * exchange->all_runs;
    struct rank_memory *const memory = calloc(exchange->all_runs + 1, sizeof *memory);
    for (size_t i = 0; memory && i < exchange->all_runs; i++) {
        const unsigned rank = exchange->owners[i];
        memory[i] = (struct rank_memory){
            .rank = rank,
            .process = (int)marks[(size_t)rank * MARK_WORDS + MARK_PROCESS],
            .address = addresses[i] + begins[i] * exchange->item_bytes,
            .item_bytes = exchange->item_bytes,
        };
    }
    return memory;
}

bool rank_memory_open(const struct external_exchange *exchange, struct rank_memory **memory,
                      struct error *error)
{
    struct group *const group = exchange->group;
    const size_t marks = (size_t)group->size * MARK_WORDS, count = marks + exchange->all_runs;
    bool is_usable = false;
    *memory = NULL;
    if (group->host_size < group->size)
        return true;
    uint64_t *const words = calloc(count, sizeof *words);
    bool ok = group_agree(group, words || error_set(error, "out of memory"), error);
    if (ok) {
        for (size_t i = 0; i < exchange->run_count; i++) {
            const struct item_run *const run = &exchange->runs[i];
            words[marks + exchange->first_run + i] =
                run->count > 0 ? (uintptr_t)run->items : UNREAD;
        }
        ok = share(group, words, count, &is_usable, error);
    }
    if (ok && is_usable) {
        *memory = find_ranges(exchange, words, words + marks);
        ok = group_agree(group, *memory || error_set(error, "out of memory"), error);
    }
    free(words);
    return ok;
}
