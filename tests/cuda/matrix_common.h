/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_common.h - shared by the matrices: a count from the command line, items of any width, and
 * the results of std::sort.
 */
#ifndef TESTS_MATRIX_COMMON_H
#define TESTS_MATRIX_COMMON_H

#include "core/key_order.h"

#include <algorithm>
#include <stdlib.h>
#include <vector>

/* Returns false if the text is not a number. */
static inline bool parse_count(const char *text, size_t *count)
{
    char *end = NULL;
    *count = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

/* Indices that do not order the items and are all different, as the factor is odd. */
static inline uint64_t scattered_index(size_t i)
{
    return i * 0x9e3779b97f4a7c15u;
}

/* Returns the item, as it is stored, whose ordered bits are the first bits of `ordered`. An item of
 * 16 bytes has them above the index. */
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
