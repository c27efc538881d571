/* SPDX-License-Identifier: Apache-2.0 */
/* item_access.h - loads and stores one item of any width. The width is a constant in every caller,
 * so that the branches on it fold away.
 */
#ifndef CPU_ITEM_ACCESS_H
#define CPU_ITEM_ACCESS_H

#include "core/backend.h"
#include "core/key_order.h"

#include <string.h>

/* An item in registers. The index is unused for widths below 16. */
struct item {
    uint64_t key;
    uint64_t index;
};

static inline __attribute__((always_inline)) struct item load_item(const void *items, size_t index,
                                                                   unsigned width)
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

static inline __attribute__((always_inline)) void store_item(void *items, size_t index,
                                                             struct item item, unsigned width)
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
static inline __attribute__((always_inline)) void fill_keys(void *keys, size_t begin, size_t end,
                                                            uint64_t key, unsigned width)
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

static inline __attribute__((always_inline)) unsigned key_bits(unsigned width)
{
    return width == 16 ? 64 : 8 * width;
}

static inline __attribute__((always_inline)) struct item
load_encoded(const void *items, size_t index, struct key_order order, unsigned width)
{
    struct item item = load_item(items, index, width);
    item.key = key_order_encode(order, key_bits(width), item.key);
    return item;
}

#endif
