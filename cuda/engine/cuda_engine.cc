/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_engine.cc - the engine of items; see cuda_engine.h.
 *
 *   lend: a pinned slot -> take: starts a copy to the device
 *   sort: waits for the copies -> runs the path's kernels, timed by events
 *   give: copies from the device start into all slots; waits for the oldest one
 *   take_back: the next copy starts into the slot
 *
 * If only the first of many items are wanted, the array has room for one batch. Whenever it is
 * full, a selection (cuda_top.h) keeps only the items that may be among the first, and the rest of
 * the array takes the next items. So the memory depends on the number of items wanted, not on the
 * number taken.
 *
 * All work is on one stream: uploads, sort and downloads follow each other. The events of a slot
 * mark the start and the end of its copy.
 */
#include "cuda/engine/cuda_engine.h"

#include "core/clock.h"
#include "cuda/cuda_check.h"
#include "cuda/engine/cuda_device.h"
#include "cuda/engine/cuda_memory.h"
#include "cuda/engine/cuda_staging.h"
#include "cuda/engine/cuda_top.h"
#include "cuda/tuning.h"

#include <algorithm>
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- device memory ----
 *
 * For a known count, the array has that size and the spare items. For an unknown count, it grows as
 * the items arrive: they move to an array of twice the size, but at most of `limit` items. Scratch,
 * for as many items as came, is allocated afterwards. So the peak is three times the items, or
 * twice the limit if that is less, and a workspace. */

struct store {
    unsigned char *items;
    size_t capacity; /* of the array, in items, without the spare ones */
    size_t count;    /* items in the array */
    size_t limit;    /* maximum number of items */
    size_t spare;    /* items that the arrays have room for beyond a known count */
    size_t item_bytes;
    void *scratch;
    void *workspace;
};

/* Moves the items to a new array for `capacity` items and the spare ones. Waits if there are any.
 */
static bool store_resize(struct store *store, const struct cuda_worker &worker, size_t capacity,
                         struct error *error)
{
    void *items = NULL;
    if (!cuda_memory_allocate(worker.device, (capacity + store->spare) * store->item_bytes, &items,
                              error))
        return false;
    void *const before = store->items;
    store->items = static_cast<unsigned char *>(items);
    store->capacity = capacity;
    const bool is_moved = store->count == 0 || cuda_fetch(worker, items, before,
                                                          store->count * store->item_bytes, error);
    if (before)
        (void)cudaFree(before);
    return is_moved;
}

/* Sets *room to the number of items that the array has room for, at least 1. Makes it larger if it
 * is full; fails if the store has `limit` items, or if memory runs out. */
static bool store_reserve(struct store *store, const struct cuda_worker &worker, size_t *room,
                          struct error *error)
{
    if (store->count >= store->limit)
        return error_set(error, "device %u: more than the %zu items announced", worker.device,
                         store->limit);
    const size_t larger = std::max(ARRAY_FIRST_BYTES / store->item_bytes, store->capacity * 2);
    if (store->count == store->capacity &&
        !store_resize(store, worker, std::min(larger, store->limit), error))
        return false;
    *room = std::min(store->capacity, store->limit) - store->count;
    return true;
}

/* Frees all memory. No work may use it. */
static void store_close(struct store *store)
{
    if (store->items)
        (void)cudaFree(store->items);
    if (store->scratch)
        (void)cudaFree(store->scratch);
    if (store->workspace)
        (void)cudaFree(store->workspace);
    *store = {};
}

/* ---- the engine ---- */

struct engine {
    struct sort_spec spec;
    struct cuda_worker worker;
    struct store store;
    struct staging staging;
    size_t batch; /* capacity of the array in items, for a selection; 0: no selection */
    size_t taken; /* items taken so far */
    bool is_sorted;
    struct engine_times times;
};

/* ---- open and close ---- */

static void engine_close(struct engine *engine)
{
    if (!engine)
        return;
    (void)cudaSetDevice(static_cast<int>(engine->spec.device));
    if (engine->worker.stream)
        (void)cudaStreamSynchronize(engine->worker.stream);
    staging_close(&engine->staging);
    store_close(&engine->store);
    worker_close(&engine->worker);
    free(engine);
}

/* Describes the engine's memory for a path. */
static struct cuda_sort engine_make_sort(const struct engine *engine)
{
    const struct sort_spec *const spec = &engine->spec;
    const struct store *const store = &engine->store;
    return {store->items,          store->scratch,       store->workspace, store->count,
            spec->item_bytes,      spec->order,          spec->tile_size,  spec->device,
            engine->worker.stream, engine->worker.status};
}

