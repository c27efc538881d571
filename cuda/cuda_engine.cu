/* cuda_engine.cu - see cuda_engine.h.
 *
 *   lend: a pinned slot -> take: copy to the device, behind the caller's back
 *   sort: all copies done -> segments gathered -> the path's kernels, timed by events
 *   give: copies from the device run ahead into all slots; the oldest one is waited for and given
 *   take_back: the next copy starts into the slot
 *
 * One stream does all: copies one way, the sort and copies the other way follow each other, and the
 * events of a slot say when its copy is done.
 */
#include "cuda/cuda_engine.h"

#include "core/clock.h"
#include "cuda/cuda_check.h"
#include "cuda/cuda_device.h"
#include "cuda/cuda_paths.h"
#include "cuda/cuda_staging.h"
#include "cuda/cuda_store.h"
#include "cuda/cuda_time.h"

#include <algorithm>
#include <stdlib.h>

/* Slots whose download was started, oldest first. */
struct download_queue {
    size_t slots[STAGING_SLOTS];
    size_t first;
    size_t count;
};

struct engine {
    struct sort_spec spec;
    const struct cuda_path *path;
    struct store store;
    struct staging staging;
    cudaStream_t stream;
    cudaEvent_t sort_started;
    cudaEvent_t sort_finished;
    struct sort_note *note; /* pinned; NULL for a path that leaves nothing over */
    size_t upload_slot;     /* of the chunk lent next, or now */
    size_t lent;            /* items of room in the chunk that the caller has */
    size_t download_next;   /* item that the next download starts with */
    bool is_giving;
    struct download_queue downloads;
    struct engine_times times;
};

/* ---- open and close ---- */

void cuda_engine_close(struct engine *engine)
{
    if (!engine)
        return;
    (void)cudaSetDevice(static_cast<int>(engine->spec.device));
    if (engine->stream)
        (void)cudaStreamSynchronize(engine->stream);
    staging_close(&engine->staging);
    store_close(&engine->store);
    if (engine->note)
        (void)cudaFreeHost(engine->note);
    if (engine->sort_finished)
        (void)cudaEventDestroy(engine->sort_finished);
    if (engine->sort_started)
        (void)cudaEventDestroy(engine->sort_started);
    if (engine->stream)
        (void)cudaStreamDestroy(engine->stream);
    free(engine);
}

/* Refuses what is beyond the range of the path. */
static bool engine_check_count(const struct sort_spec *spec, size_t count, struct error *error)
{
    const struct algorithm *const algorithm = spec->algorithm;
    return count <= algorithm->count_max ||
           error_set(error, "device %u: %s sorts at most %zu items, and there are %zu",
                     spec->device, algorithm->name, algorithm->count_max, count);
}

static bool engine_check_spec(const struct sort_spec *spec, struct error *error)
{
    const size_t *tile_size = spec->algorithm->tile_sizes;
    while (*tile_size != 0 && *tile_size != spec->tile_size)
        tile_size++;
    if (*tile_size == 0)
        return error_set(error, "device %u: %s has no tiles of %zu items", spec->device,
                         spec->algorithm->name, spec->tile_size);
    if (spec->count != COUNT_UNKNOWN && !engine_check_count(spec, spec->count, error))
        return false;
    const size_t bytes = spec->item_bytes;
    return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16) ||
           error_set(error, "device %u: no path sorts items of %zu bytes", spec->device, bytes);
}

static bool engine_find_path(struct engine *engine, struct error *error)
{
    const struct sort_spec *const spec = &engine->spec;
    engine->path = cuda_path_find(spec->algorithm);
    if (!engine->path)
        return error_set(error, "device %u: not a path of the gpu: %s", spec->device,
                         spec->algorithm->name);
    return engine_check_spec(spec, error);
}

static bool engine_start_device(struct engine *engine, struct error *error)
{
    const unsigned device = engine->spec.device;
    return cuda_device_find(device, error) && cuda_device_use(device, error) &&
           cuda_check(cudaStreamCreate(&engine->stream), device, "cudaStreamCreate", error) &&
           cuda_check(cudaEventCreate(&engine->sort_started), device, "cudaEventCreate", error) &&
           cuda_check(cudaEventCreate(&engine->sort_finished), device, "cudaEventCreate", error);
}

static bool engine_make_note(struct engine *engine, struct error *error)
{
    if (!engine->path->finish)
        return true;
    return cuda_check(
        cudaMallocHost(reinterpret_cast<void **>(&engine->note), sizeof *engine->note),
        engine->spec.device, "cudaMallocHost", error);
}

static bool engine_add_scratch(struct engine *engine, size_t count, struct error *error)
{
    return store_add_scratch(
        &engine->store, engine->spec.algorithm->buffers > 1 ? count : 0,
        engine->path->workspace_bytes(count, engine->spec.tile_size, engine->spec.item_bytes),
        error);
}

