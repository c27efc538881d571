/* SPDX-License-Identifier: Apache-2.0 */
/* simt_runtime.cc - the host's part of the stand-in: errors, devices, launches. Memory is in
 * simt_memory.cc, streams and events in simt_streams.cc, and the shared part in simt_state.cc.
 */
#include "simt_launch.h"
#include "simt_state.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdlib.h>
#include <string.h>

using namespace simt;

namespace
{

constexpr int max_shared_bytes = 48 * 1024;
constexpr int shared_bytes_per_multiprocessor = 228 * 1024, reserved_shared_bytes = 1024;
constexpr int max_block_threads = 1024, max_resident_threads = 2048, max_resident_blocks = 32;

/* Few and small, so that small inputs already fill the device and overflow its cache. */
constexpr int multiprocessors = 4, l2_cache_bytes = 1 << 20;

int capability()
{
    return static_cast<int>(number_from("SIMT_CAPABILITY", 90));
}

int max_shared_optin_bytes(int device)
{
    return static_cast<int>(number_of_device("SIMT_SHARED_BYTES", device, 227 * 1024));
}

} // namespace

/* ---- errors ---- */

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define X(name, value, text)                                                                       \
    case name:                                                                                     \
        return #name;
        SIMT_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define X(name, value, text)                                                                       \
    case name:                                                                                     \
        return text;
        SIMT_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}

cudaError_t cudaGetLastError()
{
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError()
{
    return last_error;
}

/* ---- devices ---- */

namespace
{
const std::map<cudaDeviceAttr, int> attributes = {
    {cudaDevAttrMaxThreadsPerBlock, max_block_threads},
    {cudaDevAttrMaxSharedMemoryPerBlock, max_shared_bytes},
    {cudaDevAttrWarpSize, warpSize},
    {cudaDevAttrClockRate, 1000000},
    {cudaDevAttrMultiProcessorCount, multiprocessors},
    {cudaDevAttrMemoryClockRate, 1000000},
    {cudaDevAttrGlobalMemoryBusWidth, 64},
    {cudaDevAttrL2CacheSize, l2_cache_bytes},
    {cudaDevAttrMaxThreadsPerMultiProcessor, max_resident_threads},
    {cudaDevAttrComputeCapabilityMajor, capability() / 10},
    {cudaDevAttrComputeCapabilityMinor, capability() % 10},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, shared_bytes_per_multiprocessor},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 64 * 1024},
    {cudaDevAttrCooperativeLaunch, 0},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, 0}, /* depends on the device */
    {cudaDevAttrMaxBlocksPerMultiprocessor, max_resident_blocks},
    {cudaDevAttrReservedSharedMemoryPerBlock, reserved_shared_bytes},
    {cudaDevAttrMemoryPoolsSupported, 1}};
} // namespace

static bool is_device(int device)
{
    return device >= 0 && device < device_count();
}

cudaError_t cudaGetDeviceCount(int *count)
{
    return api_call("cudaGetDeviceCount", cudaErrorNoDevice).run_without_device([&] {
        *count = device_count();
        count_call("shown:" + std::to_string(*count));
        return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
    });
}

