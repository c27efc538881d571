/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_blocks.h - buckets whose sizes are not known in advance: for each thread and bucket, a
 * chain of blocks taken from one pool.
 *
 *   items of a thread -> buckets, a write-combining buffer each -> blocks
 *   blocks of a bucket, of all threads -> one contiguous piece
 *
 * So keys are partitioned while they are read, with no pass to count them first. The order of equal
 * keys is lost, so this is for keys without an index. Functions run in one thread; several threads
 * may share a pool.
 */
#ifndef CPU_BUCKET_BLOCKS_H
#define CPU_BUCKET_BLOCKS_H

#include "core/check/check.h"
#include "core/key_order.h"
#include "cpu/items/item_access.h"
#include "cpu/partition/bucket_model.h"

#include <stddef.h>
#include <stdint.h>

struct block_pool {
    unsigned char *data; /* aligned to a cache line; block 0 is never used */
    size_t block_bytes;  /* a multiple of WRITE_BUFFER_BYTES */
    uint32_t *previous;  /* indexed by block: the previous block of its chain, 0: none */
    size_t used;         /* blocks taken, including block 0; atomic */
};

/* One thread's chains, indexed by bucket: */
struct bucket_chains {
    uint32_t *cursors;            /* offset in write_buffers of the next item */
    size_t *written;              /* bytes written to the pool */
    size_t *ends;                 /* pool offset after the last bytes; 0: no block yet */
    unsigned char *write_buffers; /* WRITE_BUFFER_BYTES each, aligned to a cache line */
};

/* Returns the offset of the bucket's buffer. */
static inline uint32_t write_buffer_begin(size_t bucket)
{
    return (uint32_t)(bucket * WRITE_BUFFER_BYTES);
}
_Static_assert(BUCKET_MODEL_BUCKETS_MAX <= UINT32_MAX / WRITE_BUFFER_BYTES, "a place");

/* Returns the bytes that the thread has put into the bucket. */
static inline size_t bucket_chain_bytes(const struct bucket_chains *chains, size_t bucket)
{
    return chains->written[bucket] + chains->cursors[bucket] - write_buffer_begin(bucket);
}

/* Begins empty chains of `buckets` buckets. The caller has zeroed all arrays. */
void bucket_chains_begin(const struct bucket_chains *chains, size_t buckets);

/* Moves items[0..count), keys of `width` bytes, 4 or 8, to the chains, encoded. fine: NULL if
 * the model has no fine table. The pool must have room for all keys put, and one more block per
 * bucket and thread. */
void bucket_chains_put(struct block_pool *pool, const struct bucket_chains *chains, unsigned width,
                       const void *items, size_t count, struct key_order order,
                       const struct bucket_model *model, const struct fine_table *fine);

/* Flushes the buffers of `buckets` buckets to the pool. No bucket_chains_put may follow. */
void bucket_chains_flush(struct block_pool *pool, const struct bucket_chains *chains,
                         size_t buckets);

/* Iterates over the blocks of a flushed chain, the last one first. */
struct block_piece {
    const unsigned char *data;
    size_t bytes; /* 0: end of the chain */
    size_t block;
};
struct block_piece bucket_chain_last(const struct block_pool *pool,
                                     const struct bucket_chains *chains, size_t bucket);
struct block_piece bucket_chain_previous(const struct block_pool *pool, struct block_piece piece);

/* Copies a flushed chain to `to` and returns its bytes. */
size_t bucket_chain_gather(const struct block_pool *pool, const struct bucket_chains *chains,
                           size_t bucket, void *to);

/* Overwrites a flushed chain with the keys of `from`, decoded by the order of the check, which then
 * observes them in the blocks. The keys are in the order in which bucket_chain_gather copies them.
 * Returns their bytes. */
size_t bucket_chain_overwrite(const struct block_pool *pool, const struct bucket_chains *chains,
                              size_t bucket, const void *from, struct key_check *check);

#endif
