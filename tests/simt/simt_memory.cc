/* SPDX-License-Identifier: Apache-2.0 */
/* simt_memory.cc - the stand-in's memory: allocating, copying, setting.
 *
 * Device memory is from the heap, so that AddressSanitizer checks it, including leaks; with
 * SIMT_IPC it is from files. A limit simulates the size of each device. A copy or a kernel may use
 * only the memory of its own device; cudaMemcpyPeerAsync copies between two, and a device can get
 * access to ranges of cuMemMap.
 */
#include "cuda.h"
#include "simt_state.h"

#include <algorithm>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace simt;

namespace
{

constexpr unsigned char poison = 0xa5;

/* Freed memory is kept and used again, because new pages take as long as most small sorts. */
const bool keeps_memory =
    mallopt(M_MMAP_THRESHOLD, 1 << 30) != 0 && mallopt(M_TRIM_THRESHOLD, 1 << 30) != 0;
constexpr size_t device_alignment = 256;

/* Disjoint ranges of memory, by address. Addresses are stored complemented, so that
 * AddressSanitizer does not take them for references, and reports leaks. */
class ranges
{
  public:
    void add(const void *pointer, size_t bytes)
    {
        bytes_at_[key(pointer)] = bytes;
    }
    /* Drops the range that begins at `pointer` and returns its size; 0 if there is none. */
    size_t remove(const void *pointer)
    {
        const auto found = bytes_at_.find(key(pointer));
        if (found == bytes_at_.end())
            return 0;
        const size_t bytes = found->second;
        bytes_at_.erase(found);
        return bytes;
    }
    bool contains(const void *pointer, size_t bytes) const
    {
        /* Keys fall as addresses rise: the first key not below ours begins at or before our
         * address. */
        const auto found = bytes_at_.lower_bound(key(pointer));
        if (found == bytes_at_.end())
            return false;
        const size_t offset = found->first - key(pointer);
        return offset <= found->second && bytes <= found->second - offset;
    }

