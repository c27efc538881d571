/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_common.h - shared by the matrices: a count from the command line, items of any width, the
 * results of std::sort, memory of the device, and claims.
 */
#ifndef TESTS_MATRIX_COMMON_H
#define TESTS_MATRIX_COMMON_H

#include "core/error.h"
#include "core/key_order.h"
#include "tests/random_next.h"

#include <algorithm>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

__extension__ typedef unsigned __int128 u128;

/* ---- items ---- */

/* Indices that do not order the items and are all different, as the factor is odd. */
static inline uint64_t scattered_index(size_t i)
{
    return i * 0x9e3779b97f4a7c15u;
}

/* Returns the item, as it is stored, whose ordered bits are the first bits of `ordered`. An item of
 * 16 bytes has them above the index. */
template <typename K>
static K item_of(struct key_order order, uint64_t ordered, uint64_t index)
{
    if constexpr (sizeof(K) == 16)
        return (K)ordered << 64 | index;
    else
        return (K)key_order_decode(order, 8 * sizeof(K), ordered >> (64 - 8 * sizeof(K)));
}

/* Items of 16 bytes have scattered numbers for indices, or their positions plus 7. */
template <typename K>
static std::vector<K> make_items(uint64_t (*key)(size_t, size_t), struct key_order order,
                                 size_t count, bool is_scattered = false)
{
    std::vector<K> items(count);
    for (size_t i = 0; i < count; i++)
        items[i] = item_of<K>(order, key(i, count), is_scattered ? scattered_index(i) : 7 + i);
    return items;
}

template <typename K>
static std::vector<K> sorted_copy(struct key_order order, std::vector<K> items)
{
    if constexpr (sizeof(K) < 16)
        for (K &item : items)
            item = (K)key_order_encode(order, 8 * sizeof(K), item);
    std::sort(items.begin(), items.end());
    if constexpr (sizeof(K) < 16)
        for (K &item : items)
            item = (K)key_order_decode(order, 8 * sizeof(K), item);
    return items;
}

/* ---- the device ---- */

static inline bool check(cudaError_t status, struct error *error)
{
    return status == cudaSuccess || error_set(error, "%s", cudaGetErrorString(status));
}

template <typename T>
static bool allocate(T **memory, size_t count, struct error *error)
{
    return check(cudaMalloc((void **)memory, std::max<size_t>(count, 1) * sizeof(T)), error);
}

template <typename T>
static bool upload(T *to, const std::vector<T> &values, struct error *error)
{
    return values.empty() ||
           check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
                 error);
}

template <typename T>
static bool download(std::vector<T> *to, const T *from, size_t count, struct error *error)
{
    to->resize(count);
    return check(cudaMemcpy(to->data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), error);
}

/* ---- claims ---- */

struct tap_output {
    size_t number;
    size_t failed;
};

static inline void tap_claim(struct tap_output *tap, bool passed, const char *claim,
                             const struct error &error)
{
    printf("%s %zu - %s\n", passed ? "ok" : "not ok", ++tap->number, claim);
    if (!passed)
        printf("# %s\n", error.message);
    fflush(stdout);
    tap->failed += !passed;
}

static inline void tap_print(struct tap_output *tap, bool passed, const char *claim,
                             size_t item_bytes, const struct error &error)
{
    char text[200];
    snprintf(text, sizeof text, "%s, items of %zu bytes", claim, item_bytes);
    tap_claim(tap, passed, text, error);
}

/* Returns false if the text is not a number. */
static inline bool parse_count(const char *text, size_t *count)
{
    char *end = NULL;
    *count = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

/* Reads the words [NUMBER]; false: nothing is to be run, and the process ends with *status. */
static inline bool tap_start(int argc, char **argv, size_t *number, int *status)
{
    int devices = 0;
    *status = argc > 2 || (argc > 1 && !parse_count(argv[1], number)) ? 2 : 0;
    if (*status)
        fprintf(stderr, "usage: %s [NUMBER]\n", argv[0]);
    else if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        printf("1..0 # SKIP no GPU\n");
    return devices > 0;
}

#endif