/* With a known count all memory is had now, or refused now. */
static bool engine_allocate_known(struct engine *engine, struct error *error)
{
    const size_t count = engine->spec.count;
    const size_t workspace =
        engine->path->workspace_bytes(count, engine->spec.tile_size, engine->spec.item_bytes);
    size_t items = 0, bytes = 0;
    if (!store_bytes(&engine->store, count, &items, error))
        return false;
    if (__builtin_mul_overflow(items, engine->spec.algorithm->buffers, &bytes) ||
        __builtin_add_overflow(bytes, workspace, &bytes))
        bytes = SIZE_MAX;
    struct store_segment *segment = NULL;
    return store_check_room(&engine->store, bytes, error) &&
           (count == 0 || store_reserve(&engine->store, &segment, error)) &&
           engine_add_scratch(engine, count, error);
}

static void engine_set_slot_size(struct engine *engine)
{
    const size_t item_bytes = engine->spec.item_bytes, count = engine->spec.count;
    const size_t items = std::min(STAGING_SLOT_BYTES / item_bytes, std::max<size_t>(count, 1));
    engine->staging.slot_bytes = items * item_bytes;
}

bool cuda_engine_open(const struct sort_spec *spec, struct engine **result, struct error *error)
{
    const uint64_t start_ns = clock_now_ns();
    struct engine *const engine = static_cast<struct engine *>(calloc(1, sizeof *engine));
    if (!engine)
        return error_set(error, "out of memory: the engine of device %u", spec->device);
    engine->spec = *spec;
    engine->store.device = engine->staging.device = spec->device;
    engine->store.item_bytes = spec->item_bytes;
    engine->store.limit = spec->count;
    engine_set_slot_size(engine);
    bool is_open = engine_find_path(engine, error) && engine_start_device(engine, error) &&
                   engine_make_note(engine, error);
    engine->staging.stream = engine->stream;
    is_open = is_open && (spec->count == COUNT_UNKNOWN || engine_allocate_known(engine, error));
    if (!is_open) {
        cuda_engine_close(engine);
        return false;
    }
    engine->times.start_ns = clock_now_ns() - start_ns;
    *result = engine;
    return true;
}

/* ---- in ---- */

/* Pins a slot on its first use; that is part of the start. */
static bool engine_prepare_slot(struct engine *engine, size_t slot, struct error *error)
{
    const uint64_t start_ns = clock_now_ns();
    const bool is_ready = staging_prepare(&engine->staging, slot, error);
    engine->times.start_ns += clock_now_ns() - start_ns;
    return is_ready;
}

bool cuda_engine_lend(struct engine *engine, size_t want, struct chunk *chunk, struct error *error)
{
    const size_t slot = engine->upload_slot;
    struct store_segment *segment = NULL;
    if (!cuda_device_use(engine->spec.device, error) ||
        !staging_wait(&engine->staging, slot, &engine->times.upload_ns, error) ||
        !engine_prepare_slot(engine, slot, error) ||
        !store_reserve(&engine->store, &segment, error))
        return false;
    const size_t slot_items = engine->staging.slot_bytes / engine->spec.item_bytes;
    engine->lent = std::min({want, slot_items, segment->capacity - segment->count});
    *chunk = {engine->staging.slots[slot].memory, engine->lent, 0, slot};
    return true;
}

bool cuda_engine_take(struct engine *engine, struct chunk chunk, struct error *error)
{
    const unsigned device = engine->spec.device;
    if (chunk.slot != engine->upload_slot || chunk.count > engine->lent)
        return error_set(error, "device %u: the chunk taken is not the one lent", device);
    engine->lent = 0;
    if (chunk.count == 0)
        return true;
    const size_t item_bytes = engine->spec.item_bytes;
    struct store_segment *segment = NULL;
    if (!cuda_device_use(device, error) || !store_reserve(&engine->store, &segment, error) ||
        !staging_copy(&engine->staging, chunk.slot, segment->items + segment->count * item_bytes,
                      engine->staging.slots[chunk.slot].memory, chunk.count * item_bytes,
                      cudaMemcpyHostToDevice, error))
        return false;
    segment->count += chunk.count;
    engine->store.count += chunk.count;
    engine->upload_slot = (chunk.slot + 1) % STAGING_SLOTS;
    return true;
}

/* ---- sort ---- */

static bool engine_finish_uploads(struct engine *engine, struct error *error)
{
    for (size_t slot = 0; slot < STAGING_SLOTS; slot++)
        if (!staging_wait(&engine->staging, slot, &engine->times.upload_ns, error))
            return false;
    return true;
}

