/* SPDX-License-Identifier: Apache-2.0 */
/* radix_workspace.c - see radix_workspace.h. */
#include "cpu/radix_workspace.h"

static size_t starts_bytes(const struct radix_workspace_plan *plan)
{
    return radix_whole_lines((plan->buckets_max + (size_t)1) * sizeof(size_t));
}

static size_t pending_bytes(const struct radix_workspace_plan *plan)
{
    return radix_whole_lines(plan->pending_max * sizeof(struct radix_range));
}

/* What the samples and the room share. */
static size_t shared_bytes(const struct radix_workspace_plan *plan)
{
    const size_t samples = 2 * plan->samples_max * sizeof(uint64_t);
    return radix_whole_lines(samples > plan->room_bytes ? samples : plan->room_bytes);
}

void radix_workspace_measure(struct radix_workspace_plan *plan)
{
    plan->bytes = radix_whole_lines(sizeof(struct radix_workspace)) + 4 * starts_bytes(plan) +
                  (plan->buckets_max + (size_t)1) * RADIX_LINE_BYTES + pending_bytes(plan) +
                  shared_bytes(plan);
}

struct radix_workspace *radix_workspace_at(const struct radix_workspace_plan *plan, void *memory,
                                           unsigned number)
{
    return (void *)((unsigned char *)memory + number * plan->bytes);
}

void radix_workspace_init(const struct radix_workspace_plan *plan,
                          struct radix_workspace *workspace)
{
    unsigned char *next = (unsigned char *)workspace + radix_whole_lines(sizeof *workspace);
    size_t **const by_bucket[] = {&workspace->positions, &workspace->first, &workspace->team_starts,
                                  &workspace->own_starts};
    for (size_t i = 0; i < sizeof by_bucket / sizeof *by_bucket; i++) {
        *by_bucket[i] = (void *)next;
        next += starts_bytes(plan);
    }
    next += -(uintptr_t)next % RADIX_LINE_BYTES;
    workspace->lines = next;
    next += plan->buckets_max * (size_t)RADIX_LINE_BYTES;
    workspace->pending = (void *)next;
    workspace->pending_count = 0;
    next += pending_bytes(plan);
    workspace->samples = (void *)next;
    workspace->room = next;
}
