/* SPDX-License-Identifier: Apache-2.0 */
/* key_map.h - maps many keys between stored bits and ordered bits (key_order.h), with vectors. */
#ifndef CORE_KEY_MAP_H
#define CORE_KEY_MAP_H

#include "core/key_order.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Map from[0..count) to to[0..count), which may be `from`. item_bytes: 1, 2, 4, 8: keys; 16: struct
 * key_index, which are ordered bits already, and are copied. */
void key_map_encode(unsigned item_bytes, struct key_order order, const void *from, size_t count,
                    void *to);
void key_map_decode(unsigned item_bytes, struct key_order order, const void *from, size_t count,
                    void *to);

#ifdef __cplusplus
}
#endif
#endif
