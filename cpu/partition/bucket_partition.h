/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_partition.h - moves the items of a range to buckets, by a team or by one thread.
 *
 *   sample -> model of the distribution (bucket_model.h)
 *   all threads: count the buckets of their part; sum; scatter it, encoded
 *
 * Partition with buffered lines: Satish et al., "Fast Sort on CPUs and GPUs" (SIGMOD 2010);
 * Polychroniou and Ross, "A Comprehensive Study of Main-Memory Partitioning" (SIGMOD 2014).
 */
#ifndef CPU_BUCKET_PARTITION_H
#define CPU_BUCKET_PARTITION_H

#include "cpu/partition/sort_progress.h"
#include "cpu/partition/partition_workspace.h"
#include "cpu/team.h"

#include <stdatomic.h>

/* Keys of a sample for each bucket that is wanted. */
#define SAMPLES_PER_BUCKET 16u

/* A sort under way; of all its threads. */
struct sort_job {
    unsigned width;         /* bytes of an item */
    unsigned char *items;   /* the input; the output */
    unsigned char *scratch; /* of the same size, but where team_quicksort_is_in_place */
    struct key_order order; /* of the stored keys */
    size_t count;
    struct partition_workspace_plan plan;
    void *workspaces;              /* one for each member of the team */
    atomic_bool is_disordered;     /* what the members found in the range that they look at */
    atomic_bool has_more_values;   /* than few: what a member found that counted them */
    atomic_bool has_many_values;   /* more than a table is for */
    atomic_size_t next;            /* which of the team's buckets is the next to be sorted */
    struct sort_progress progress; /* of the buckets of the input */
};

/* The calling thread, and with whom it works on a range: the team, or alone. */
struct sort_worker {
    const struct member *member; /* NULL: alone */
    struct partition_workspace *workspace;
};

/* The members that work on the range; 1 for who is alone. */
unsigned worker_count(struct sort_worker worker);

/* Which of them the caller is, from 0. */
unsigned worker_number(struct sort_worker worker);

/* Returns when all who work on the range have called it. */
void worker_barrier(struct sort_worker worker);

/* The caller's part of the range is begin..end. */
size_t worker_begin(struct item_range range, struct sort_worker worker);
size_t worker_end(struct item_range range, struct sort_worker worker);

/* How many buckets are wanted of so many items in so many parts: a power of two. The most that a
 * partition makes is twice as many, or BUCKET_MODEL_BUCKETS_MIN if that is more. */
unsigned partition_fan_out(size_t count, unsigned parts);

/* What a sample of the range says of its keys, for so many buckets. samples: as many as the plan
 * says, and room to sort them. */
struct model_sample take_model_sample(unsigned width, struct item_range range,
                                      const struct partition_workspace_plan *plan,
                                      unsigned buckets_wanted, uint64_t *samples);

/* Moves the items of range.from to range.other, bucket by bucket, encoded, and returns how many
 * buckets there are: bucket b is at (*starts)[b]..(*starts)[b + 1]. The starts stay until the next
 * partition by the team or by the caller alone, whichever this one is. */
size_t bucket_partition(struct sort_job *job, struct item_range range, struct sort_worker worker,
                        const size_t **starts);

#endif
