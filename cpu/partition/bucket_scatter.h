/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_scatter.h - counts and scatters the items of one thread by bucket, through software
 * write-combining buffers. The functions run in one thread, own and allocate nothing.
 */
#ifndef CPU_BUCKET_SCATTER_H
#define CPU_BUCKET_SCATTER_H

#include "core/key_order.h"
#include "cpu/partition/bucket_model.h"

#include <stddef.h>

/* The part of a partition that one thread scatters, and its memory. */
struct scatter_part {
    const void *from; /* stored bits in `order` */
    void *to;         /* ordered bits; aligned to a cache line */
    size_t begin, end;
    struct key_order order;
    const struct bucket_model *model;
    /* Arrays of model->buckets elements: */
    size_t *positions; /* next position in `to`; while counting, the number of items */
    size_t *first;     /* copy of the initial positions */
    unsigned char
        *write_buffers; /* write-combining buffers of WRITE_BUFFER_BYTES each, aligned to that */
};

/* Sets positions[b] to the number of the part's items in bucket b. Widths from 4. */
void scatter_count(unsigned width, const struct scatter_part *part);

/* Moves the part's items to the positions of their buckets, in order, encoded. Widths from 4. */
void scatter_items(unsigned width, const struct scatter_part *part);

#endif