  private:
    static uintptr_t key(const void *pointer)
    {
        return ~(uintptr_t)pointer;
    }
    std::map<uintptr_t, size_t> bytes_at_;
};

struct device_memory {
    ranges allocated;
    size_t bytes_used = 0;
};
std::map<int, device_memory> devices;
ranges pinned_ranges;

/* Returns the device that has the memory, or -1. */
int device_of(const void *pointer, size_t bytes)
{
    for (const auto &[device, memory] : devices)
        if (memory.allocated.contains(pointer, bytes))
            return device;
    return -1;
}

bool has_room(int device, size_t bytes)
{
    const size_t total = device_bytes_total(device), used = devices[device].bytes_used;
    return used <= total && bytes <= total - used;
}

/* ---- copies ---- */

bool is_device_range(int device, const void *pointer, size_t bytes)
{
    return bytes == 0 || device_of(pointer, bytes) == device;
}

/* Finds the direction of a copy by its addresses. cudaErrorInvalidValue: `wanted` is another one,
 * or a side is neither within one allocation of the device nor outside of all devices. */
cudaError_t check_copy(int device, const void *to, const void *from, size_t bytes,
                       cudaMemcpyKind wanted, cudaMemcpyKind *kind)
{
    const int to_owner = device_of(to, 1), from_owner = device_of(from, 1);
    *kind = to_owner < 0     ? cudaMemcpyDeviceToHost
            : from_owner < 0 ? cudaMemcpyHostToDevice
                             : cudaMemcpyDeviceToDevice;
    if (bytes == 0)
        return cudaSuccess;
    if (wanted != cudaMemcpyDefault && wanted != *kind)
        return cudaErrorInvalidValue;
    const bool is_to_host = *kind == cudaMemcpyDeviceToHost,
               is_from_host = *kind == cudaMemcpyHostToDevice;
    return (is_to_host || device_of(to, bytes) == device) &&
                   (is_from_host || device_of(from, bytes) == device)
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

/* The driver has copied pageable memory to or from its own buffer when the call returns. */
bool is_pageable(const void *pointer, size_t bytes)
{
    return device_of(pointer, bytes) < 0 && !pinned_ranges.contains(pointer, bytes);
}

void copy_bytes(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memmove(to, from, bytes);
}

/* SIMT_FLIP=upload, download or peer: the first copy of 4096 bytes or more of that kind inverts a
 * bit. SIMT_FLIP=lost: copies between devices deliver nothing. SIMT_FLIP=figures:N: the N-th
 * smaller copy to the host sets a high bit in each of its whole 64-bit words; see
 * tests/job/proof.sh. */
void flip_bit(void *to, size_t bytes, const char *kind)
{
    static bool has_flipped;
    static unsigned long figures;
    const char *const flip = getenv("SIMT_FLIP");
    if (flip && strncmp(flip, "figures:", 8) == 0) {
        if (bytes >= 4096 || strcmp(kind, "download") != 0 ||
            ++figures != strtoul(flip + 8, NULL, 10))
            return;
        for (size_t i = 0; i + 8 <= bytes; i += 8)
            static_cast<unsigned char *>(to)[i + 6] |= 0x40;
        return;
    }
    if (!flip || has_flipped || bytes < 4096 || strcmp(flip, kind) != 0)
        return;
    has_flipped = true;
    static_cast<unsigned char *>(to)[bytes / 2] ^= 1;
}

/* The kind of a copy, for flip_bit. */
const char *name_of(cudaMemcpyKind kind)
{
    return kind == cudaMemcpyHostToDevice   ? "upload"
           : kind == cudaMemcpyDeviceToHost ? "download"
                                            : "";
}

/* ---- allocation ---- */

/* Waits for all devices: any of them may use pinned memory. */
void run_devices()
{
    for (int device = 0; device < device_count(); device++)
        run_device(device);
}

} // namespace

bool simt_is_foreign(const void *argument, size_t bytes, cudaStream_t stream)
{
    const std::lock_guard<std::recursive_mutex> lock(device_lock);
    if (devices.size() < 2)
        return false;
    const int own = work_of(stream)->device;
    for (size_t i = 0; i + sizeof(void *) <= bytes; i += sizeof(void *)) {
        const void *pointer;
        memcpy(&pointer, static_cast<const char *>(argument) + i, sizeof pointer);
        const int device = device_of(pointer, 1);
        if (device >= 0 && device != own)
            return true;
    }
    return false;
}

/* ---- memory of several devices at one range of addresses ---- */

namespace
{

constexpr size_t mapping_unit = 4096;

/* Memory of a device, in use while a handle of cuMemCreate or a mapping holds it. */
struct physical {
    int device;
    size_t bytes;

    physical(int holder, size_t size) : device(holder), bytes(size)
    {
        devices[device].bytes_used += bytes;
    }
    ~physical()
    {
        devices[device].bytes_used -= bytes;
    }
};
std::map<CUmemGenericAllocationHandle, std::shared_ptr<physical>> physicals;

struct mapping {
    std::shared_ptr<physical> memory;
    bool is_accessible;
};

/* A range of cuMemAddressReserve, which one device uses. */
struct reservation {
    CUdeviceptr begin;
    size_t bytes;
    int user;
    std::map<CUdeviceptr, mapping> mappings;
};
std::map<CUdeviceptr, reservation> reservations;

reservation *reservation_of(CUdeviceptr address, size_t bytes)
{
    for (auto &[begin, range] : reservations)
        if (address >= begin && address - begin <= range.bytes &&
            bytes <= range.bytes - (address - begin))
            return &range;
    return nullptr;
}

void *pointer_of(CUdeviceptr address)
{
    return reinterpret_cast<void *>(address);
}

/* Lets the user of a range use what it has access to, from its beginning. */
void update_access(const reservation &range)
{
    size_t bytes = 0;
    for (const auto &[address, mapped] : range.mappings)
        if (address == range.begin + bytes && mapped.is_accessible)
            bytes += mapped.memory->bytes;
    if (range.user < 0)
        return;
    (void)devices[range.user].allocated.remove(pointer_of(range.begin));
    if (bytes > 0)
        devices[range.user].allocated.add(pointer_of(range.begin), bytes);
}

cudaError_t set_access(CUdeviceptr address, size_t bytes, int user)
{
    reservation *const range = reservation_of(address, bytes);
    if (!range || range->mappings.count(address) == 0)
        return cudaErrorInvalidValue;
    mapping &mapped = range->mappings.at(address);
    if (mapped.memory->bytes != bytes)
        return cudaErrorInvalidValue;
    if (mapped.memory->device != user && number_from("SIMT_PEERS", 1) == 0)
        return cudaErrorPeerAccessUnsupported;
    if (range->user >= 0 && range->user != user)
        return cudaErrorInvalidDevice;
    range->user = user;
    mapped.is_accessible = true;
    update_access(*range);
    return cudaSuccess;
}

} // namespace

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *,
                                       CUmemAllocationGranularity_flags)
{
    return api_call("cuMemGetAllocationGranularity").run([&] {
        *bytes = mapping_unit;
        return cudaSuccess;
    });
}

CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t, CUdeviceptr,
                             unsigned long long)
{
    return api_call("cuMemAddressReserve").run([&] {
        void *pointer = nullptr;
        if (bytes == 0 || bytes % mapping_unit > 0)
            return cudaErrorInvalidValue;
        if (posix_memalign(&pointer, mapping_unit, bytes) != 0)
            return cudaErrorMemoryAllocation;
        memset(pointer, poison, bytes);
        *address = reinterpret_cast<CUdeviceptr>(pointer);
        reservations[*address] = {*address, bytes, -1, {}};
        return cudaSuccess;
    });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
    return api_call("cuMemAddressFree").run_anyway([&] {
        const auto found = reservations.find(address);
        if (found == reservations.end() || found->second.bytes != bytes ||
            !found->second.mappings.empty())
            return cudaErrorInvalidValue;
        reservations.erase(found);
        free(pointer_of(address));
        return cudaSuccess;
    });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *kind, unsigned long long)
{
    return api_call("cuMemCreate", cudaErrorMemoryAllocation).run([&] {
        static CUmemGenericAllocationHandle last;
        const int device = kind->location.id;
        if (bytes == 0 || bytes % mapping_unit > 0 || device >= device_count())
            return cudaErrorInvalidValue;
        if (!has_room(device, bytes))
            return cudaErrorMemoryAllocation;
        *handle = ++last;
        physicals[last] = std::make_shared<physical>(device, bytes);
        return cudaSuccess;
    });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    return api_call("cuMemRelease").run_anyway([&] {
        return physicals.erase(handle) == 1 ? cudaSuccess : cudaErrorInvalidValue;
    });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long)
{
    return api_call("cuMemMap").run([&] {
        reservation *const range = reservation_of(address, bytes);
        const auto found = physicals.find(handle);
        if (!range || found == physicals.end() || offset != 0 || found->second->bytes != bytes)
            return cudaErrorInvalidValue;
        const mapping mapped = {found->second, false};
        return range->mappings.insert({address, mapped}).second ? cudaSuccess
                                                                : cudaErrorInvalidValue;
    });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    return api_call("cuMemUnmap").run_anyway([&] {
        reservation *const range = reservation_of(address, bytes);
        if (!range)
            return cudaErrorInvalidValue;
        run_devices();
        range->mappings.erase(range->mappings.lower_bound(address),
                              range->mappings.lower_bound(address + bytes));
        update_access(*range);
        return cudaSuccess;
    });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
                        size_t count)
{
    return api_call("cuMemSetAccess").run([&] {
        return count == 1 ? set_access(address, bytes, access->location.id) : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *result)
{
    /* clang-format off */
#define X(function) {#function, reinterpret_cast<void *>(function)}
    /* clang-format on */
    static const std::map<std::string, void *> functions = {
        X(cuMemGetAllocationGranularity),
        X(cuMemAddressReserve),
        X(cuMemAddressFree),
        X(cuMemCreate),
        X(cuMemRelease),
        X(cuMemMap),
        X(cuMemUnmap),
        X(cuMemSetAccess),
    };
#undef X
    return api_call("cudaGetDriverEntryPointByVersion").run_without_device([&] {
        const auto found = functions.find(name);
        *function = found == functions.end() ? nullptr : found->second;
        *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
        return cudaSuccess;
    });
}

/* ---- memory of another process ---- */

namespace
{

/* With SIMT_IPC=1, device memory is of a file, which another process can open. With SIMT_IPC=lost,
 * it then reads zeros. Else none can be opened, as on a system that does not allow it. */
struct shared_file {
    int process, descriptor;
    size_t bytes;
};
static_assert(sizeof(shared_file) <= sizeof(cudaIpcMemHandle_t), "a handle has room for it");
std::map<void *, shared_file> own_files;

/* The memory of other processes that is open, none of it at the end. */
struct open_memory : std::map<void *, shared_file> {
    ~open_memory()
    {
        if (!empty())
            fprintf(stderr, "simt: memory of another process is still open at the end\n");
    }
} open_files;

bool allocate_shared(void **pointer, size_t bytes)
{
    const int file = memfd_create("device memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        abort();
    *pointer = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    own_files[*pointer] = {getpid(), file, bytes};
    return *pointer != MAP_FAILED;
}

bool allocate(void **pointer, size_t bytes)
{
    const char *const shares = getenv("SIMT_IPC");
    return shares && strcmp(shares, "0") != 0
               ? allocate_shared(pointer, bytes)
               : posix_memalign(pointer, device_alignment, bytes) == 0;
}

void release(void *pointer)
{
    const auto found = own_files.find(pointer);
    if (found == own_files.end()) {
        free(pointer);
        return;
    }
    munmap(pointer, found->second.bytes);
    close(found->second.descriptor);
    own_files.erase(found);
}

} // namespace

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
    return api_call("cudaIpcGetMemHandle").run([&] {
        const auto found = own_files.find(pointer);
        if (found == own_files.end())
            return device_of(pointer, 1) < 0 ? cudaErrorInvalidValue : cudaErrorNotSupported;
        memcpy(handle, &found->second, sizeof found->second);
        return cudaSuccess;
    });
}

cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned)
{
    return api_call("cudaIpcOpenMemHandle").run([&] {
        shared_file shared;
        memcpy(&shared, &handle, sizeof shared);
        const std::string path =
            "/proc/" + std::to_string(shared.process) + "/fd/" + std::to_string(shared.descriptor);
        shared.descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (shared.process == getpid() || shared.descriptor < 0)
            return cudaErrorInvalidResourceHandle;
        const bool is_lost = strcmp(getenv("SIMT_IPC"), "lost") == 0;
        *pointer = mmap(nullptr, shared.bytes, PROT_READ | PROT_WRITE,
                        is_lost ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
                        is_lost ? -1 : shared.descriptor, 0);
        open_files[*pointer] = shared;
        devices[current_device].allocated.add(*pointer, shared.bytes);
        return *pointer == MAP_FAILED ? cudaErrorInvalidResourceHandle : cudaSuccess;
    });
}

cudaError_t cudaIpcCloseMemHandle(void *pointer)
{
    return api_call("cudaIpcCloseMemHandle").run_anyway([&] {
        const auto found = open_files.find(pointer);
        if (found == open_files.end())
            return cudaErrorInvalidValue;
        run_devices();
        devices[device_of(pointer, 1)].allocated.remove(pointer);
        munmap(pointer, found->second.bytes);
        close(found->second.descriptor);
        open_files.erase(found);
        return cudaSuccess;
    });
}

/* ---- the functions ---- */

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    return api_call("cudaMemGetInfo").run([&] {
        *total_bytes = device_bytes_total(current_device);
        *free_bytes = *total_bytes - std::min(*total_bytes, devices[current_device].bytes_used);
        return cudaSuccess;
    });
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    return api_call("cudaMalloc", cudaErrorMemoryAllocation).run([&] {
        *pointer = nullptr;
        if (bytes == 0)
            return cudaSuccess;
        if (!has_room(current_device, bytes) || !allocate(pointer, bytes))
            return cudaErrorMemoryAllocation;
        memset(*pointer, poison, bytes);
        devices[current_device].allocated.add(*pointer, bytes);
        devices[current_device].bytes_used += bytes;
        return cudaSuccess;
    });
}

