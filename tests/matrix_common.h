/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_common.h - what the matrices have in common: the word for a count, items of any width, and
 * what std::sort makes of them.
 */
#ifndef TESTS_MATRIX_COMMON_H
#define TESTS_MATRIX_COMMON_H

#include "core/key_order.h"

#include <algorithm>
#include <stdlib.h>
#include <vector>

/* False where the text is no number. */
static inline bool parse_count(const char *text, size_t *count)
{
    char *end = NULL;
    *count = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

/* Indices that are no order of the items, no two the same: the factor is odd. */
static inline uint64_t scattered_index(size_t i)
{
    return i * 0x9e3779b97f4a7c15u;
}

/* The item, as it is stored, whose ordered bits are the first ones of `ordered`; above the index
 * where it has 16 bytes. */
template <typename K>
static K item_of(struct key_order order, uint64_t ordered, uint64_t index)
{
    if constexpr (sizeof(K) == 16)
        return (K)ordered << 64 | index;
    else
        return (K)key_order_decode(order, 8 * sizeof(K), ordered >> (64 - 8 * sizeof(K)));
}

template <typename K>
static std::vector<K> sorted_copy(struct key_order order, std::vector<K> items)
{
    if constexpr (sizeof(K) < 16)
        for (K &item : items)
            item = (K)key_order_encode(order, 8 * sizeof(K), item);
    std::sort(items.begin(), items.end());
    if constexpr (sizeof(K) < 16)
        for (K &item : items)
            item = (K)key_order_decode(order, 8 * sizeof(K), item);
    return items;
}

#endif
