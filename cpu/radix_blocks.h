/* SPDX-License-Identifier: Apache-2.0 */
/* radix_blocks.h - buckets of a partition whose sizes nobody knows beforehand: each is a chain of
 * blocks for each thread, which are taken from one pool as they fill up.
 *
 *   a thread's part of the items -> buckets, a line each in cache -> blocks
 *   the blocks of a bucket, of all threads -> one piece
 *
 * So keys can be partitioned as they come, and are counted on the way: the memory is crossed once
 * less than by counting them first. The order of equal keys is lost, so this is for items that are
 * nothing but keys.
 */
#ifndef CPU_RADIX_BLOCKS_H
#define CPU_RADIX_BLOCKS_H

#include "core/key_order.h"
#include "cpu/radix_kernels.h"
#include "cpu/radix_model.h"

#include <stddef.h>
#include <stdint.h>

struct radix_pool {
    unsigned char *data; /* aligned to a cache line; block 0 is never used */
    size_t block_bytes;  /* a multiple of RADIX_LINE_BYTES */
    uint32_t *previous;  /* by block: the one before it in its chain, 0: none */
    size_t used;         /* blocks, block 0 among them; any thread takes one */
};

/* What a thread has put into the buckets. By bucket: */
struct radix_heap {
    uint32_t *places;     /* of the next item in lines */
    size_t *written;      /* bytes in the pool */
    size_t *ends;         /* where its next line goes in the pool; 0: nowhere yet */
    unsigned char *lines; /* RADIX_LINE_BYTES each, aligned to a cache line: items on their way */
};

/* Where the bucket's line begins. */
static inline uint32_t radix_line_begin(size_t bucket)
{
    return (uint32_t)(bucket * RADIX_LINE_BYTES);
}
_Static_assert(RADIX_MODEL_BUCKETS_MAX <= UINT32_MAX / RADIX_LINE_BYTES, "a place");

/* All that the thread has put into the bucket. */
static inline size_t radix_heap_bytes(const struct radix_heap *heap, size_t bucket)
{
    return heap->written[bucket] + heap->places[bucket] - radix_line_begin(bucket);
}

/* Begins a heap of so many buckets, empty ones, in memory that is all zeros. */
void radix_blocks_begin(const struct radix_heap *heap, size_t buckets);

/* Moves items[0..count), keys of `width` bytes, 4 or 8, to the thread's heaps, encoded, by the fine
 * cells of the model, or if that has none, fine is NULL, by the model. There is room in the pool:
 * for what was put and is put, and a block for each bucket and thread. */
void radix_blocks_put(struct radix_pool *pool, const struct radix_heap *heap, unsigned width,
                      const void *items, size_t count, struct key_order order,
                      const struct radix_model *model, const struct radix_fine *fine);

/* Empties the lines of so many buckets into the pool: nothing more is put. */
void radix_blocks_end(struct radix_pool *pool, const struct radix_heap *heap, size_t buckets);

/* What the thread has put into a bucket, when that has ended, a block at a time. */
struct radix_piece {
    const unsigned char *data;
    size_t bytes; /* 0: there is no more */
    size_t block;
};
struct radix_piece radix_blocks_last(const struct radix_pool *pool, const struct radix_heap *heap,
                                     size_t bucket);
struct radix_piece radix_blocks_before(const struct radix_pool *pool, struct radix_piece piece);

/* Copies all of it; returns how many bytes. */
size_t radix_blocks_gather(const struct radix_pool *pool, const struct radix_heap *heap,
                           size_t bucket, void *to);

#endif