cudaError_t cudaFree(void *pointer)
{
    return api_call("cudaFree").run_anyway([&] {
        const int device = device_of(pointer, 1);
        if (pointer == nullptr)
            return cudaSuccess;
        if (device < 0)
            return cudaErrorInvalidValue;
        run_device(device);
        const size_t bytes = devices[device].allocated.remove(pointer);
        devices[device].bytes_used -= bytes;
        if (bytes > 0)
            release(pointer);
        return bytes > 0 ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes)
{
    return api_call("cudaMallocHost", cudaErrorMemoryAllocation).run([&] {
        *pointer = nullptr;
        if (bytes == 0)
            return cudaSuccess;
        if (posix_memalign(pointer, 4096, bytes) != 0)
            return cudaErrorMemoryAllocation;
        memset(*pointer, poison, bytes);
        pinned_ranges.add(*pointer, bytes);
        return cudaSuccess;
    });
}

cudaError_t cudaFreeHost(void *pointer)
{
    return api_call("cudaFreeHost").run_anyway([&] {
        run_devices();
        if (pointer != nullptr && pinned_ranges.remove(pointer) == 0)
            return cudaErrorInvalidValue;
        free(pointer);
        return cudaSuccess;
    });
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned)
{
    return api_call("cudaHostRegister", cudaErrorMemoryAllocation).run([&] {
        if (pointer == nullptr || bytes == 0)
            return cudaErrorInvalidValue;
        if (pinned_ranges.contains(pointer, 1))
            return cudaErrorHostMemoryAlreadyRegistered;
        pinned_ranges.add(pointer, bytes);
        return cudaSuccess;
    });
}

cudaError_t cudaHostUnregister(void *pointer)
{
    return api_call("cudaHostUnregister").run_anyway([&] {
        run_devices();
        return pinned_ranges.remove(pointer) > 0 ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
    });
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind wanted,
                            cudaStream_t stream)
{
    return api_call("cudaMemcpyAsync").run([&] {
        cudaMemcpyKind kind;
        const work_pointer &work = work_of(stream);
        if (const cudaError_t error = check_copy(work->device, to, from, bytes, wanted, &kind))
            return error;
        give_work(work, [=] {
            copy_bytes(to, from, bytes);
            flip_bit(to, bytes, name_of(kind));
        });
        if (is_pageable(to, bytes) || is_pageable(from, bytes))
            run_all(*work);
        return cudaSuccess;
    });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return error != cudaSuccess ? error : cudaStreamSynchronize(nullptr);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    return api_call("cudaMemcpyPeerAsync").run([&] {
        if (!is_device_range(to_device, to, bytes) || !is_device_range(from_device, from, bytes))
            return cudaErrorInvalidValue;
        const char *const flip = getenv("SIMT_FLIP");
        const bool is_lost = flip && strcmp(flip, "lost") == 0;
        give_work(work_of(stream), [=] {
            copy_bytes(to, from, is_lost ? 0 : bytes);
            flip_bit(to, bytes, "peer");
        });
        return cudaSuccess;
    });
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
    return api_call("cudaMemsetAsync").run([&] {
        if (!is_device_range(work_of(stream)->device, pointer, bytes))
            return cudaErrorInvalidValue;
        give_work(work_of(stream), [=] {
            if (bytes > 0)
                memset(pointer, value, bytes);
        });
        return cudaSuccess;
    });
}
