/* SPDX-License-Identifier: Apache-2.0 */
/* radix_cases.h - what the matrices of radix's parts have in common: shapes of arrays, items and
 * their orders, what the host makes of them, and arrays on the device.
 */
#ifndef TESTS_RADIX_CASES_H
#define TESTS_RADIX_CASES_H

#include "core/key_order.h"
#include "cuda/block/thread_key.cuh"
#include "cuda/cuda_sort.h"
#include "tests/cuda/matrix_common.h"
#include "tests/key_shapes.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

/* ---- arrays ---- */

struct key_shape {
    const char *name;
    uint64_t (*key)(size_t i, size_t n);
};

template <typename K>
static K encoded(struct key_order order, K item)
{
    if constexpr (sizeof(K) == 16)
        return item;
    else
        return (K)key_order_encode(order, 8 * sizeof(K), item);
}

template <typename K>
static std::vector<struct key_order> orders_of()
{
    if constexpr (sizeof(K) == 16)
        return {key_order_identity()};
    const struct key_type *const type = &key_types[sizeof(K) == 1   ? KEY_TYPE_i8
                                                   : sizeof(K) == 2 ? KEY_TYPE_f16
                                                   : sizeof(K) == 4 ? KEY_TYPE_i32
                                                                    : KEY_TYPE_f64];
    return {key_order_identity(), key_order_make(type, ENDIAN_LITTLE, NAN_GREATEST, false),
            key_order_make(type, ENDIAN_BIG, NAN_GREATEST, true)};
}

/* ---- the device ---- */

static bool check(cudaError_t status, struct error *error)
{
    return status == cudaSuccess || error_set(error, "%s", cudaGetErrorString(status));
}

/* Room for a sort of `count` items, whose scratch is all `scratch_byte`. What was made is freed by
 * sort_close, also after an error. */
static inline bool sort_open(struct cuda_sort *sort, size_t count, unsigned item_bytes,
                             size_t tile_size, int scratch_byte, struct error *error)
{
    const size_t bytes = count * item_bytes;
    *sort = {};
    sort->count = count;
    sort->item_bytes = item_bytes;
    sort->tile_size = tile_size;
    return check(cudaMalloc(&sort->items, bytes), error) &&
           check(cudaMalloc(&sort->scratch, bytes), error) &&
           check(cudaMemset(sort->scratch, scratch_byte, bytes), error) &&
           check(cudaMalloc(&sort->workspace, radix_workspace_bytes(count, tile_size, item_bytes)),
                 error) &&
           check(cudaMallocHost((void **)&sort->note, sizeof *sort->note), error);
}

static inline void sort_close(struct cuda_sort *sort)
{
    (void)cudaFreeHost(sort->note);
    (void)cudaFree(sort->workspace);
    (void)cudaFree(sort->scratch);
    (void)cudaFree(sort->items);
}

template <typename K>
static bool send(const struct cuda_sort &sort, const std::vector<K> &items, struct error *error)
{
    return check(
        cudaMemcpy(sort.items, items.data(), items.size() * sizeof(K), cudaMemcpyHostToDevice),
        error);
}

template <typename K>
static bool holds(const struct cuda_sort &sort, const std::vector<K> &expected, struct error *error)
{
    std::vector<K> got(expected.size());
    if (!check(cudaMemcpy(got.data(), sort.items, got.size() * sizeof(K), cudaMemcpyDeviceToHost),
               error))
        return false;
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] != expected[i])
            return error_set(error, "item %zu of %zu differs", i, got.size());
    return true;
}

/* ---- claims ---- */

struct tap_output {
    size_t number;
    size_t failed;
};

static void tap_print(struct tap_output *tap, bool passed, const char *claim, size_t item_bytes,
                      const struct error &error)
{
    printf("%s %zu - %s, items of %zu bytes\n", passed ? "ok" : "not ok", ++tap->number, claim,
           item_bytes);
    if (!passed)
        printf("# %s\n", error.message);
    fflush(stdout);
    tap->failed += !passed;
}

/* For a claim about more items than are to be sorted. */
static inline void tap_skip(struct tap_output *tap, const char *claim, size_t item_bytes)
{
    printf("ok %zu - %s, items of %zu bytes # SKIP small arrays only\n", ++tap->number, claim,
           item_bytes);
}

/* Reads the words [NUMBER]; false: nothing is to be run, and the process ends with *status. */
static inline bool tap_start(int argc, char **argv, size_t *largest, int *status)
{
    char *end = NULL;
    if (argc > 1)
        *largest = strtoull(argv[1], &end, 10);
    *status = argc > 2 || (argc > 1 && (*argv[1] < '0' || *argv[1] > '9' || *end)) ? 2 : 0;
    int devices = 0;
    if (*status)
        fprintf(stderr, "usage: %s [NUMBER]\n", argv[0]);
    else if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        printf("1..0 # SKIP no GPU\n");
    return devices > 0;
}

#endif
