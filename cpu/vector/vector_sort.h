/* SPDX-License-Identifier: Apache-2.0 */
/* vector_sort.h - sorts an array that fits a cache, with AVX-512.
 *
 * Call these only if has_vector_units() (vector_units.h). They run in one thread and allocate
 * nothing. width: bytes per item, 4, 8 or 16 (struct key_index, by key, then index; indices of
 * equal keys ascend in the input).
 */
#ifndef CPU_VECTOR_SORT_H
#define CPU_VECTOR_SORT_H

#include "core/key_order.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sorts items[0..count), whose keys are stored in the order `stored` (identity: ordered bits), into
 * to[0..count), decoded by `order`. to: items, room or other memory. room: for `count` items, best
 * in the cache. The contents of items and room are undefined afterwards, unless they are `to`.
 * count < 2^32. */
void vector_sort(unsigned width, void *items, void *room, size_t count, void *to,
                 struct key_order stored, struct key_order order);

/* Keys in the room of vector_sort_in_place(), for any number of keys to sort: the room stays in L2.
 * 1e6 f64, 1e6 f64 and u32 of 1000 values, Zen 5, 2026-11, ms: with room for 64 Ki keys 2.8, 2.1
 * and 1.4, for 256 Ki 3.3, 2.7 and 1.8. */
#define VECTOR_ROOM_COUNT ((size_t)64 << 10)

/* Sorts keys of 4 or 8 bytes in place, any count. room: for VECTOR_ROOM_COUNT keys, or for
 * `count` if that is less. */
void vector_sort_in_place(unsigned width, void *keys, size_t count, void *room,
                          struct key_order stored, struct key_order order);

/* Encodes items[0..count) in place. Any width; the last items are encoded without AVX-512. */
void vector_encode_items(unsigned width, void *items, size_t count, struct key_order order);

/* Splits items[0..count), ordered bits, at a sampled quantile: no key of the first part is
 * greater than one of the second, and the first part has about part / parts of the items,
 * unless a key is very frequent. Moves the first part to `low` and the second to `high`, each in
 * the order of the input; each has room for all items, and one of them is `items`. Returns the
 * number of items in the first part. */
size_t vector_cut(unsigned width, void *items, size_t count, unsigned part, unsigned parts,
                  void *low, void *high);

#ifdef __cplusplus
}
#endif
#endif
