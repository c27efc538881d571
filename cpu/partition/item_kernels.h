/* SPDX-License-Identifier: Apache-2.0 */
/* item_kernels.h - the inner loops of the CPU's radix sort.
 *
 * A kernel is single-threaded, owns nothing and allocates nothing; array_sort.c shares the items
 * out among threads and calls kernels on the parts. Every kernel is stable.
 *
 * width: of an item in bytes: 2, 4 or 8 (keys), or 16 (struct key_index, ordered by the key alone).
 */
#ifndef CPU_ITEM_KERNELS_H
#define CPU_ITEM_KERNELS_H

#include "core/key_order.h"
#include "cpu/partition/bucket_model.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CACHE_LINE_BYTES 64

/* Buckets are written so much at a time, past the caches: the longer the pieces, the nearer memory
 * comes to what it takes in a row. 1e8 f64, two cores of an AMD EPYC (Zen 5), 2026-11, the least of
 * a few runs: 294 ms to sort with 128 bytes, 277 with 256, 267 with 512 and half as many buckets;
 * 4e8 f64: 1.08 s with 256, 1.04 with 512; 1e8 key_index: 0.46 and 0.44. */
#define WRITE_BUFFER_BYTES 512

/* The ordered bits of the key of items[index]. Widths from 4. */
uint64_t items_key(unsigned width, const void *items, size_t index, struct key_order order);

/* True if no key of items[begin..end) is less than the one before it. */
bool items_are_ascending(unsigned width, const void *items, size_t begin, size_t end,
                         struct key_order order);

/* True if items[begin..end) read backwards are what a stable sort makes of them: no key is greater
 * than the one before it, nor equal to it where items carry an index. */
bool items_are_descending(unsigned width, const void *items, size_t begin, size_t end,
                          struct key_order order);

/* Swaps items[i] and items[count - 1 - i] for each i in begin..end, end <= count / 2. */
void items_reverse(unsigned width, void *items, size_t begin, size_t end, size_t count);

/* Lowers *lowest and raises *highest to the ordered bits of the keys of items[begin..end). */
void items_find_range(unsigned width, const void *items, size_t begin, size_t end,
                      struct key_order order, uint64_t *lowest, uint64_t *highest);

/* to[0..count) = the items of from, encoded; to may be from. */
void items_encode(unsigned width, void *to, const void *from, size_t count, struct key_order order);

/* The inverse. */
void items_decode(unsigned width, void *to, const void *from, size_t count, struct key_order order);

/* One thread's share of a partition, and its memory for it. */
struct scatter_part {
    const void *from; /* stored bits in `order` */
    void *to;         /* ordered bits; aligned to a cache line */
    size_t begin, end;
    struct key_order order;
    const struct bucket_model *model;
    /* By bucket, model->buckets of each: */
    size_t *positions;    /* the next item's place in `to`; in counting, the number of items */
    size_t *first;        /* room for a copy of the positions at the start */
    unsigned char *lines; /* WRITE_BUFFER_BYTES each, and aligned so: items on their way */
};

/* Sets positions[b] to the number of items of the part that belong to bucket b. Widths from 4. */
void scatter_count(unsigned width, const struct scatter_part *part);

/* Moves the part's items to their buckets' positions, in their order, encoded. Widths from 4. */
void scatter_items(unsigned width, const struct scatter_part *part);

/* Sorts items[0..count) of ordered bits, fewer than 2^32, with the help of other[0..count). Returns
 * whichever of the two the sorted items are in; the other is left with anything. Best where both
 * fit in the cache of a core. */
void *lsd_radix_sort(unsigned width, void *items, void *other, size_t count);

#ifdef __cplusplus
}
#endif
#endif
