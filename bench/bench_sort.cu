/* SPDX-License-Identifier: Apache-2.0 */
/* bench_sort.cu - compares every path of the backend "gpu" with the sorts of CUB.
 *
 *   bench_sort --types=f64,u32 --sizes=1e6,1e9 --shapes=all --json=FILE
 *   bench_sort --devices=0,1 --types=u32 --sizes=8e9    several GPUs, transfers included
 *
 * For each type, shape and size it runs all sorters in turns, on data generated on the device, in
 * one process (bench_run.h). It prints a row for each, with its time relative to the fastest peer.
 * The paths are those of the backend's table, with the tile size of "auto" or with all of them.
 * docs/performance.md records the output.
 */
#include "bench/bench_common.h"
#include "bench/bench_run.h"
#include "core/auto_model.h"
#include "cuda/cuda_check.h"

#include <algorithm>
#include <stdio.h>
#include <string.h>
#include <string>
#include <vector>

/* State shared by all cases. */
struct bench {
    struct bench_options options;
    const struct backend *backend;
    struct device_facts facts;
    cudaStream_t stream;
    FILE *json;
    size_t wrong;       /* outputs */
    double worst_ratio; /* of a case: our fastest path to the fastest peer; 0: none was compared */
    std::string worst_case; /* its type, shape and count */
};

/* ---- which sorters ---- */

static bool is_wanted(const struct bench_options *options, const char *name)
{
    return !options->paths || bench_list_has(options->paths, name);
}

static void add_path(const struct bench *bench, const struct algorithm *algorithm,
                     std::vector<struct sorter> *sorters)
{
    if (!algorithm->tile_sizes || !bench->options.all_tiles)
        sorters->push_back({algorithm, NULL, algorithm_largest_tile(algorithm)});
    else
        for (const size_t *size = algorithm->tile_sizes; *size; size++)
            sorters->push_back({algorithm, NULL, *size});
}

static std::vector<struct sorter> find_sorters(const struct bench *bench)
{
    std::vector<struct sorter> sorters;
    for (size_t i = 0; i < bench->backend->algorithm_count; i++)
        if (is_wanted(&bench->options, bench->backend->algorithms[i].name))
            add_path(bench, &bench->backend->algorithms[i], &sorters);
    for (size_t i = 0; i < peer_count && !bench->options.no_peers; i++)
        if (is_wanted(&bench->options, peers[i].name))
            sorters.push_back({NULL, &peers[i], 0});
    return sorters;
}

/* Fails unless every word of --paths is the name of a path or of a peer. */
static bool check_paths(const struct bench *bench, struct error *error)
{
    for (const char *word = bench->options.paths; word;) {
        const char *const comma = strchr(word, ',');
        const std::string name(word, comma ? static_cast<size_t>(comma - word) : strlen(word));
        bool is_known = backend_find_algorithm(bench->backend, name.c_str()) != NULL;
        for (size_t i = 0; i < peer_count; i++)
            is_known = is_known || name == peers[i].name;
        if (!is_known)
            return error_set(error, "no path or peer '%s'", name.c_str());
        word = comma ? comma + 1 : NULL;
    }
    return true;
}

/* ---- a case ---- */

static double best_peer_ms(const std::vector<struct sorter> &sorters,
                           const std::vector<struct bench_result> &results)
{
    double best_ms = 0;
    for (size_t i = 0; i < sorters.size(); i++) {
        const double median_ms = results[i].median_ms;
        if (sorters[i].peer && results[i].runs > 0 && (best_ms == 0 || median_ms < best_ms))
            best_ms = median_ms;
    }
    return best_ms;
}

static void report_result(struct bench *bench, const struct bench_case *bench_case,
                          const struct sorter *sorter, const struct bench_result *result,
                          double peer_ms)
{
    struct bench_row row = {};
    row.device = bench->facts.name;
    row.backend = "gpu";
    row.type = bench_case->type->name;
    row.shape = bench_case->shape->name;
    row.count = bench_case->count;
    row.path = sorter_name(sorter);
    row.is_peer = sorter->peer != NULL;
    row.tile_size = sorter->tile_size;
    row.runs = result->runs;
    row.batch = result->batch;
    row.median_ms = result->median_ms;
    row.least_ms = result->least_ms;
    row.peer_ms = peer_ms;
    row.item_bytes = sorter_item_bytes(sorter, bench_case->type);
    row.scratch_bytes = result->scratch_bytes;
    row.is_sorted = result->is_sorted;
    row.problem = result->not_timed.is_set ? result->not_timed.message : NULL;
    bench_report_row(stdout, &row);
    if (bench->json)
        bench_report_json(bench->json, &row);
    bench->wrong += !result->is_sorted;
}

