/* SPDX-License-Identifier: Apache-2.0 */
/* bench_run.cu - see bench_run.h.
 *
 *   for each run, the first one to warm up:
 *       for each sorter: inputs generated again -> [event, sorts, event] -> digests compared
 *
 * Sorters take turns, so that changes over time (clocks, heat) affect all of them. A run of a small
 * case is a batch of sorts, each in its own lane: items, an arena with a sorter's scratch and
 * workspace, and a status block. So a sort shorter than a kernel launch is timed by its throughput,
 * as in a program that starts many. Before each run the arenas are filled with a pattern, so that
 * the output of an earlier run is never taken for that of this one. So the L2 cache holds the end
 * of the arenas, and the input of a small case, for all sorters alike.
 */
#include "bench/bench_run.h"

#include "cuda/cuda_check.h"
#include "cuda/engine/cuda_worker.h"

#include <algorithm>
#include <numeric>
#include <vector>

/* Memory of one sort of a batch. */
struct lane {
    void *items;
    void *arena;
    struct sort_status *status; /* pinned, for the paths with a status block */
};

/* Memory and events of a case. */
struct bench_memory {
    char *items;
    char *arena;
    struct sort_status *statuses;
    size_t items_bytes, arena_bytes; /* per lane, aligned */
    size_t lanes;
    struct item_digest *digest;
    cudaEvent_t start, end;
};

static struct lane memory_lane(const struct bench_memory *memory, size_t i)
{
    return {memory->items + i * memory->items_bytes, memory->arena + i * memory->arena_bytes,
            memory->statuses + i};
}

static void memory_free(struct bench_memory *memory)
{
    if (memory->items)
        (void)cudaFree(memory->items);
    if (memory->arena)
        (void)cudaFree(memory->arena);
    if (memory->statuses)
        (void)cudaFreeHost(memory->statuses);
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
    return bench->count * bench_item_bytes(bench->type);
}

/* A sort of a case: one of our paths, or a peer. */
struct sorter {
    const struct algorithm *algorithm; /* NULL: the peer */
    const struct peer *peer;           /* NULL: the path */
    size_t tile_size;                  /* 0: has no tiles */
};

static struct sorter make_sorter(const struct bench_sorter *sorter)
{
    if (sorter->is_peer)
        return {NULL, static_cast<const struct peer *>(sorter->row), 0};
    const struct algorithm *const algorithm = static_cast<const struct algorithm *>(sorter->row);
    return {algorithm, NULL, algorithm_largest_tile(algorithm)};
}

static const char *sorter_name(const struct sorter *sorter)
{
    return sorter->algorithm ? sorter->algorithm->name : sorter->peer->name;
}

/* ---- the two kinds of sorter ---- */

/* Returns the position of the sorter's input within the items. */
static struct item_arrays sorter_input(const struct sorter *sorter, const struct bench_case *bench,
                                       void *items)
{
    if (sorter->algorithm || bench->type->index_bytes == 0)
        return {items, NULL};
    const size_t keys_bytes = bench->count * key_types[bench->type->key].bytes;
    return {items, static_cast<char *>(items) + bench_align(keys_bytes)};
}

static struct peer_call sorter_call(const struct sorter *sorter, const struct bench_case *bench,
                                    const struct lane &lane)
{
    return {bench->type->id, bench->count,  sorter_input(sorter, bench, lane.items),
            lane.arena,      bench->device, bench->stream};
}

static size_t path_scratch_bytes(const struct sorter *sorter, const struct bench_case *bench)
{
    return sorter->algorithm->buffers > 1 ? bench_align(case_bytes(bench)) : 0;
}

static bool sorter_arena_bytes(const struct sorter *sorter, const struct bench_case *bench,
                               size_t *bytes, struct error *error)
{
    *bytes = 0;
    if (!sorter->algorithm) {
        struct item_arrays sorted = {};
        const struct peer_call call = sorter_call(sorter, bench, {});
        return sorter->peer->sort(&call, bytes, &sorted, error);
    }
    if (bench->count > sorter->algorithm->count_max)
        return error_set(error, "sorts at most %zu items", sorter->algorithm->count_max);
    const struct cuda_path *const path = cuda_path_find(sorter->algorithm);
    *bytes = path_scratch_bytes(sorter, bench) +
             path->workspace_bytes(bench->count, sorter->tile_size, bench_item_bytes(bench->type));
    return true;
}

