/* cub_peers.cu - the sorts of CUB as peers: its radix and its merge sort, of keys and of pairs.
 *
 * Radix sorts take DoubleBuffers, which is their fast form and the one with the least memory: input
 * and arena take turns, and the arena holds a second array and what CUB wants beside it. They are
 * given the true type of the keys, so that CUB maps doubles by its own transformation. Merge sorts
 * work in the input, with CUB's copy in the arena. Counts below 2^32 are passed as 32-bit integers,
 * for which CUB's kernels are smaller. thrust::sort calls these same two sorts for numbers, and
 * thrust::sort_by_key for pairs, so that it is no peer of its own.
 *
 * It is alone in this file as it takes long to compile.
 */
#include "bench/peers.h"
#include "cuda/cuda_check.h"

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <stdint.h>

static const size_t alignment = 256;

static size_t align(size_t bytes)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

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
                             struct key_arrays *sorted)
    {
        const size_t own = align(call->count * sizeof(K));
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

template <typename V, typename Count>
struct radix_pairs {
    static cudaError_t start(const struct peer_call *call, size_t *arena_bytes,
                             struct key_arrays *sorted)
    {
        const size_t keys_bytes = align(call->count * sizeof(uint64_t));
        const size_t own = keys_bytes + align(call->count * sizeof(V));
        char *const arena = static_cast<char *>(call->arena);
        cub::DoubleBuffer<uint64_t> keys(static_cast<uint64_t *>(call->input.keys),
                                         reinterpret_cast<uint64_t *>(arena));
        cub::DoubleBuffer<V> values(static_cast<V *>(call->input.values),
                                    reinterpret_cast<V *>(arena ? arena + keys_bytes : NULL));
        size_t temporary_bytes = arena ? *arena_bytes - own : 0;
        const cudaError_t status =
            cub::DeviceRadixSort::SortPairs(arena ? arena + own : NULL, temporary_bytes, keys,
                                            values, static_cast<Count>(call->count), 0,
                                            8 * static_cast<int>(sizeof(uint64_t)), call->stream);
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
                             struct key_arrays *sorted)
    {
        *sorted = call->input;
        return cub::DeviceMergeSort::SortKeys(
            call->arena, *arena_bytes, static_cast<K *>(call->input.keys),
            static_cast<Count>(call->count), less{}, call->stream);
    }
};

template <typename V, typename Count>
struct merge_pairs {
    static cudaError_t start(const struct peer_call *call, size_t *arena_bytes,
                             struct key_arrays *sorted)
    {
        *sorted = call->input;
        return cub::DeviceMergeSort::SortPairs(
            call->arena, *arena_bytes, static_cast<uint64_t *>(call->input.keys),
            static_cast<V *>(call->input.values), static_cast<Count>(call->count), less{},
            call->stream);
    }
};

/* ---- from what is known at run time to the templates ---- */

/* Sort<T, Count> with the narrower Count that holds the count. */
template <template <typename, typename> class Sort, typename T>
static cudaError_t start_sort(const struct peer_call *call, size_t *arena_bytes,
                              struct key_arrays *sorted)
{
    return call->count <= UINT32_MAX ? Sort<T, uint32_t>::start(call, arena_bytes, sorted)
                                     : Sort<T, uint64_t>::start(call, arena_bytes, sorted);
}

template <template <typename, typename> class Sort>
static cudaError_t start_sort_of_type(const struct peer_call *call, size_t *arena_bytes,
                                      struct key_arrays *sorted)
{
    switch (call->type) {
    case BENCH_TYPE_f64:
        return start_sort<Sort, double>(call, arena_bytes, sorted);
    case BENCH_TYPE_u64:
        return start_sort<Sort, uint64_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_f32:
        return start_sort<Sort, float>(call, arena_bytes, sorted);
    case BENCH_TYPE_u32:
        return start_sort<Sort, uint32_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_u16:
        return start_sort<Sort, uint16_t>(call, arena_bytes, sorted);
    case BENCH_TYPE_u8:
        return start_sort<Sort, uint8_t>(call, arena_bytes, sorted);
    default:
        return cudaErrorInvalidValue;
    }
}

template <template <typename, typename> class Sort>
static bool sort_keys(const struct peer_call *call, size_t *arena_bytes, struct key_arrays *sorted,
                      struct error *error)
{
    return cuda_check(start_sort_of_type<Sort>(call, arena_bytes, sorted), call->device,
                      "a sort of CUB", error);
}

template <template <typename, typename> class Sort, typename V>
static bool sort_pairs(const struct peer_call *call, size_t *arena_bytes, struct key_arrays *sorted,
                       struct error *error)
{
    if (sizeof(V) == sizeof(uint32_t) && call->count > UINT32_MAX)
        return error_set(error, "%zu items are more than 32-bit indices tell apart", call->count);
    return cuda_check(start_sort<Sort, V>(call, arena_bytes, sorted), call->device, "a sort of CUB",
                      error);
}

extern "C" {
const struct peer peers[] = {
    {"cub-radix", 0, sort_keys<radix_keys>},
    {"cub-merge", 0, sort_keys<merge_keys>},
    {"cub-radix-u32", 4, sort_pairs<radix_pairs, uint32_t>},
    {"cub-radix-u64", 8, sort_pairs<radix_pairs, uint64_t>},
    {"cub-merge-u32", 4, sort_pairs<merge_pairs, uint32_t>},
    {"cub-merge-u64", 8, sort_pairs<merge_pairs, uint64_t>},
};
const size_t peer_count = sizeof peers / sizeof *peers;
}
