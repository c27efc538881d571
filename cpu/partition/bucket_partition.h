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

#include "core/key_order.h"
#include "core/threads.h"
#include "cpu/counting_sort.h"
#include "cpu/items/item_access.h"
#include "cpu/partition/bucket_model.h"
#include "cpu/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- What one thread needs for a partition, apart from the items ----
 *
 * The size of this workspace depends on the task: for a few megabytes of input, workspaces of full
 * size for many threads would cost more than the sort, as the kernel clears fresh memory in huge
 * pages.
 */

/* Maximum number of sample keys for a model of an array. */
#define SAMPLES_MAX ((size_t)64 << 10)

/* Contiguous items in one array, with the same positions free in the other. */
struct item_range {
    unsigned char *from, *other;
    size_t begin, count;
    struct key_order order; /* of the keys in `from` */
    size_t parent_count;    /* items of the range that this is a bucket of */
};

/* A part of the input for the team quicksort: in `place`, its final position, or in `room`. */
struct quicksort_part {
    unsigned char *place, *room;
    size_t count;
    bool is_in_room;
};

struct partition_workspace {
    struct bucket_model model;
    uint64_t lowest, highest;            /* range of the keys in the thread's part */
    size_t value_counts[FEW_VALUES_MAX]; /* set by few_values_count for the thread's part */
    struct quicksort_part quicksort;     /* for the team quicksort */
    /* Indexed by bucket: */
    size_t *positions;
    size_t *first;
    unsigned char *write_buffers;
    /* Bucket starts of the team's partition (in member 0's workspace) and of this thread's own. */
    size_t *team_starts, *own_starts;
    /* Stack of ranges still to be sorted. */
    struct item_range *pending;
    size_t pending_count;
    /* The same memory, used for one after the other: */
    uint64_t *samples;   /* room for twice plan->samples_max keys */
    unsigned char *room; /* plan->room_bytes, to sort a bucket in cache */
};

/* Sizes, equal for all threads of a task. */
struct partition_workspace_plan {
    unsigned buckets_max; /* maximum buckets of a model */
    size_t samples_max;
    size_t room_bytes; /* maximum bytes of a bucket that is sorted in cache */
    size_t pending_max;
    size_t bytes; /* size of a workspace, a multiple of a cache line */
};

/* Sets plan->bytes from the other fields. */
void partition_workspace_measure(struct partition_workspace_plan *plan);

/* Rounds up to a multiple of a cache line. */
static inline size_t round_to_cache_line(size_t bytes)
{
    return (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
}

/* Returns the workspace of thread `number`. memory: plan->bytes per thread, aligned to a cache
 * line. */
struct partition_workspace *partition_workspace_at(const struct partition_workspace_plan *plan,
                                                   void *memory, unsigned number);

/* Sets the pointers of a workspace, with nothing pending. Its own thread calls this first. */
void partition_workspace_init(const struct partition_workspace_plan *plan,
                              struct partition_workspace *workspace);

/* ---- Which buckets are sorted: threads finish them in any order, and one thread waits for the
 * sorted prefix to grow ---- */

/* Flags of finished buckets. The owner of the structure protects it by a mutex. */
struct finished_buckets {
    unsigned char *is_finished; /* indexed by bucket */
    size_t buckets;
    size_t first_open; /* all buckets before it are finished */
};

static inline void finished_buckets_add(struct finished_buckets *row, size_t bucket)
{
    row->is_finished[bucket] = true;
    while (row->first_open < row->buckets && row->is_finished[row->first_open])
        row->first_open++;
}

struct sort_progress {
    struct finished_buckets finished; /* buckets is 0 until sort_progress_open */
    size_t *starts;                   /* bucket b is at starts[b]..starts[b + 1] of the items */
    pthread_mutex_t mutex;            /* protects `finished` */
    struct counter sorted;            /* items in the sorted prefix */
};

/* Returns the bytes of memory for at most buckets_max buckets. */
size_t sort_progress_bytes(size_t buckets_max);

/* Begins with no buckets. memory: sort_progress_bytes, aligned to a size_t; the caller keeps it. */
void sort_progress_begin(struct sort_progress *progress, size_t buckets_max, void *memory);

/* Copies the starts of `buckets` unfinished buckets. One thread calls it, before
 * sort_progress_finish(). */
void sort_progress_open(struct sort_progress *progress, const size_t *starts, size_t buckets);

/* Reports that the bucket's items are in their final position. Any thread. */
void sort_progress_finish(struct sort_progress *progress, size_t bucket);

/* ---- The partition ---- */

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
    atomic_bool has_disorder;       /* a member's part is not in the order that is checked */
    atomic_bool exceeds_few_values; /* a member found a value that the sample does not have */
    atomic_bool exceeds_table;      /* a member counted too many values for a table */
    atomic_size_t next_bucket;      /* to claim */
    atomic_bool has_ended;          /* true: no more buckets are claimed */
    struct sort_progress progress;  /* of the input buckets */
};

/* The calling thread, working on a range with its team or alone. */
struct sort_worker {
    const struct member *member; /* NULL: alone */
    struct partition_workspace *workspace;
};

/* Number of members that work on the range; 1 for a lone worker. */
unsigned worker_count(struct sort_worker worker);

/* Number of the calling member, from 0; 0 for a lone worker. */
unsigned worker_number(struct sort_worker worker);

/* Barrier for the members that work on the range. Does nothing for a lone worker. */
void worker_barrier(struct sort_worker worker);

/* The caller's part of the range is [worker_begin, worker_end). */
size_t worker_begin(struct item_range range, struct sort_worker worker);
size_t worker_end(struct item_range range, struct sort_worker worker);

/* Returns the number of buckets to aim at for `count` items and `parts` threads: a power of two.
 * A partition may make more, up to plan->buckets_max. */
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
