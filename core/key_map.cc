/* SPDX-License-Identifier: Apache-2.0 */
/* key_map.cc - see key_map.h. C++, for templates with the width as a parameter. */
#include "core/key_map.h"

#include "core/item_width.h"
#include "core/vector_units.h"

#include <stdint.h>
#include <string.h>

/* Keys in memory, which may have been stored as any type. */
typedef uint8_t __attribute__((may_alias)) key_8;
typedef uint16_t __attribute__((may_alias)) key_16;
typedef uint32_t __attribute__((may_alias)) key_32;
typedef uint64_t __attribute__((may_alias)) key_64;

template <typename Key, bool DECODES>
INLINE void map_by(struct key_order order, const Key *from, size_t count, Key *to)
{
    constexpr unsigned bits = 8 * sizeof(Key);
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        to[i] = static_cast<Key>(DECODES ? key_order_decode(order, bits, from[i])
                                         : key_order_encode(order, bits, from[i]));
}

/* Has a separate loop for each kind of order that needs one, so that no loop has a branch in it. */
template <typename Key, bool DECODES>
INLINE void map_keys(struct key_order order, const void *from, size_t count, void *to)
{
    const Key *const keys = static_cast<const Key *>(from);
    Key *const out = static_cast<Key *>(to);
    struct key_order plain = order;
    plain.swap_bytes = false;
    if (order.swap_bytes || (order.kind == KEY_SIGNED && order.bias != 0)) {
        map_by<Key, DECODES>(order, keys, count, out);
    } else if (order.kind == KEY_FLOAT) {
        plain.kind = KEY_FLOAT;
        map_by<Key, DECODES>(plain, keys, count, out);
    } else {
        plain.complement ^= order.kind == KEY_SIGNED ? 1ull << (8 * sizeof(Key) - 1) : 0;
        plain.kind = KEY_UNSIGNED;
        map_by<Key, DECODES>(plain, keys, count, out);
    }
}

template <bool DECODES>
INLINE void map_items(unsigned item_bytes, struct key_order order, const void *from, size_t count,
                      void *to)
{
    switch (item_bytes) {
    case 1:
        map_keys<key_8, DECODES>(order, from, count, to);
        break;
    case 2:
        map_keys<key_16, DECODES>(order, from, count, to);
        break;
    case 4:
        map_keys<key_32, DECODES>(order, from, count, to);
        break;
    default:
        map_keys<key_64, DECODES>(order, from, count, to);
        break;
    }
}

/* Copies items that the map leaves unchanged. Returns false, without copying, if it changes them.
 */
static bool copy_items(unsigned item_bytes, struct key_order order, const void *from, size_t count,
                       void *to)
{
    if (item_bytes <= sizeof(uint64_t) && !key_order_is_identity(order))
        return false;
    if (to != from)
        memcpy(to, from, count * item_bytes);
    return true;
}

FOR_ALL_VECTORS void key_map_encode(unsigned item_bytes, struct key_order order, const void *from,
                                    size_t count, void *to)
{
    if (!copy_items(item_bytes, order, from, count, to))
        map_items<false>(item_bytes, order, from, count, to);
}

FOR_ALL_VECTORS void key_map_decode(unsigned item_bytes, struct key_order order, const void *from,
                                    size_t count, void *to)
{
    if (!copy_items(item_bytes, order, from, count, to))
        map_items<true>(item_bytes, order, from, count, to);
}
