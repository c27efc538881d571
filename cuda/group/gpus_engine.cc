/* SPDX-License-Identifier: Apache-2.0 */
/* gpus_engine.cc - the engine for items of several GPUs of one host.
 *
 *   lend, take: a chunk of the GPU that has the smallest fraction of its items so far
 *   sort:       each GPU sorts its part -> exchange (gpus_exchange.cu) -> each GPU has its range
 *   give:       the chunks of the first GPU, then the chunks of the second ...
 *
 * Each GPU has an engine of cuda_engine.cc, with its own memory and ring of pinned buffers. The
 * GPUs get parts in proportion to their memory. A range is as large as the part, so the memory of a
 * GPU is that of a sort of its part. If only the first items are wanted, each GPU finds the first
 * items of its part, and the ranges are cut from the first of all items.
 *
 * The first GPU is opened by `open`. For few items (sort_spec_is_small()) the others are opened by
 * a thread while items are read, because starting a GPU takes as long as reading some GB. Until
 * they are open, the first one takes the chunks; when its part is full, the reader waits.
 *
 * Only one GPU downloads at a time, because the bus of one is faster than the file is written.
 */
#include "cuda/group/gpus.h"

#include "core/check/check_kernels.h"
#include "core/clock.h"
#include "cuda/cuda_check.h"
#include "cuda/engine/cuda_device.h"
#include "cuda/engine/cuda_engine.h"

#include <algorithm>
#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

namespace
{

struct member {
    struct sort_spec spec;
    struct engine *engine; /* of cuda_keys */
    size_t room;           /* items of its part, at most */
    size_t taken;
};

} // namespace

struct engine {
    struct sort_spec spec;
    struct member members[BACKEND_DEVICES_MOST];
    size_t count;    /* of the members */
    size_t lending;  /* the member whose chunk is lent, or was lent last */
    size_t giving;   /* the member whose chunks are given */
    size_t taken;    /* items of all members */
    bool is_opening; /* the thread opens all members but the first */
    pthread_t opener;
    struct error open_error; /* of that thread */
};

/* ---- open and close ---- */

/* Waits until all members are open. Fails if one cannot be opened. */
static bool await_members(struct engine *engine, struct error *error)
{
    if (engine->is_opening)
        pthread_join(engine->opener, NULL);
    engine->is_opening = false;
    error_merge(error, &engine->open_error);
    return !engine->open_error.is_set;
}

static void gpus_close(struct engine *engine)
{
    struct error ignored = {};
    if (!engine)
        return;
    (void)await_members(engine, &ignored);
    for (size_t i = 0; i < engine->count; i++)
        cuda_keys.close(engine->members[i].engine);
    free(engine);
}

/* Divides `items` items among the members, in proportion to their memory. */
static void divide_items(struct engine *engine, size_t items)
{
    const struct device_room *const devices = engine->spec.devices;
    wide bytes = 0, before = 0;
    for (size_t i = 0; i < engine->count; i++)
        bytes += devices[i].bytes;
    for (size_t i = 0; i < engine->count; i++) {
        const size_t begin = static_cast<size_t>(items * before / bytes);
        before += devices[i].bytes;
        engine->members[i].room = static_cast<size_t>(items * before / bytes) - begin;
        engine->members[i].taken = 0;
    }
}

/* Fills the specs of the members for the engine's spec. */
static void make_specs(struct engine *engine)
{
    const struct sort_spec *const spec = &engine->spec;
    const bool is_known = spec->count != COUNT_UNKNOWN;
    divide_items(engine, is_known ? spec->count : spec->most);
    for (size_t i = 0; i < engine->count; i++) {
        struct member *const member = &engine->members[i];
        member->spec = *spec;
        member->spec.count = is_known ? member->room : COUNT_UNKNOWN;
        member->spec.most = member->room;
        member->spec.device = spec->devices[i].device;
    }
    engine->taken = engine->giving = 0;
}

/* Opens all members but the first. */
static void *opener_main(void *opaque)
{
    struct engine *const engine = static_cast<struct engine *>(opaque);
    struct error *const error = &engine->open_error;
    const auto open_other = [=](size_t i, struct error *own) {
        struct member *const member = &engine->members[i + 1];
        return cuda_keys.open(&member->spec, &member->engine, own);
    };
    (void)(gpus_each(engine->count - 1, error, open_other) &&
           gpus_connect(engine->spec.devices, engine->count, error));
    return NULL;
}

