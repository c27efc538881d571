/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.cu - see cuda_device.h. */
#include "cuda/engine/cuda_device.h"

#include "cuda/cuda_check.h"

#include <algorithm>
#include <ctype.h>
#include <cuda_runtime.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool cuda_device_use(unsigned device, struct error *error)
{
    return cuda_check(cudaSetDevice(static_cast<int>(device)), device, "cudaSetDevice", error);
}

/* Hides all devices but the first `most` that the user makes visible, because CUDA starts all
 * visible devices, one after the other. CUDA reads the variable once, so only the first call has an
 * effect. If memory runs out, or `most` is above BACKEND_DEVICES_MOST, CUDA starts them all. */
static void show_devices(unsigned most)
{
    static const char name[] = "CUDA_VISIBLE_DEVICES";
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool is_done;
    char numbers[4 * BACKEND_DEVICES_MOST] = "0"; /* for no variable */
    pthread_mutex_lock(&lock);
    const char *const shown = getenv(name);
    if (!is_done && most <= BACKEND_DEVICES_MOST) {
        for (unsigned i = 1, length = 1; i < most; i++)
            length += static_cast<unsigned>(
                snprintf(numbers + length, sizeof numbers - length, ",%u", i));
        size_t length = 0; /* of the first `most` names */
        for (unsigned i = 0; shown && i < most && shown[length]; i++)
            length += (i > 0) + strcspn(shown + length + (i > 0), ",");
        char *const first = shown ? strndup(shown, length) : strdup(numbers);
        if (first)
            (void)setenv(name, first, 1);
        free(first);
    }
    is_done = true;
    pthread_mutex_unlock(&lock);
}

static bool device_is_new_enough(unsigned device, struct error *error)
{
    /* The least that this program was compiled for; code and PTX do not run on older devices. */
    const int least = std::min({__CUDA_ARCH_LIST__}) / 10; /* 800 means 8.0 */
    int major = 0, minor = 0;
    if (!cuda_attribute(device, cudaDevAttrComputeCapabilityMajor, &major, error) ||
        !cuda_attribute(device, cudaDevAttrComputeCapabilityMinor, &minor, error))
        return false;
    return 10 * major + minor >= least ||
           error_set(error,
                     "device %u has compute capability %d.%d; this program was built for %d.%d "
                     "and newer (NVCC_GENCODE of make)",
                     device, major, minor, least / 10, least % 10);
}

bool cuda_device_find(unsigned device, struct error *error)
{
    int found = 0;
    show_devices(device + 1);
    const cudaError_t status = cudaGetDeviceCount(&found);
    if (status != cudaSuccess)
        (void)cudaGetLastError();
    if (status == cudaErrorInsufficientDriver)
        return error_set(error, "no CUDA driver, or one older than this program needs");
    if (status == cudaErrorNoDevice)
        return error_set(error, "no CUDA device");
    if (!cuda_check(status, device, "cudaGetDeviceCount", error))
        return false;
    if (device >= static_cast<unsigned>(found))
        return error_set(error, "no device %u: %d found", device, found);
    return device_is_new_enough(device, error);
}

unsigned cuda_device_count(unsigned most)
{
    int found = 0;
    show_devices(most);
    if (cudaGetDeviceCount(&found) == cudaSuccess)
        return std::min(static_cast<unsigned>(found), most);
    (void)cudaGetLastError();
    return 0;
}

bool cuda_device_is_possible(void)
{
    int version = 0; /* stays 0 without a driver */
    const cudaError_t status = cudaDriverGetVersion(&version);
    if (status != cudaSuccess)
        (void)cudaGetLastError();
    return status == cudaSuccess && version > 0;
}

bool cuda_device_reaches(unsigned device, unsigned other)
{
    int can = 0;
    if (cudaDeviceCanAccessPeer(&can, static_cast<int>(device), static_cast<int>(other)) ==
        cudaSuccess)
        return can != 0;
    (void)cudaGetLastError();
    return false;
}

bool cuda_device_look(unsigned device, struct device_facts *facts, struct error *error)
{
    cudaDeviceProp properties = {};
    if (!cuda_device_find(device, error) ||
        !cuda_check(cudaGetDeviceProperties(&properties, static_cast<int>(device)), device,
                    "cudaGetDeviceProperties", error))
        return false;
    snprintf(facts->name, sizeof facts->name, "%.127s", properties.name);
    uint64_t halves[2];
    memcpy(halves, &properties.uuid, sizeof halves);
    facts->id = halves[0] ^ halves[1];
    facts->units = static_cast<unsigned>(properties.multiProcessorCount);
    facts->memory_bytes = properties.totalGlobalMem;
    facts->shared_bytes = properties.sharedMemPerBlockOptin;
    return true;
}

bool cuda_device_probe(unsigned device, struct device_facts *facts, struct error *error)
{
    size_t all_bytes = 0;
    return cuda_device_look(device, facts, error) && cuda_device_use(device, error) &&
           cuda_check(cudaMemGetInfo(&facts->memory_bytes, &all_bytes), device, "cudaMemGetInfo",
                      error);
}

/* ---- memory of the host's NUMA node that a device is on ----
 *
 * The system call is made here, so libnuma is not needed. */

/* Returns the number of the device's node; -1: not known. */
static int find_node(unsigned device)
{
    char name[32] = "", path[96];
    int node = -1;
    if (cudaDeviceGetPCIBusId(name, sizeof name, static_cast<int>(device)) != cudaSuccess) {
        (void)cudaGetLastError();
        return -1;
    }
    for (char *c = name; *c; c++)
        *c = static_cast<char>(tolower(static_cast<unsigned char>(*c)));
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", name);
    FILE *const file = fopen(path, "re");
    if (!file)
        return -1;
    if (fscanf(file, "%d", &node) != 1)
        node = -1;
    fclose(file);
    return node;
}

void cuda_node_prefer(unsigned device, void *memory, size_t bytes)
{
    const int node = find_node(device);
    unsigned long mask[16] = {}; /* of up to 1024 nodes */
    constexpr int bits = 8 * sizeof *mask;
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(memory) + page - 1) / page * page;
    const uintptr_t end = (reinterpret_cast<uintptr_t>(memory) + bytes) / page * page;
    if (node < 0 || node >= bits * 16 || end <= begin)
        return;
    mask[node / bits] = 1ul << node % bits;
    (void)syscall(SYS_mbind, begin, end - begin, MPOL_PREFERRED, mask, bits * 16ul + 1, 0u);
}
