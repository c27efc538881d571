/* SPDX-License-Identifier: Apache-2.0 */
/* top_select.h - keeps the first K items of a stream, in place (--top).
 *
 *   items: | kept | new --reader--> |  --add--> | kept, of both | room |
 *
 * Items from a bound on are dropped as they are read. When more than top_select_limit are kept, a
 * smaller bound is found. Kept items stay in input order, so the selection is stable. One thread
 * calls; it uses OpenMP threads.
 */
#ifndef CPU_TOP_SELECT_H
#define CPU_TOP_SELECT_H

#include "core/error.h"
#include "core/key_order.h"

#include <stddef.h>

struct top_task {
    unsigned item_bytes;    /* bytes per item: 1, 2, 4, 8 (keys) or 16 (struct key_index), by key */
    struct key_order order; /* of the stored keys */
    size_t top;             /* items wanted */
    unsigned threads;       /* maximum, at least 1 */
};

struct top_select;

bool top_select_create(const struct top_task *task, struct top_select **select,
                       struct error *error);

/* Maximum items kept by top_select_add: twice `top` and some, or SIZE_MAX. */
size_t top_select_limit(size_t top);

/* items[0..kept) is the result of the previous call, items[kept..kept + added) is new. Moves the
 * items that may be among the first `top` to the start of items, and returns how many. */
size_t top_select_add(struct top_select *select, void *items, size_t kept, size_t added);

/* Called at the end of the stream: keeps few more than `top`. */
size_t top_select_finish(struct top_select *select, void *items, size_t kept);

/* select may be NULL. */
void top_select_free(struct top_select *select);

#endif
