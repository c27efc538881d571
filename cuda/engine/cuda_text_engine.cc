/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_text_engine.cc - the engine of lines; see cuda_engine.h.
 *
 *   lend, take: pinned slots -> the text, contiguous on the device
 *   sort: the text's lines -> items in input order, a few of them keyed by the helper
 *         -> sorted by the path -> refined, some of them by the helper -> position of each line
 *   give, take_back: lines gathered in the order of the items, a slot of text at a time
 *         -> pinned slots, ahead of the caller
 *
 * The device has the text, two arrays of items, and a workspace that each step has to itself. Of
 * several devices, the first one works, in the memory of the others too if its own may be too
 * small (cuda_memory.h). Then the text is in theirs, because items are read more often.
 *
 *   array     key                          sort      refine    gather
 *   items     filled                       sorted    refined   read
 *   scratch   flagged lines                scratch   scratch   starts of lines in the output
 *   workspace                              the path  marks     a piece of the output
 *
 * All work is on one stream. Nothing is downloaded while a piece is gathered, which costs a third
 * of the bus bandwidth; but the caller takes longer to write than both together.
 */
#include "cuda/engine/cuda_engine.h"

#include "core/clock.h"
#include "cuda/cuda_check.h"
#include "cuda/engine/cuda_device.h"
#include "cuda/engine/cuda_lines.h"
#include "cuda/engine/cuda_memory.h"
#include "cuda/engine/cuda_staging.h"

#include <algorithm>
#include <stdlib.h>

/* cuda_lines_refine() numbers lines in 32 bits. */
static constexpr size_t text_lines_max = UINT32_MAX;

struct engine {
    struct sort_spec spec;
    struct cuda_worker worker;
    struct staging staging;
    struct cuda_pool pool;
    struct cuda_array text;  /* room for spec.count bytes, and slack */
    struct cuda_array tiles; /* lines, and flagged lines, before each tile of the text */
    size_t taken;            /* bytes of text taken so far */
    struct cuda_text lines;
    struct cuda_array items; /* of struct key_index */
    struct cuda_array scratch;
    size_t scratch_bytes;
    struct cuda_array workspace;
    struct cuda_gather gather;
    struct engine_times times;
};

/* ---- open and close ---- */

static void text_close(struct engine *engine)
{
    if (!engine)
        return;
    (void)cudaSetDevice(static_cast<int>(engine->spec.device));
    if (engine->worker.stream)
        (void)cudaStreamSynchronize(engine->worker.stream);
    staging_close(&engine->staging);
    for (struct cuda_array *array :
         {&engine->text, &engine->tiles, &engine->items, &engine->scratch, &engine->workspace})
        cuda_array_free(array);
    worker_close(&engine->worker);
    free(engine);
}

static bool text_allocate(struct engine *engine, struct error *error)
{
    const unsigned device = engine->spec.device;
    size_t bytes = 0;
    if (__builtin_add_overflow(engine->spec.count, CUDA_TEXT_SLACK_BYTES, &bytes))
        return error_set(error, "device %u: %zu bytes of text are more than memory can hold",
                         device, engine->spec.count);
    const size_t tiles_bytes = cuda_lines_workspace_bytes(engine->spec.count);
    return cuda_array_allocate(&engine->pool, bytes, true, &engine->text, error) &&
           cuda_array_allocate(&engine->pool, tiles_bytes, false, &engine->tiles, error);
}