static struct cuda_sort path_sort(const struct sorter *sorter, const struct bench_case *bench,
                                  const struct lane &lane)
{
    char *const arena = static_cast<char *>(lane.arena);
    struct cuda_sort sort = {};
    sort.items = lane.items;
    sort.scratch = sorter->algorithm->buffers > 1 ? arena : NULL;
    sort.workspace = arena + path_scratch_bytes(sorter, bench);
    sort.count = bench->count;
    sort.item_bytes = bench_item_bytes(bench->type);
    sort.order = bench->type->index_bytes ? key_order_identity()
                                          : key_order_make(&key_types[bench->type->key],
                                                           ENDIAN_LITTLE, NAN_GREATEST, false);
    sort.tile_size = sorter->tile_size;
    sort.device = bench->device;
    sort.stream = bench->stream;
    sort.status = lane.status;
    return sort;
}

/* Calls the path's `finish` for all lanes until each is done, with one wait per round, as the
 * engine does. The measured time includes these calls. */
static bool finish_path(const struct sorter *sorter, const struct bench_case *bench,
                        const struct bench_memory *memory, struct error *error)
{
    const struct cuda_path *const path = cuda_path_find(sorter->algorithm);
    std::vector<bool> is_done(memory->lanes, path->finish == NULL);
    for (unsigned round = 1; std::count(is_done.begin(), is_done.end(), false) > 0; round++) {
        if (!cuda_check(cudaStreamSynchronize(bench->stream), bench->device,
                        "cudaStreamSynchronize", error))
            return false;
        for (size_t i = 0; i < memory->lanes; i++) {
            const struct cuda_sort sort = path_sort(sorter, bench, memory_lane(memory, i));
            bool is_lane_done = is_done[i];
            if (!is_lane_done && !path->finish(&sort, round, &is_lane_done, error))
                return false;
            is_done[i] = is_lane_done;
        }
    }
    return true;
}

/* Starts the sort of a lane; *sorted is the position of its output. */
static bool sorter_start(const struct sorter *sorter, const struct bench_case *bench,
                         const struct lane &lane, size_t arena_bytes, struct item_arrays *sorted,
                         struct error *error)
{
    *sorted = sorter_input(sorter, bench, lane.items);
    if (sorter->algorithm) {
        const struct cuda_sort sort = path_sort(sorter, bench, lane);
        return cuda_path_find(sorter->algorithm)->sort(&sort, error);
    }
    const struct peer_call call = sorter_call(sorter, bench, lane);
    return sorter->peer->sort(&call, &arena_bytes, sorted, error);
}

/* ---- a case ---- */

/* Everything about a case that its runs share. */
struct bench_state {
    const struct bench_case *bench;
    struct bench_memory memory;
    struct item_digest input;
    std::vector<std::vector<double>> times_ms; /* of each sorter's runs; the first is the warm-up */
};

/* Returns the number of sorts that are timed together: for 4 million items, a few hundred
 * microseconds; at most 64. */
static size_t choose_batch(const struct bench_case *bench, const struct bench_effort *effort)
{
    const size_t items_of_a_run = (size_t)1 << 22, most = 64;
    if (effort->batch > 0)
        return effort->batch;
    return std::clamp<size_t>(items_of_a_run / bench->count, 1, most);
}

/* Gets the memory needs of the sorters. A sorter that does not fit into the device is left out;
 * memory->arena_bytes is the largest need of the others, 0 if there are none. */
