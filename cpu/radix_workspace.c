/* radix_workspace.c - see radix_workspace.h. */
#include "cpu/radix_workspace.h"

#include "cpu/radix_kernels.h"

static size_t align(size_t bytes)
{
    return (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
}

/* What the samples and the room share. */
static size_t shared_bytes(const struct radix_workspace_plan *plan)
{
    const size_t samples = 2 * plan->samples_max * sizeof(uint64_t);
    return align(samples > plan->room_bytes ? samples : plan->room_bytes);
}

struct radix_workspace_plan radix_workspace_make_plan(unsigned buckets_max, size_t samples_max,
                                                      size_t room_bytes)
{
    struct radix_workspace_plan plan = {buckets_max, samples_max, room_bytes, 0};
    plan.bytes = align(sizeof(struct radix_workspace)) + 2 * align(buckets_max * sizeof(size_t)) +
                 buckets_max * (size_t)RADIX_LINE_BYTES + shared_bytes(&plan);
    return plan;
}

struct radix_workspace *radix_workspace_at(const struct radix_workspace_plan *plan, void *memory,
                                           unsigned number)
{
    return (void *)((unsigned char *)memory + number * plan->bytes);
}

void radix_workspace_init(const struct radix_workspace_plan *plan,
                          struct radix_workspace *workspace)
{
    unsigned char *next = (unsigned char *)workspace + align(sizeof *workspace);
    workspace->positions = (void *)next;
    next += align(plan->buckets_max * sizeof(size_t));
    workspace->first = (void *)next;
    next += align(plan->buckets_max * sizeof(size_t));
    workspace->lines = next;
    next += plan->buckets_max * (size_t)RADIX_LINE_BYTES;
    workspace->samples = (void *)next;
    workspace->room = next;
}