static bool text_open(const struct sort_spec *spec, struct engine **result, struct error *error)
{
    const uint64_t start_ns = clock_now_ns();
    struct engine *const engine = static_cast<struct engine *>(calloc(1, sizeof *engine));
    if (!engine)
        return error_set(error, "out of memory: the engine of device %u", spec->device);
    engine->spec = *spec;
    engine->pool.spec = &engine->spec;
    staging_open(&engine->staging, &engine->worker, &engine->times, 1, spec->count);
    /* The slots are pinned now, while the caller may be reading. */
    if (!worker_open(&engine->worker, spec, error) || !text_allocate(engine, error) ||
        !staging_prepare(&engine->staging, spec->count, error)) {
        text_close(engine);
        return false;
    }
    const uint64_t end_ns = clock_now_ns();
    engine->times.start_ns = end_ns - start_ns;
    trace_device_span(TRACE_START, spec->device, "start", start_ns, end_ns, 0);
    *result = engine;
    return true;
}

/* ---- in ---- */

static bool text_lend(struct engine *engine, size_t want, struct chunk *chunk, struct error *error)
{
    if (engine->taken == engine->spec.count)
        return error_set(error, "device %u: more than the %zu bytes of text announced",
                         engine->spec.device, engine->spec.count);
    return staging_lend(&engine->staging, std::min(want, engine->spec.count - engine->taken), chunk,
                        error);
}

static bool text_take(struct engine *engine, struct chunk chunk, struct error *error)
{
    if (!staging_take(&engine->staging, chunk,
                      static_cast<unsigned char *>(engine->text.memory) + engine->taken, error))
        return false;
    engine->taken += chunk.count;
    return true;
}

/* ---- key: memory, once the lines are counted, and their items ---- */

/* Allocates the arrays of items and the workspace. */
static bool text_allocate_items(struct engine *engine, struct error *error)
{
    const uint64_t start_ns = clock_now_ns();
    const size_t count = engine->lines.count, items_bytes = count * sizeof(struct key_index);
    const size_t sort_bytes = engine->worker.path->workspace_bytes(count, engine->spec.tile_size,
                                                                   sizeof(struct key_index));
    const size_t workspace_bytes =
        std::max({sort_bytes, cuda_refine_workspace_bytes(count), engine->staging.slot_bytes});
    engine->scratch_bytes =
        std::max(items_bytes, cuda_gather_workspace_bytes(engine->taken, count));
    const bool is_had =
        cuda_array_allocate(&engine->pool, workspace_bytes, false, &engine->workspace, error) &&
        cuda_array_allocate(&engine->pool, items_bytes, false, &engine->items, error) &&
        cuda_array_allocate(&engine->pool, engine->scratch_bytes, false, &engine->scratch, error);
    engine->times.start_ns += clock_now_ns() - start_ns;
    return is_had;
}

static bool text_key(struct engine *engine, struct error *error)
{
    const struct cuda_text *const lines = &engine->lines;
    struct key_index *const items = static_cast<struct key_index *>(engine->items.memory);
    struct cuda_flagged flagged = {0, engine->scratch.memory, engine->scratch_bytes,
                                   &engine->spec.helper};
    return cuda_lines_key(lines, engine->tiles.memory, items, &flagged.count, error) &&
           cuda_lines_key_flagged(lines, engine->tiles.memory, items, &flagged, error);
}

/* Finds the lines and makes their items. */
static bool text_parse(struct engine *engine, struct error *error)
{
    struct cuda_text *const lines = &engine->lines;
    *lines = {static_cast<const unsigned char *>(engine->text.memory),
              engine->taken,
              0,
              cuda_line_order_make(engine->spec.line_order),
              engine->spec.device,
              engine->worker.stream};
    const uint64_t start_ns = clock_now_ns(), allocating_ns = engine->times.start_ns;
    if (!cuda_lines_count(lines, engine->tiles.memory, error))
        return false;
    if (lines->count > text_lines_max)
        return error_set(error,
                         "device %u: %zu lines of text, where it sorts %zu at most; a smaller "
                         "--device-memory sorts them in parts",
                         engine->spec.device, lines->count, text_lines_max);
    engine->times.lines = lines->count;
    if (!worker_check_count(&engine->worker, lines->count, error) ||
        !text_allocate_items(engine, error) || !text_key(engine, error))
        return false;
    const uint64_t end_ns = clock_now_ns();
    engine->times.parse_ns = end_ns - start_ns - (engine->times.start_ns - allocating_ns);
    trace_device_span(TRACE_KERNEL, engine->spec.device, "parse", start_ns, end_ns, engine->taken);
    return true;
}

