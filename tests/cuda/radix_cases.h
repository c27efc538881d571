/* SPDX-License-Identifier: Apache-2.0 */
/* radix_cases.h - shared by the matrices of radix's parts: shapes and orders, and arrays on the
 * device.
 */
#ifndef TESTS_RADIX_CASES_H
#define TESTS_RADIX_CASES_H

#include "cuda/block/thread_key.cuh"
#include "cuda/cuda_sort.h"
#include "tests/cuda/matrix_common.h"

/* ---- arrays ---- */

struct key_shape {
    const char *name;
    uint64_t (*key)(size_t i, size_t n);
};

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
    return upload(static_cast<K *>(sort.items), items, error);
}

template <typename K>
static bool holds(const struct cuda_sort &sort, const std::vector<K> &expected, struct error *error)
{
    std::vector<K> got;
    if (!download(&got, static_cast<const K *>(sort.items), expected.size(), error))
        return false;
    for (size_t i = 0; i < got.size(); i++)
        if (got[i] != expected[i])
            return error_set(error, "item %zu of %zu differs", i, got.size());
    return true;
}

#endif
