/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - see pages.h. */
#include "cpu/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory is committed in steps of this size, so that system calls are rare. It is a multiple of the
 * page size, as the size of a reservation is. */
#define COMMIT_STEP_BYTES ((size_t)64 << 20)

/* Mappings up to this size are populated at once, in a third of the time of the page faults. In
 * larger ones the threads that use the memory take the faults. */
#define POPULATE_BYTES ((size_t)4 << 20)

/* Memory is dropped in steps of this size, because each drop interrupts all processors. 0.8 GB,
 * two cores of an AMD EPYC (Zen 5), 2026-11: 15 ms in steps of 2 MiB. */
#define DROP_STEP_BYTES ((size_t)64 << 20)

static bool out_of_memory(size_t bytes, struct error *error)
{
    return error_set(error, "out of memory: %zu bytes are needed for the data", bytes);
}

/* Rounds up to a multiple of `step`, a power of two; false if that overflows. */
static bool round_up(size_t bytes, size_t step, size_t *rounded)
{
    if (bytes > SIZE_MAX - (step - 1))
        return false;
    *rounded = (bytes + step - 1) & ~(step - 1);
    return true;
}

static bool map_addresses(struct pages *pages, size_t bytes, int protection, int flags)
{
    void *data = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (data == MAP_FAILED)
        return false;
    /* A hint: a kernel without huge pages refuses it, and a small mapping has none. */
    (void)madvise(data, bytes, MADV_HUGEPAGE);
    *pages = (struct pages){.data = data, .reserved_bytes = bytes};
    return true;
}

static bool map(struct pages *pages, size_t bytes, int flags, struct error *error)
{
    size_t rounded;
    if (!round_up(bytes ? bytes : 1, (size_t)sysconf(_SC_PAGESIZE), &rounded) ||
        !map_addresses(pages, rounded, PROT_READ | PROT_WRITE, flags))
        return out_of_memory(bytes, error);
    pages->committed_bytes = rounded;
    return true;
}

bool pages_map(struct pages *pages, size_t bytes, struct error *error)
{
    return map(pages, bytes, bytes <= POPULATE_BYTES ? MAP_POPULATE : 0, error);
}

bool pages_check(size_t bytes, struct error *error)
{
    struct pages pages = {0};
    if (!map(&pages, bytes, 0, error))
        return false;
    pages_release(&pages);
    return true;
}

bool pages_reserve(struct pages *pages, size_t most_bytes, struct error *error)
{
    const long count = sysconf(_SC_PHYS_PAGES);
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = COMMIT_STEP_BYTES, most;
    if (count > 0)
        while (bytes / page_bytes < (size_t)count && bytes <= SIZE_MAX / 2)
            bytes *= 2;
    if (round_up(most_bytes ? most_bytes : 1, page_bytes, &most) && most < bytes)
        bytes = most;
    while (!map_addresses(pages, bytes, PROT_NONE, MAP_NORESERVE)) {
        if (bytes <= COMMIT_STEP_BYTES)
            return out_of_memory(bytes, error);
        bytes = bytes / 2 / page_bytes * page_bytes;
    }
    return true;
}

static bool commit_up_to(struct pages *pages, size_t end)
{
    if (mprotect(pages->data + pages->committed_bytes, end - pages->committed_bytes,
                 PROT_READ | PROT_WRITE) != 0)
        return false;
    pages->committed_bytes = end;
    return true;
}

bool pages_commit(struct pages *pages, size_t bytes, struct error *error)
{
    if (bytes <= pages->committed_bytes)
        return true;
    size_t step, least;
    if (!round_up(bytes, COMMIT_STEP_BYTES, &step) ||
        !round_up(bytes, (size_t)sysconf(_SC_PAGESIZE), &least) || bytes > pages->reserved_bytes)
        return out_of_memory(bytes, error);
    if (step > pages->reserved_bytes)
        step = pages->reserved_bytes;
    return commit_up_to(pages, step) || commit_up_to(pages, least) || out_of_memory(bytes, error);
}

void pages_trim(struct pages *pages)
{
    if (pages->reserved_bytes == pages->committed_bytes)
        return;
    if (pages->committed_bytes == 0)
        pages_release(pages);
    else if (munmap(pages->data + pages->committed_bytes,
                    pages->reserved_bytes - pages->committed_bytes) == 0)
        pages->reserved_bytes = pages->committed_bytes;
}

void pages_drop(struct pages *pages, size_t bytes)
{
    const size_t end = bytes - bytes % DROP_STEP_BYTES;
    if (end <= pages->dropped_bytes)
        return;
    (void)madvise(pages->data + pages->dropped_bytes, end - pages->dropped_bytes, MADV_DONTNEED);
    pages->dropped_bytes = end;
}

void pages_release(struct pages *pages)
{
    if (pages->data)
        munmap(pages->data, pages->reserved_bytes);
    *pages = (struct pages){0};
}
