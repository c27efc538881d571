/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_memory.cu - see cuda_memory.h. */
#include "cuda/engine/cuda_memory.h"

#include "core/trace.h"
#include "cuda/cuda_check.h"

static bool memory_is_out(unsigned device, size_t bytes, size_t free_bytes, struct error *error)
{
    constexpr double mebibyte = 1 << 20;
    return error_set_of_device(error, device, "out of memory: %.1f MiB needed, %.1f MiB free",
                               static_cast<double>(bytes) / mebibyte,
                               static_cast<double>(free_bytes) / mebibyte);
}

bool cuda_memory_free_bytes(unsigned device, size_t *bytes, struct error *error)
{
    size_t all_bytes = 0;
    return cuda_check(cudaMemGetInfo(bytes, &all_bytes), device, "cudaMemGetInfo", error);
}

bool cuda_memory_check_room(unsigned device, size_t bytes, struct error *error)
{
    size_t free_bytes = 0;
    return cuda_memory_free_bytes(device, &free_bytes, error) &&
           (bytes <= free_bytes || memory_is_out(device, bytes, free_bytes, error));
}

void cuda_memory_note(void)
{
    size_t free_bytes = 0, all_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess)
        trace_note_device_bytes(all_bytes - free_bytes);
    else
        (void)cudaGetLastError();
}

bool cuda_memory_allocate(unsigned device, size_t bytes, void **memory, struct error *error)
{
    *memory = NULL;
    if (bytes == 0)
        return true;
    const cudaError_t status = cudaMalloc(memory, bytes);
    if (status != cudaErrorMemoryAllocation)
        return cuda_check(status, device, "cudaMalloc", error);
    *memory = NULL;
    (void)cudaGetLastError();
    size_t free_bytes = 0;
    return cuda_memory_free_bytes(device, &free_bytes, error) &&
           memory_is_out(device, bytes, free_bytes, error);
}
