/* SPDX-License-Identifier: Apache-2.0 */
/* item_kernels.h - the inner loops of the CPU sort.
 *
 * A kernel runs in one thread, owns nothing and allocates nothing. Every kernel is stable. width:
 * bytes per item: 2, 4 or 8 (keys), or 16 (struct key_index, ordered by the key alone).
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

/* Size of the software write-combining buffer of a bucket: longer writes come closer to
 * sequential memory bandwidth. 1e8 f64, two cores of an AMD EPYC (Zen 5), 2026-11, minimum of a
 * few runs: 294 ms with 128 bytes, 277 with 256, 267 with 512 and half as many buckets; 4e8 f64:
 * 1.08 s with 256, 1.04 with 512; 1e8 key_index: 0.46 and 0.44 s. */
#define WRITE_BUFFER_BYTES 512

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
 * items[begin..end). */
void items_find_range(unsigned width, const void *items, size_t begin, size_t end,
                      struct key_order order, uint64_t *lowest, uint64_t *highest);

/* Encodes `count` items of `from` into `to`, which may be `from`. */
void items_encode(unsigned width, void *to, const void *from, size_t count, struct key_order order);

/* Decodes `count` items of `from` into `to`, which may be `from`. */
void items_decode(unsigned width, void *to, const void *from, size_t count, struct key_order order);

/* The part of a partition that one thread scatters, and its memory. */
struct scatter_part {
    const void *from; /* stored bits in `order` */
    void *to;         /* ordered bits; aligned to a cache line */
    size_t begin, end;
    struct key_order order;
    const struct bucket_model *model;
    /* Arrays of model->buckets elements: */
    size_t *positions;    /* next position in `to`; while counting, the number of items */
    size_t *first;        /* copy of the initial positions */
    unsigned char *lines; /* write-combining buffers of WRITE_BUFFER_BYTES each, aligned to that */
};

/* Sets positions[b] to the number of the part's items in bucket b. Widths from 4. */
void scatter_count(unsigned width, const struct scatter_part *part);

/* Moves the part's items to the positions of their buckets, in order, encoded. Widths from 4. */
void scatter_items(unsigned width, const struct scatter_part *part);

/* LSD radix sort of items[0..count), ordered bits, count < 2^32. Needs other[0..count). Returns
 * the array, items or other, that has the sorted items; the contents of the other one are
 * undefined. Fastest if both fit in L2. */
void *lsd_radix_sort(unsigned width, void *items, void *other, size_t count);

#ifdef __cplusplus
}
#endif
#endif