static bool open_members(struct engine *engine, struct error *error)
{
    if (!cuda_keys.open(&engine->members[0].spec, &engine->members[0].engine, error))
        return false;
    engine->is_opening = sort_spec_is_small(&engine->spec) &&
                         pthread_create(&engine->opener, NULL, opener_main, engine) == 0;
    if (engine->is_opening) {
        (void)pthread_setname_np(engine->opener, "GPUs");
        return true;
    }
    opener_main(engine);
    return await_members(engine, error);
}

static bool gpus_open(const struct sort_spec *spec, struct engine **result, struct error *error)
{
    if (spec->device_count == 0 || spec->device_count > BACKEND_DEVICES_MOST)
        return error_set(error, "%u GPUs: at most %d can sort together", spec->device_count,
                         BACKEND_DEVICES_MOST);
    struct engine *const engine = static_cast<struct engine *>(calloc(1, sizeof *engine));
    if (!engine)
        return error_set(error, "out of memory: the engine of %u GPUs", spec->device_count);
    engine->spec = *spec;
    engine->count = spec->device_count;
    make_specs(engine);
    if (!open_members(engine, error)) {
        gpus_close(engine);
        return false;
    }
    *result = engine;
    return true;
}

static bool gpus_restart(struct engine *engine, const struct sort_spec *spec)
{
    engine->spec = *spec;
    make_specs(engine);
    bool is_restarted = true;
    for (size_t i = 0; i < engine->count && is_restarted; i++)
        is_restarted = cuda_keys.restart(engine->members[i].engine, &engine->members[i].spec);
    return is_restarted;
}

/* ---- in ---- */

/* Returns the member that has the smallest fraction of its items so far; if all are full, the first
 * one. So all become full at about the same time. */
static size_t find_emptiest(const struct engine *engine)
{
    size_t found = 0;
    for (size_t i = 1; i < engine->count; i++) {
        const struct member *const a = &engine->members[found], *const b = &engine->members[i];
        if (b->taken < b->room &&
            (a->taken == a->room ||
             static_cast<wide>(b->taken) * a->room < static_cast<wide>(a->taken) * b->room))
            found = i;
    }
    return found;
}

static bool gpus_lend(struct engine *engine, size_t want, struct chunk *chunk, struct error *error)
{
    if (engine->is_opening && pthread_tryjoin_np(engine->opener, NULL) == 0)
        engine->is_opening = false;
    const bool is_first_full = engine->members[0].taken == engine->members[0].room;
    if ((is_first_full || !engine->is_opening) && !await_members(engine, error))
        return false;
    engine->lending = engine->is_opening ? 0 : find_emptiest(engine);
    struct member *const member = &engine->members[engine->lending];
    return cuda_keys.lend(member->engine,
                          std::min(want, std::max<size_t>(member->room - member->taken, 1)), chunk,
                          error);
}

static bool gpus_take(struct engine *engine, struct chunk chunk, struct error *error)
{
    struct member *const member = &engine->members[engine->lending];
    if (!cuda_keys.take(member->engine, chunk, error))
        return false;
    member->taken += chunk.count;
    engine->taken += chunk.count;
    return true;
}

/* ---- sort ---- */

/* Divides the items to give among the members, in proportion to the items that they took. */
static void divide_ranges(const struct engine *engine, struct gpu_part *parts)
{
    const wide given = sort_spec_given(&engine->spec, engine->taken);
    const wide all = std::max<size_t>(engine->taken, 1);
    size_t taken = 0;
    for (size_t i = 0; i < engine->count; i++) {
        const size_t begin = static_cast<size_t>(given * taken / all);
        taken += engine->members[i].taken;
        parts[i].range = static_cast<size_t>(given * taken / all) - begin;
    }
}

/* Lets the members exchange their sorted parts, so that each has its range. */
static bool exchange_parts(struct engine *engine, struct error *error)
{
    struct gpu_part parts[BACKEND_DEVICES_MOST] = {};
    for (size_t i = 0; i < engine->count; i++)
        parts[i].sort = cuda_engine_memory(engine->members[i].engine, &parts[i].worker);
    divide_ranges(engine, parts);
    uint64_t busy_ns = 0;
    const bool is_done = gpus_exchange(parts, engine->count, &busy_ns, error);
    for (size_t i = 0; i < engine->count; i++)
        cuda_engine_set_items(engine->members[i].engine, parts[i].sort.items, parts[i].sort.scratch,
                              parts[i].range, busy_ns);
    return is_done;
}

