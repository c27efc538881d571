/* SPDX-License-Identifier: Apache-2.0 */
/* item_kernels.h - the inner loops of the CPU sort.
 *
 * A kernel runs in one thread, owns nothing and allocates nothing. Every kernel is stable. width:
 * bytes per item: 2, 4 or 8 (keys), or 16 (struct key_index). Items are compared by their key
 * alone: as the indices of equal keys ascend in the input, the result is in order of key and index.
 */
#ifndef CPU_ITEM_KERNELS_H
#define CPU_ITEM_KERNELS_H

#include "core/key_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the ordered bits of the key of items[index]. Widths from 4. */
uint64_t items_key(unsigned width, const void *items, size_t index, struct key_order order);

/* True if no key of items[begin..end) is less than its predecessor. */
bool items_are_ascending(unsigned width, const void *items, size_t begin, size_t end,
                         struct key_order order);

/* True if reversing items[begin..end) sorts them stably: keys descend, and for width 16
 * strictly. */
bool items_are_descending(unsigned width, const void *items, size_t begin, size_t end,
                          struct key_order order);

/* Swaps items[i] and items[count - 1 - i] for each i in begin..end, end <= count / 2. */
void items_reverse(unsigned width, void *items, size_t begin, size_t end, size_t count);

/* Lowers *lowest and raises *highest to include the ordered bits of the keys of
 * items[begin..end). Widths from 4. */
void items_find_range(unsigned width, const void *items, size_t begin, size_t end,
                      struct key_order order, uint64_t *lowest, uint64_t *highest);

/* LSD radix sort of items[0..count), ordered bits, count < 2^32. Needs other[0..count). Returns
 * the array, items or other, that has the sorted items; the contents of the other one are
 * undefined. Fastest if both fit in L2. */
void *lsd_radix_sort(unsigned width, void *items, void *other, size_t count);

#ifdef __cplusplus
}
#endif
#endif
