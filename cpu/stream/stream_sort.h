/* SPDX-License-Identifier: Apache-2.0 */
/* stream_sort.h - a stream of keys, between stream_sort.c, which partitions its input, and
 * stream_give.c, which sorts its buckets and gives them. cpu_sorts.h is the interface.
 */
#ifndef CPU_STREAM_SORT_H
#define CPU_STREAM_SORT_H

#include "cpu/cpu_sorts.h"
#include "cpu/pages.h"
#include "cpu/partition/bucket_partition.h"
#include "cpu/stream/bucket_blocks.h"
#include "cpu/team.h"

/* State of one thread. */
struct stream_part {
    struct bucket_chains chains;
    unsigned char *gathered, *room; /* room for a bucket each */
    bool is_busy;                   /* a reading thread uses this part */
};

/* A bucket too large for a cache, sorted as an array. */
struct large_bucket {
    size_t bucket;
    struct pages keys; /* if the ring has no range for it */
};

/* The keys of another rank, partitioned by the same model. */
struct peer {
    unsigned rank;
    unsigned parts;
    size_t block_bytes;
    uint64_t data;      /* address of its blocks in its memory */
    uint32_t *previous; /* copy of its pool's `previous` */
    uint64_t *ends;     /* copy of the ends of its chains: bucket b of part i at i * buckets + b */
};

struct stream_sort {
    struct tap tap; /* first, so that tap and stream have one address; its `observe` adds keys */
    struct sort_task task;
    bool is_counted;      /* task.count is exact; otherwise it is COUNT_USUAL */
    bool is_of_all_keys;  /* the model is from a sample of all keys */
    size_t planned_count; /* keys for which buckets are planned: of all ranks, or task.count */
    unsigned buckets_wanted;
    struct partition_workspace_plan plan;
    struct bucket_model model;
    struct fine_table fine; /* of the model, if has_fine */
    bool has_fine;
    size_t count;           /* keys put so far */
    struct pages memory;    /* the arrays by bucket and by part */
    struct pages blocks;    /* pool.data */
    struct pages previous;  /* pool.previous */
    struct block_pool pool; /* the blocks with the keys */
    struct stream_part *parts;
    bool is_ended;         /* no more keys are put */
    pthread_mutex_t mutex; /* protects the fields below, and is_busy and count while the tap is
                            * used */
    pthread_cond_t changed;
    uint64_t busy_ns; /* sum over the threads, for adding keys at the tap and sorting buckets */

    /* Output. Indexed by bucket: */
    size_t *starts; /* offset in bytes in the endless output */
    size_t *sizes;  /* bytes */
    unsigned char *ring;
    size_t ring_bytes;
    bool is_given_twice;        /* blocks and large buckets are kept until the close */
    struct key_check *checks;   /* of each bucket, if the keys are given twice */
    struct large_bucket *large; /* in order of the buckets */
    size_t large_count;
    struct team team;
    bool has_team;
    struct finished_buckets finished; /* buckets that can be given */
    size_t next;                      /* next bucket to sort */
    size_t given;                     /* buckets before it were given */
    size_t taken_back;                /* buckets before it were taken back */
    uint64_t position;                /* of bucket `next` in the file, while buckets are written */
    bool is_stopped;
    struct error failure; /* of reading the keys of other ranks, or of sorting a large bucket */

    /* For keys that are shared with other ranks. Buckets outside of this rank's range have size 0.
     */
    const struct rank_memory *rank_memory; /* NULL: the keys are not shared */
    struct peer *peers;
    size_t peer_count;
    size_t skipped; /* bytes that lower ranks give: the beginning of the first bucket */
    bool has_skipped;
};

/* Maximum keys of a bucket that is sorted in cache. */
static inline size_t stream_room_count(const struct stream_sort *stream)
{
    return stream->plan.room_bytes / stream->task.item_bytes;
}

/* Ends the input: writes the keys that are buffered to the blocks. */
void stream_end_input(struct stream_sort *stream);

/* Ends the team that makes the output, if there is one. */
void stream_stop_team(struct stream_sort *stream);

/* Returns the number of keys of this rank in the bucket. */
size_t stream_bucket_count(const struct stream_sort *stream, size_t bucket);

/* Copies the bucket's keys of other ranks to `to`. Returns their end, or NULL if that fails. */
unsigned char *stream_gather_peers(const struct stream_sort *stream, size_t bucket,
                                   unsigned char *to, struct error *error);

/* Frees what stream_sort_share has allocated, if anything. */
void stream_free_peers(struct stream_sort *stream);

/* Returns the number of keys in buckets with more than `most` keys; the largest bucket counts
 * twice. */
size_t stream_excess(const struct stream_sort *stream, size_t most);

#endif
