/* SPDX-License-Identifier: Apache-2.0 */
/* cub_peers.cu - the sorts of CUB as peers: its radix sort and its merge sort, of keys and of
 * pairs.
 *
 * Radix sorts take DoubleBuffers, the fast form with the least memory: input and arena alternate,
 * and the arena has a second array and CUB's temporary memory. They get the true type of the keys,
 * so that CUB maps doubles by its own transformation. Merge sorts work in the input, with CUB's
 * copy in the arena. Counts below 2^32 are passed as 32-bit integers, for which CUB's kernels are
 * smaller.
 *
 * thrust::sort calls the same radix sort for numbers, and copies after an odd number of passes.
 *
 * The peers are a file of their own because it compiles slowly.
 */
#include "bench/bench_run.h"
#include "cuda/cuda_check.h"

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stddef.h>
#include <stdint.h>

/* The order of numbers as CUB's own examples spell it. */
struct less {
    template <typename K>
    __device__ bool operator()(const K &a, const K &b) const
    {
        return a < b;
    }
};

/* ---- radix ---- */

template <typename K, typename Count>
struct radix_keys {
    static cudaError_t start(const struct peer_call *call, size_t *arena_bytes,
                             struct item_arrays *sorted)
    {
        const size_t own = bench_align(call->count * sizeof(K));
        char *const arena = static_cast<char *>(call->arena);
        cub::DoubleBuffer<K> keys(static_cast<K *>(call->input.keys), reinterpret_cast<K *>(arena));
        size_t temporary_bytes = arena ? *arena_bytes - own : 0;
        const cudaError_t status = cub::DeviceRadixSort::SortKeys(
            arena ? arena + own : NULL, temporary_bytes, keys, static_cast<Count>(call->count), 0,
            8 * static_cast<int>(sizeof(K)), call->stream);
        if (!arena)
            *arena_bytes = own + temporary_bytes;
        *sorted = {keys.Current(), NULL};
        return status;
    }
};

template <typename K, typename V, typename Count>
struct radix_pairs {
    static cudaError_t start(const struct peer_call *call, size_t *arena_bytes,
                             struct item_arrays *sorted)
    {
        const size_t keys_bytes = bench_align(call->count * sizeof(K));
        const size_t own = keys_bytes + bench_align(call->count * sizeof(V));
        char *const arena = static_cast<char *>(call->arena);
        cub::DoubleBuffer<K> keys(static_cast<K *>(call->input.keys), reinterpret_cast<K *>(arena));
        cub::DoubleBuffer<V> values(static_cast<V *>(call->input.values),
                                    reinterpret_cast<V *>(arena ? arena + keys_bytes : NULL));
        size_t temporary_bytes = arena ? *arena_bytes - own : 0;
        const cudaError_t status = cub::DeviceRadixSort::SortPairs(
            arena ? arena + own : NULL, temporary_bytes, keys, values,
            static_cast<Count>(call->count), 0, 8 * static_cast<int>(sizeof(K)), call->stream);
        if (!arena)
            *arena_bytes = own + temporary_bytes;
        *sorted = {keys.Current(), values.Current()};
        return status;
    }
};

/* ---- merge ---- */

template <typename K, typename Count>
struct merge_keys {
    static cudaError_t start(const struct peer_call *call, size_t *arena_bytes,
                             struct item_arrays *sorted)
    {
        *sorted = call->input;
        return cub::DeviceMergeSort::SortKeys(
            call->arena, *arena_bytes, static_cast<K *>(call->input.keys),
            static_cast<Count>(call->count), less{}, call->stream);
    }
};

template <typename K, typename V, typename Count>
struct merge_pairs {
    static cudaError_t start(const struct peer_call *call, size_t *arena_bytes,
                             struct item_arrays *sorted)
    {
        *sorted = call->input;
        return cub::DeviceMergeSort::SortPairs(
            call->arena, *arena_bytes, static_cast<K *>(call->input.keys),
            static_cast<V *>(call->input.values), static_cast<Count>(call->count), less{},
            call->stream);
    }
};

/* ---- Dispatch from run-time values to templates ---- */

/* Starts Sort<T..., Count> with the narrowest Count for the number of items. */
template <template <typename...> class Sort, typename... Types>
static cudaError_t start_sort(const struct peer_call *call, size_t *arena_bytes,
                              struct item_arrays *sorted)
{
    return call->count <= UINT32_MAX ? Sort<Types..., uint32_t>::start(call, arena_bytes, sorted)
                                     : Sort<Types..., uint64_t>::start(call, arena_bytes, sorted);
}

template <template <typename...> class Keys, template <typename...> class Pairs>
static cudaError_t start_sort_of_type(const struct peer_call *call, size_t *arena_bytes,
                                      struct item_arrays *sorted)
{
    switch (call->type) {
    case BENCH_TYPE_f64:
        return start_sort<Keys, double>(call, arena_bytes, sorted);
    case BENCH_TYPE_i64:
        return start_sort<Keys, int64_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_u64:
        return start_sort<Keys, uint64_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_f32:
        return start_sort<Keys, float>(call, arena_bytes, sorted);
    case BENCH_TYPE_i32:
        return start_sort<Keys, int32_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_u32:
        return start_sort<Keys, uint32_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_f16:
        return start_sort<Keys, __half>(call, arena_bytes, sorted);
    case BENCH_TYPE_bf16:
        return start_sort<Keys, __nv_bfloat16>(call, arena_bytes, sorted);
    case BENCH_TYPE_i16:
        return start_sort<Keys, int16_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_u16:
        return start_sort<Keys, uint16_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_i8:
        return start_sort<Keys, int8_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_u8:
        return start_sort<Keys, uint8_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_u64_u64:
        return start_sort<Pairs, uint64_t, uint64_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_u64_u32:
        return start_sort<Pairs, uint64_t, uint32_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_u32_u32:
        return start_sort<Pairs, uint32_t, uint32_t>(call, arena_bytes, sorted);
    default:
        return cudaErrorInvalidValue;
    }
}

template <template <typename...> class Keys, template <typename...> class Pairs>
static bool sort_type(const struct peer_call *call, size_t *arena_bytes, struct item_arrays *sorted,
                      struct error *error)
{
    if (bench_types[call->type].index_bytes == sizeof(uint32_t) && call->count > UINT32_MAX)
        return error_set(error, "%zu items are more than 32-bit indices tell apart", call->count);
    return cuda_check(start_sort_of_type<Keys, Pairs>(call, arena_bytes, sorted), call->device,
                      "a sort of CUB", error);
}

extern "C" {
const struct peer peers[] = {
    {"cub-radix", sort_type<radix_keys, radix_pairs>},
    {"cub-merge", sort_type<merge_keys, merge_pairs>},
};
const size_t peer_count = sizeof peers / sizeof *peers;
}
