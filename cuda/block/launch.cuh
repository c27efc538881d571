/* SPDX-License-Identifier: Apache-2.0 */
/* launch.cuh - starts a kernel, with 64-bit sizes and an error check. All kernels are started here.
 */
#ifndef CUDA_LAUNCH_CUH
#define CUDA_LAUNCH_CUH

#include "cuda/cuda_check.h"

#include <algorithm>
#include <cuda_runtime.h>
#include <limits.h>
#include <stddef.h>
#include <utility>

/* ---- early start: programmatic dependent launch (PDL) ----
 *
 * The blocks of a kernel can start while the kernel before it on the stream ends (struct launch).
 * That saves one or two microseconds per kernel. Each thread of such a kernel must first call
 * thread_wait_for_dependency(). None of its parameters may be __restrict__: the compiler may load
 * through a `const` one before the wait. */

/* Code for older devices starts no kernel early: its PTX version is lower. */
constexpr int GRID_WAIT_PTX_LEAST = 90;

/* cudaGridDependencySynchronize: waits until the kernel before this one is done and its writes are
 * visible. If each thread of each kernel calls this first, all earlier kernels are done as well. */
__device__ __forceinline__ void thread_wait_for_dependency()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- launches ---- */

/* The size of a launch and its stream. */
struct launch {
    const char *name; /* the kernel's, for errors */
    size_t blocks;    /* 0: starts nothing */
    unsigned threads_per_block;
    unsigned device;
    cudaStream_t stream;
    size_t shared_bytes = 0; /* of dynamic shared memory (shared_memory.cuh) */
    bool is_early = false;   /* may start while the kernel before it ends: each of its threads
                                begins with thread_wait_for_dependency */
};

/* Shared memory that a block may have without a kernel attribute. */
constexpr size_t LAUNCH_SHARED_BYTES = 48 << 10;

/* Returns a launch on the stream of `on`, a sort or a text. */
template <typename On>
static struct launch launch_for(const On &on, const char *name, size_t blocks,
                                unsigned threads_per_block, size_t shared_bytes = 0)
{
    return {name, blocks, threads_per_block, on.device, on.stream, shared_bytes, false};
}

static inline size_t launch_blocks(size_t count, size_t per_block)
{
    return count / per_block + (count % per_block != 0);
}

/* The common part of the launches of one sort. */
struct launch_site {
    unsigned device;
    cudaStream_t stream;
    unsigned multiprocessors;
    bool is_early; /* as in struct launch, for all kernels of the sort; tests/style.sh checks those
                      of radix */
};

/* Queries the number of multiprocessors. is_early becomes false. */
static inline bool launch_site_find(unsigned device, cudaStream_t stream, struct launch_site *site,
                                    struct error *error)
{
    int multiprocessors = 0;
    if (!cuda_attribute(device, cudaDevAttrMultiProcessorCount, &multiprocessors, error))
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

/* Returns one wave of blocks, or `work` if that is less. blocks_per_multiprocessor is that of an
 * H200. With less shared memory fewer blocks may be resident, and the grid runs in two waves. */
static inline size_t launch_wave(const struct launch_site &site, unsigned blocks_per_multiprocessor,
                                 size_t work)
{
    return std::min(static_cast<size_t>(site.multiprocessors) * blocks_per_multiprocessor, work);
}

/* Sets *can to true if a kernel that begins with thread_wait_for_dependency() can start before the
 * kernel before it ends. `kernel` is any kernel of the same build. */
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

/* Raises the kernel's limit of dynamic shared memory to launch.shared_bytes. */
template <typename... Parameters>
static bool launch_allow_shared(const struct launch &launch, struct error *error,
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
    if (launch.shared_bytes > LAUNCH_SHARED_BYTES && !launch_allow_shared(launch, error, kernel))
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
