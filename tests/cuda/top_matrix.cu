/* SPDX-License-Identifier: Apache-2.0 */
/* top_matrix.cu - the selection on the device (cuda/engine/cuda_top.h): width x order x shape x
 * count x how many are wanted, compared with std::sort.
 *
 *   top_matrix [LARGEST]
 *     prints TAP, a line for each width and shape; exits 1 on a mismatch. Counts above LARGEST are
 *     left out.
 *
 *   top_matrix --time [COUNT]
 *     prints the time of a selection from COUNT keys on the device, and the rate at which it went
 *     through them.
 *
 * Two shapes are made to mislead the sample, which is always taken at the same places: there the
 * selection has to find out and start again.
 */
#include "core/auto_table.h"
#include "core/backend.h"
#include "cuda/engine/cuda_top.h"
#include "tests/cuda/matrix_common.h"
#include "tests/key_shapes.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

extern "C" const struct backend cuda_backend;

__extension__ typedef unsigned __int128 u128;

/* ---- arrays ---- */

/* True for the places of cuda/top/top_select.cuh. */
static bool is_sampled(size_t i, size_t n)
{
    unsigned bits = 63 - (unsigned)__builtin_clzll(n) - TOP_SAMPLE_RARITY_BITS;
    bits = std::min(std::max(bits, TOP_SAMPLE_BITS_LEAST), TOP_SAMPLE_BITS_MOST);
    if (n >> bits == 0)
        return false;
    const size_t sample = (size_t)((((u128)(i + 1) << bits) - 1) / n); /* its stride holds i */
    const size_t begin = (size_t)((u128)sample * n >> bits);
    const size_t stride = (size_t)((u128)(sample + 1) * n >> bits) - begin;
    uint64_t place = sample + n;
    place = (place ^ place >> 30) * 0xbf58476d1ce4e5b9u;
    place = (place ^ place >> 27) * 0x94d049bb133111ebu;
    return i - begin == (place ^ place >> 31) % stride;
}

/* The sample has the greatest keys, and nearly all are below the bound. */
static uint64_t shape_great_sample(size_t i, size_t n)
{
    return random_bits(i) >> 1 | (uint64_t)is_sampled(i, n) << 63;
}

/* The sample has the least keys, and few are below the bound. */
static uint64_t shape_small_sample(size_t i, size_t n)
{
    return random_bits(i) >> 1 | (uint64_t)!is_sampled(i, n) << 63;
}

static const struct shape {
    const char *name;
    uint64_t (*key)(size_t i, size_t n);
} shapes[] = {
    {"random", shape_random},
    {"sorted", shape_sorted},
    {"reversed", shape_reversed},
    {"all equal", shape_all_equal},
    {"two values", shape_two_values},
    {"zipf", shape_zipf},
    {"exponents", shape_exponents},
    {"a sample of the greatest", shape_great_sample},
    {"a sample of the smallest", shape_small_sample},
};

/* ---- the device ---- */

/* All that a selection works with. */
struct bench {
    struct cuda_sort sort;
    const struct cuda_path *path;
    cudaEvent_t started, finished;
};

static bool check(cudaError_t status, struct error *error)
{
    return status == cudaSuccess || error_set(error, "%s", cudaGetErrorString(status));
}

static bool allocate(void **memory, size_t bytes, struct error *error)
{
    return check(cudaMalloc(memory, std::max<size_t>(bytes, 1)), error);
}

static bool bench_open(struct bench *bench, size_t count, unsigned item_bytes, size_t top,
                       struct key_order order, struct error *error)
{
    struct device_facts facts = {};
    if (!cuda_backend.probe(0, &facts, error))
        return false;
    const struct auto_row *const row =
        auto_find_row(auto_find_class(&cuda_backend, &facts), item_bytes, top_room(count, top));
    *bench = {};
    bench->path = cuda_path_find(backend_find_algorithm(&cuda_backend, row->path));
    bench->sort.count = count;
    bench->sort.item_bytes = item_bytes;
    bench->sort.order = order;
    bench->sort.tile_size = row->tile_size;
    return allocate(&bench->sort.items, count * item_bytes, error) &&
           allocate(&bench->sort.scratch, cuda_top_scratch_items(count, top) * item_bytes, error) &&
           allocate(&bench->sort.workspace,
                    cuda_top_workspace_bytes(bench->path, &bench->sort, top), error) &&
           check(cudaMallocHost((void **)&bench->sort.note, sizeof *bench->sort.note), error) &&
           check(cudaStreamCreate(&bench->sort.stream), error) &&
           check(cudaEventCreate(&bench->started), error) &&
           check(cudaEventCreate(&bench->finished), error);
}

