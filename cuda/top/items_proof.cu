/* SPDX-License-Identifier: Apache-2.0 */
/* items_proof.cu - see cuda/engine/cuda_top.h. */
#include "cuda/engine/cuda_top.h"

#include "core/check/check_kernels.h"
#include "cuda/block/dispatch.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/engine/cuda_memory.h"

constexpr unsigned PROOF_THREADS = 256;
constexpr unsigned PROOF_BLOCKS = 8; /* per multiprocessor */

/* Results of the kernel, 0 before it. CUDA has atomics for these types. */
struct proof_results {
    unsigned long long hash;
    unsigned long long unordered; /* complement of the first index out of order; 0: none is */
};

template <typename K>
__device__ __forceinline__ uint64_t proof_hash(K item)
{
    if constexpr (sizeof(K) == 1)
        return check_mix_byte(item);
    else if constexpr (sizeof(K) == 2)
        return check_mix_word(item);
    else if constexpr (sizeof(K) <= 8)
        return check_mix(item);
    else
        return check_mix_pair(static_cast<uint64_t>(item >> 64), static_cast<uint64_t>(item));
}

/* Of N threads, each hashes every N-th item, and compares it with the item before it. */
template <typename K>
__global__ void __launch_bounds__(PROOF_THREADS)
    proof_kernel(const K *items, size_t count, struct key_order order,
                 struct proof_results *results)
{
    const size_t step = static_cast<size_t>(gridDim.x) * PROOF_THREADS;
    uint64_t hash = 0;
    size_t i = static_cast<size_t>(blockIdx.x) * PROOF_THREADS + threadIdx.x;
    for (; i < count; i += step) {
        K pair[2] = {items[i > 0 ? i - 1 : 0], items[i]};
        hash += proof_hash(pair[1]);
        thread_encode_keys(order, pair);
        if (pair[1] < pair[0])
            atomicMax(&results->unordered, ~static_cast<unsigned long long>(i));
    }
    atomicAdd(&results->hash, static_cast<unsigned long long>(hash));
}

/* Starts the kernel and fetches its results, which the kernel stores in *on_device. */
template <typename K>
static bool find_results(const struct cuda_sort *sort, struct proof_results *on_device,
                         struct proof_results *results, struct error *error)
{
    struct launch_site site;
    if (!launch_site_find(sort->device, sort->stream, &site, error) ||
        !cuda_fill(*sort, on_device, 0, sizeof *on_device, error))
        return false;
    const size_t blocks =
        launch_wave(site, PROOF_BLOCKS, launch_blocks(sort->count, PROOF_THREADS));
    return launch_kernel(launch_at(site, "proof_kernel", blocks, PROOF_THREADS), error,
                         proof_kernel<K>, static_cast<const K *>(sort->items), sort->count,
                         sort->order, on_device) &&
           cuda_fetch(*sort, results, on_device, sizeof *results, error);
}

bool cuda_proof_items(const struct cuda_sort *sort, struct check_sum *sum, uint64_t *disorder,
                      struct error *error)
{
    struct proof_results results = {};
    void *memory = NULL;
    const bool is_found =
        cuda_memory_allocate(sort->device, sizeof results, &memory, error) &&
        dispatch_width(sort, error, [&](auto key) {
            return find_results<decltype(key)>(sort, static_cast<struct proof_results *>(memory),
                                               &results, error);
        });
    if (memory)
        (void)cudaFree(memory);
    *sum = {sort->count, results.hash};
    *disorder = results.unordered ? ~results.unordered + 1 : 0;
    return is_found;
}
