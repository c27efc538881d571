/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_faults.cu - makes one call of CUDA fail, on a real device. Linked into
 * build/tests/gpusort_cuda_faults in front of the runtime's functions (ld --wrap), so that gpusort
 * itself has no hook; tests/faults.sh. Ordered as of the stand-in (tests/simt/cuda_runtime.h):
 *
 *   SIMT_FAIL=NAME:K:ERROR   the K-th call of the function NAME fails with that error; "kernel" is
 *                            the kernels: the K-th of them dies, and the launch succeeds
 *   SIMT_CALLS=FILE          at the end, a line "NAME CALLS" in FILE for each function called
 *
 * With cudaErrorLaunchFailure the device is truly lost: a kernel that traps runs before the call.
 */
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace
{

/* How often each function was called. Written to the file at the end. */
class call_counts
{
  public:
    ~call_counts()
    {
        const char *name = getenv("SIMT_CALLS");
        FILE *const file = name ? fopen(name, "w") : nullptr;
        if (!file)
            return;
        for (const auto &entry : counts_)
            fprintf(file, "%s %lu\n", entry.first.c_str(), entry.second);
        fclose(file);
    }
    unsigned long add(const char *name)
    {
        const std::lock_guard<std::mutex> lock(lock_);
        return ++counts_[name];
    }

  private:
    std::mutex lock_;
    std::map<std::string, unsigned long> counts_;
};
call_counts calls;

cudaError_t error_named(const char *name)
{
    for (int code = 1; code < cudaErrorApiFailureBase; code++)
        if (strcmp(cudaGetErrorName(static_cast<cudaError_t>(code)), name) == 0)
            return static_cast<cudaError_t>(code);
    fprintf(stderr, "SIMT_FAIL: there is no error '%s'\n", name);
    abort();
}

/* Counts a call of that name; how it is to fail. cudaSuccess: it is not to. */
cudaError_t order_for_call(const char *name)
{
    const unsigned long call = calls.add(name);
    const char *const order = getenv("SIMT_FAIL");
    const size_t length = strlen(name);
    if (!order || strncmp(order, name, length) != 0 || order[length] != ':')
        return cudaSuccess;
    char *end;
    if (strtoul(order + length + 1, &end, 10) != call || *end != ':')
        return cudaSuccess;
    return error_named(end + 1);
}

__global__ void trap_kernel()
{
    asm volatile("trap;");
}

/* The error of a call that fails by order: the device is lost first where that is what it says. */
cudaError_t fail(cudaError_t error)
{
    if (error == cudaErrorLaunchFailure) {
        trap_kernel<<<1, 1>>>();
        cudaDeviceSynchronize();
        cudaGetLastError();
    }
    return error;
}

} // namespace

/* The function behind, and the one in front of it. What is let go is let go in any case. */
#define WRAP_AS(name, order_name, parameters, arguments, is_made)                                  \
    extern "C" cudaError_t __real_##name parameters;                                               \
    extern "C" cudaError_t __wrap_##name parameters;                                               \
    cudaError_t __wrap_##name parameters                                                           \
    {                                                                                              \
        const cudaError_t fault = order_for_call(order_name);                                      \
        if (fault == cudaSuccess)                                                                  \
            return __real_##name arguments;                                                        \
        if (is_made)                                                                               \
            __real_##name arguments;                                                               \
        return fail(fault);                                                                        \
    }
#define WRAP(name, parameters, arguments) WRAP_AS(name, #name, parameters, arguments, false)
#define WRAP_RELEASE(name, parameters, arguments) WRAP_AS(name, #name, parameters, arguments, true)

WRAP(cudaDriverGetVersion, (int *version), (version))
WRAP(cudaGetDeviceCount, (int *count), (count))
WRAP(cudaGetDeviceProperties, (cudaDeviceProp * properties, int device), (properties, device))
WRAP(cudaDeviceGetAttribute, (int *value, cudaDeviceAttr attribute, int device),
     (value, attribute, device))
WRAP(cudaSetDevice, (int device), (device))
WRAP(cudaMemGetInfo, (size_t * available, size_t *all), (available, all))
WRAP(cudaMalloc, (void **pointer, size_t bytes), (pointer, bytes))
WRAP_RELEASE(cudaFree, (void *pointer), (pointer))
WRAP(cudaMallocHost, (void **pointer, size_t bytes), (pointer, bytes))
WRAP_RELEASE(cudaFreeHost, (void *pointer), (pointer))
WRAP(cudaHostRegister, (void *pointer, size_t bytes, unsigned flags), (pointer, bytes, flags))
WRAP_RELEASE(cudaHostUnregister, (void *pointer), (pointer))
WRAP(cudaStreamCreate, (cudaStream_t * stream), (stream))
WRAP_RELEASE(cudaStreamDestroy, (cudaStream_t stream), (stream))
WRAP(cudaStreamSynchronize, (cudaStream_t stream), (stream))
WRAP(cudaEventCreate, (cudaEvent_t * event), (event))
WRAP_RELEASE(cudaEventDestroy, (cudaEvent_t event), (event))
WRAP(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
WRAP(cudaEventSynchronize, (cudaEvent_t event), (event))
WRAP(cudaEventElapsedTime, (float *milliseconds, cudaEvent_t start, cudaEvent_t end),
     (milliseconds, start, end))
WRAP(cudaFuncSetAttribute, (const void *function, cudaFuncAttribute attribute, int value),
     (function, attribute, value))
WRAP(cudaMemcpyAsync,
     (void *target, const void *source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
     (target, source, bytes, kind, stream))
WRAP(cudaMemsetAsync, (void *target, int value, size_t bytes, cudaStream_t stream),
     (target, value, bytes, stream))

extern "C" cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                                  const void *kernel, void **arguments);
extern "C" cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                                  const void *kernel, void **arguments);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                       void **arguments)
{
    const cudaError_t refused = order_for_call("cudaLaunchKernelEx");
    const cudaError_t dies = order_for_call("kernel");
    if (refused != cudaSuccess)
        return fail(refused);
    if (dies == cudaSuccess)
        return __real_cudaLaunchKernelExC(config, kernel, arguments);
    trap_kernel<<<1, 1, 0, config->stream>>>();
    return cudaSuccess;
}
