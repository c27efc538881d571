/* vector_sort.h - sorts a bucket that fits the cache of a core, by AVX-512.
 */
#ifndef CPU_VECTOR_SORT_H
#define CPU_VECTOR_SORT_H

#include "core/key_order.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* To be called where has_vector_units() (vector_units.h) alone. Sorts items[0..count), whose keys
 * are as in `stored`, and leaves them as `order` decodes them in to[0..count), which is items or
 * other memory. room: for as many items, best in the cache; what is in items and room then is
 * anything. width: of an item in bytes, 4, 8 or 16 (struct key_index, by key, then index). count is
 * at most RADIX_IN_CACHE_COUNT_MAX. */
void vector_sort(unsigned width, void *items, void *room, size_t count, void *to,
                 struct key_order stored, struct key_order order);

#ifdef __cplusplus
}
#endif
#endif
