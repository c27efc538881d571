/* SPDX-License-Identifier: Apache-2.0 */
/* argsort.h - items that carry their place in the input through a sort, for --argsort.
 *
 *   keys --argsort_fill--> items: ordered key above index -> (an engine sorts them)
 *     --argsort_index--> where each one came from
 *
 * No two indices are equal, so the order of the items is total and every path of every backend
 * leaves equal keys in the order of the input. Which keys are equal is what comparing the numbers
 * says, as NumPy's argsort(kind="stable") does it: -0 equals +0, and a NaN any other NaN. So these
 * get the same ordered bits here. Only the index comes out again, so that nothing is lost by it.
 *
 * Where key and index together have at most 64 bits, an item is one integer of 8 bytes; else it is
 * a struct key_index of 16. Half the memory, and half the bytes moved by every pass.
 */
#ifndef CORE_ARGSORT_H
#define CORE_ARGSORT_H

#include "core/backend.h"
#include "core/error.h"
#include "core/key_order.h"
#include "core/tap.h"

#include <string.h>

/* How items are made, and how indices are written. */
struct argsort {
    const struct key_type *index_type; /* an integer of 4 or 8 bytes; NULL: no --argsort */
    enum key_endian index_endian;
    unsigned item_bytes; /* 8: key << index_bits | index; 16: struct key_index */
    unsigned index_bits;
    unsigned key_bytes;
    struct key_order order; /* of the keys as they are stored */
    uint64_t infinity;      /* bits of +inf of a KEY_FLOAT */
};

/* Sets how items are made of keys of the type that are stored in the order; index_type and
 * index_endian stay. count: how many will come, or COUNT_UNKNOWN. */
void argsort_set_keys(struct argsort *argsort, const struct key_type *type, struct key_order order,
                      size_t count);

/* The same for items that are made elsewhere as struct key_index. */
void argsort_set_key_index(struct argsort *argsort);

/* Refuses more items than the type of the indices, or the index in an item, counts. */
bool argsort_check_count(const struct argsort *argsort, size_t count, struct error *error);

/* Fills the chunk with chunk->count items made of as many keys, the first of which has the index
 * `first`. At most `threads` threads share the work. The taps see all of both. */
struct argsort_taps {
    struct tap *keys, *items; /* either may be NULL */
};
void argsort_fill(const struct argsort *argsort, const void *keys, uint64_t first,
                  const struct chunk *chunk, unsigned threads, const struct argsort_taps *taps);

/* The index in the item at `place`. */
static inline uint64_t argsort_index(const struct argsort *argsort, const void *items, size_t place)
{
    const unsigned char *item = (const unsigned char *)items + place * argsort->item_bytes;
    struct key_index pair;
    uint64_t packed;
    if (argsort->item_bytes == sizeof pair) {
        memcpy(&pair, item, sizeof pair);
        return pair.index;
    }
    memcpy(&packed, item, sizeof packed);
    return packed & key_bits_mask(argsort->index_bits);
}

#endif
