/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.cu - see cuda_device.h. */
#include "cuda/engine/cuda_device.h"

#include "cuda/cuda_check.h"

#include <algorithm>
#include <iterator>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cuda_device_use(unsigned device, struct error *error)
{
    return cuda_check(cudaSetDevice(static_cast<int>(device)), device, "cudaSetDevice", error);
}

/* Hides all devices but the first `most` that the user makes visible, because CUDA starts all
 * visible devices, one after the other. CUDA reads the variable once, so only the first call has an
 * effect. If memory runs out, CUDA starts them all. */
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

/* Returns the least compute capability that this program was compiled for; 80 means 8.0. Code and
 * PTX compiled for it do not run on older devices. */
static int built_for(void)
{
    static const int built[] = {__CUDA_ARCH_LIST__}; /* defined by the compiler; 800 means 8.0 */
    return *std::min_element(std::begin(built), std::end(built)) / 10;
}

static bool device_is_new_enough(unsigned device, struct error *error)
{
    const int number = static_cast<int>(device), least = built_for();
    int major = 0, minor = 0;
    if (!cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number),
                    device, "cudaDeviceGetAttribute", error) ||
        !cuda_check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, number),
                    device, "cudaDeviceGetAttribute", error))
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

bool cuda_device_look(unsigned device, struct device_facts *facts, struct error *error)
{
    cudaDeviceProp properties = {};
    if (!cuda_device_find(device, error) ||
        !cuda_check(cudaGetDeviceProperties(&properties, static_cast<int>(device)), device,
                    "cudaGetDeviceProperties", error))
        return false;
    snprintf(facts->name, sizeof facts->name, "%.127s", properties.name);
    facts->units = static_cast<unsigned>(properties.multiProcessorCount);
    facts->memory_bytes = properties.totalGlobalMem;
    facts->l2_bytes = static_cast<size_t>(properties.l2CacheSize);
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
