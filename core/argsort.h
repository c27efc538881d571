/* SPDX-License-Identifier: Apache-2.0 */
/* argsort.h - items that carry their index in the input through a sort, for --argsort.
 *
 *   keys --argsort_fill--> items: ordered key above index -> (an engine sorts them)
 *     --argsort_index--> the index of each item's key in the input
 *
 * Indices are distinct, so the order of the items is total, and every path of every backend keeps
 * equal keys in the order of the input. Keys are equal if the numbers compare equal, as in NumPy's
 * argsort(kind="stable"): -0 equals +0, and a NaN equals any other NaN. So these get the same
 * ordered bits here. Only the index is written, so nothing is lost.
 *
 * If key and index together have at most 64 bits, an item is one integer of 8 bytes, otherwise a
 * struct key_index of 16 bytes. That halves the memory, and the bytes moved by every pass.
 */
#ifndef CORE_ARGSORT_H
#define CORE_ARGSORT_H

#include "core/backend.h"
#include "core/check/tap.h"
#include "core/error.h"
#include "core/key_order.h"

#include <string.h>

/* The form of the items and of the indices. */
struct argsort {
    const struct key_type *index_type; /* an integer of 4 or 8 bytes; NULL: no --argsort */
    enum key_endian index_endian;
    unsigned item_bytes; /* 8: key << index_bits | index; 16: struct key_index */
    unsigned index_bits;
    unsigned key_bytes;
    struct key_order order; /* of the stored keys */
    uint64_t infinity;      /* for a KEY_FLOAT: the bits of +inf */
    uint64_t first;         /* index in the input of the first key that this process reads */
};

/* Sets the form of items for keys of this type and order. Keeps index_type and index_endian. count:
 * the number of keys, or COUNT_UNKNOWN. */
void argsort_set_keys(struct argsort *argsort, const struct key_type *type, struct key_order order,
                      size_t count);

/* Sets the form of items to struct key_index, for items that the caller makes. */
void argsort_set_key_index(struct argsort *argsort);

/* Fails if the type of the indices, or the index bits of an item, cannot count `count` items. */
bool argsort_check_count(const struct argsort *argsort, size_t count, struct error *error);

/* What observes all keys and all items of a call. */
struct argsort_taps {
    struct tap *keys, *items; /* either may be NULL */
};

/* Fills the chunk with chunk->count items made of as many keys. first: number of keys that this
 * process has read before these; the first item gets the index argsort->first + first. Uses at most
 * `threads` threads. */
void argsort_fill(const struct argsort *argsort, const void *keys, uint64_t first,
                  const struct chunk *chunk, unsigned threads, const struct argsort_taps *taps);

/* Returns the index in the item at `position`. */
static inline uint64_t argsort_index(const struct argsort *argsort, const void *items,
                                     size_t position)
{
    const unsigned char *item = (const unsigned char *)items + position * argsort->item_bytes;
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