/* Returns the number of arrays as large as the items: a selection gathers items in a second one. */
static unsigned engine_arrays(const struct engine *engine)
{
    return engine->batch > 0 ? 2 : engine->spec.algorithm->buffers;
}

static size_t engine_workspace_bytes(const struct engine *engine, size_t count)
{
    const struct sort_spec *const spec = &engine->spec;
    return std::max(engine->worker.path->workspace_bytes(count, spec->tile_size, spec->item_bytes),
                    engine->batch > 0 ? cuda_top_workspace_bytes() : 0);
}

/* Returns the bytes of memory for `count` items; SIZE_MAX on overflow. */
static size_t engine_bytes(const struct engine *engine, size_t count)
{
    const size_t item_bytes = engine->spec.item_bytes;
    size_t bytes = 0;
    if (count > SIZE_MAX / 64 ||
        __builtin_add_overflow(count * item_bytes * engine_arrays(engine),
                               engine_workspace_bytes(engine, count), &bytes))
        return SIZE_MAX;
    return bytes;
}

/* Allocates scratch for `count` items, unless the path has none, and the workspace. */
static bool engine_add_scratch(struct engine *engine, size_t count, struct error *error)
{
    struct store *const store = &engine->store;
    const size_t scratch_bytes = engine_arrays(engine) > 1 ? count * store->item_bytes : 0;
    return cuda_memory_allocate(engine->spec.device, scratch_bytes, &store->scratch, error) &&
           cuda_memory_allocate(engine->spec.device, engine_workspace_bytes(engine, count),
                                &store->workspace, error);
}

/* Allocates all memory for `count` items, or fails at once, also if its bytes exceed a size_t. */
static bool engine_allocate_count(struct engine *engine, size_t count, struct error *error)
{
    engine->store.limit = count;
    return cuda_memory_check_room(engine->spec.device, engine_bytes(engine, count), error) &&
           store_resize(&engine->store, engine->worker, count, error) &&
           engine_add_scratch(engine, count + engine->store.spare, error);
}

/* Chooses how many items the arrays hold beyond the part, if this rank's range is larger: none if
 * the device has no room for the range, or it exceeds spec->most. The engines then do not share. */
static bool engine_choose_spare(struct engine *engine, struct error *error)
{
    const struct sort_spec *const spec = &engine->spec;
    size_t free_bytes = 0;
    if (spec->count == COUNT_UNKNOWN || spec->shared_given <= spec->count ||
        spec->shared_given > spec->most)
        return true;
    if (!cuda_memory_free_bytes(spec->device, &free_bytes, error))
        return false;
    if (engine_bytes(engine, spec->shared_given) <= free_bytes)
        engine->store.spare = spec->shared_given - spec->count;
    return true;
}

/* ---- selection of the first items ---- */

/* Chooses the size of batches: as large as pays, and smaller if the device has less memory, but
 * large enough that a selection drops about half of a batch or more. If even the smallest batch
 * does not fit, chooses none (batch 0), and the engine sorts all its items. The plan expects this
 * (cli/plan/plan_memory.c) and makes the parts small enough. */
static bool engine_choose_batch(struct engine *engine, struct error *error)
{
    const struct sort_spec *const spec = &engine->spec;
    size_t free_bytes = 0;
    if (!cuda_memory_free_bytes(spec->device, &free_bytes, error))
        return false;
    const size_t least = std::max(TOP_BATCH_LEAST, std::min(spec->top, SIZE_MAX / 4) * 2);
    engine->batch = std::max(TOP_BATCH_BYTES / spec->item_bytes, least / 2 * 4);
    while (engine_bytes(engine, engine->batch) > free_bytes && engine->batch > least)
        engine->batch = std::max(engine->batch / 2, least);
    engine->batch =
        std::min(engine->batch, spec->count != COUNT_UNKNOWN ? spec->count : spec->most);
    if (engine_bytes(engine, engine->batch) > free_bytes)
        engine->batch = 0;
    return true;
}