/* With an unknown count the arrays can be had only now. */
static bool engine_arrange_memory(struct engine *engine, struct error *error)
{
    const uint64_t start_ns = clock_now_ns();
    const bool is_arranged = store_gather(&engine->store, engine->stream, error) &&
                             (engine->spec.count != COUNT_UNKNOWN ||
                              engine_add_scratch(engine, engine->store.count, error));
    engine->times.start_ns += clock_now_ns() - start_ns;
    return is_arranged;
}

/* Waits for all kernels started so far. */
static bool engine_await_path(struct engine *engine, struct error *error)
{
    return cuda_check(cudaEventRecord(engine->sort_finished, engine->stream), engine->spec.device,
                      "cudaEventRecord", error) &&
           cuda_check(cudaEventSynchronize(engine->sort_finished), engine->spec.device,
                      engine->spec.algorithm->name, error);
}

/* Lets the path start what it left over, until that is nothing. */
static bool engine_finish_path(struct engine *engine, const struct cuda_sort *sort,
                               struct error *error)
{
    bool is_done = !engine->path->finish;
    for (unsigned round = 1; !is_done; round++)
        if (!engine->path->finish(sort, round, &is_done, error) ||
            (!is_done && !engine_await_path(engine, error)))
            return false;
    return true;
}

/* Starts the path's kernels between two events and waits for the second. */
static bool engine_run_path(struct engine *engine, struct error *error)
{
    const struct sort_spec *const spec = &engine->spec;
    const struct store *const store = &engine->store;
    const struct cuda_sort sort = {store->items,     store->scratch, store->workspace, store->count,
                                   spec->item_bytes, spec->order,    spec->tile_size,  spec->device,
                                   engine->stream,   engine->note};
    return cuda_check(cudaEventRecord(engine->sort_started, engine->stream), spec->device,
                      "cudaEventRecord", error) &&
           engine->path->sort(&sort, error) && engine_await_path(engine, error) &&
           engine_finish_path(engine, &sort, error) &&
           cuda_add_elapsed(engine->sort_started, engine->sort_finished, spec->device,
                            &engine->times.sort_ns, error);
}

bool cuda_engine_sort(struct engine *engine, struct error *error)
{
    return cuda_device_use(engine->spec.device, error) && engine_finish_uploads(engine, error) &&
           engine_check_count(&engine->spec, engine->store.count, error) &&
           engine_arrange_memory(engine, error) && engine_run_path(engine, error);
}

/* ---- out ---- */

/* Starts the download of the next items into an idle slot; nothing is left to do at the end. */
static bool engine_start_download(struct engine *engine, size_t slot, struct error *error)
{
    const size_t item_bytes = engine->spec.item_bytes;
    const size_t count = std::min(engine->store.count - engine->download_next,
                                  engine->staging.slot_bytes / item_bytes);
    if (count == 0)
        return true;
    if (!engine_prepare_slot(engine, slot, error) ||
        !staging_copy(&engine->staging, slot, engine->staging.slots[slot].memory,
                      engine->store.items + engine->download_next * item_bytes, count * item_bytes,
                      cudaMemcpyDeviceToHost, error))
        return false;
    engine->staging.slots[slot].count = count;
    engine->download_next += count;
    struct download_queue *const queue = &engine->downloads;
    queue->slots[(queue->first + queue->count++) % STAGING_SLOTS] = slot;
    return true;
}

bool cuda_engine_give(struct engine *engine, struct chunk *chunk, struct error *error)
{
    *chunk = {};
    if (!cuda_device_use(engine->spec.device, error))
        return false;
    if (!engine->is_giving) {
        engine->is_giving = true;
        for (size_t slot = 0; slot < STAGING_SLOTS; slot++)
            if (!engine_start_download(engine, slot, error))
                return false;
    }
    struct download_queue *const queue = &engine->downloads;
    if (queue->count == 0)
        return engine->download_next == engine->store.count ||
               error_set(error, "device %u: all chunks are with the caller", engine->spec.device);
    const size_t slot = queue->slots[queue->first];
    queue->first = (queue->first + 1) % STAGING_SLOTS;
    queue->count--;
    if (!staging_wait(&engine->staging, slot, &engine->times.download_ns, error))
        return false;
    const size_t count = engine->staging.slots[slot].count;
    *chunk = {engine->staging.slots[slot].memory, count, count, slot};
    return true;
}

bool cuda_engine_take_back(struct engine *engine, struct chunk chunk, struct error *error)
{
    if (!chunk.items)
        return true; /* the empty chunk at the end has no slot */
    return cuda_device_use(engine->spec.device, error) &&
           engine_start_download(engine, chunk.slot, error);
}

void cuda_engine_times(const struct engine *engine, struct engine_times *times)
{
    *times = engine->times;
}
