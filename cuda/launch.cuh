/* SPDX-License-Identifier: Apache-2.0 */
/* launch.cuh - the one way to start a kernel: checked, with 64-bit sizes. */
#ifndef CUDA_LAUNCH_CUH
#define CUDA_LAUNCH_CUH

#include "cuda/cuda_check.h"
#include "cuda/grid_wait.cuh"

#include <algorithm>
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

/* What the launches of one sort have in common. */
struct launch_site {
    unsigned device;
    cudaStream_t stream;
    unsigned multiprocessors;
    bool is_early; /* as in struct launch: all kernels begin with a wait */
};

/* Asks the device how many multiprocessors it has. No kernel starts early. */
static inline bool launch_site_find(unsigned device, cudaStream_t stream, struct launch_site *site,
                                    struct error *error)
{
    int multiprocessors = 0;
    if (!cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                           static_cast<int>(device)),
                    device, "cudaDeviceGetAttribute", error))
        return false;
    *site = {device, stream, static_cast<unsigned>(multiprocessors), false};
    return true;
}

static inline struct launch launch_at(const struct launch_site &site, const char *name,
                                      size_t blocks, unsigned threads_per_block,
                                      size_t shared_bytes = 0)
{
    return {name, blocks, threads_per_block, site.device, site.stream, shared_bytes, site.is_early};
}

/* As many blocks as run at a time, or fewer if the work is less. */
static inline size_t launch_resident(const struct launch_site &site,
                                     unsigned blocks_per_multiprocessor, size_t work)
{
    return std::min(static_cast<size_t>(site.multiprocessors) * blocks_per_multiprocessor, work);
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

/* Lets the kernel's blocks have more shared memory than they have without asking. */
template <typename... Parameters>
static bool launch_ask_for_shared(const struct launch &launch, struct error *error,
                                  void (*kernel)(Parameters...))
{
    const int device = static_cast<int>(launch.device);
    int most = 0;
    const cudaError_t status = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(launch.shared_bytes));
    if (status != cudaErrorInvalidValue ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
            cudaSuccess ||
        launch.shared_bytes <= static_cast<size_t>(most))
        return cuda_check(status, launch.device, launch.name, error);
    (void)cudaGetLastError();
    return error_set(error,
                     "device %u: %s: a block needs %zu bytes of shared memory, and the device has "
                     "%d; choose another path, or leave it to auto",
                     launch.device, launch.name, launch.shared_bytes, most);
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
    if (launch.shared_bytes > LAUNCH_SHARED_BYTES && !launch_ask_for_shared(launch, error, kernel))
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
