/* SPDX-License-Identifier: Apache-2.0 */
/* item_kernels.c - see item_kernels.h.
 *
 * Each routine is an inline function of the item width, compiled for each width by the switches at
 * the end. Decoding is compiled for each kind of key order too, so that its loop has no branch on
 * it.
 */
#include "cpu/items/item_kernels.h"

#include "cpu/items/item_access.h"

#include <string.h>

/* ---- Orders ---- */

/* Key orders with a loop of their own; all others take the general code. */
enum order_case { ORDER_IDENTITY, ORDER_SIGNED, ORDER_FLOAT, ORDER_GENERAL };

static enum order_case order_find_case(struct key_order order)
{
    if (key_order_is_identity(order))
        return ORDER_IDENTITY;
    if (order.swap_bytes || order.kind == KEY_UNSIGNED ||
        (order.kind == KEY_SIGNED && order.bias != 0))
        return ORDER_GENERAL;
    return order.kind == KEY_SIGNED ? ORDER_SIGNED : ORDER_FLOAT;
}

/* Returns the same order with the fields that its case fixes as constants. */
static inline __attribute__((always_inline)) struct key_order order_fix(struct key_order order,
                                                                        enum order_case order_case)
{
    switch (order_case) {
    case ORDER_IDENTITY:
        return key_order_identity();
    case ORDER_SIGNED:
        return (struct key_order){KEY_SIGNED, false, 0, order.complement};
    case ORDER_FLOAT:
        return (struct key_order){KEY_FLOAT, false, order.bias, order.complement};
    case ORDER_GENERAL:
        break;
    }
    return order;
}

/* ---- Looking at the order of the input ---- */

static inline __attribute__((always_inline)) bool
check_ascending(const void *items, size_t begin, size_t end, struct key_order order, unsigned width)
{
    if (begin == end)
        return true;
    uint64_t before = load_encoded(items, begin, order, width).key;
    for (size_t i = begin + 1; i < end; i++) {
        const uint64_t key = load_encoded(items, i, order, width).key;
        if (key < before)
            return false;
        before = key;
    }
    return true;
}

static inline __attribute__((always_inline)) bool check_descending(const void *items, size_t begin,
                                                                   size_t end,
                                                                   struct key_order order,
                                                                   unsigned width)
{
    if (begin == end)
        return true;
    uint64_t before = load_encoded(items, begin, order, width).key;
    for (size_t i = begin + 1; i < end; i++) {
        const uint64_t key = load_encoded(items, i, order, width).key;
        if (key > before || (width == 16 && key == before))
            return false;
        before = key;
    }
    return true;
}

static inline __attribute__((always_inline)) void
reverse_items(void *items, size_t begin, size_t end, size_t count, unsigned width)
{
    for (size_t i = begin; i < end; i++) {
        const struct item low = load_item(items, i, width);
        const struct item high = load_item(items, count - 1 - i, width);
        store_item(items, i, high, width);
        store_item(items, count - 1 - i, low, width);
    }
}

