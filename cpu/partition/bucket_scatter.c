/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_scatter.c - see bucket_scatter.h. The loops are compiled for each item width. */
#include "cpu/partition/bucket_scatter.h"

#include "cpu/items/item_access.h"
#include "cpu/items/streaming_store.h"
#include "cpu/partition/bucket_model.h"

#include <string.h>

static inline size_t block_end(const struct scatter_part *part, size_t begin)
{
    return part->end - begin > BUCKET_BLOCK_COUNT ? begin + BUCKET_BLOCK_COUNT : part->end;
}

void scatter_count(unsigned width, const struct scatter_part *part)
{
    size_t *counts = part->positions;
    struct bucket_block block;
    memset(counts, 0, part->model->buckets * sizeof *counts);
    for (size_t i = part->begin, end; i < part->end; i = end) {
        end = block_end(part, i);
        bucket_map(width, (const unsigned char *)part->from + i * width, end - i, part->order,
                   part->model, &block);
        for (size_t k = 0; k < end - i; k++)
            counts[block.buckets[k]]++;
    }
}

/* Writes the bucket's buffered items up to `position`, for a line that is not complete or is the
 * bucket's first: positions before `first` belong to another part. */
static inline __attribute__((always_inline)) void
write_partial_line(const struct scatter_part *part, size_t bucket, size_t line_begin,
                   size_t position, unsigned width)
{
    const unsigned char *line = part->write_buffers + bucket * WRITE_BUFFER_BYTES;
    const size_t first = part->first[bucket];
    const size_t from = first > line_begin ? first : line_begin;
    if (position > from)
        memcpy((unsigned char *)part->to + from * width, line + (from - line_begin) * width,
               (position - from) * width);
}

/* Moves the items of a block whose keys and buckets are known. */
static inline __attribute__((always_inline)) void scatter_block(const struct scatter_part *part,
                                                                const void *items, size_t count,
                                                                const struct bucket_block *block,
                                                                unsigned width)
{
    const size_t line_items = WRITE_BUFFER_BYTES / width;
    for (size_t i = 0; i < count; i++) {
        const struct item item = load_item(items, i, width);
        const size_t bucket = block->buckets[i];
        const size_t position = part->positions[bucket]++;
        unsigned char *line = part->write_buffers + bucket * WRITE_BUFFER_BYTES;
        store_item(line, position % line_items, item, width);
        if ((position + 1) % line_items == 0) {
            const size_t line_begin = position + 1 - line_items;
            if (line_begin >= part->first[bucket])
                streaming_store((unsigned char *)part->to + line_begin * width, line,
                                WRITE_BUFFER_BYTES);
            else
                write_partial_line(part, bucket, line_begin, position + 1, width);
        }
    }
}

static inline __attribute__((always_inline)) void scatter_width(const struct scatter_part *part,
                                                                unsigned width)
{
    const size_t line_items = WRITE_BUFFER_BYTES / width, buckets = part->model->buckets;
    struct bucket_block block;
    memcpy(part->first, part->positions, buckets * sizeof *part->positions);
    for (size_t i = part->begin, end; i < part->end; i = end) {
        end = block_end(part, i);
        const unsigned char *items = (const unsigned char *)part->from + i * width;
        bucket_map(width, items, end - i, part->order, part->model, &block);
        scatter_block(part, width == 16 ? items : block.keys, end - i, &block, width);
    }
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const size_t position = part->positions[bucket];
        write_partial_line(part, bucket, position - position % line_items, position, width);
    }
    streaming_fence();
}

void scatter_items(unsigned width, const struct scatter_part *part)
{
    switch (width) {
    case 4:
        scatter_width(part, 4);
        break;
    case 8:
        scatter_width(part, 8);
        break;
    default:
        scatter_width(part, 16);
    }
}