/* If the array is full, drops nearly all items that cannot be among the first ones. */
static bool engine_thin_out(struct engine *engine, struct error *error)
{
    struct store *const store = &engine->store;
    if (store->count < engine->batch)
        return true;
    if (!staging_finish_uploads(&engine->staging, error))
        return false;
    const struct cuda_sort sort = engine_make_sort(engine);
    const uint64_t start_ns = clock_now_ns();
    size_t found = 0;
    if (!top_select(&sort, engine->spec.top, &found, error) ||
        !cuda_copy(sort, store->items, store->scratch, found * sort.item_bytes, error))
        return false;
    engine->times.sort_ns += clock_now_ns() - start_ns;
    store->count = found;
    return true;
}

/* Sorts the first items of the last batch. They become the items to give. */
static bool engine_sort_top(struct engine *engine, struct error *error)
{
    const struct cuda_sort sort = engine_make_sort(engine);
    struct store *const store = &engine->store;
    size_t found = 0;
    if (!cuda_top(&sort, engine->spec.top, engine->worker.path, &found, error))
        return false;
    store->items = static_cast<unsigned char *>(sort.scratch);
    store->scratch = sort.items;
    store->count = found;
    return true;
}

/* ---- open ---- */

/* Allocates all memory whose size is known before the first item. For an unknown count without a
 * selection that is a small array, so that a device without memory fails before anything is read.
 */
static bool engine_allocate(struct engine *engine, struct error *error)
{
    size_t room = 0;
    if (sort_spec_selects(&engine->spec) ? !engine_choose_batch(engine, error)
                                         : !engine_choose_spare(engine, error))
        return false;
    const size_t count = engine->batch > 0 ? engine->batch : engine->spec.count;
    if (count != COUNT_UNKNOWN)
        return engine_allocate_count(engine, count, error);
    return engine->store.limit == 0 || store_reserve(&engine->store, engine->worker, &room, error);
}

static bool engine_open(const struct sort_spec *spec, struct engine **result, struct error *error)
{
    const uint64_t start_ns = clock_now_ns();
    struct engine *const engine = static_cast<struct engine *>(calloc(1, sizeof *engine));
    if (!engine)
        return error_set(error, "out of memory: the engine of device %u", spec->device);
    engine->spec = *spec;
    engine->store.item_bytes = spec->item_bytes;
    engine->store.limit = spec->count != COUNT_UNKNOWN ? spec->count : spec->most;
    staging_open(&engine->staging, &engine->worker, &engine->times, spec->item_bytes,
                 std::max(spec->count, spec->shared_given));
    if (!worker_open(&engine->worker, spec, error) || !engine_allocate(engine, error)) {
        engine_close(engine);
        return false;
    }
    const uint64_t end_ns = clock_now_ns();
    engine->times.start_ns = end_ns - start_ns;
    trace_device_span(TRACE_START, spec->device, "start", start_ns, end_ns, 0);
    *result = engine;
    return true;
}

/* Takes the next items into the same array. Its scratch and workspace are large enough, because a
 * workspace for a count is enough for any smaller count. */
static bool engine_restart(struct engine *engine, const struct sort_spec *spec)
{
    const size_t most = spec->count != COUNT_UNKNOWN ? spec->count : spec->most;
    if (engine->batch > 0 || most > engine->store.capacity)
        return false;
    engine->store.limit = most;
    engine->store.count = 0;
    staging_restart(&engine->staging);
    engine->spec = *spec;
    engine->taken = 0;
    engine->is_sorted = false;
    return true;
}

/* ---- in ---- */

/* Makes room in the batch, and limits *want to the number of items still to come. */
static bool engine_lend_of_batch(struct engine *engine, size_t *want, struct error *error)
{
    const struct sort_spec *const spec = &engine->spec;
    if (engine->taken == spec->count)
        return error_set(error, "device %u: more than the %zu items announced", spec->device,
                         spec->count);
    *want = std::min(*want, spec->count - engine->taken);
    return engine_thin_out(engine, error);
}

static bool engine_lend(struct engine *engine, size_t want, struct chunk *chunk,
                        struct error *error)
{
    size_t room = 0;
    return cuda_device_use(engine->spec.device, error) &&
           (engine->batch == 0 || engine_lend_of_batch(engine, &want, error)) &&
           store_reserve(&engine->store, engine->worker, &room, error) &&
           staging_lend(&engine->staging, std::min(want, room), chunk, error);
}

static bool engine_take(struct engine *engine, struct chunk chunk, struct error *error)
{
    struct store *const store = &engine->store;
    if (!staging_take(&engine->staging, chunk, store->items + store->count * store->item_bytes,
                      error))
        return false;
    store->count += chunk.count;
    engine->taken += chunk.count;
    return true;
}