static inline __attribute__((always_inline)) void widen_range(const void *items, size_t begin,
                                                              size_t end, struct key_order order,
                                                              uint64_t *lowest, uint64_t *highest,
                                                              unsigned width)
{
    uint64_t low = *lowest, high = *highest;
    for (size_t i = begin; i < end; i++) {
        const uint64_t key = load_encoded(items, i, order, width).key;
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    *lowest = low;
    *highest = high;
}

/* ---- Mapping ---- */

static inline __attribute__((always_inline)) void
encode_items(void *to, const void *from, size_t count, struct key_order order, unsigned width)
{
    for (size_t i = 0; i < count; i++)
        store_item(to, i, load_encoded(from, i, order, width), width);
}

static inline __attribute__((always_inline)) void decode_items(void *to, const void *from,
                                                               size_t count, struct key_order order,
                                                               enum order_case order_case,
                                                               unsigned width)
{
    const struct key_order fixed = order_fix(order, order_case);
    for (size_t i = 0; i < count; i++) {
        struct item item = load_item(from, i, width);
        item.key = key_order_decode(fixed, key_bits(width), item.key);
        store_item(to, i, item, width);
    }
}

/* ---- One routine for each kind of order ---- */

static inline __attribute__((always_inline)) void decode_items_ordered(void *to, const void *from,
                                                                       size_t count,
                                                                       struct key_order order,
                                                                       unsigned width)
{
    switch (order_find_case(order)) {
    case ORDER_IDENTITY:
        decode_items(to, from, count, order, ORDER_IDENTITY, width);
        break;
    case ORDER_SIGNED:
        decode_items(to, from, count, order, ORDER_SIGNED, width);
        break;
    case ORDER_FLOAT:
        decode_items(to, from, count, order, ORDER_FLOAT, width);
        break;
    case ORDER_GENERAL:
        decode_items(to, from, count, order, ORDER_GENERAL, width);
        break;
    }
}

/* ---- One routine for each width ---- */

uint64_t items_key(unsigned width, const void *items, size_t index, struct key_order order)
{
    switch (width) {
    case 4:
        return load_encoded(items, index, order, 4).key;
    case 8:
        return load_encoded(items, index, order, 8).key;
    default:
        return load_encoded(items, index, order, 16).key;
    }
}

bool items_are_ascending(unsigned width, const void *items, size_t begin, size_t end,
                         struct key_order order)
{
    switch (width) {
    case 2:
        return check_ascending(items, begin, end, order, 2);
    case 4:
        return check_ascending(items, begin, end, order, 4);
    case 8:
        return check_ascending(items, begin, end, order, 8);
    default:
        return check_ascending(items, begin, end, order, 16);
    }
}

bool items_are_descending(unsigned width, const void *items, size_t begin, size_t end,
                          struct key_order order)
{
    switch (width) {
    case 2:
        return check_descending(items, begin, end, order, 2);
    case 4:
        return check_descending(items, begin, end, order, 4);
    case 8:
        return check_descending(items, begin, end, order, 8);
    default:
        return check_descending(items, begin, end, order, 16);
    }
}

void items_reverse(unsigned width, void *items, size_t begin, size_t end, size_t count)
{
    switch (width) {
    case 2:
        reverse_items(items, begin, end, count, 2);
        break;
    case 4:
        reverse_items(items, begin, end, count, 4);
        break;
    case 8:
        reverse_items(items, begin, end, count, 8);
        break;
    default:
        reverse_items(items, begin, end, count, 16);
    }
}

void items_find_range(unsigned width, const void *items, size_t begin, size_t end,
                      struct key_order order, uint64_t *lowest, uint64_t *highest)
{
    switch (width) {
    case 2:
        widen_range(items, begin, end, order, lowest, highest, 2);
        break;
    case 4:
        widen_range(items, begin, end, order, lowest, highest, 4);
        break;
    case 8:
        widen_range(items, begin, end, order, lowest, highest, 8);
        break;
    default:
        widen_range(items, begin, end, order, lowest, highest, 16);
    }
}

void items_encode(unsigned width, void *to, const void *from, size_t count, struct key_order order)
{
    switch (width) {
    case 2:
        encode_items(to, from, count, order, 2);
        break;
    case 4:
        encode_items(to, from, count, order, 4);
        break;
    case 8:
        encode_items(to, from, count, order, 8);
        break;
    default:
        encode_items(to, from, count, order, 16);
    }
}

void items_decode(unsigned width, void *to, const void *from, size_t count, struct key_order order)
{
    if (key_order_is_identity(order)) {
        if (to != from)
            memcpy(to, from, count * width);
        return;
    }
    switch (width) {
    case 2:
        decode_items_ordered(to, from, count, order, 2);
        break;
    case 4:
        decode_items_ordered(to, from, count, order, 4);
        break;
    case 8:
        decode_items_ordered(to, from, count, order, 8);
        break;
    default:
        decode_items_ordered(to, from, count, order, 16);
    }
}