static void bench_close(struct bench *bench)
{
    (void)cudaEventDestroy(bench->finished);
    (void)cudaEventDestroy(bench->started);
    (void)cudaStreamDestroy(bench->sort.stream);
    (void)cudaFreeHost(bench->sort.note);
    (void)cudaFree(bench->sort.workspace);
    (void)cudaFree(bench->sort.scratch);
    (void)cudaFree(bench->sort.items);
}

template <typename K>
static bool fetch(std::vector<K> *items, const void *from, size_t count, struct error *error)
{
    items->resize(count);
    return check(cudaMemcpy(items->data(), from, count * sizeof(K), cudaMemcpyDeviceToHost), error);
}

/* ---- the matrix ---- */

template <typename K>
static bool same_bytes(const std::vector<K> &got, const std::vector<K> &expected, const char *what,
                       struct error *error)
{
    if (got.size() != expected.size())
        return error_set(error, "%s: %zu items, not %zu", what, got.size(), expected.size());
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] != expected[i])
            return error_set(error, "%s: item %zu of %zu differs", what, i, got.size());
    return true;
}

/* Both steps: what is gathered holds the first items, and what comes out is these, sorted. */
template <typename K>
static bool check_top(struct bench *bench, const std::vector<K> &items,
                      const std::vector<K> &sorted, size_t top, struct error *error)
{
    const size_t count = items.size();
    const std::vector<K> expected(sorted.begin(), sorted.begin() + std::min(top, count));
    std::vector<K> got;
    size_t found = 0;
    if (!check(
            cudaMemcpy(bench->sort.items, items.data(), count * sizeof(K), cudaMemcpyHostToDevice),
            error) ||
        !top_select(&bench->sort, top, &found, error) ||
        !check(cudaStreamSynchronize(bench->sort.stream), error))
        return false;
    if (found < expected.size() || found > top_room(count, top))
        return error_set(error, "%zu items gathered, for %zu wanted, with room for %zu", found, top,
                         top_room(count, top));
    if (!fetch(&got, bench->sort.scratch, found, error))
        return false;
    got = sorted_copy(bench->sort.order, got);
    got.resize(expected.size());
    return same_bytes(got, expected, "gathered", error) &&
           cuda_top(&bench->sort, top, bench->path, &found, error) &&
           check(cudaStreamSynchronize(bench->sort.stream), error) &&
           fetch(&got, bench->sort.scratch, found, error) &&
           same_bytes(got, expected, "sorted", error) &&
           fetch(&got, bench->sort.items, count, error) &&
           same_bytes(got, items, "the input", error);
}

template <typename K>
static struct key_order order_of(bool descending)
{
    const enum key_type_id types[] = {KEY_TYPE_i8, KEY_TYPE_f16, KEY_TYPE_f32, KEY_TYPE_f64};
    if constexpr (sizeof(K) == 16)
        return key_order_identity();
    const struct key_type *type = &key_types[types[__builtin_ctzll(sizeof(K))]];
    return key_order_make(type, descending && type->bytes == 4 ? ENDIAN_BIG : ENDIAN_LITTLE,
                          NAN_GREATEST, descending);
}

/* Prints what is wrong and returns false. */
template <typename K>
static bool check_case(const struct shape &shape, size_t count, size_t top, bool descending)
{
    const struct key_order order = order_of<K>(descending);
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++)
        items[i] = item_of<K>(order, shape.key(i, count), scattered_index(i));
    struct error error = {};
    struct bench bench;
    const bool passed = bench_open(&bench, count, sizeof(K), top, order, &error) &&
                        check_top(&bench, items, sorted_copy(order, items), top, &error);
    bench_close(&bench);
    if (!passed)
        printf("# the first %zu of %zu, %s: %s\n", top, count,
               descending ? "descending" : "ascending", error.message);
    return passed;
}

static const size_t counts[] = {1,     2,      1000,   TOP_COUNT_LEAST, TOP_COUNT_LEAST + 1,
                                20011, 131071, 131072, 1000003,         5000011};

template <typename K>
static bool check_shape(const struct shape &shape, size_t largest)
{
    bool passed = true;
    for (size_t count : counts) {
        const size_t tops[] = {0,         1,         2,         1000,  count / 100,
                               count / 7, count / 2, count - 1, count, count + 1};
        for (size_t top : tops)
            if (count <= largest)
                passed = check_case<K>(shape, count, top, (top + count) % 2 == 1) && passed;
    }
    return passed;
}

template <typename K>
static bool check_width(size_t largest, size_t *claims)
{
    bool passed = true;
    for (const struct shape &shape : shapes) {
        const bool is_right = check_shape<K>(shape, largest);
        printf("%sok %zu - the first items of %zu bytes: %s\n", is_right ? "" : "not ", ++*claims,
               sizeof(K), shape.name);
        fflush(stdout);
        passed = passed && is_right;
    }
    return passed;
}

