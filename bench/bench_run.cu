/* bench_run.cu - see bench_run.h.
 *
 *   for each run, the first one to warm up:
 *       for each sorter: input made anew -> [event, sort, event] -> digest compared
 *
 * Sorters take turns, so that what changes with time (clocks, heat) meets all alike. Two arrays
 * serve all of them: the items, and an arena that has a sorter's scratch and workspace. The arena
 * is filled with a pattern before each run, so that the output of an earlier run is never taken for
 * this one's. Making the input leaves its end in the L2 cache, for each sorter the same.
 */
#include "bench/bench_run.h"

#include "cuda/cuda_check.h"
#include "cuda/cuda_paths.h"
#include "cuda/cuda_time.h"

#include <algorithm>
#include <numeric>
#include <vector>

static const size_t alignment = 256;

/* Rounds up; `bytes` belong to memory that exists, or are checked against it. */
static size_t align(size_t bytes)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/* Memory and events of a case. */
struct bench_memory {
    void *items;
    void *arena;
    struct item_digest *digest;
    struct sort_note *note; /* pinned, for the paths that leave one */
    cudaEvent_t start, end;
};

static void memory_free(struct bench_memory *memory)
{
    if (memory->items)
        (void)cudaFree(memory->items);
    if (memory->arena)
        (void)cudaFree(memory->arena);
    if (memory->note)
        (void)cudaFreeHost(memory->note);
    if (memory->digest)
        (void)cudaFree(memory->digest);
    if (memory->start)
        (void)cudaEventDestroy(memory->start);
    if (memory->end)
        (void)cudaEventDestroy(memory->end);
    *memory = {};
}

static size_t case_bytes(const struct bench_case *bench)
{
    return bench->count * bench->type->item_bytes;
}

bool sorter_accepts(const struct sorter *sorter, const struct bench_type *type)
{
    return sorter->algorithm ||
           (sorter->peer->value_bytes != 0) == (type->id == BENCH_TYPE_key_index);
}

size_t sorter_item_bytes(const struct sorter *sorter, const struct bench_type *type)
{
    const bool has_pairs = sorter->peer && sorter->peer->value_bytes != 0;
    return has_pairs ? sizeof(uint64_t) + sorter->peer->value_bytes : type->item_bytes;
}

/* ---- the two kinds of sorter ---- */

/* Where the sorter wants its input within the items. */
static struct item_arrays sorter_input(const struct sorter *sorter, const struct bench_case *bench,
                                       void *items)
{
    if (sorter->algorithm || sorter->peer->value_bytes == 0)
        return {items, NULL, 0};
    char *const values = static_cast<char *>(items) + align(bench->count * sizeof(uint64_t));
    return {items, values, sorter->peer->value_bytes};
}

static struct peer_call sorter_call(const struct sorter *sorter, const struct bench_case *bench,
                                    void *items, void *arena)
{
    const struct item_arrays input = sorter_input(sorter, bench, items);
    return {bench->type->id, bench->count,  {input.keys, input.values},
            arena,           bench->device, bench->stream};
}

static size_t path_scratch_bytes(const struct sorter *sorter, const struct bench_case *bench)
{
    return sorter->algorithm->buffers > 1 ? align(case_bytes(bench)) : 0;
}

static bool sorter_arena_bytes(const struct sorter *sorter, const struct bench_case *bench,
                               size_t *bytes, struct error *error)
{
    *bytes = 0;
    if (sorter->algorithm) {
        const struct cuda_path *const path = cuda_path_find(sorter->algorithm);
        *bytes = path_scratch_bytes(sorter, bench) +
                 path->workspace_bytes(bench->count, sorter->tile_size, bench->type->item_bytes);
        return true;
    }
    struct key_arrays sorted = {};
    const struct peer_call call = sorter_call(sorter, bench, NULL, NULL);
    return sorter->peer->sort(&call, bytes, &sorted, error);
}

/* What a path leaves over it starts after a wait, as the engine has it do; the wait is part of its
 * time. */
static bool finish_path(const struct cuda_path *path, const struct cuda_sort *sort,
                        struct error *error)
{
    bool is_done = !path->finish;
    for (unsigned round = 1; !is_done; round++)
        if (!cuda_check(cudaStreamSynchronize(sort->stream), sort->device, "cudaStreamSynchronize",
                        error) ||
            !path->finish(sort, round, &is_done, error))
            return false;
    return true;
}