static void note_ratio(struct bench *bench, const struct bench_case *bench_case,
                       const std::vector<struct sorter> &sorters,
                       const std::vector<struct bench_result> &results, double peer_ms)
{
    double own_ms = 0;
    for (size_t i = 0; i < sorters.size(); i++)
        if (!sorters[i].peer && results[i].runs > 0 &&
            (own_ms == 0 || results[i].median_ms < own_ms))
            own_ms = results[i].median_ms;
    if (peer_ms == 0 || own_ms <= bench->worst_ratio * peer_ms)
        return;
    bench->worst_ratio = own_ms / peer_ms;
    bench->worst_case = std::string(bench_case->type->name) + " " + bench_case->shape->name + " " +
                        std::to_string(bench_case->count);
}

/* Returns the count with this number. Random counts of some shapes go up to what fits in memory:
 * the larger of our items and a peer's, as much scratch, and a sixteenth of both. */
static size_t find_count(const struct bench *bench, const struct bench_type *type,
                         const struct bench_shape *shape, size_t number)
{
    const enum bench_shape_id id = shape->id;
    const bool is_large = id == BENCH_SHAPE_UNIFORM || id == BENCH_SHAPE_SEEDS ||
                          id == BENCH_SHAPE_FEW || id == BENCH_SHAPE_ZIPF ||
                          id == BENCH_SHAPE_HOT_DIGITS;
    const struct bench_random *const random = &bench->options.random;
    const double bytes = std::max(bench_item_bytes(type), bench_peer_item_bytes(type));
    const double most = static_cast<double>(bench->facts.memory_bytes) / (2.125 * bytes);
    return random->is_open && is_large && most > random->most
               ? bench_random_size(random, number, most)
               : bench->options.sizes[number];
}

/* Times a case from host memory to host memory. */
static bool run_transfers(struct bench *bench, const struct bench_type *type,
                          const struct bench_shape *shape, size_t count, struct error *error)
{
    const struct algorithm *const algorithm = backend_find_algorithm(
        bench->backend, auto_find_path(&bench->facts, bench_item_bytes(type)));
    const struct sorter sorter = {algorithm, NULL, algorithm_largest_tile(algorithm)};
    const struct bench_case bench_case = {type, shape, count, 0, NULL};
    bool is_sorted = false;
    if (!bench_run_gpus(&bench->options, &bench_case, &sorter, &is_sorted, error))
        return false;
    bench->wrong += !is_sorted;
    return true;
}

static bool run_case(struct bench *bench, const struct bench_type *type,
                     const struct bench_shape *shape, size_t count, struct error *error)
{
    if (bench->options.device_count > 0)
        return run_transfers(bench, type, shape, count, error);
    const struct bench_case bench_case = {type, shape, count, 0, bench->stream};
    const std::vector<struct sorter> sorters = find_sorters(bench);
    std::vector<struct bench_result> results(sorters.size());
    if (!bench_run_case(&bench_case, &bench->options.effort, sorters.data(), sorters.size(),
                        results.data(), error))
        return false;
    const double peer_ms = best_peer_ms(sorters, results);
    for (size_t i = 0; i < sorters.size(); i++)
        report_result(bench, &bench_case, &sorters[i], &results[i], peer_ms);
    note_ratio(bench, &bench_case, sorters, results, peer_ms);
    return true;
}

static bool run_cases(struct bench *bench, struct error *error)
{
    const struct bench_options *const options = &bench->options;
    for (size_t type = 0; type < BENCH_TYPE_COUNT; type++)
        for (size_t shape = 0; shape < BENCH_SHAPE_COUNT; shape++)
            for (size_t i = 0; i < options->size_count; i++)
                if (options->types[type] && options->shapes[shape] &&
                    bench_shape_fits(&bench_shapes[shape], &bench_types[type]) &&
                    !run_case(bench, &bench_types[type], &bench_shapes[shape],
                              find_count(bench, &bench_types[type], &bench_shapes[shape], i),
                              error))
                    return false;
    return true;
}