/* ---- sort, refine, measure ---- */

/* Describes the engine's memory for the path. */
static struct cuda_sort text_make_sort(const struct engine *engine)
{
    return {engine->items.memory,   engine->scratch.memory,   engine->workspace.memory,
            engine->lines.count,    sizeof(struct key_index), key_order_identity(),
            engine->spec.tile_size, engine->spec.device,      engine->worker.stream,
            engine->worker.status};
}

/* Sets *count to the number of lines kept. */
static bool text_refine(struct engine *engine, size_t *count, struct error *error)
{
    const struct cuda_refine refine = {&engine->lines, text_make_sort(engine), engine->worker.path,
                                       &engine->pool, &engine->spec.helper};
    const uint64_t start_ns = clock_now_ns();
    if (!cuda_lines_refine(&refine, count, error))
        return false;
    const uint64_t end_ns = clock_now_ns();
    engine->times.refine_ns = end_ns - start_ns;
    trace_device_span(TRACE_KERNEL, engine->spec.device, "refine", start_ns, end_ns,
                      *count * sizeof(struct key_index));
    return true;
}

/* Finds the position of each of the `count` lines in the output. The workspace will hold the
 * pieces, one slot's worth at a time. */
static bool text_measure(struct engine *engine, size_t count, struct error *error)
{
    cuda_memory_note();
    engine->gather = {&engine->lines, static_cast<const struct key_index *>(engine->items.memory),
                      count, engine->scratch.memory, 0};
    return cuda_gather_measure(&engine->gather, error) &&
           cuda_gather_start_check(&engine->gather, error);
}

static bool text_sort(struct engine *engine, struct error *error)
{
    if (!cuda_device_use(engine->spec.device, error) ||
        !staging_finish_uploads(&engine->staging, error))
        return false;
    if (engine->taken == 0)
        return true;
    size_t kept = 0;
    return text_parse(engine, error) &&
           worker_sort(&engine->worker, text_make_sort(engine), &engine->times.sort_ns, error) &&
           text_refine(engine, &kept, error) &&
           text_measure(engine, sort_spec_given(&engine->spec, kept), error);
}

/* ---- out ---- */

/* Gathers a piece into the workspace. By the order of the stream, the previous piece was copied out
 * before.
 */
static const void *text_place(struct engine *engine, size_t begin, size_t end, struct error *error)
{
    unsigned char *const piece = static_cast<unsigned char *>(engine->workspace.memory);
    return cuda_gather_copy(&engine->gather, begin, end, piece, error) ? piece : NULL;
}

static bool text_give(struct engine *engine, struct chunk *chunk, struct error *error)
{
    const struct staging_output output = {engine->gather.bytes, text_place, engine};
    if (!staging_give(&engine->staging, &output, chunk, error))
        return false;
    return chunk->count > 0 || engine->gather.bytes == 0 ||
           cuda_gather_finish_check(&engine->gather, &engine->times.proof, error);
}

static bool text_take_back(struct engine *engine, struct chunk chunk, struct error *error)
{
    return staging_take_back(&engine->staging, chunk, error);
}

static bool text_rewind(struct engine *engine, struct error *error)
{
    staging_restart(&engine->staging);
    return engine->gather.bytes == 0 || cuda_gather_start_check(&engine->gather, error);
}

static void text_get_times(const struct engine *engine, struct engine_times *times)
{
    *times = engine->times;
}

const struct engine_functions cuda_lines = {
    text_open,  text_lend, text_take,   text_sort, text_give, text_take_back, text_get_times,
    text_close, NULL,      text_rewind, NULL,      NULL,      NULL,           NULL,
};