static bool start_path(const struct sorter *sorter, const struct bench_case *bench,
                       const struct bench_memory *memory, struct error *error)
{
    char *const arena = static_cast<char *>(memory->arena);
    const bool is_key = bench->type->id != BENCH_TYPE_key_index;
    struct cuda_sort sort = {};
    sort.items = memory->items;
    sort.scratch = sorter->algorithm->buffers > 1 ? arena : NULL;
    sort.workspace = arena + path_scratch_bytes(sorter, bench);
    sort.count = bench->count;
    sort.item_bytes = bench->type->item_bytes;
    sort.order =
        is_key ? key_order_make(&key_types[bench->type->key], ENDIAN_LITTLE, NAN_GREATEST, false)
               : key_order_identity();
    sort.tile_size = sorter->tile_size;
    sort.device = bench->device;
    sort.stream = bench->stream;
    sort.note = memory->note;
    const struct cuda_path *const path = cuda_path_find(sorter->algorithm);
    return path->sort(&sort, error) && finish_path(path, &sort, error);
}

/* Starts the sort; *sorted says where the output will be. */
static bool sorter_start(const struct sorter *sorter, const struct bench_case *bench,
                         const struct bench_memory *memory, size_t arena_bytes,
                         struct item_arrays *sorted, struct error *error)
{
    *sorted = sorter_input(sorter, bench, memory->items);
    if (sorter->algorithm)
        return start_path(sorter, bench, memory, error);
    const struct peer_call call = sorter_call(sorter, bench, memory->items, memory->arena);
    struct key_arrays output = {};
    if (!sorter->peer->sort(&call, &arena_bytes, &output, error))
        return false;
    sorted->keys = output.keys;
    sorted->values = output.values;
    return true;
}

/* ---- a case ---- */

/* Everything about a case that its runs share. */
struct bench_state {
    const struct bench_case *bench;
    struct bench_memory memory;
    struct item_digest input;
    std::vector<std::vector<double>> times_ms; /* of each sorter's runs, the first to warm up */
};

/* Bytes of the items; pairs have their indices aligned behind their keys. */
static size_t items_bytes(const struct bench_case *bench)
{
    return case_bytes(bench) + 2 * alignment;
}

/* Asks each sorter what it needs. Those that do not fit into the device are left out; *arena_bytes
 * is the greatest need of the others, 0 when there are none. */
static bool size_sorters(const struct bench_case *bench, const struct sorter *sorters, size_t count,
                         struct bench_result *results, size_t *arena_bytes, struct error *error)
{
    size_t free_bytes = 0, all_bytes = 0;
    if (!cuda_check(cudaMemGetInfo(&free_bytes, &all_bytes), bench->device, "cudaMemGetInfo",
                    error))
        return false;
    const size_t room = free_bytes - free_bytes / 64; /* pages are large, and an arena is whole */
    *arena_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        struct bench_result *const result = &results[i];
        *result = {};
        result->is_sorted = true;
        if (!sorter_arena_bytes(&sorters[i], bench, &result->scratch_bytes, &result->not_timed))
            continue;
        const size_t needed = items_bytes(bench) + result->scratch_bytes;
        if (needed > room)
            (void)error_set(&result->not_timed, "does not fit: %.1f GB needed, %.1f GB free",
                            static_cast<double>(needed) * 1e-9, static_cast<double>(room) * 1e-9);
        else /* never NULL, which asks a peer what it needs */
            *arena_bytes = std::max({*arena_bytes, result->scratch_bytes, alignment});
    }
    return true;
}

static bool memory_make(const struct bench_case *bench, size_t arena_bytes,
                        struct bench_memory *memory, struct error *error)
{
    const unsigned device = bench->device;
    return cuda_check(cudaMalloc(&memory->items, items_bytes(bench)), device, "cudaMalloc",
                      error) &&
           cuda_check(cudaMalloc(&memory->arena, arena_bytes), device, "cudaMalloc", error) &&
           cuda_check(
               cudaMallocHost(reinterpret_cast<void **>(&memory->note), sizeof *memory->note),
               device, "cudaMallocHost", error) &&
           cuda_check(cudaMalloc(&memory->digest, sizeof *memory->digest), device, "cudaMalloc",
                      error) &&
           cuda_check(cudaEventCreate(&memory->start), device, "cudaEventCreate", error) &&
           cuda_check(cudaEventCreate(&memory->end), device, "cudaEventCreate", error);
}

