/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_faults.cu - makes one CUDA call fail, on a real device. It is linked into
 * build/tests/gpusort_cuda_faults and wraps the runtime's functions (ld --wrap); see faults.sh. The
 * variables SIMT_FAIL=NAME:K:ERROR and SIMT_CALLS are those of the stand-in (docs/testing.md). With
 * cudaErrorLaunchFailure the device is really lost: a kernel that traps runs before the call
 * returns.
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

/* Counts the calls of each function. Writes SIMT_CALLS at exit. */
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

/* Counts a call of `name`. Returns its error; cudaSuccess: the call must not fail. */
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

/* Returns the error of an injected fault. If it is cudaErrorLaunchFailure, the device is lost
 * first. */
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

/* Defines the wrapper of a function. Functions that release something are called in any case. */
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
