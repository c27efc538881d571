/* SPDX-License-Identifier: Apache-2.0 */
/* partition_workspace.c - see partition_workspace.h. */
#include "cpu/partition/partition_workspace.h"

static size_t starts_bytes(const struct partition_workspace_plan *plan)
{
    return round_to_cache_line((plan->buckets_max + (size_t)1) * sizeof(size_t));
}

static size_t pending_bytes(const struct partition_workspace_plan *plan)
{
    return round_to_cache_line(plan->pending_max * sizeof(struct item_range));
}

/* Memory that is used for samples first and as room for a bucket later. */
static size_t shared_bytes(const struct partition_workspace_plan *plan)
{
    const size_t samples = 2 * plan->samples_max * sizeof(uint64_t);
    return round_to_cache_line(samples > plan->room_bytes ? samples : plan->room_bytes);
}

void partition_workspace_measure(struct partition_workspace_plan *plan)
{
    plan->bytes = round_to_cache_line(sizeof(struct partition_workspace)) + 4 * starts_bytes(plan) +
                  (plan->buckets_max + (size_t)1) * WRITE_BUFFER_BYTES + pending_bytes(plan) +
                  shared_bytes(plan);
}

struct partition_workspace *partition_workspace_at(const struct partition_workspace_plan *plan,
                                                   void *memory, unsigned number)
{
    return (void *)((unsigned char *)memory + number * plan->bytes);
}

void partition_workspace_init(const struct partition_workspace_plan *plan,
                              struct partition_workspace *workspace)
{
    unsigned char *next = (unsigned char *)workspace + round_to_cache_line(sizeof *workspace);
    size_t **const by_bucket[] = {&workspace->positions, &workspace->first, &workspace->team_starts,
                                  &workspace->own_starts};
    for (size_t i = 0; i < sizeof by_bucket / sizeof *by_bucket; i++) {
        *by_bucket[i] = (void *)next;
        next += starts_bytes(plan);
    }
    next += -(uintptr_t)next % WRITE_BUFFER_BYTES;
    workspace->write_buffers = next;
    next += plan->buckets_max * (size_t)WRITE_BUFFER_BYTES;
    workspace->pending = (void *)next;
    workspace->pending_count = 0;
    next += pending_bytes(plan);
    workspace->samples = (void *)next;
    workspace->room = next;
}
