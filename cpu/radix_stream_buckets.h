/* SPDX-License-Identifier: Apache-2.0 */
/* radix_stream_buckets.h - what a stream of keys (radix_stream.h) is made of: of its two sources
 * alone.
 *
 *   radix_stream.c         keys in: the model, the memory, the blocks of buckets
 *   radix_stream_output.c  keys out: buckets in order, sorted, in a ring
 */
#ifndef CPU_RADIX_STREAM_BUCKETS_H
#define CPU_RADIX_STREAM_BUCKETS_H

#include "cpu/pages.h"
#include "cpu/radix_blocks.h"
#include "cpu/radix_progress.h"
#include "cpu/radix_stream.h"
#include "cpu/radix_workspace.h"
#include "cpu/team.h"

/* Of a thread. */
struct stream_part {
    struct radix_heap heap;
    unsigned char *gathered, *room; /* for a bucket each */
    bool is_busy;                   /* a thread at the tap has it */
};

/* A bucket that is too large for a cache, sorted in an array. */
struct large_bucket {
    size_t bucket;
    struct pages keys;
};

struct radix_stream {
    struct tap tap; /* that takes keys */
    struct radix_task task;
    bool is_counted; /* task.count will come; else that is a guess */
    bool is_of_all;  /* what was learned from */
    unsigned buckets_wanted;
    struct radix_workspace_plan plan;
    struct radix_model model;
    struct radix_fine fine; /* of the model, if it has one */
    bool has_fine;
    size_t count;           /* keys that were put */
    struct pages memory;    /* of all that is by bucket and by part */
    struct pages blocks;    /* of the pool */
    struct pages previous;  /* of the pool */
    struct radix_pool pool; /* of the keys */
    struct stream_part *parts;
    bool is_ended;         /* nothing more is put */
    pthread_mutex_t mutex; /* over the rest, and over who is at the tap */
    pthread_cond_t changed;
    uint64_t busy_ns; /* of all threads, to take keys from the tap and to sort buckets */

    /* The output. By bucket: */
    size_t *starts; /* bytes, in the row of output */
    size_t *sizes;  /* bytes; a large one has no place in it */
    unsigned char *ring;
    struct large_bucket *large; /* in order */
    size_t large_count;
    struct team team;
    bool has_team;
    struct radix_row row; /* what is finished can be given */
    size_t next;          /* the bucket that is sorted next */
    size_t given;         /* those before it were given */
    size_t taken_back;    /* those before it were taken back */
    bool is_stopped;
};

/* What goes beyond buckets that are even. */
struct radix_stream_excess {
    size_t buckets; /* of more than so many keys */
    size_t keys;    /* in these, and once more the most in one */
};

/* Of the buckets of more than `most` keys. */
struct radix_stream_excess radix_stream_excess(const struct radix_stream *stream, size_t most);

/* The keys of a bucket. */
size_t radix_stream_bucket_count(const struct radix_stream *stream, size_t bucket);

/* The keys that a bucket may have to be sorted in cache. */
static inline size_t radix_stream_room_count(const struct radix_stream *stream)
{
    return stream->plan.room_bytes / stream->task.item_bytes;
}

/* Nothing more is put: brings what is in lines to the blocks. */
void radix_stream_end_input(struct radix_stream *stream);

#endif
