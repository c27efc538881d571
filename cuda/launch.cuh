/* launch.cuh - the one way to start a kernel: checked, with 64-bit sizes. */
#ifndef CUDA_LAUNCH_CUH
#define CUDA_LAUNCH_CUH

#include "cuda/cuda_check.h"
#include "cuda/grid_wait.cuh"

#include <limits.h>
#include <stddef.h>
#include <utility>

/* Where and how wide a kernel runs. */
struct launch {
    const char *name; /* of the kernel, for errors */
    size_t blocks;    /* 0: nothing to do, nothing is started */
    unsigned threads_per_block;
    unsigned device;
    cudaStream_t stream;
    size_t shared_bytes = 0; /* of dynamic shared memory (dynamic_shared.cuh) */
    bool is_early = false;   /* it may start while the kernel in front ends: each of its threads
                                begins with thread_wait_for_grid (grid_wait.cuh) */
};

/* What a block may have without asking. */
constexpr size_t LAUNCH_SHARED_BYTES = 48 << 10;

static inline size_t launch_blocks(size_t count, size_t per_block)
{
    return count / per_block + (count % per_block != 0);
}

/* Whether kernels that were compiled like this one, and begin with a wait, can start early. */
template <typename... Parameters>
static bool launch_can_be_early(void (*kernel)(Parameters...), unsigned device, bool *can,
                                struct error *error)
{
    cudaFuncAttributes attributes = {};
    if (!cuda_check(cudaFuncGetAttributes(&attributes, kernel), device, "cudaFuncGetAttributes",
                    error))
        return false;
    *can = attributes.ptxVersion >= GRID_WAIT_PTX_LEAST;
    return true;
}

template <typename... Parameters, typename... Arguments>
static bool launch_kernel(const struct launch &launch, struct error *error,
                          void (*kernel)(Parameters...), Arguments &&...arguments)
{
    if (launch.blocks == 0)
        return true;
    if (launch.blocks > INT_MAX)
        return error_set(error, "device %u: %s: %zu blocks are more than a grid holds",
                         launch.device, launch.name, launch.blocks);
    if (launch.shared_bytes > LAUNCH_SHARED_BYTES &&
        !cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(launch.shared_bytes)),
                    launch.device, launch.name, error))
        return false;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(launch.blocks));
    config.blockDim = dim3(launch.threads_per_block);
    config.dynamicSmemBytes = launch.shared_bytes;
    config.stream = launch.stream;
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = launch.is_early ? 1 : 0;
    return cuda_check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...),
                      launch.device, launch.name, error);
}

#endif
