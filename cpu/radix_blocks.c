/* SPDX-License-Identifier: Apache-2.0 */
/* radix_blocks.c - see radix_blocks.h. */
#include "cpu/radix_blocks.h"

#include "cpu/bucket_map.h"
#include "cpu/radix_kernels.h"
#include "cpu/stream_line.h"

#include <string.h>

/* A block for a chain that has come to `end`; returns where it begins. */
static size_t take_block(struct radix_pool *pool, size_t end)
{
    const size_t block = __atomic_fetch_add(&pool->used, 1, __ATOMIC_RELAXED);
    pool->previous[block] = end > 0 ? (uint32_t)(end / pool->block_bytes - 1) : 0;
    return block * pool->block_bytes;
}

/* Where the bucket's next line goes. */
static size_t find_room(struct radix_pool *pool, const struct radix_heap *heap, size_t bucket)
{
    const size_t end = heap->ends[bucket];
    return end % pool->block_bytes == 0 ? take_block(pool, end) : end;
}

/* Empties the bucket's line, which is full. */
static void write_line(struct radix_pool *pool, const struct radix_heap *heap, size_t bucket)
{
    const size_t end = find_room(pool, heap, bucket);
    stream_line(pool->data + end, heap->lines + radix_line_begin(bucket), RADIX_LINE_BYTES);
    heap->ends[bucket] = end + RADIX_LINE_BYTES;
    heap->written[bucket] += RADIX_LINE_BYTES;
    heap->places[bucket] = radix_line_begin(bucket);
}

static inline __attribute__((always_inline)) void
put_block(struct radix_pool *pool, const struct radix_heap *heap, const struct bucket_block *block,
          size_t count, unsigned width, const uint16_t *of_cells)
{
    uint32_t *const places = heap->places; /* by themselves, as what is stored is of any type */
    unsigned char *const lines = heap->lines;
    for (size_t i = 0; i < count; i++) {
        const uint32_t found = block->buckets[i];
        const size_t bucket = of_cells ? of_cells[found] : found;
        const uint32_t place = places[bucket], next = place + width;
        memcpy(lines + place, block->keys + i * width, width);
        places[bucket] = next;
        if (next % RADIX_LINE_BYTES == 0)
            write_line(pool, heap, bucket);
    }
}

void radix_blocks_begin(const struct radix_heap *heap, size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets; bucket++)
        heap->places[bucket] = radix_line_begin(bucket);
}

/* By the fine cells, if they are there. */
static inline __attribute__((always_inline)) void
put_keys(struct radix_pool *pool, const struct radix_heap *heap, unsigned width, const void *items,
         size_t count, struct key_order order, const struct radix_model *model,
         const struct radix_fine *fine)
{
    struct bucket_block block;
    for (size_t i = 0, step; i < count; i += step) {
        const unsigned char *const next = (const unsigned char *)items + i * width;
        step = count - i < BUCKET_BLOCK_COUNT ? count - i : BUCKET_BLOCK_COUNT;
        if (fine)
            bucket_map_fine(width, next, step, order, fine, &block);
        else
            bucket_map(width, next, step, order, model, &block);
        put_block(pool, heap, &block, step, width, fine ? fine->buckets : NULL);
    }
    stream_end();
}

void radix_blocks_put(struct radix_pool *pool, const struct radix_heap *heap, unsigned width,
                      const void *items, size_t count, struct key_order order,
                      const struct radix_model *model, const struct radix_fine *fine)
{
    if (width == 4 && fine)
        put_keys(pool, heap, 4, items, count, order, NULL, fine);
    else if (width == 4)
        put_keys(pool, heap, 4, items, count, order, model, NULL);
    else if (fine)
        put_keys(pool, heap, 8, items, count, order, NULL, fine);
    else
        put_keys(pool, heap, 8, items, count, order, model, NULL);
}

void radix_blocks_end(struct radix_pool *pool, const struct radix_heap *heap, size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const uint32_t begin = radix_line_begin(bucket), bytes = heap->places[bucket] - begin;
        if (bytes == 0)
            continue;
        heap->ends[bucket] = find_room(pool, heap, bucket);
        memcpy(pool->data + heap->ends[bucket], heap->lines + begin, bytes);
        heap->ends[bucket] += bytes;
        heap->written[bucket] += bytes;
        heap->places[bucket] = begin;
    }
}

struct radix_piece radix_blocks_last(const struct radix_pool *pool, const struct radix_heap *heap,
                                     size_t bucket)
{
    const size_t end = heap->ends[bucket];
    if (end == 0)
        return (struct radix_piece){NULL, 0, 0};
    const size_t block = (end - 1) / pool->block_bytes, begin = block * pool->block_bytes;
    return (struct radix_piece){pool->data + begin, end - begin, block};
}

struct radix_piece radix_blocks_before(const struct radix_pool *pool, struct radix_piece piece)
{
    const size_t block = pool->previous[piece.block];
    if (block == 0)
        return (struct radix_piece){NULL, 0, 0};
    return (struct radix_piece){pool->data + block * pool->block_bytes, pool->block_bytes, block};
}

size_t radix_blocks_gather(const struct radix_pool *pool, const struct radix_heap *heap,
                           size_t bucket, void *to)
{
    unsigned char *next = to;
    for (struct radix_piece piece = radix_blocks_last(pool, heap, bucket); piece.bytes > 0;
         piece = radix_blocks_before(pool, piece)) {
        memcpy(next, piece.data, piece.bytes);
        next += piece.bytes;
    }
    return (size_t)(next - (unsigned char *)to);
}