static int run_matrix(size_t largest)
{
    size_t claims = 0;
    printf("1..%zu\n", 5 * sizeof shapes / sizeof *shapes);
    bool passed = check_width<uint8_t>(largest, &claims);
    passed = check_width<uint16_t>(largest, &claims) && passed;
    passed = check_width<uint32_t>(largest, &claims) && passed;
    passed = check_width<uint64_t>(largest, &claims) && passed;
    passed = check_width<u128>(largest, &claims) && passed;
    return passed ? 0 : 1;
}

/* ---- times ---- */

/* Uniform doubles in [0, 1), or 32-bit integers; of the other shapes, their bits. */
template <typename K>
static K time_item(const struct shape &shape, struct key_order order, size_t i, size_t count)
{
    const uint64_t bits = shape.key(i, count);
    if (shape.key != shape_random || sizeof(K) < 8)
        return item_of<K>(order, bits, scattered_index(i));
    const double number = (double)(bits >> 11) * 0x1p-53;
    uint64_t stored;
    memcpy(&stored, &number, sizeof stored);
    return (K)stored;
}

template <typename K>
static bool upload_items(const struct bench &bench, const struct shape &shape, struct error *error)
{
    const size_t count = bench.sort.count, piece = (size_t)1 << 24;
    std::vector<K> items(std::min(count, piece));
    for (size_t first = 0; first < count; first += piece) {
        const size_t left = std::min(count - first, piece);
#pragma omp parallel for
        for (size_t i = 0; i < left; i++)
            items[i] = time_item<K>(shape, bench.sort.order, first + i, count);
        if (!check(cudaMemcpy((K *)bench.sort.items + first, items.data(), left * sizeof(K),
                              cudaMemcpyHostToDevice),
                   error))
            return false;
    }
    return true;
}

/* The least of some runs, as all do the same. */
static bool time_runs(const struct bench &bench, size_t top, double *milliseconds,
                      struct error *error)
{
    *milliseconds = 0;
    for (unsigned run = 0; run < 6; run++) {
        float elapsed = 0;
        size_t found = 0;
        if (!check(cudaEventRecord(bench.started, bench.sort.stream), error) ||
            !cuda_top(&bench.sort, top, bench.path, &found, error) ||
            !check(cudaEventRecord(bench.finished, bench.sort.stream), error) ||
            !check(cudaEventSynchronize(bench.finished), error) ||
            !check(cudaEventElapsedTime(&elapsed, bench.started, bench.finished), error))
            return false;
        if (run == 0 || elapsed < *milliseconds)
            *milliseconds = elapsed;
    }
    return true;
}

template <typename K>
static bool time_case(const struct shape &shape, size_t count, size_t top)
{
    struct error error = {};
    struct bench bench;
    double milliseconds = 0;
    const bool ran = bench_open(&bench, count, sizeof(K), top, order_of<K>(false), &error) &&
                     upload_items<K>(bench, shape, &error) &&
                     time_runs(bench, top, &milliseconds, &error);
    bench_close(&bench);
    printf("%zu bytes  %-24s %11zu of %11zu ", sizeof(K), shape.name, top, count);
    if (!ran)
        printf("%s\n", error.message);
    else
        printf("%9.3f ms, %7.1f GB/s\n", milliseconds,
               (double)(count * sizeof(K)) / milliseconds / 1e6);
    fflush(stdout);
    return ran;
}

static int run_times(size_t count)
{
    bool ran = true;
    for (size_t top : {(size_t)1, (size_t)1000, (size_t)1000000, count / 10}) {
        ran = time_case<uint64_t>(shapes[0], count, top) && ran;
        ran = time_case<uint32_t>(shapes[0], count, top) && ran;
    }
    ran = time_case<uint16_t>(shapes[0], count, 1000) && ran;
    ran = time_case<uint8_t>(shapes[0], count, 1000) && ran;
    for (size_t i = 1; i < sizeof shapes / sizeof *shapes; i++)
        ran = time_case<uint64_t>(shapes[i], count, 1000) && ran;
    return ran ? 0 : 1;
}

int main(int argc, char **argv)
{
    const bool is_timing = argc > 1 && strcmp(argv[1], "--time") == 0;
    const int argument = is_timing ? 2 : 1;
    size_t count = is_timing ? 1000000000 : 5000011;
    if (argc > argument + 1 || (argc > argument && !parse_count(argv[argument], &count))) {
        fprintf(stderr, "usage: top_matrix [--time] [COUNT]\n");
        return 2;
    }
    struct device_facts facts = {};
    struct error error = {};
    if (!cuda_backend.probe(0, &facts, &error)) {
        printf("1..0 # SKIP %s\n", error.message);
        return 0;
    }
    printf("# %s\n", facts.name);
    return is_timing ? run_times(count) : run_matrix(count);
}
