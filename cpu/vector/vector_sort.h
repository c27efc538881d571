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

/* Room for keys that are sorted in place, any number of them: it stays in L2. 1e6 f64, 1e6 f64 and
 * u32 of 1000 values, Zen 5, 2026-11, ms: with room for 64 Ki keys 2.8, 2.1 and 1.4, for 256 Ki
 * 3.3, 2.7 and 1.8. */
#define VECTOR_ROOM_COUNT ((size_t)64 << 10)

/* Sorts items[0..count), ordered bits, into to[0..count), decoded by `order`. to: items, room or
 * other memory. room: for room_count items, best in the cache: for `count`, or for fewer keys
 * without an index if `to` is items. The contents of items and room are undefined afterwards,
 * unless they are `to`. count < 2^32, unless the room is for fewer. */
void vector_sort(unsigned width, void *items, size_t count, void *room, size_t room_count, void *to,
                 struct key_order order);

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
