/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_partition.h - moves the items of a range to buckets, by a team or by one thread.
 *
 *   sample -> model of the distribution (bucket_model.h)
 *   each thread: count the buckets of its items; prefix sum; scatter, encoded
 *
 * Partition with software write-combining buffers: Satish et al., "Fast Sort on CPUs and GPUs"
 * (SIGMOD 2010); Polychroniou and Ross, "A Comprehensive Study of Main-Memory Partitioning" (SIGMOD
 * 2014).
 */
#ifndef CPU_BUCKET_PARTITION_H
#define CPU_BUCKET_PARTITION_H

#include "cpu/partition/partition_workspace.h"
#include "cpu/partition/sort_progress.h"
#include "cpu/team.h"

#include <stdatomic.h>

/* Sample keys per wanted bucket. */
#define SAMPLES_PER_BUCKET 16u

/* A running sort, shared by its threads. */
struct sort_job {
    unsigned width;         /* bytes per item */
    unsigned char *items;   /* input and output */
    unsigned char *scratch; /* as large as items, except if team_quicksort_is_in_place */
    struct key_order order; /* of the stored keys */
    size_t count;
    struct partition_workspace_plan plan;
    void *workspaces;               /* one per member of the team */
    atomic_bool has_disorder;       /* a member found its part out of order */
    atomic_bool exceeds_few_values; /* a member counted more than FEW_VALUES_MAX values */
    atomic_bool exceeds_table;      /* a member counted too many values for a table */
    atomic_size_t next;             /* next of the team's buckets to claim */
    struct sort_progress progress;  /* of the input buckets */
};

/* The calling thread, working on a range with its team or alone. */
struct sort_worker {
    const struct member *member; /* NULL: alone */
    struct partition_workspace *workspace;
};

/* Number of members that work on the range; 1 for a lone worker. */
unsigned worker_count(struct sort_worker worker);

/* Number of the caller among them, from 0. */
unsigned worker_number(struct sort_worker worker);

/* Barrier for the members that work on the range. Does nothing for a lone worker. */
void worker_barrier(struct sort_worker worker);

/* The caller's part of the range is [worker_begin, worker_end). */
size_t worker_begin(struct item_range range, struct sort_worker worker);
size_t worker_end(struct item_range range, struct sort_worker worker);

/* Returns the number of buckets to aim at for `count` items and `parts` threads: a power of two.
 * A partition makes at most twice as many, or BUCKET_MODEL_BUCKETS_MIN if that is more. */
unsigned partition_fan_out(size_t count, unsigned parts);

/* Samples the range and returns the input for a model of buckets_wanted buckets. samples: room
 * for twice plan->samples_max keys; the result points into it. */
struct model_input sample_for_model(unsigned width, struct item_range range,
                                    const struct partition_workspace_plan *plan,
                                    unsigned buckets_wanted, uint64_t *samples);

/* Moves the items of range.from to range.other by bucket, encoded, and returns the number of
 * buckets: bucket b is at [(*starts)[b], (*starts)[b + 1]). All members call it. starts stays
 * valid until the next partition by the team, or by this thread alone if it was alone. */
size_t bucket_partition(struct sort_job *job, struct item_range range, struct sort_worker worker,
                        const size_t **starts);

#endif
