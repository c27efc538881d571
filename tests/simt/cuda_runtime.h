/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_runtime.h - a stand-in for the CUDA runtime. It runs the sources of cuda/ on a machine
 * without a GPU, and under the sanitizers.
 *
 *   g++ -std=c++17 -x c++ -Itests/simt -I. -Wno-unknown-pragmas -c cuda/FILE.cu
 *
 * (-Wno-unknown-pragmas is for `#pragma unroll`; __CUDACC__ stays undefined.) Link the result with
 * all simt_*.cc except simt_selftest.cc. The "device" is host memory, filled with 0xa5 so that
 * reads of unwritten memory are noticed. Kernels run on fibers; simt_device.h has the CUDA that
 * kernels use.
 *
 * docs/testing.md has the environment variables that select orders, devices and faults.
 *
 * cudaError is [[nodiscard]] here: an unchecked call is a warning. A copy whose device side is not
 * within one device allocation fails with cudaErrorInvalidValue.
 */
#ifndef SIMT_CUDA_RUNTIME_H
#define SIMT_CUDA_RUNTIME_H

#include "simt_device.h"

#include <tuple>
#include <utility>

#define CUDART_VERSION 13000
#define __CUDA_ARCH_LIST__ 900 /* the architectures that nvcc compiles for */

/* ---- errors ---- */

#define SIMT_ERRORS(X)                                                                             \
    X(cudaSuccess, 0, "no error")                                                                  \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                                \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                               \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                          \
    X(cudaErrorInsufficientDriver, 35,                                                             \
      "CUDA driver version is insufficient for CUDA runtime version")                              \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                       \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                              \
    X(cudaErrorNotReady, 600, "device not ready")                                                  \
    X(cudaErrorPeerAccessUnsupported, 217,                                                         \
      "peer access is not supported between these two devices")                                    \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                    \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")               \
    X(cudaErrorHostMemoryAlreadyRegistered, 712,                                                   \
      "part or all of the requested memory range is already mapped")                               \
    X(cudaErrorHostMemoryNotRegistered, 713,                                                       \
      "pointer does not correspond to a registered memory region")                                 \
    X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                    \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                   \
    X(cudaErrorNotSupported, 801, "operation not supported")                                       \
    X(cudaErrorUnknown, 999, "unknown error")

enum [[nodiscard]] cudaError{
#define X(name, value, text) name = value,
    SIMT_ERRORS(X)
#undef X
};
typedef enum cudaError cudaError_t;

const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

/* ---- devices ---- */

/* The facts and attributes that are used. */
struct cudaDeviceProp {
    char name[256];
    char uuid[16];
    size_t totalGlobalMem;
    size_t sharedMemPerBlockOptin;
    int multiProcessorCount;
    int l2CacheSize;
};

enum cudaComputeMode { cudaComputeModeDefault = 0, cudaComputeModeExclusiveProcess = 3 };

enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeMode = 20,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceGetPCIBusId(char *name, int room, int device);
cudaError_t cudaDriverGetVersion(int *version);

enum { cudaEnableDefault = 0 };
enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess = 0,
    cudaDriverEntryPointSymbolNotFound = 1
};
cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult *result);

/* ---- streams and events ---- */

struct CUstream_st;
struct CUevent_st;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

/* ---- memory ---- */

enum cudaMemcpyKind {
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

enum { cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1 };
enum { cudaIpcMemLazyEnablePeerAccess = 1 };

struct cudaIpcMemHandle_t {
    char reserved[64];
};

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t cudaMalloc(void **pointer, size_t bytes);
cudaError_t cudaFree(void *pointer);
cudaError_t cudaMallocHost(void **pointer, size_t bytes);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *pointer);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer);
cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void *pointer);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream = nullptr);

template <class T>
inline cudaError_t cudaMalloc(T **pointer, size_t bytes)
{
    return cudaMalloc((void **)pointer, bytes);
}

template <class T>
inline cudaError_t cudaMallocHost(T **pointer, size_t bytes)
{
    return cudaMallocHost((void **)pointer, bytes);
}

/* ---- kernels ---- */

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

struct cudaFuncAttributes {
    int ptxVersion;
};

enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };

struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    union {
        int programmaticStreamSerializationAllowed;
    } val;
};

struct cudaLaunchConfig_t {
    dim3 gridDim;
    dim3 blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

/* The untyped parts of the templates below. */
class simt_call /* of a kernel with its arguments, by the thread in the built-in variables */
{
  public:
    virtual ~simt_call() = default;
    virtual void run() const = 0;
};
/* Takes over `call`: deletes it after the last thread, or if the launch is refused. */
cudaError_t simt_launch(const cudaLaunchConfig_t *config, const void *kernel,
                        const simt_call *call);
/* Returns true if a pointer among the bytes of an argument is to the memory of a device other than
 * the stream's. */
bool simt_is_foreign(const void *argument, size_t bytes, cudaStream_t stream);
cudaError_t simt_function_set_attribute(const void *kernel, cudaFuncAttribute attribute, int value);
cudaError_t simt_function_get_attributes(cudaFuncAttributes *attributes);

/* <functional> would take GCC 0.3 s in each source. */
template <class... P>
class simt_call_of final : public simt_call
{
  public:
    simt_call_of(void (*kernel)(P...), const std::tuple<P...> &arguments)
        : kernel_(kernel), arguments_(arguments)
    {
    }
    void run() const override
    {
        std::apply(kernel_, arguments_);
    }

  private:
    void (*kernel_)(P...);
    std::tuple<P...> arguments_;
};

/* Checks the launch and runs all blocks, now or when the stream reaches it. */
template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...),
                                      A &&...arguments)
{
    static_assert(sizeof...(P) == sizeof...(A), "one argument for each parameter");
    std::tuple<P...> copies(std::forward<A>(arguments)...);
    const bool is_foreign = std::apply(
        [config](auto &...argument) {
            (__builtin_clear_padding(&argument), ...); /* it may hold parts of old pointers */
            return (simt_is_foreign(&argument, sizeof(argument), config->stream) || ...);
        },
        copies);
    if (is_foreign)
        return cudaErrorIllegalAddress;
    return simt_launch(config, (const void *)kernel, new simt_call_of<P...>(kernel, copies));
}

template <class T>
inline cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute attribute, int value)
{
    return simt_function_set_attribute((const void *)kernel, attribute, value);
}

template <class T>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *)
{
    return simt_function_get_attributes(attributes);
}

#endif
