/* SPDX-License-Identifier: Apache-2.0 */
/* top_select.h - the CPU's selection: keeps the first items in order of a stream, in place.
 *
 *   items: | kept | new --reader--> |  --add--> | kept, of both | room |
 *
 * What cannot be among the first `top` any more is dropped as it comes, by one comparison with a
 * bound; when more than top_select_limit are kept, a lower bound is found and they are thinned out.
 * Items stay in the order in which they came, so that equal ones do.
 */
#ifndef CPU_TOP_SELECT_H
#define CPU_TOP_SELECT_H

#include "core/error.h"
#include "core/key_order.h"

#include <stddef.h>

struct top_task {
    unsigned item_bytes;    /* 1, 2, 4, 8: keys; 16: struct key_index, by its key */
    struct key_order order; /* of the stored keys */
    size_t top;             /* items wanted */
    unsigned threads;       /* at most so many, at least 1 */
};

struct top_select;

bool top_select_create(const struct top_task *task, struct top_select **select,
                       struct error *error);

/* The most items that stay after top_select_add: twice `top` and some, or SIZE_MAX. */
size_t top_select_limit(size_t top);

/* items[0..kept) is what the call before left, items[kept..kept + added) is new. Leaves at the
 * start of items those that may be among the first `top` of all so far, and returns how many. */
size_t top_select_add(struct top_select *select, void *items, size_t kept, size_t added);

/* The same at the end of the stream: leaves few more than `top`. */
size_t top_select_finish(struct top_select *select, void *items, size_t kept);

/* select may be NULL. */
void top_select_free(struct top_select *select);

#endif
