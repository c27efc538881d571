/* SPDX-License-Identifier: Apache-2.0 */
/* item_access.h - loads and stores one item of any width. The width is a constant in the inner
 * loops, so that the branches on it fold away.
 */
#ifndef CPU_ITEM_ACCESS_H
#define CPU_ITEM_ACCESS_H

#include "core/backend.h"
#include "core/item_width.h"
#include "core/key_order.h"

#include <stddef.h>
#include <string.h>

/* Returns the number of bits of x; 0 for 0. */
static inline unsigned bit_length(uint64_t x)
{
    return x ? 64 - (unsigned)__builtin_clzll(x) : 0;
}

/* An item in registers. The index is unused for widths below 16. */
struct item {
    uint64_t key;
    uint64_t index;
};

INLINE struct item load_item(const void *items, size_t index, unsigned width)
{
    const unsigned char *place = (const unsigned char *)items + index * width;
    struct item item = {0, 0};
    if (width == 16) {
        struct key_index stored;
        memcpy(&stored, place, sizeof stored);
        item = (struct item){stored.key, stored.index};
    } else {
        memcpy(&item.key, place, width);
    }
    return item;
}

INLINE void store_item(void *items, size_t index, struct item item, unsigned width)
{
    unsigned char *place = (unsigned char *)items + index * width;
    if (width == 16) {
        const struct key_index stored = {item.index, item.key};
        memcpy(place, &stored, sizeof stored);
    } else {
        memcpy(place, &item.key, width);
    }
}

/* Sets keys[begin..end) to `key`. Widths 4 and 8. */
INLINE void fill_keys(void *keys, size_t begin, size_t end, uint64_t key, unsigned width)
{
    if (width == 8) {
#pragma omp simd
        for (size_t i = begin; i < end; i++)
            ((uint64_t *)keys)[i] = key;
    } else {
#pragma omp simd
        for (size_t i = begin; i < end; i++)
            ((uint32_t *)keys)[i] = (uint32_t)key;
    }
}

INLINE unsigned key_bits(unsigned width)
{
    return width == 16 ? 64 : 8 * width;
}

INLINE struct item load_encoded(const void *items, size_t index, struct key_order order,
                                unsigned width)
{
    struct item item = load_item(items, index, width);
    item.key = key_order_encode(order, key_bits(width), item.key);
    return item;
}

/* ---- Stores that bypass the caches, for data that is not read again soon ---- */

#ifdef __SSE2__
#    include <emmintrin.h>
#endif

#define CACHE_LINE_BYTES 64

/* Size of the software write-combining buffer of a bucket: longer writes come closer to
 * sequential memory bandwidth. 1e8 f64, two cores of an AMD EPYC (Zen 5), 2026-11, minimum of a
 * few runs: 294 ms with 128 bytes, 277 with 256, 267 with 512 and half as many buckets; 4e8 f64:
 * 1.08 s with 256, 1.04 with 512; 1e8 key_index: 0.46 and 0.44 s. */
#define WRITE_BUFFER_BYTES 512

/* Writes WRITE_BUFFER_BYTES from `line` to `to`, both aligned to 16 bytes, with streaming stores:
 * the old contents need not be read. 5e7 f64, a core of an AMD EPYC (Zen 4), 2026-11: 0.71
 * s, and 0.73 with ordinary stores. */
INLINE void streaming_store(unsigned char *to, const unsigned char *line)
{
#ifdef __SSE2__
    for (size_t i = 0; i < WRITE_BUFFER_BYTES; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(void *)(to + i),
                         _mm_load_si128((const __m128i *)(const void *)(line + i)));
#else
    memcpy(to, line, WRITE_BUFFER_BYTES);
#endif
}

/* Makes streaming stores visible to other threads before any later store. */
static inline void streaming_fence(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#endif
