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

static void write_line(struct radix_pool *pool, const struct radix_heap *heap, size_t bucket,
                       const unsigned char *line)
{
    const size_t end = find_room(pool, heap, bucket);
    stream_line(pool->data + end, line, RADIX_LINE_BYTES);
    heap->ends[bucket] = end + RADIX_LINE_BYTES;
}

static inline __attribute__((always_inline)) void put_block(struct radix_pool *pool,
                                                            const struct radix_heap *heap,
                                                            const struct bucket_block *block,
                                                            size_t count, unsigned width)
{
    const size_t line_items = RADIX_LINE_BYTES / width;
    for (size_t i = 0; i < count; i++) {
        const size_t bucket = block->buckets[i];
        const size_t place = heap->counts[bucket]++ % line_items;
        unsigned char *const line = heap->lines + bucket * RADIX_LINE_BYTES;
        memcpy(line + place * width, block->keys + i * width, width);
        if (place + 1 == line_items)
            write_line(pool, heap, bucket, line);
    }
}

void radix_blocks_put(struct radix_pool *pool, const struct radix_heap *heap, unsigned width,
                      const void *items, size_t count, struct key_order order,
                      const struct radix_model *model)
{
    struct bucket_block block;
    for (size_t i = 0, step; i < count; i += step) {
        step = count - i < BUCKET_BLOCK_COUNT ? count - i : BUCKET_BLOCK_COUNT;
        bucket_map(width, (const unsigned char *)items + i * width, step, order, model, &block);
        if (width == 4)
            put_block(pool, heap, &block, step, 4);
        else
            put_block(pool, heap, &block, step, 8);
    }
    stream_end();
}

void radix_blocks_end(struct radix_pool *pool, const struct radix_heap *heap, unsigned width,
                      size_t buckets)
{
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const size_t bytes = heap->counts[bucket] * width % RADIX_LINE_BYTES;
        if (bytes == 0)
            continue;
        heap->ends[bucket] = find_room(pool, heap, bucket);
        memcpy(pool->data + heap->ends[bucket], heap->lines + bucket * RADIX_LINE_BYTES, bytes);
        heap->ends[bucket] += bytes;
    }
}

size_t radix_blocks_gather(const struct radix_pool *pool, const struct radix_heap *heap,
                           size_t bucket, void *to)
{
    const size_t count = heap->counts[bucket], end = heap->ends[bucket];
    unsigned char *next = to;
    if (count == 0)
        return 0;
    size_t block = (end - 1) / pool->block_bytes;
    size_t bytes = end - block * pool->block_bytes; /* of the last one, which may not be full */
    for (; block > 0; block = pool->previous[block], bytes = pool->block_bytes) {
        memcpy(next, pool->data + block * pool->block_bytes, bytes);
        next += bytes;
    }
    return count;
}
