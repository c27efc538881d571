/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_memory.cc - see cuda_memory.h. */
#include "cuda/engine/cuda_memory.h"

#include "core/trace.h"
#include "cuda/cuda_check.h"
#include "cuda/engine/cuda_device.h"

#include <algorithm>
#include <cuda.h>
#include <cuda_runtime.h>

/* ---- memory of a device ---- */

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

/* ---- an array that several devices hold ---- */

static cudaError_t find_driver_function(const char *name, void **function,
                                        cudaDriverEntryPointQueryResult *result)
{
#if CUDART_VERSION >= 12050
    return cudaGetDriverEntryPointByVersion(name, function, 12000, cudaEnableDefault, result);
#else
    return cudaGetDriverEntryPoint(name, function, cudaEnableDefault, result);
#endif
}

/* Calls a function of the driver, which is not linked: the runtime finds it. The driver's errors
 * have the numbers of the runtime's. */
template <typename Function, typename... Arguments>
static bool driver_call(unsigned device, const char *name, struct error *error,
                        Arguments... arguments)
{
    void *function = NULL;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    if (!cuda_check(find_driver_function(name, &function, &result), device, name, error))
        return false;
    if (result != cudaDriverEntryPointSuccess)
        return error_set_of_device(error, device, "%s: the driver is too old for it", name);
    const CUresult status = reinterpret_cast<Function *>(function)(arguments...);
    return cuda_check(static_cast<cudaError_t>(status), device, name, error);
}
#define DRIVER_CALL(device, name, error, ...)                                                      \
    driver_call<decltype(name)>(device, #name, error, __VA_ARGS__)

static CUdeviceptr address_of(const struct cuda_array *array)
{
    return reinterpret_cast<CUdeviceptr>(array->memory);
}

/* Returns the bytes that device i of the pool may still give; a little of its free memory is left
 * for the driver. If the device cannot be used, returns 0 and sets *cause. */
static size_t find_room(const struct cuda_pool *pool, unsigned i, struct error *cause)
{
    const struct device_room *const room = &pool->spec->devices[i];
    size_t bytes = 0;
    const bool is_known =
        cuda_device_use(room->device, cause) && cuda_memory_free_bytes(room->device, &bytes, cause);
    (void)cuda_device_use(pool->spec->device, cause);
    return is_known ? std::min(bytes / 64 * 63, room->bytes - std::min(room->bytes, pool->taken[i]))
                    : 0;
}

static CUmemAllocationProp kind_of_memory(unsigned device)
{
    CUmemAllocationProp kind = {};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location = {CU_MEM_LOCATION_TYPE_DEVICE, static_cast<int>(device)};
    return kind;
}

/* Maps `bytes` bytes of memory of device i of the pool to the end of the array. */
static bool map_memory(struct cuda_pool *pool, unsigned i, size_t bytes, struct cuda_array *array,
                       struct error *error)
{
    const unsigned device = pool->spec->devices[i].device;
    const CUdeviceptr address = address_of(array) + array->mapped;
    const CUmemAllocationProp kind = kind_of_memory(device);
    CUmemGenericAllocationHandle handle = 0;
    CUmemAccessDesc access = {};
    access.location = kind_of_memory(pool->spec->device).location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (!DRIVER_CALL(device, cuMemCreate, error, &handle, bytes, &kind, 0ull))
        return false;
    const bool is_mapped = DRIVER_CALL(device, cuMemMap, error, address, bytes, 0ul, handle, 0ull);
    /* The memory itself is freed when it is unmapped. */
    const bool is_ready = DRIVER_CALL(device, cuMemRelease, error, handle) && is_mapped &&
                          DRIVER_CALL(device, cuMemSetAccess, error, address, bytes, &access, 1ul);
    struct error ignored = {};
    if (is_ready) {
        array->mapped += bytes;
        pool->taken[i] += bytes;
    } else if (is_mapped) {
        (void)DRIVER_CALL(device, cuMemUnmap, &ignored, address, bytes);
    }
    return is_ready;
}

/* Reserves addresses, and maps memory of the devices to them. If the devices have too little,
 * fails, with an error only if one of them has failed. */
static bool map_array(struct cuda_pool *pool, size_t bytes, bool from_last,
                      struct cuda_array *array, struct error *error)
{
    const unsigned device = pool->spec->device, count = pool->spec->device_count;
    const CUmemAllocationProp kind = kind_of_memory(device);
    struct error cause = {};
    size_t unit = 1; /* of mapped memory */
    CUdeviceptr address = 0;
    if (!DRIVER_CALL(device, cuMemGetAllocationGranularity, error, &unit, &kind,
                     CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return false;
    const auto round_up = [unit](size_t size) { return (size + unit - 1) / unit * unit; };
    const size_t wanted = round_up(bytes);
    if (!DRIVER_CALL(device, cuMemAddressReserve, error, &address, wanted, 0ul, CUdeviceptr{0},
                     0ull))
        return false;
    *array = {reinterpret_cast<void *>(address), wanted, 0};
    for (unsigned k = 0; k < count && array->mapped < wanted; k++) {
        const unsigned i = from_last ? count - 1 - k : k;
        const size_t room = round_up(find_room(pool, i, &cause));
        const size_t piece = std::min(room, wanted - array->mapped);
        if (piece > 0)
            (void)map_memory(pool, i, piece, array, &cause);
    }
    error_merge(error, &cause);
    return array->mapped == wanted;
}

bool cuda_array_allocate(struct cuda_pool *pool, size_t bytes, bool is_read_seldom,
                         struct cuda_array *array, struct error *error)
{
    const bool is_alone = pool->spec->device_count < 2;
    struct error cause = {}, shortage = {};
    const size_t room = is_alone ? SIZE_MAX : find_room(pool, 0, &cause);
    const bool from_last = is_read_seldom && bytes > room / 4 && !is_alone;
    const struct cuda_pool before = *pool;
    *array = {};
    if ((from_last || bytes > room) && map_array(pool, bytes, from_last, array, &cause) &&
        cuda_device_use(pool->spec->device, &cause))
        return true;
    cuda_array_free(array);
    *pool = before;
    /* The first device may have more than its limit, which may be too low for any array. */
    if (cuda_device_use(pool->spec->device, &shortage) &&
        cuda_memory_allocate(pool->spec->device, bytes, &array->memory, &shortage)) {
        pool->taken[0] += bytes;
        return true;
    }
    error_merge(error, &cause);
    error_merge(error, &shortage);
    return false;
}

void cuda_array_free(struct cuda_array *array)
{
    struct error ignored = {};
    if (array->memory && array->reserved == 0)
        (void)cudaFree(array->memory);
    if (array->mapped > 0)
        (void)DRIVER_CALL(0, cuMemUnmap, &ignored, address_of(array), array->mapped);
    if (array->reserved > 0)
        (void)DRIVER_CALL(0, cuMemAddressFree, &ignored, address_of(array), array->reserved);
    *array = {};
}
