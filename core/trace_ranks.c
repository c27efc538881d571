/* SPDX-License-Identifier: Apache-2.0 */
/* trace_ranks.c - see trace_ranks.h. */
#include "core/trace_ranks.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* The counters of a rank, in cache lines of their own. */
struct row {
    _Alignas(64) trace_counter bytes[TRACE_LANE_COUNT];
    atomic_bool is_used;
};

struct table {
    uint64_t mark; /* a random number, by which ranks know that this is the memory of rank 0 */
    struct row rows[];
};

/* Where the memory is, as rank 0 tells it. */
struct place {
    int process, file; /* file -1: there is none */
    uint64_t mark;
};

/* Static, as the counters are. NULL: they are not shared. */
static const struct table *shared;
static unsigned shared_count; /* ranks of the group */

static size_t table_bytes(const struct group *group)
{
    return sizeof(struct table) + group->size * sizeof(struct row);
}

static struct table *map(const struct group *group, int file)
{
    struct table *const table =
        mmap(NULL, table_bytes(group), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return table == MAP_FAILED ? NULL : table;
}

/* Counts in the row of this rank from now on. */
static void use_row(const struct group *group, struct table *table)
{
    struct row *const row = &table->rows[group->rank];
    trace_count_in(row->bytes);
    atomic_store(&row->is_used, true);
}

/* Creates the memory. On failure place->file is -1. */
static struct table *create(const struct group *group, struct place *place)
{
    struct table *table = NULL;
    const int file = memfd_create("gpusort", MFD_CLOEXEC);
    if (file < 0)
        return NULL;
    if (ftruncate(file, (off_t)table_bytes(group)) == 0 &&
        getrandom(&place->mark, sizeof place->mark, 0) == (ssize_t)sizeof place->mark)
        table = map(group, file);
    if (table) {
        table->mark = place->mark;
        place->file = file; /* stays open for the other ranks */
    } else {
        close(file);
    }
    return table;
}

/* Maps the memory of rank 0; NULL if this is another host. The path may lead to any file there, so
 * only one with the size and the mark is taken. */
static struct table *find(const struct group *group, const struct place *place)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", place->process, place->file);
    if (place->file < 0 || stat(path, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size != (off_t)table_bytes(group))
        return NULL;
    const int file = open(path, O_RDWR | O_CLOEXEC);
    struct table *const table = file < 0 ? NULL : map(group, file);
    if (file >= 0)
        close(file);
    if (!table || table->mark == place->mark)
        return table;
    munmap(table, table_bytes(group));
    return NULL;
}

bool trace_ranks_share(struct group *group, bool is_wanted, struct error *error)
{
    struct place place = {.process = (int)getpid(), .file = -1};
    struct table *table = NULL;
    if (group->rank == 0 && is_wanted)
        table = create(group, &place);
    if (!group_broadcast(group, &place, sizeof place, error))
        return false;
    if (group->rank > 0)
        table = find(group, &place);
    if (!table)
        return true;
    use_row(group, table);
    shared = table;
    shared_count = group->size;
    return true;
}

unsigned trace_ranks_look(struct trace_view *view)
{
    unsigned counted = 1;
    for (unsigned rank = 1; shared && rank < shared_count; rank++) {
        const struct row *const row = &shared->rows[rank];
        counted += atomic_load(&row->is_used);
        for (size_t i = 0; i < TRACE_LANE_COUNT; i++)
            view->bytes[i] += atomic_load_explicit(&row->bytes[i], memory_order_relaxed);
    }
    return counted;
}