/* ---- the program ---- */

/* Sorts for a while, so that the device's clocks are as high for the first case as for the last.
 * Does nothing if times do not matter. */
static bool warm_up(const struct bench *bench, struct error *error)
{
    if (bench->options.effort.least_ms == 0 || bench->options.device_count > 0)
        return true;
    const struct bench_case bench_case = {&bench_types[BENCH_TYPE_f64],
                                          &bench_shapes[BENCH_SHAPE_UNIFORM], (size_t)1 << 18, 0,
                                          bench->stream};
    const struct algorithm *const algorithm = &bench->backend->algorithms[0];
    const struct sorter sorter = {algorithm, NULL, algorithm_largest_tile(algorithm)};
    const struct bench_effort effort = {1, 300, 1};
    struct bench_result result = {};
    return bench_run_case(&bench_case, &effort, &sorter, 1, &result, error);
}

static bool open_bench(struct bench *bench, struct error *error)
{
    unsigned most = 1; /* devices */
    bench->backend = backend_find("gpu");
    if (!bench->backend)
        return error_set(error, "this build has no backend 'gpu'");
    for (unsigned i = 0; i < bench->options.device_count; i++)
        most = std::max(most, bench->options.devices[i] + 1);
    (void)bench->backend->count(most); /* CUDA may see all up to the greatest of the list */
    if (!check_paths(bench, error) || !bench->backend->probe(0, &bench->facts, error) ||
        !cuda_check(cudaStreamCreate(&bench->stream), 0, "cudaStreamCreate", error))
        return false;
    const char *const json = bench->options.json;
    bench->json = json ? fopen(json, "w") : NULL;
    return !json || bench->json || error_set_errno(error, "%s: cannot open", json);
}

/* Output that could not be written is a failure too. */
static bool close_bench(struct bench *bench, struct error *error)
{
    bool is_closed = bench_report_close(bench->json, bench->options.json, error);
    if (bench->stream &&
        !cuda_check(cudaStreamDestroy(bench->stream), 0, "cudaStreamDestroy", error))
        is_closed = false;
    if (fflush(stdout) != 0 || ferror(stdout))
        return error_set_errno(error, "cannot write the table");
    return is_closed;
}

static const char documentation[] =
    "Time every path of the GPU, and the sorts of CUB, on data that lies on the device; check each "
    "output.\vA LIST has commas between its words; types and shapes may be 'all'. Columns: the "
    "median time of a sort, what it is to the best peer's (below 1: faster), 10^6 keys a second, "
    "the memory that the sort needs beside the items, and in times the items' all that it needs. A "
    "sort that does not fit into the device's memory is not timed, and its row says so.\n\n"
    "Exit status: 0 all sorted, 1 an output was wrong, 2 any other error.";

int main(int argc, char **argv)
{
    struct bench bench = {};
    struct error error = {};
    bench_options_parse(argc, argv, documentation, &bench.options);
    bool is_done = open_bench(&bench, &error);
    if (is_done) {
        const bool is_alone = bench.options.device_count == 0;
        printf("%s, %u multiprocessors; medians of %u runs%s\n", bench.facts.name,
               bench.facts.units, bench.options.effort.runs,
               is_alone ? " or more; the sort alone" : "; from host memory to host memory");
        if (is_alone)
            bench_report_head(stdout);
        is_done = warm_up(&bench, &error) && run_cases(&bench, &error);
        if (is_done && bench.worst_ratio > 0)
            printf("worst: %s, %.3f of the best peer's time\n", bench.worst_case.c_str(),
                   bench.worst_ratio);
    }
    is_done = close_bench(&bench, &error) && is_done;
    if (!is_done)
        fprintf(stderr, "bench_sort: %s\n", error.message);
    else if (bench.wrong > 0)
        fprintf(stderr, "bench_sort: %zu outputs are WRONG\n", bench.wrong);
    return !is_done ? 2 : bench.wrong > 0 ? 1 : 0;
}
