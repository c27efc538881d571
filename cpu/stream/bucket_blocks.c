/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_blocks.c - see bucket_blocks.h. */
#include "cpu/stream/bucket_blocks.h"

#include "core/key_map.h"
#include "cpu/partition/bucket_model.h"

#include <string.h>

/* Takes a block from the pool for a chain that ends at `end`. Returns the offset of the block. */
static size_t take_block(struct block_pool *pool, size_t end)
{
    const size_t block = __atomic_fetch_add(&pool->used, 1, __ATOMIC_RELAXED);
    pool->previous[block] = end > 0 ? (uint32_t)(end / pool->block_bytes - 1) : 0;
    return block * pool->block_bytes;
}

/* Returns the pool offset to which the bucket's buffer is written next. */
static size_t next_line_offset(struct block_pool *pool, const struct bucket_chains *chains,
                               size_t bucket)
{
    const size_t end = chains->ends[bucket];
    return end % pool->block_bytes == 0 ? take_block(pool, end) : end;
}

/* Writes the bucket's full buffer to the pool. */
static void flush_buffer(struct block_pool *pool, const struct bucket_chains *chains, size_t bucket)
{
    const size_t end = next_line_offset(pool, chains, bucket);
    streaming_store(pool->data + end, chains->write_buffers + write_buffer_begin(bucket));
    chains->ends[bucket] = end + WRITE_BUFFER_BYTES;
    chains->written[bucket] += WRITE_BUFFER_BYTES;
    chains->cursors[bucket] = write_buffer_begin(bucket);
}

INLINE void scatter_block_keys(struct block_pool *pool, const struct bucket_chains *chains,
                               const struct bucket_block *block, size_t count, unsigned width,
                               const uint16_t *cell_buckets)
{
    uint32_t *const cursors = chains->cursors; /* a local copy, because memcpy to the buffers may
                                                * alias any type */
    unsigned char *const buffers = chains->write_buffers;
    for (size_t i = 0; i < count; i++) {
        const uint32_t found = block->buckets[i];
        const size_t bucket = cell_buckets ? cell_buckets[found] : found;
        const uint32_t place = cursors[bucket], next = place + width;
        memcpy(buffers + place, block->keys + i * width, width);
        cursors[bucket] = next;
        if (next % WRITE_BUFFER_BYTES == 0)
            flush_buffer(pool, chains, bucket);
    }
}

void bucket_chains_begin(const struct bucket_chains *chains, size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets; bucket++)
        chains->cursors[bucket] = write_buffer_begin(bucket);
}

/* Appends the items to the chains of their buckets, found by `fine`, or by the model if it is NULL.
 */
INLINE void put_keys(struct block_pool *pool, const struct bucket_chains *chains, unsigned width,
                     const void *items, size_t count, struct key_order order,
                     const struct bucket_model *model, const struct fine_table *fine)
{
    struct bucket_block block;
    for (size_t i = 0, step; i < count; i += step) {
        const unsigned char *const next = (const unsigned char *)items + i * width;
        step = count - i < BUCKET_BLOCK_COUNT ? count - i : BUCKET_BLOCK_COUNT;
        bucket_map(width, next, step, order, model, fine, &block);
        scatter_block_keys(pool, chains, &block, step, width, fine ? fine->buckets : NULL);
    }
    streaming_fence();
}

void bucket_chains_put(struct block_pool *pool, const struct bucket_chains *chains, unsigned width,
                       const void *items, size_t count, struct key_order order,
                       const struct bucket_model *model, const struct fine_table *fine)
{
    if (width == 4 && fine)
        put_keys(pool, chains, 4, items, count, order, model, fine);
    else if (width == 4)
        put_keys(pool, chains, 4, items, count, order, model, NULL);
    else if (fine)
        put_keys(pool, chains, 8, items, count, order, model, fine);
    else
        put_keys(pool, chains, 8, items, count, order, model, NULL);
}

void bucket_chains_flush(struct block_pool *pool, const struct bucket_chains *chains,
                         size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const uint32_t begin = write_buffer_begin(bucket), bytes = chains->cursors[bucket] - begin;
        if (bytes == 0)
            continue;
        chains->ends[bucket] = next_line_offset(pool, chains, bucket);
        memcpy(pool->data + chains->ends[bucket], chains->write_buffers + begin, bytes);
        chains->ends[bucket] += bytes;
        chains->written[bucket] += bytes;
        chains->cursors[bucket] = begin;
    }
}

struct block_piece bucket_chain_last(const struct block_pool *pool,
                                     const struct bucket_chains *chains, size_t bucket)
{
    const size_t end = chains->ends[bucket];
    if (end == 0)
        return (struct block_piece){NULL, 0, 0};
    const size_t block = (end - 1) / pool->block_bytes, begin = block * pool->block_bytes;
    return (struct block_piece){pool->data + begin, end - begin, block};
}

struct block_piece bucket_chain_previous(const struct block_pool *pool, struct block_piece piece)
{
    const size_t block = pool->previous[piece.block];
    if (block == 0)
        return (struct block_piece){NULL, 0, 0};
    return (struct block_piece){pool->data + block * pool->block_bytes, pool->block_bytes, block};
}

size_t bucket_chain_gather(const struct block_pool *pool, const struct bucket_chains *chains,
                           size_t bucket, void *to)
{
    unsigned char *next = to;
    for (struct block_piece piece = bucket_chain_last(pool, chains, bucket); piece.bytes > 0;
         piece = bucket_chain_previous(pool, piece)) {
        memcpy(next, piece.data, piece.bytes);
        next += piece.bytes;
    }
    return (size_t)(next - (unsigned char *)to);
}

size_t bucket_chain_overwrite(const struct block_pool *pool, const struct bucket_chains *chains,
                              size_t bucket, const void *from, struct key_check *check)
{
    const unsigned char *next = from;
    for (struct block_piece piece = bucket_chain_last(pool, chains, bucket); piece.bytes > 0;
         piece = bucket_chain_previous(pool, piece)) {
        const size_t count = piece.bytes / check->key_bytes;
        key_map_decode(check->key_bytes, check->order, next, count,
                       pool->data + piece.block * pool->block_bytes);
        key_check_begin_chunk(check, piece.data, count);
        tap_observe(&check->tap, piece.data, piece.bytes);
        next += piece.bytes;
    }
    return (size_t)(next - (const unsigned char *)from);
}