cudaError_t cudaSetDevice(int device)
{
    return api_call("cudaSetDevice").run_without_device([&] {
        if (!is_device(device))
            return cudaErrorInvalidDevice;
        if (is_lost(device))
            return cudaErrorLaunchFailure;
        current_device = device;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDevice(int *device)
{
    return api_call("cudaGetDevice").run_without_device([&] {
        *device = current_device;
        return cudaSuccess;
    });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned)
{
    return api_call("cudaInitDevice").run([&] {
        return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
    });
}

cudaError_t cudaSetDeviceFlags(unsigned)
{
    return api_call("cudaSetDeviceFlags").run([] { return cudaSuccess; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    return api_call("cudaGetDeviceProperties").run_without_device([&] {
        if (!is_device(device))
            return cudaErrorInvalidDevice;
        *properties = {};
        snprintf(properties->name, sizeof(properties->name), "SIMT stand-in");
        properties->totalGlobalMem = device_bytes_total(device);
        properties->sharedMemPerBlock = max_shared_bytes;
        properties->sharedMemPerBlockOptin = (size_t)max_shared_optin_bytes(device);
        properties->sharedMemPerMultiprocessor = shared_bytes_per_multiprocessor;
        properties->reservedSharedMemPerBlock = reserved_shared_bytes;
        properties->totalConstMem = 64 * 1024;
        properties->regsPerBlock = properties->regsPerMultiprocessor = 64 * 1024;
        properties->warpSize = warpSize;
        properties->maxThreadsPerBlock = max_block_threads;
        properties->maxThreadsPerMultiProcessor = max_resident_threads;
        properties->maxBlocksPerMultiProcessor = max_resident_blocks;
        properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = max_block_threads;
        properties->maxThreadsDim[2] = 64;
        properties->maxGridSize[0] = 0x7fffffff;
        properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
        properties->major = capability() / 10;
        properties->minor = capability() % 10;
        properties->multiProcessorCount = multiprocessors;
        properties->l2CacheSize = l2_cache_bytes;
        properties->memoryBusWidth = 64;
        properties->asyncEngineCount = 2;
        properties->unifiedAddressing = 1;
        properties->canMapHostMemory = 1;
        properties->concurrentKernels = 1;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    return api_call("cudaDeviceGetAttribute").run_without_device([&] {
        const auto found = attributes.find(attribute);
        if (!is_device(device))
            return cudaErrorInvalidDevice;
        if (found == attributes.end())
            return cudaErrorInvalidValue;
        *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin
                     ? max_shared_optin_bytes(device)
                     : found->second;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize()
{
    return api_call("cudaDeviceSynchronize").run([] {
        run_device(current_device);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceReset()
{
    return api_call("cudaDeviceReset").run([] {
        run_device(current_device);
        return cudaSuccess;
    });
}

/* ---- peers ---- */

namespace
{

/* SIMT_PEERS=0: no device can reach the memory of another. */
bool are_peers(int device, int peer)
{
    return device != peer && number_from("SIMT_PEERS", 1) != 0;
}

std::set<std::pair<int, int>> peers_enabled;

} // namespace

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    return api_call("cudaDeviceCanAccessPeer").run_without_device([&] {
        if (!is_device(device) || !is_device(peer))
            return cudaErrorInvalidDevice;
        *can = are_peers(device, peer);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    return api_call("cudaDeviceEnablePeerAccess").run([&] {
        if (!is_device(peer) || flags != 0)
            return cudaErrorInvalidDevice;
        if (!are_peers(current_device, peer))
            return cudaErrorPeerAccessUnsupported;
        return peers_enabled.insert({current_device, peer}).second
                   ? cudaSuccess
                   : cudaErrorPeerAccessAlreadyEnabled;
    });
}

cudaError_t cudaDeviceGetPCIBusId(char *name, int room, int device)
{
    return api_call("cudaDeviceGetPCIBusId").run([&] {
        if (!is_device(device))
            return cudaErrorInvalidDevice;
        snprintf(name, (size_t)room, "0000:%02X:00.0", (unsigned)device + 1);
        return cudaSuccess;
    });
}

cudaError_t cudaDriverGetVersion(int *version)
{
    return api_call("cudaDriverGetVersion").run_without_device([&] {
        *version = CUDART_VERSION;
        return cudaSuccess;
    });
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    return api_call("cudaRuntimeGetVersion").run_without_device([&] {
        *version = CUDART_VERSION;
        return cudaSuccess;
    });
}

/* ---- kernels ---- */

namespace
{

/* The dynamic shared memory that cudaFuncSetAttribute allowed for each kernel of a device. */
std::map<std::pair<int, const void *>, int> shared_bytes_allowed;

int shared_limit(const void *kernel)
{
    const auto found = shared_bytes_allowed.find({current_device, kernel});
    return found == shared_bytes_allowed.end() ? max_shared_bytes : found->second;
}

bool is_valid_grid(const dim3 &grid, const dim3 &block)
{
    return grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.x <= 0x7fffffff && grid.y <= 65535 &&
           grid.z <= 65535 && block.x >= 1 && block.y >= 1 && block.z >= 1 &&
           block.x <= max_block_threads && block.y <= max_block_threads && block.z <= 64 &&
           block.x * block.y * block.z <= max_block_threads;
}

cudaError_t check_launch(const cudaLaunchConfig_t &config, const void *kernel)
{
    if (kernel == nullptr)
        return cudaErrorInvalidDeviceFunction;
    if (!is_valid_grid(config.gridDim, config.blockDim) ||
        config.dynamicSmemBytes > (size_t)max_shared_optin_bytes(current_device))
        return cudaErrorInvalidConfiguration;
    if (config.dynamicSmemBytes > (size_t)shared_limit(kernel))
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < config.numAttrs; i++) {
        const cudaLaunchAttribute &attribute = config.attrs[i];
        const auto &cluster = attribute.val.clusterDim;
        if (attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative != 0)
            return cudaErrorNotSupported;
        if (attribute.id == cudaLaunchAttributeClusterDimension &&
            (cluster.x != 1 || cluster.y != 1 || cluster.z != 1))
            return cudaErrorNotSupported;
    }
    return cudaSuccess;
}

} // namespace

cudaError_t simt_launch(const cudaLaunchConfig_t *config, const void *kernel,
                        std::function<void()> run_thread)
{
    return api_call("cudaLaunchKernelEx", cudaErrorLaunchOutOfResources).run([&] {
        if (const cudaError_t error = check_launch(*config, kernel))
            return error;
        const struct simt_kernel launch = {kernel, std::move(run_thread), config->gridDim,
                                           config->blockDim, config->dynamicSmemBytes};
        if (work_of(config->stream)->device != current_device)
            return cudaErrorInvalidResourceHandle;
        give_work(work_of(config->stream), [launch, device = current_device] {
            if (order_for_call("kernel", cudaErrorLaunchFailure, device) != cudaSuccess)
                lose(device);
            if (!is_lost(device))
                simt_run_kernel(launch);
        });
        return cudaSuccess;
    });
}

cudaError_t simt_function_set_attribute(const void *kernel, cudaFuncAttribute attribute, int value)
{
    return api_call("cudaFuncSetAttribute").run([&] {
        if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
            return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
        if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
            value > max_shared_optin_bytes(current_device))
            return cudaErrorInvalidValue;
        shared_bytes_allowed[{current_device, kernel}] = value;
        return cudaSuccess;
    });
}

cudaError_t simt_function_get_attributes(cudaFuncAttributes *attributes, const void *kernel)
{
    return api_call("cudaFuncGetAttributes").run([&] {
        *attributes = {};
        attributes->maxThreadsPerBlock = max_block_threads;
        attributes->numRegs = 32;
        attributes->ptxVersion = 90;
        attributes->maxDynamicSharedSizeBytes = shared_limit(kernel);
        return cudaSuccess;
    });
}

cudaError_t simt_occupancy(int *blocks, int block_threads, size_t dynamic_shared_bytes)
{
    return api_call("cudaOccupancyMaxActiveBlocksPerMultiprocessor").run([&] {
        if (block_threads < 1)
            return cudaErrorInvalidValue;
        const size_t by_shared = (size_t)shared_bytes_per_multiprocessor /
                                 (dynamic_shared_bytes + (size_t)reserved_shared_bytes);
        *blocks = std::min({max_resident_threads / block_threads, max_resident_blocks,
                            (int)std::min(by_shared, (size_t)max_resident_blocks)});
        return cudaSuccess;
    });
}