static bool size_sorters(const struct bench_case *bench, const struct sorter *sorters, size_t count,
                         struct bench_result *results, struct bench_memory *memory,
                         struct error *error)
{
    size_t free_bytes = 0, all_bytes = 0;
    if (!cuda_check(cudaMemGetInfo(&free_bytes, &all_bytes), bench->device, "cudaMemGetInfo",
                    error))
        return false;
    const size_t room =
        free_bytes - free_bytes / 64; /* allocations take whole large pages, and an arena is one */
    memory->items_bytes =
        bench_align(case_bytes(bench)) + 2 * BENCH_ALIGNMENT; /* indices are aligned too */
    for (size_t i = 0; i < count; i++) {
        struct bench_result *const result = &results[i];
        *result = {};
        result->batch = memory->lanes;
        result->item_bytes = sorters[i].algorithm ? bench_item_bytes(bench->type)
                                                  : bench_peer_item_bytes(bench->type);
        if (!sorter_arena_bytes(&sorters[i], bench, &result->scratch_bytes, &result->not_timed))
            continue;
        const size_t needed =
            memory->lanes * (memory->items_bytes + bench_align(result->scratch_bytes));
        if (needed > room)
            (void)error_set(&result->not_timed, "does not fit: %.1f GB needed, %.1f GB free",
                            static_cast<double>(needed) * 1e-9, static_cast<double>(room) * 1e-9);
        else /* never 0: a NULL arena queries a peer's needs */
            memory->arena_bytes = std::max(
                {memory->arena_bytes, bench_align(result->scratch_bytes), BENCH_ALIGNMENT});
    }
    return true;
}

static bool memory_make(const struct bench_case *bench, struct bench_memory *memory,
                        struct error *error)
{
    const unsigned device = bench->device;
    const size_t lanes = memory->lanes;
    return cuda_check(cudaMalloc(&memory->items, lanes * memory->items_bytes), device, "cudaMalloc",
                      error) &&
           cuda_check(cudaMalloc(&memory->arena, lanes * memory->arena_bytes), device, "cudaMalloc",
                      error) &&
           cuda_check(cudaMallocHost(reinterpret_cast<void **>(&memory->statuses),
                                     lanes * sizeof *memory->statuses),
                      device, "cudaMallocHost", error) &&
           cuda_check(cudaMalloc(&memory->digest, sizeof *memory->digest), device, "cudaMalloc",
                      error) &&
           cuda_check(cudaEventCreate(&memory->start), device, "cudaEventCreate", error) &&
           cuda_check(cudaEventCreate(&memory->end), device, "cudaEventCreate", error);
}

/* Generates the input of every lane, and fills the arenas with a pattern. */
static bool make_inputs(const struct bench_state *state, const struct sorter *sorter,
                        struct error *error)
{
    const struct bench_case *const bench = state->bench;
    const struct bench_memory *const memory = &state->memory;
    for (size_t i = 0; i < memory->lanes; i++)
        if (!bench_data_fill(bench, sorter_input(sorter, bench, memory_lane(memory, i).items),
                             error))
            return false;
    return cuda_check(
        cudaMemsetAsync(memory->arena, 0xa5, memory->lanes * memory->arena_bytes, bench->stream),
        bench->device, "cudaMemsetAsync", error);
}

/* Starts the sorts of all lanes, and ends those of paths that have several rounds. Returns false
 * with the reason if one cannot be started. */
static bool start_sorts(const struct bench_state *state, const struct sorter *sorter,
                        size_t arena_bytes, std::vector<struct item_arrays> *sorted,
                        struct error *refusal)
{
    for (size_t i = 0; i < state->memory.lanes; i++)
        if (!sorter_start(sorter, state->bench, memory_lane(&state->memory, i), arena_bytes,
                          &(*sorted)[i], refusal))
            return false;
    return !sorter->algorithm || finish_path(sorter, state->bench, &state->memory, refusal);
}

/* Times one run of one sorter: the time per sort, or in `refusal` the reason why it cannot be
 * started. */
static bool time_once(const struct bench_state *state, const struct sorter *sorter,
                      size_t arena_bytes, std::vector<struct item_arrays> *sorted,
                      double *milliseconds, struct error *refusal, struct error *error)
{
    const struct bench_case *const bench = state->bench;
    const struct bench_memory *const memory = &state->memory;
    const unsigned device = bench->device;
    if (!make_inputs(state, sorter, error) ||
        !cuda_check(cudaEventRecord(memory->start, bench->stream), device, "cudaEventRecord",
                    error))
        return false;
    if (!start_sorts(state, sorter, arena_bytes, sorted, refusal))
        return true;
    float elapsed = 0;
    if (!cuda_check(cudaEventRecord(memory->end, bench->stream), device, "cudaEventRecord",
                    error) ||
        !cuda_check(cudaEventSynchronize(memory->end), device, sorter_name(sorter), error) ||
        !cuda_check(cudaEventElapsedTime(&elapsed, memory->start, memory->end), device,
                    "cudaEventElapsedTime", error))
        return false;
    *milliseconds = static_cast<double>(elapsed) / static_cast<double>(memory->lanes);
    return true;
}