static bool gpus_sort(struct engine *engine, struct error *error)
{
    const auto sort_member = [=](size_t i, struct error *own) {
        return cuda_keys.sort(engine->members[i].engine, own);
    };
    return await_members(engine, error) && gpus_each(engine->count, error, sort_member) &&
           (engine->count == 1 || exchange_parts(engine, error));
}

/* ---- out ---- */

/* The chunk's slot also names the member. */
static bool gpus_give(struct engine *engine, struct chunk *chunk, struct error *error)
{
    *chunk = {};
    while (chunk->count == 0 && engine->giving < engine->count) {
        if (!cuda_keys.give(engine->members[engine->giving].engine, chunk, error))
            return false;
        engine->giving += chunk->count == 0;
    }
    chunk->slot = chunk->slot * BACKEND_DEVICES_MOST + engine->giving;
    return true;
}

static bool gpus_take_back(struct engine *engine, struct chunk chunk, struct error *error)
{
    if (!chunk.items)
        return true; /* the empty chunk at the end */
    const size_t i = chunk.slot % BACKEND_DEVICES_MOST;
    chunk.slot /= BACKEND_DEVICES_MOST;
    return cuda_keys.take_back(engine->members[i].engine, chunk, error);
}

static bool gpus_rewind(struct engine *engine, struct error *error)
{
    for (size_t i = 0; i < engine->count; i++)
        if (!cuda_keys.rewind(engine->members[i].engine, error))
            return false;
    engine->giving = 0;
    return true;
}

/* ---- check ---- */

/* The result of a member's check of its range. */
struct range_check {
    struct check_sum sum;
    uint64_t disorder;
    unsigned char first[sizeof(struct key_index)], last[sizeof(struct key_index)]; /* items */
};

static bool check_member(struct engine *engine, struct range_check *range, struct error *error)
{
    struct cuda_worker *worker = NULL;
    if (!cuda_keys.check(engine, &range->sum, &range->disorder, error))
        return false;
    const struct cuda_sort sort = cuda_engine_memory(engine, &worker);
    const unsigned char *const items = static_cast<const unsigned char *>(sort.items);
    const size_t count = range->sum.count, bytes = sort.item_bytes;
    return count == 0 || (cuda_copy(sort, range->first, items, bytes, error) &&
                          cuda_fetch(sort, range->last, items + (count - 1) * bytes, bytes, error));
}

/* All members check their ranges at the same time. The first item of a range is compared with the
 * last item of the range before it. */
static bool gpus_check(struct engine *engine, struct check_sum *sum, uint64_t *disorder,
                       struct error *error)
{
    struct range_check ranges[BACKEND_DEVICES_MOST] = {};
    const void *previous = NULL;
    uint64_t ignored_hash = 0;
    *sum = {};
    *disorder = 0;
    const auto check_one = [&](size_t i, struct error *own) {
        return check_member(engine->members[i].engine, &ranges[i], own);
    };
    if (!gpus_each(engine->count, error, check_one))
        return false;
    for (size_t i = 0; i < engine->count; i++) {
        const struct range_check *const range = &ranges[i];
        if (range->sum.count == 0)
            continue;
        const bool is_after = check_find_disorder(engine->spec.item_bytes, engine->spec.order,
                                                  previous, range->first, 1, &ignored_hash) == 1;
        const uint64_t first = is_after ? range->disorder : 1;
        if (*disorder == 0 && first > 0)
            *disorder = sum->count + first;
        check_sum_add(sum, range->sum);
        previous = range->last;
    }
    return true;
}

/* Members start, upload and sort at the same time, and download one after the other. Members that
 * are not open are left out. */
static void gpus_get_times(const struct engine *engine, struct engine_times *times)
{
    *times = {};
    for (size_t i = 0; i < (engine->is_opening ? 1 : engine->count); i++) {
        struct engine_times own = {};
        if (!engine->members[i].engine)
            continue;
        cuda_keys.times(engine->members[i].engine, &own);
        times->start_ns = std::max(times->start_ns, own.start_ns);
        times->upload_ns = std::max(times->upload_ns, own.upload_ns);
        times->sort_ns = std::max(times->sort_ns, own.sort_ns);
        times->exchange_ns = std::max(times->exchange_ns, own.exchange_ns);
        times->download_ns += own.download_ns;
    }
}

const struct engine_functions gpus_keys = {
    gpus_open,  gpus_lend,    gpus_take,   gpus_sort, gpus_give,  gpus_take_back, gpus_get_times,
    gpus_close, gpus_restart, gpus_rewind, NULL,      gpus_check, NULL,           NULL,
};