/* One run of one sorter; its time, or in `refusal` why it would not start. */
static bool time_once(const struct bench_state *state, const struct sorter *sorter,
                      size_t arena_bytes, struct item_arrays *sorted, double *milliseconds,
                      struct error *refusal, struct error *error)
{
    const struct bench_case *const bench = state->bench;
    const struct bench_memory *const memory = &state->memory;
    const unsigned device = bench->device;
    if (!bench_data_fill(bench, sorter_input(sorter, bench, memory->items), error) ||
        !cuda_check(cudaMemsetAsync(memory->arena, 0xa5, arena_bytes, bench->stream), device,
                    "cudaMemsetAsync", error) ||
        !cuda_check(cudaEventRecord(memory->start, bench->stream), device, "cudaEventRecord",
                    error))
        return false;
    if (!sorter_start(sorter, bench, memory, arena_bytes, sorted, refusal))
        return true;
    uint64_t elapsed_ns = 0;
    if (!cuda_check(cudaEventRecord(memory->end, bench->stream), device, "cudaEventRecord",
                    error) ||
        !cuda_check(cudaEventSynchronize(memory->end), device, sorter_name(sorter), error) ||
        !cuda_add_elapsed(memory->start, memory->end, device, &elapsed_ns, error))
        return false;
    *milliseconds = static_cast<double>(elapsed_ns) * 1e-6;
    return true;
}

/* One run of one sorter, checked. */
static bool run_once(struct bench_state *state, size_t index, const struct sorter *sorter,
                     struct bench_result *result, struct error *error)
{
    double milliseconds = 0;
    struct item_arrays sorted = {};
    struct item_digest output = {};
    if (!time_once(state, sorter, result->scratch_bytes, &sorted, &milliseconds, &result->not_timed,
                   error))
        return false;
    if (result->not_timed.is_set)
        return cuda_check(cudaStreamSynchronize(state->bench->stream), state->bench->device,
                          sorter_name(sorter), error);
    if (!bench_data_digest(state->bench, sorted, state->memory.digest, &output, error))
        return false;
    result->is_sorted = result->is_sorted && output.disorder == 0 &&
                        output.sum == state->input.sum &&
                        output.exclusive_or == state->input.exclusive_or;
    state->times_ms[index].push_back(milliseconds);
    return true;
}

static bool digest_input(struct bench_state *state, struct error *error)
{
    const struct item_arrays items = {state->memory.items, NULL, 0};
    return bench_data_fill(state->bench, items, error) &&
           bench_data_digest(state->bench, items, state->memory.digest, &state->input, error);
}

/* A sorter that has been timed once and has had its share of the time is not run again. */
static bool is_over_budget(const std::vector<double> &times_ms)
{
    const double budget_ms = 10e3;
    return times_ms.size() > 1 &&
           std::accumulate(times_ms.begin(), times_ms.end(), 0.0) > budget_ms;
}

/* All but the first run count. */
static void summarise(std::vector<double> times_ms, struct bench_result *result)
{
    if (times_ms.size() < 2)
        return;
    times_ms.erase(times_ms.begin());
    std::sort(times_ms.begin(), times_ms.end());
    result->runs = static_cast<unsigned>(times_ms.size());
    result->least_ms = times_ms.front();
    result->median_ms = times_ms[times_ms.size() / 2];
}

static bool run_all(struct bench_state *state, unsigned runs, const struct sorter *sorters,
                    size_t count, struct bench_result *results, struct error *error)
{
    if (!digest_input(state, error))
        return false;
    for (unsigned run = 0; run <= runs; run++)
        for (size_t i = 0; i < count; i++)
            if (!results[i].not_timed.is_set && !is_over_budget(state->times_ms[i]) &&
                !run_once(state, i, &sorters[i], &results[i], error))
                return false;
    for (size_t i = 0; i < count; i++)
        summarise(state->times_ms[i], &results[i]);
    return true;
}

bool bench_run_case(const struct bench_case *bench, unsigned runs, const struct sorter *sorters,
                    size_t count, struct bench_result *results, struct error *error)
{
    size_t arena_bytes = 0;
    if (!size_sorters(bench, sorters, count, results, &arena_bytes, error))
        return false;
    if (arena_bytes == 0) /* nobody is left to run */
        return true;
    struct bench_state state = {};
    state.bench = bench;
    state.times_ms.resize(count);
    const bool is_done = memory_make(bench, arena_bytes, &state.memory, error) &&
                         run_all(&state, runs, sorters, count, results, error);
    memory_free(&state.memory);
    return is_done;
}