static bool is_sorted_input(const struct item_digest *input, const struct item_digest *output)
{
    return output->disorder == 0 && output->sum == input->sum &&
           output->exclusive_or == input->exclusive_or;
}

/* Times and checks one run of one sorter. */
static bool run_once(struct bench_state *state, size_t index, const struct sorter *sorter,
                     struct bench_result *result, struct error *error)
{
    double milliseconds = 0;
    std::vector<struct item_arrays> sorted(state->memory.lanes);
    if (!time_once(state, sorter, result->scratch_bytes, &sorted, &milliseconds, &result->not_timed,
                   error))
        return false;
    if (result->not_timed.is_set)
        return cuda_check(cudaStreamSynchronize(state->bench->stream), state->bench->device,
                          sorter_name(sorter), error);
    for (const struct item_arrays &items : sorted) {
        struct item_digest output = {};
        if (!bench_data_digest(state->bench, items, state->memory.digest, &output, error))
            return false;
        result->is_wrong = result->is_wrong || !is_sorted_input(&state->input, &output);
    }
    state->times_ms[index].push_back(milliseconds);
    return true;
}

static bool digest_input(struct bench_state *state, struct error *error)
{
    const struct item_arrays items = {state->memory.items, NULL};
    return bench_data_fill(state->bench, items, error) &&
           bench_data_digest(state->bench, items, state->memory.digest, &state->input, error);
}

/* Returns true if the sorter has had its runs and its time, or one timed run and 10 s in all. */
static bool is_timed(const std::vector<double> &times_ms, size_t lanes,
                     const struct bench_effort *effort)
{
    const double budget_ms = 10e3;
    if (times_ms.size() < 2)
        return false;
    const double run_ms = static_cast<double>(lanes);
    const double all_ms = run_ms * std::accumulate(times_ms.begin(), times_ms.end(), 0.0);
    const double timed_ms = all_ms - run_ms * times_ms.front();
    return all_ms > budget_ms || (times_ms.size() > effort->runs && timed_ms >= effort->least_ms);
}

/* Sets the results. The first run, a warm-up, does not count. */
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

static bool run_all(struct bench_state *state, const struct bench_effort *effort,
                    const struct sorter *sorters, size_t count, struct bench_result *results,
                    struct error *error)
{
    if (!digest_input(state, error))
        return false;
    for (bool is_done = false; !is_done;) {
        is_done = true;
        for (size_t i = 0; i < count; i++) {
            if (results[i].not_timed.is_set ||
                is_timed(state->times_ms[i], state->memory.lanes, effort))
                continue;
            is_done = false;
            if (!run_once(state, i, &sorters[i], &results[i], error))
                return false;
        }
    }
    for (size_t i = 0; i < count; i++)
        summarise(state->times_ms[i], &results[i]);
    return true;
}

bool bench_run_case(const struct bench_case *bench, const struct bench_effort *effort,
                    const struct bench_sorter *rows, size_t count, struct bench_result *results,
                    struct error *error)
{
    struct bench_state state = {};
    std::vector<struct sorter> sorters;
    for (size_t i = 0; i < count; i++)
        sorters.push_back(make_sorter(&rows[i]));
    state.bench = bench;
    state.memory.lanes = choose_batch(bench, effort);
    state.times_ms.resize(count);
    if (!size_sorters(bench, sorters.data(), count, results, &state.memory, error))
        return false;
    if (state.memory.arena_bytes == 0) /* no sorter remains */
        return true;
    const bool is_done = memory_make(bench, &state.memory, error) &&
                         run_all(&state, effort, sorters.data(), count, results, error);
    memory_free(&state.memory);
    return is_done;
}
