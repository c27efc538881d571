/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_blocks.h - buckets of a partition whose sizes nobody knows beforehand: each is a chain of
 * blocks for each thread, which are taken from one pool as they fill up.
 *
 *   a thread's part of the items -> buckets, a line each in cache -> blocks
 *   the blocks of a bucket, of all threads -> one piece
 *
 * So keys can be partitioned as they come, and are counted on the way: the memory is crossed once
 * less than by counting them first. The order of equal keys is lost, so this is for items that are
 * nothing but keys.
 */
#ifndef CPU_BUCKET_BLOCKS_H
#define CPU_BUCKET_BLOCKS_H

#include "core/key_order.h"
#include "cpu/partition/item_kernels.h"
#include "cpu/partition/bucket_model.h"

#include <stddef.h>
#include <stdint.h>

struct block_pool {
    unsigned char *data; /* aligned to a cache line; block 0 is never used */
    size_t block_bytes;  /* a multiple of WRITE_BUFFER_BYTES */
    uint32_t *previous;  /* by block: the one before it in its chain, 0: none */
    size_t used;         /* blocks, block 0 among them; any thread takes one */
};

/* What a thread has put into the buckets. By bucket: */
struct bucket_chains {
    uint32_t *cursors;    /* of the next item in lines */
    size_t *written;      /* bytes in the pool */
    size_t *ends;         /* where its next line goes in the pool; 0: nowhere yet */
    unsigned char *lines; /* WRITE_BUFFER_BYTES each, aligned to a cache line: items on their way */
};

/* Where the bucket's line begins. */
static inline uint32_t write_buffer_begin(size_t bucket)
{
    return (uint32_t)(bucket * WRITE_BUFFER_BYTES);
}
_Static_assert(BUCKET_MODEL_BUCKETS_MAX <= UINT32_MAX / WRITE_BUFFER_BYTES, "a place");

/* All that the thread has put into the bucket. */
static inline size_t bucket_chain_bytes(const struct bucket_chains *heap, size_t bucket)
{
    return heap->written[bucket] + heap->cursors[bucket] - write_buffer_begin(bucket);
}

/* Begins a heap of so many buckets, empty ones, in memory that is all zeros. */
void bucket_chains_begin(const struct bucket_chains *heap, size_t buckets);

/* Moves items[0..count), keys of `width` bytes, 4 or 8, to the thread's heaps, encoded, by the fine
 * cells of the model, or if that has none, fine is NULL, by the model. There is room in the pool:
 * for what was put and is put, and a block for each bucket and thread. */
void bucket_chains_put(struct block_pool *pool, const struct bucket_chains *heap, unsigned width,
                       const void *items, size_t count, struct key_order order,
                       const struct bucket_model *model, const struct fine_table *fine);

/* Empties the lines of so many buckets into the pool: nothing more is put. */
void bucket_chains_flush(struct block_pool *pool, const struct bucket_chains *heap, size_t buckets);

/* What the thread has put into a bucket, when that has ended, a block at a time. */
struct block_piece {
    const unsigned char *data;
    size_t bytes; /* 0: there is no more */
    size_t block;
};
struct block_piece bucket_chain_last(const struct block_pool *pool,
                                     const struct bucket_chains *heap, size_t bucket);
struct block_piece bucket_chain_previous(const struct block_pool *pool, struct block_piece piece);

/* Copies all of it; returns how many bytes. */
size_t bucket_chain_gather(const struct block_pool *pool, const struct bucket_chains *heap,
                           size_t bucket, void *to);

#endif
