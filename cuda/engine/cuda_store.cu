/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_store.cu - see cuda_store.h. */
#include "cuda/engine/cuda_store.h"

#include "core/backend.h"
#include "cuda/cuda_check.h"
#include "cuda/engine/cuda_memory.h"
#include "cuda/tuning.h"

#include <algorithm>
#include <stdlib.h>

bool store_bytes(const struct store *store, size_t count, size_t *bytes, struct error *error)
{
    if (__builtin_mul_overflow(count, store->item_bytes, bytes))
        return error_set(error, "device %u: %zu items of %zu bytes are more than memory can hold",
                         store->device, count, store->item_bytes);
    return true;
}

static bool store_add_segment(struct store *store, size_t capacity, struct error *error)
{
    if (store->segment_count == store->segment_room) {
        const size_t room = store->segment_room ? 2 * store->segment_room : 8;
        void *const grown = realloc(store->segments, room * sizeof *store->segments);
        if (!grown)
            return error_set(error, "out of memory: the list of %zu segments", room);
        store->segments = static_cast<struct store_segment *>(grown);
        store->segment_room = room;
    }
    size_t bytes = 0;
    void *items = NULL;
    if (!store_bytes(store, capacity, &bytes, error) ||
        !cuda_memory_allocate(store->device, bytes, &items, error))
        return false;
    store->segments[store->segment_count++] = {static_cast<unsigned char *>(items), capacity, 0};
    return true;
}

/* Returns the capacity of the next segment in items. */
static size_t store_next_capacity(const struct store *store)
{
    if (!store->grows)
        return store->limit;
    size_t capacity = SEGMENT_FIRST_BYTES / store->item_bytes;
    if (store->segment_count > 0)
        capacity = std::min(2 * store->segments[store->segment_count - 1].capacity,
                            SEGMENT_LAST_BYTES / store->item_bytes);
    return std::min(capacity, store->limit - store->count);
}

bool store_reserve(struct store *store, struct store_segment **segment, struct error *error)
{
    const size_t used = store->segment_count;
    if (used == 0 || store->segments[used - 1].count == store->segments[used - 1].capacity) {
        if (store->count >= store->limit)
            return error_set(error, "device %u: more than the %zu items announced", store->device,
                             store->limit);
        if (!store_add_segment(store, store_next_capacity(store), error))
            return false;
    }
    *segment = &store->segments[store->segment_count - 1];
    return true;
}

static void store_free_segments(struct store *store)
{
    for (size_t i = 0; i < store->segment_count; i++)
        if (store->segments[i].items)
            (void)cudaFree(store->segments[i].items);
    store->segment_count = 0;
}

/* Copies the segments to store->items, one after the other, and waits. */
static bool store_copy_segments(struct store *store, cudaStream_t stream, struct error *error)
{
    unsigned char *target = store->items;
    for (size_t i = 0; i < store->segment_count; i++) {
        const struct store_segment *const segment = &store->segments[i];
        const size_t bytes = segment->count * store->item_bytes;
        if (bytes > 0 && !cuda_check(cudaMemcpyAsync(target, segment->items, bytes,
                                                     cudaMemcpyDeviceToDevice, stream),
                                     store->device, "cudaMemcpyAsync", error))
            return false;
        target += bytes;
    }
    return cuda_check(cudaStreamSynchronize(stream), store->device, "cudaStreamSynchronize", error);
}

bool store_gather(struct store *store, cudaStream_t stream, struct error *error)
{
    if (store->segment_count == 1) {
        store->items = store->segments[0].items;
        store->segment_count = 0;
        return true;
    }
    size_t bytes = 0;
    void *items = NULL;
    if (!store_bytes(store, store->count, &bytes, error) ||
        !cuda_memory_allocate(store->device, bytes, &items, error))
        return false;
    store->items = static_cast<unsigned char *>(items);
    if (!store_copy_segments(store, stream, error))
        return false;
    store_free_segments(store);
    return true;
}

bool store_add_scratch(struct store *store, size_t scratch_items, size_t workspace_bytes,
                       struct error *error)
{
    size_t scratch_bytes = 0;
    return store_bytes(store, scratch_items, &scratch_bytes, error) &&
           cuda_memory_allocate(store->device, scratch_bytes, &store->scratch, error) &&
           cuda_memory_allocate(store->device, workspace_bytes, &store->workspace, error);
}

void store_restart(struct store *store, size_t capacity, size_t limit)
{
    store->segments[0] = {store->items, capacity, 0};
    store->segment_count = 1;
    store->items = NULL;
    store->count = 0;
    store->limit = limit;
}

void store_close(struct store *store)
{
    store_free_segments(store);
    free(store->segments);
    if (store->items)
        (void)cudaFree(store->items);
    if (store->scratch)
        (void)cudaFree(store->scratch);
    if (store->workspace)
        (void)cudaFree(store->workspace);
    *store = {};
}
