/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_store.h - the device memory of an engine for items.
 *
 * A known count gets one segment of exactly that size. For an unknown count, segments are added as
 * the items arrive. Each is twice as large as the one before, up to a limit, and never larger than
 * the remaining maximum count. Then store_gather copies them to one array and frees them. Scratch
 * is allocated afterwards, so the peak is twice the data, for every path.
 */
#ifndef CUDA_CUDA_STORE_H
#define CUDA_CUDA_STORE_H

#include "core/error.h"

#include <cuda_runtime.h>
#include <stddef.h>

struct store_segment {
    unsigned char *items;
    size_t capacity; /* in items */
    size_t count;
};

struct store {
    struct store_segment *segments; /* all but the last are full, or are left with unused room */
    size_t segment_count;
    size_t segment_room; /* capacity of the array `segments` */
    size_t limit;        /* maximum number of items */
    bool grows;          /* the count is unknown: there may be fewer items */
    size_t count;        /* items in all segments */
    size_t item_bytes;
    unsigned device;
    unsigned char *items; /* after store_gather: the array of all items */
    void *scratch;
    void *workspace;
};

/* Sets *bytes to the size of `count` items. Fails if it exceeds a size_t. */
bool store_bytes(const struct store *store, size_t count, size_t *bytes, struct error *error);

/* Sets *segment to the segment for the next items, which has room for at least one. */
bool store_reserve(struct store *store, struct store_segment **segment, struct error *error);

/* Moves all items to one array, store->items (NULL if there are none). Waits for the stream if it
 * copies. */
bool store_gather(struct store *store, cudaStream_t stream, struct error *error);

/* Allocates scratch for `scratch_items` items, and the workspace. Either size may be 0. */
bool store_add_scratch(struct store *store, size_t scratch_items, size_t workspace_bytes,
                       struct error *error);

/* Drops all items and takes up to `limit` new ones into the same array, which has room for
 * `capacity`.
 */
void store_restart(struct store *store, size_t capacity, size_t limit);

/* Frees all memory. No work may use it. */
void store_close(struct store *store);

#endif
