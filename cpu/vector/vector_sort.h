/* SPDX-License-Identifier: Apache-2.0 */
/* vector_sort.h - sorts what fits a cache, by AVX-512.
 */
#ifndef CPU_VECTOR_SORT_H
#define CPU_VECTOR_SORT_H

#include "core/key_order.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All to be called where has_vector_units() (vector_units.h) alone. width: of an item in bytes, 4,
 * 8 or 16 (struct key_index, by key, then index; of equal keys the indices ascend). */

/* Sorts items[0..count), whose keys are as in `stored`, and leaves them as `order` decodes them in
 * to[0..count), which is items, room or other memory. room: for as many items, best in the cache;
 * what is in items and room then is anything. count is below 2^32. */
void vector_sort(unsigned width, void *items, void *room, size_t count, void *to,
                 struct key_order stored, struct key_order order);

/* Room for so many keys is enough to sort more of them where they are: it stays in a core's second
 * cache. 1e6 f64, 1e6 f64 and u32 of 1000 values, Zen 5, 2026-11, ms: with room for 64 Ki keys 2.8,
 * 2.1 and 1.4, for 256 Ki 3.3, 2.7 and 1.8. */
#define VECTOR_ROOM_COUNT ((size_t)64 << 10)

/* The same of keys, 4 or 8 bytes wide, however many, in their place. room: for VECTOR_ROOM_COUNT of
 * them, or for count if that is less. */
void vector_sort_in_place(unsigned width, void *keys, size_t count, void *room,
                          struct key_order stored, struct key_order order);

/* The same of keys of 2 bytes, each of which is made one of 4. room: of vector_words_room bytes. */
void vector_sort_words(void *keys, size_t count, void *room, struct key_order order);

static inline size_t vector_words_room(size_t count)
{
    return (count + (count < VECTOR_ROOM_COUNT ? count : VECTOR_ROOM_COUNT)) * 4;
}

/* items[0..count), stored in `order`, to ordered bits. */
void vector_encode_items(unsigned width, void *items, size_t count, struct key_order order);

/* Cuts items[0..count) of ordered bits in two, in their order: no key of the first part is greater
 * than one of the second, and the first has about `share` of `shares` of the items, if none is very
 * frequent. It is moved to low[0..), and the second to high[0..), which have room for all of them;
 * one of them is items. Returns how many are in the first. */
size_t vector_cut(unsigned width, void *items, size_t count, unsigned share, unsigned shares,
                  void *low, void *high);

#ifdef __cplusplus
}
#endif
#endif
