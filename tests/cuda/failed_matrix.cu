/* SPDX-License-Identifier: Apache-2.0 */
/* failed_matrix.cu - a sort that fails when its kernels are on their way: none of them is, once
 * that is known, as they write to the items, the workspace and the note; and what is sorted next,
 * with the same worker and memory, is in order.
 *
 *   failed_matrix
 *     prints TAP, a line for each path of the GPU; exits 1 where it is not so.
 *
 * What is expected is what std::sort makes of the keys on the host.
 */
#include "cuda/engine/cuda_worker.h"
#include "tests/cuda/radix_cases.h"

#include <string.h>

extern "C" const struct backend cuda_backend;

constexpr size_t COUNT = 10007;

/* The path that is to fail; static, because a path's functions take no more arguments. */
static const struct cuda_path *tested;

static bool fail_behind_kernels(const struct cuda_sort *sort, struct error *error)
{
    return tested->sort(sort, error) && error_set(error, "on purpose");
}

static bool finish_behind_kernels(const struct cuda_sort *sort, unsigned, bool *,
                                  struct error *error)
{
    return fail_behind_kernels(sort, error);
}

static bool check_failure(struct cuda_worker *worker, const struct cuda_path *failing,
                          const struct cuda_sort &sort, struct error *error)
{
    struct error expected = {};
    uint64_t busy_ns = 0;
    const struct cuda_path *const path = worker->path;
    worker->path = failing;
    const bool has_failed = !worker_sort(worker, &sort, &busy_ns, &expected);
    worker->path = path;
    if (!has_failed || strcmp(expected.message, "on purpose") != 0)
        return error_set(error, "it has not failed so: %s", expected.message);
    return cudaStreamQuery(worker->stream) == cudaSuccess ||
           error_set(error, "kernels are on their way");
}

/* Fails, and then sorts the keys. */
static bool check_path(struct cuda_worker *worker, const struct cuda_path *failing,
                       struct error *error)
{
    struct cuda_sort sort;
    std::vector<uint64_t> keys(COUNT);
    uint64_t busy_ns = 0;
    for (size_t i = 0; i < COUNT; i++)
        keys[i] = random_bits(i);
    bool passed = sort_open(&sort, COUNT, sizeof keys[0], worker->tile_size, 0x5c, error) &&
                  send(sort, keys, error);
    struct cuda_sort with = sort;
    with.order = key_order_identity();
    with.stream = worker->stream;
    with.note = worker->note;
    passed = passed && check_failure(worker, failing, with, error) && send(sort, keys, error) &&
             worker_sort(worker, &with, &busy_ns, error) &&
             holds(sort, sorted_copy(with.order, keys), error);
    sort_close(&sort);
    return passed;
}

static bool check_algorithm(const struct algorithm *algorithm, struct error *error)
{
    struct sort_spec spec = {};
    struct cuda_worker worker = {};
    spec.algorithm = algorithm;
    spec.tile_size = algorithm->tile_sizes[0];
    tested = cuda_path_find(algorithm);
    const struct cuda_path first = {fail_behind_kernels, NULL, tested->finish},
                           later = {tested->sort, NULL, finish_behind_kernels};
    const bool passed = worker_open(&worker, &spec, error) && check_path(&worker, &first, error) &&
                        (!tested->finish || check_path(&worker, &later, error));
    worker_close(&worker);
    return passed;
}

int main(void)
{
    int devices = 0;
    struct tap_output tap = {};
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("1..0 # SKIP no GPU\n");
        return 0;
    }
    printf("1..%zu\n", cuda_backend.algorithm_count);
    for (size_t i = 0; i < cuda_backend.algorithm_count; i++) {
        struct error error = {};
        const struct algorithm *const algorithm = &cuda_backend.algorithms[i];
        const bool passed = check_algorithm(algorithm, &error);
        tap_print(&tap, passed, algorithm->name, sizeof(uint64_t), error);
    }
    return tap.failed ? 1 : 0;
}
