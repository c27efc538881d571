/* SPDX-License-Identifier: Apache-2.0 */
/* bench_sort.cu - compares every path of the backend "gpu" with the sorts of CUB.
 *
 *   bench_sort --types=f64,u32 --sizes=1e6,1e9 --shapes=all --json=FILE
 *   bench_sort --devices=0,1 --types=u32 --sizes=8e9    several GPUs, transfers included
 *
 * For each type, shape and size it runs all sorters in turns, on data generated on the device, in
 * one process (bench_run.h). It prints a row for each, with its time relative to the fastest peer.
 * The paths are those of the backend's table, with the tile size of "auto".
 * docs/performance.md records the output.
 */
#include "bench/bench_common.h"
#include "bench/bench_run.h"
#include "core/auto_model.h"
#include "cuda/cuda_check.h"

#include <algorithm>
#include <stdio.h>
#include <vector>

/* State shared by all cases. */
struct bench {
    const struct bench_options *options;
    const struct backend *backend;
    struct device_facts facts;
    cudaStream_t stream;
    std::vector<struct bench_sorter> sorters;
};

/* False if the type is too narrow for the shape. */
static bool shape_fits(const struct bench_shape *shape, const struct bench_type *type)
{
    return shape->id < BENCH_SHAPE_HOT_2 || shape->id > BENCH_SHAPE_HOT_7 ||
           static_cast<unsigned>(shape->id - BENCH_SHAPE_HOT_1) + 1 < key_types[type->key].bytes;
}

static bool run_case(void *context, const struct bench_type *type, const struct bench_shape *shape,
                     size_t count, const struct bench_sorter *sorters, size_t sorter_count,
                     struct bench_result *results, struct error *error)
{
    const struct bench *const bench = static_cast<struct bench *>(context);
    const struct bench_case bench_case = {type, shape, count, 0, bench->stream};
    if (!shape_fits(shape, type))
        return true;
    if (bench->options->device_count == 0)
        return bench_run_case(&bench_case, &bench->options->effort, sorters, sorter_count, results,
                              error);
    bool is_sorted = false;
    const struct algorithm *const algorithm = backend_find_algorithm(
        bench->backend, auto_find_path(&bench->facts, bench_item_bytes(type)));
    if (!bench_run_gpus(bench->options, &bench_case, algorithm, &is_sorted, error))
        return false;
    results[0].is_wrong = !is_sorted;
    return true;
}

/* Sorts for a while, so that the device's clocks are as high for the first case as for the last.
 * Does nothing if times do not matter. */
static bool warm_up(const struct bench *bench, struct error *error)
{
    if (bench->options->effort.least_ms == 0 || bench->options->device_count > 0)
        return true;
    const struct bench_case bench_case = {&bench_types[BENCH_TYPE_f64],
                                          &bench_shapes[BENCH_SHAPE_UNIFORM], (size_t)1 << 18, 0,
                                          bench->stream};
    const struct bench_effort effort = {1, 300, 1};
    struct bench_result result = {};
    return bench_run_case(&bench_case, &effort, &bench->sorters[0], 1, &result, error);
}

static bool open_bench(void *context, struct bench_options *options, struct bench_build *build,
                       struct error *error)
{
    struct bench *const bench = static_cast<struct bench *>(context);
    unsigned most = 1; /* devices */
    bench->options = options;
    bench->backend = backend_find("gpu");
    if (!bench->backend)
        return error_set(error, "this build has no backend 'gpu'");
    for (unsigned i = 0; i < options->device_count; i++)
        most = std::max(most, options->devices[i] + 1);
    (void)bench->backend->count(most); /* CUDA may see all up to the greatest of the list */
    if (!bench->backend->probe(0, &bench->facts, error) ||
        !cuda_check(cudaStreamCreate(&bench->stream), 0, "cudaStreamCreate", error))
        return false;
    for (size_t i = 0; i < bench->backend->algorithm_count; i++)
        bench->sorters.push_back(
            {bench->backend->algorithms[i].name, false, &bench->backend->algorithms[i]});
    for (size_t i = 0; i < peer_count; i++)
        bench->sorters.push_back({peers[i].name, true, &peers[i]});
    build->sorters = bench->sorters.data();
    build->count = bench->sorters.size();
    build->memory_bytes = bench->facts.memory_bytes;
    snprintf(build->device, sizeof build->device, "%s", bench->facts.name);
    printf("%s, %u multiprocessors; medians of %u runs%s\n", bench->facts.name, bench->facts.units,
           options->effort.runs,
           options->device_count == 0 ? " or more; the sort alone"
                                      : "; from host memory to host memory");
    return warm_up(bench, error);
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
    const struct bench_program program = {"bench_sort", "gpu",      documentation,
                                          &bench,       open_bench, run_case};
    return bench_main(argc, argv, &program);
}