/* ---- sort ---- */

/* Allocates the rest of the memory if the count was unknown. Scratch may be smaller than the array,
 * whose capacity is then that of scratch. */
static bool engine_allocate_rest(struct engine *engine, struct error *error)
{
    struct store *const store = &engine->store;
    if (engine->spec.count != COUNT_UNKNOWN || engine->batch > 0 || store->scratch ||
        store->workspace)
        return true;
    const uint64_t start_ns = clock_now_ns();
    const bool is_allocated = engine_add_scratch(engine, store->count, error);
    store->capacity = store->count;
    engine->times.start_ns += clock_now_ns() - start_ns;
    return is_allocated;
}

/* Sorts by the path, after a selection if one is used. */
static bool engine_run_path(struct engine *engine, struct error *error)
{
    const struct cuda_sort sort = engine_make_sort(engine);
    cuda_memory_note();
    if (engine->batch == 0)
        return worker_sort(&engine->worker, sort, &engine->times.sort_ns, error);
    return worker_start_clock(&engine->worker, error) && engine_sort_top(engine, error) &&
           worker_stop_clock(&engine->worker, sort.count * sort.item_bytes, &engine->times.sort_ns,
                             error);
}

/* Returns the maximum number of items that the path will sort. */
static size_t engine_sorted_count(const struct engine *engine)
{
    const size_t count = engine->store.count;
    return engine->batch > 0 ? top_room(count, engine->spec.top) : count;
}

static bool engine_sort(struct engine *engine, struct error *error)
{
    if (!engine->is_sorted)
        engine->is_sorted =
            cuda_device_use(engine->spec.device, error) &&
            staging_finish_uploads(&engine->staging, error) &&
            worker_check_count(&engine->worker, engine_sorted_count(engine), error) &&
            engine_allocate_rest(engine, error) && engine_run_path(engine, error);
    return engine->is_sorted;
}

/* ---- out ---- */

/* Nothing to do: the items are contiguous already. */
static const void *engine_place(struct engine *engine, size_t begin, size_t end,
                                struct error *error)
{
    (void)end, (void)error;
    return engine->store.items + begin * engine->spec.item_bytes;
}

static bool engine_give(struct engine *engine, struct chunk *chunk, struct error *error)
{
    const struct staging_output output = {sort_spec_given(&engine->spec, engine->store.count),
                                          engine_place, engine};
    return staging_give(&engine->staging, &output, chunk, error);
}

static bool engine_take_back(struct engine *engine, struct chunk chunk, struct error *error)
{
    return staging_take_back(&engine->staging, chunk, error);
}

static bool engine_rewind(struct engine *engine, struct error *error)
{
    (void)error;
    staging_restart(&engine->staging);
    return true;
}

static bool engine_check(struct engine *engine, struct check_sum *sum, uint64_t *disorder,
                         struct error *error)
{
    struct cuda_sort sort = engine_make_sort(engine);
    sort.count = sort_spec_given(&engine->spec, engine->store.count);
    return cuda_device_use(engine->spec.device, error) &&
           cuda_proof_items(&sort, sum, disorder, error);
}

static void engine_get_times(const struct engine *engine, struct engine_times *times)
{
    *times = engine->times;
}

struct cuda_sort cuda_engine_memory(struct engine *engine, struct cuda_worker **worker)
{
    *worker = &engine->worker;
    return engine_make_sort(engine);
}

size_t cuda_engine_room(const struct engine *engine)
{
    const struct sort_spec *const spec = &engine->spec;
    const struct algorithm *const path = spec->algorithm;
    return spec->is_top || engine->store.count != spec->count || path->buffers < 2 ||
                   path->count_max != SIZE_MAX
               ? 0
               : spec->count + engine->store.spare;
}

void cuda_engine_set_items(struct engine *engine, void *items, void *scratch, size_t count,
                           uint64_t busy_ns)
{
    engine->times.exchange_ns += busy_ns;
    engine->store.count = count;
    engine->store.items = static_cast<unsigned char *>(items);
    engine->store.scratch = scratch;
}

const struct engine_functions cuda_keys = {
    engine_open,
    engine_lend,
    engine_take,
    engine_sort,
    engine_give,
    engine_take_back,
    engine_get_times,
    engine_close,
    engine_restart,
    engine_rewind,
    NULL,
    engine_check,
    NULL,
    NULL,
};
