/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_store.h - the device memory of an engine: where items are collected, sorted and taken from.
 *
 * A known count gets one segment of just that size. An unknown one gets segments as the items come,
 * each twice the one before up to a limit, and no more than there may be items; store_gather then
 * copies them to one array and frees them. Scratch comes after that, so that the peak is twice the
 * data, whatever the path.
 */
#ifndef CUDA_CUDA_STORE_H
#define CUDA_CUDA_STORE_H

#include "core/error.h"

#include <cuda_runtime.h>
#include <stddef.h>

struct store_segment {
    unsigned char *items;
    size_t capacity; /* items */
    size_t count;
};

struct store {
    struct store_segment *segments; /* all but the last one are full, or left with room unused */
    size_t segment_count;
    size_t segment_room; /* of the array `segments` */
    size_t limit;        /* items at most */
    bool grows;          /* the count is not known: there may be fewer */
    size_t count;        /* items in all segments */
    size_t item_bytes;
    unsigned device;
    unsigned char *items; /* after store_gather: all of them */
    void *scratch;
    void *workspace;
};

/* Bytes of `count` items, or false when that is more than a size_t holds. */
bool store_bytes(const struct store *store, size_t count, size_t *bytes, struct error *error);

/* The segment that the next items go to; it has room for one at least. */
bool store_reserve(struct store *store, struct store_segment **segment, struct error *error);

/* Brings all items into one array, store->items (NULL if there are none). Waits for the stream. */
bool store_gather(struct store *store, cudaStream_t stream, struct error *error);

/* Allocates scratch (scratch_items items) and workspace, of which each may be 0. */
bool store_add_scratch(struct store *store, size_t scratch_items, size_t workspace_bytes,
                       struct error *error);

/* Forgets the items, of which the array has room for so many, and takes up to `limit` new ones
 * there.
 */
void store_restart(struct store *store, size_t capacity, size_t limit);

/* Frees all. Nothing may be using it any more. */
void store_close(struct store *store);

#endif
