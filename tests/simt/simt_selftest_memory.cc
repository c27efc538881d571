/* SPDX-License-Identifier: Apache-2.0 */
/* simt_selftest_memory.cc - the self-test of memory, which is poison until it is written, and of
 * the API. */
#include "simt_selftest.h"

#include <algorithm>

namespace
{

/* ---- poison ---- */

__global__ void read_unwritten_kernel(unsigned *out)
{
    __shared__ unsigned tile[16];
    unsigned *dynamic = (unsigned *)simt_dynamic_shared();
    out[2 * (blockIdx.x * 16 + threadIdx.x)] = tile[threadIdx.x];
    out[2 * (blockIdx.x * 16 + threadIdx.x) + 1] = dynamic[threadIdx.x];
    tile[threadIdx.x] = dynamic[threadIdx.x] = 1;
}

template <class T>
__global__ void read_unwritten_template_kernel(T *out)
{
    __shared__ T tile[16];
    out[blockIdx.x * 16 + threadIdx.x] = tile[threadIdx.x];
    tile[threadIdx.x] = 1;
}

bool shared_memory_is_poisoned()
{
    device_array<unsigned> out(2 * 16 * 40), template_out(16 * 40);
    must(start(shape(40, 16, 64), read_unwritten_kernel, out.data()));
    must(start(shape(40, 16), read_unwritten_template_kernel<unsigned>, template_out.data()));
    return out.read() == std::vector<unsigned>(2 * 16 * 40, 0xa5a5a5a5u) &&
           template_out.read() == std::vector<unsigned>(16 * 40, 0xa5a5a5a5u);
}

bool memory_is_poisoned()
{
    device_array<unsigned> device(100);
    unsigned *pinned;
    must(cudaMallocHost(&pinned, 400));
    const bool is_right =
        pinned[99] == 0xa5a5a5a5u && device.read() == std::vector<unsigned>(100, 0xa5a5a5a5u);
    must(cudaFreeHost(pinned));
    return is_right;
}

/* ---- the API ---- */

__global__ void increment_kernel(unsigned *number)
{
    *number += 1;
}

bool memory_has_a_limit()
{
    const outcome outcome = in_child("SIMT_MEMORY_BYTES", "1000000", [] {
        char *first = nullptr, *second = nullptr;
        size_t free_bytes = 0, total_bytes = 0;
        must(cudaMalloc(&first, 600000));
        must(cudaMemGetInfo(&free_bytes, &total_bytes));
        const bool is_refused = cudaMalloc(&second, 400001) == cudaErrorMemoryAllocation &&
                                cudaGetLastError() == cudaErrorMemoryAllocation;
        must(cudaFree(first));
        must(cudaMalloc(&second, 1000000));
        must(cudaFreeAsync(second, nullptr));
        must(cudaMalloc(&first, 1000000));
        return is_refused && free_bytes == 400000 && total_bytes == 1000000;
    });
    return outcome.status == 0;
}

bool faults_come_on_order()
{
    const char *order =
        "cudaMalloc:2,cudaStreamCreate:1:cudaErrorMemoryAllocation,cudaLaunchKernelEx:2";
    const outcome outcome = in_child("SIMT_FAIL", order, [] {
        char *pointer;
        cudaStream_t stream;
        const bool first = cudaMalloc(&pointer, 1) == cudaSuccess;
        const bool second = cudaMalloc(&pointer, 1) == cudaErrorMemoryAllocation;
        const bool third = cudaMalloc(&pointer, 1) == cudaSuccess;
        const bool created = cudaStreamCreate(&stream) != cudaErrorMemoryAllocation;
        device_array<unsigned> out(256);
        const bool started = start(shape(1, 256), increment_kernel, out.data()) == cudaSuccess;
        const bool failed =
            start(shape(1, 256), increment_kernel, out.data()) == cudaErrorLaunchOutOfResources;
        return first && second && third && !created && started && failed;
    });
    return outcome.status == 0;
}

/* The launch succeeds, as on a device. The next wait returns the error, and so does every later
 * call. */
bool a_kernel_that_fails_takes_the_device()
{
    const outcome outcome = in_child("SIMT_FAIL", "kernel:2", [] {
        unsigned *out = nullptr;
        must(cudaMalloc(&out, 256 * sizeof *out));
        must(start(shape(1, 256), increment_kernel, out));
        must(cudaDeviceSynchronize());
        must(start(shape(1, 256), increment_kernel, out));
        const bool is_told = cudaDeviceSynchronize() == cudaErrorLaunchFailure;
        const bool is_lost = cudaMemset(out, 0, 1) == cudaErrorLaunchFailure &&
                             cudaFree(out) == cudaErrorLaunchFailure;
        return is_told && is_lost;
    });
    return outcome.status == 0;
}

bool bad_launches_are_refused()
{
    device_array<unsigned> out(256);
    void (*const kernel)(unsigned *) = increment_kernel;
    const auto result = [&](dim3 grid, dim3 block, size_t shared) {
        return start(shape(grid, block, shared), kernel, out.data());
    };
    bool is_right = result(1, 1025, 0) == cudaErrorInvalidConfiguration &&
                    result(1, dim3(32, 32, 2), 0) == cudaErrorInvalidConfiguration &&
                    result(0, 256, 0) == cudaErrorInvalidConfiguration &&
                    result(dim3(1, 65536), 256, 0) == cudaErrorInvalidConfiguration &&
                    result(1, 256, 227 * 1024 + 1) == cudaErrorInvalidConfiguration &&
                    result(1, 256, 100000) == cudaErrorInvalidValue;
    must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    is_right = is_right && result(1, 256, 100000) == cudaSuccess &&
               cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess;
    return is_right;
}

bool bad_copies_are_refused()
{
    char host[16] = {};
    device_array<char> device(16);
    char *data = device.data();
    return cudaMemcpy(data, host, 17, cudaMemcpyHostToDevice) == cudaErrorInvalidValue &&
           cudaMemcpy(host, data, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue &&
           cudaMemcpy(data + 8, host, 9, cudaMemcpyHostToDevice) == cudaErrorInvalidValue &&
           cudaMemset(host, 0, 1) == cudaErrorInvalidValue &&
           cudaMemcpy(data + 8, host, 8, cudaMemcpyHostToDevice) == cudaSuccess &&
           cudaMemset(data, 0, 16) == cudaSuccess && cudaFree(data + 1) == cudaErrorInvalidValue;
}

/* Uploads two numbers through one pinned buffer. `waits`: waits between them, as is required. */
std::vector<unsigned> upload_through_one_buffer(bool waits)
{
    cudaStream_t stream;
    cudaEvent_t is_free;
    unsigned *pinned;
    device_array<unsigned> device(2);
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    must(cudaEventCreateWithFlags(&is_free, cudaEventDisableTiming));
    must(cudaMallocHost(&pinned, sizeof(*pinned)));
    for (unsigned i = 0; i < 2; i++) {
        *pinned = i + 1;
        must(cudaMemcpyAsync(device.data() + i, pinned, sizeof(*pinned), cudaMemcpyHostToDevice,
                             stream));
        must(cudaEventRecord(is_free, stream));
        if (waits)
            must(cudaEventSynchronize(is_free));
    }
    must(cudaStreamSynchronize(stream));
    must(cudaFreeHost(pinned));
    must(cudaEventDestroy(is_free));
    must(cudaStreamDestroy(stream));
    return device.read();
}

/* Sets a number on one stream and increments it on another, which waits for it or not. */
unsigned increment_across_streams(bool waits)
{
    cudaStream_t setter, incrementer;
    cudaEvent_t is_set;
    device_array<unsigned> number(1);
    must(cudaStreamCreateWithFlags(&setter, cudaStreamNonBlocking));
    must(cudaStreamCreateWithFlags(&incrementer, cudaStreamNonBlocking));
    must(cudaEventCreate(&is_set));
    must(cudaMemsetAsync(number.data(), 0, sizeof(unsigned), setter));
    must(cudaEventRecord(is_set, setter));
    if (waits)
        must(cudaStreamWaitEvent(incrementer, is_set));
    must(start(shape(1, 1, 0, incrementer), increment_kernel, number.data()));
    must(cudaDeviceSynchronize());
    must(cudaEventDestroy(is_set));
    must(cudaStreamDestroy(setter));
    must(cudaStreamDestroy(incrementer));
    return number.read()[0];
}

/* Work of the default stream is ordered with the work of a blocking stream. */
bool default_stream_takes_turns()
{
    cudaStream_t stream;
    device_array<unsigned> number(1);
    must(cudaStreamCreate(&stream));
    must(cudaMemsetAsync(number.data(), 0, sizeof(unsigned), stream));
    must(start(shape(1, 1), increment_kernel, number.data()));
    must(cudaMemsetAsync(number.data(), 0xff, 1, stream));
    must(start(shape(1, 1), increment_kernel, number.data()));
    const bool is_busy = cudaStreamQuery(nullptr) == cudaErrorNotReady;
    const bool is_done = cudaStreamQuery(nullptr) == cudaSuccess;
    must(cudaStreamDestroy(stream));
    return is_busy && is_done && number.read()[0] == 0x100;
}

bool streams_are_lazy()
{
    const outcome eager = in_child("SIMT_STREAMS", "eager", [] {
        return upload_through_one_buffer(false) == std::vector<unsigned>{1, 2} &&
               increment_across_streams(false) == 1;
    });
    return upload_through_one_buffer(false) == std::vector<unsigned>{2, 2} &&
           increment_across_streams(false) == 0 && eager.status == 0;
}

/* ---- several devices ---- */

bool devices_have_their_own_memory()
{
    const outcome outcome = in_child("SIMT_DEVICES", "2", [] {
        setenv("SIMT_MEMORY_BYTES", "5000,1000", 1);
        char *first = nullptr, *second = nullptr;
        size_t free_bytes = 0, total_bytes = 0;
        int count = 0;
        must(cudaGetDeviceCount(&count));
        must(cudaMalloc(&first, 4000));
        must(cudaSetDevice(1));
        const bool is_limited = cudaMalloc(&second, 1001) == cudaErrorMemoryAllocation;
        must(cudaMalloc(&second, 600));
        must(cudaMemGetInfo(&free_bytes, &total_bytes));
        const bool is_own = free_bytes == 400 && total_bytes == 1000;
        return count == 2 && is_limited && is_own && cudaSetDevice(2) == cudaErrorInvalidDevice;
    });
    return outcome.status == 0;
}

/* A copy or a kernel of device 1 that uses memory of device 0, and an event of the other device. */
bool other_devices_are_out_of_reach()
{
    const outcome outcome = in_child("SIMT_DEVICES", "2", [] {
        unsigned *number = nullptr, host = 0;
        cudaStream_t stream;
        cudaEvent_t event;
        must(cudaMalloc(&number, sizeof *number));
        must(cudaEventCreate(&event));
        must(cudaSetDevice(1));
        must(cudaStreamCreate(&stream));
        unsigned *own = nullptr;
        must(cudaMalloc(&own, sizeof *own));
        return cudaMemcpyAsync(&host, number, sizeof host, cudaMemcpyDeviceToHost, stream) ==
                   cudaErrorInvalidValue &&
               start(shape(1, 1, 0, stream), increment_kernel, number) == cudaErrorIllegalAddress &&
               start(shape(1, 1, 0, stream), increment_kernel, own) == cudaSuccess &&
               cudaEventRecord(event, stream) == cudaErrorInvalidResourceHandle;
    });
    return outcome.status == 0;
}

/* Copies from device 0 to device 1. Returns true if the copy arrives, and access is as said. */
bool copy_to_peer(bool has_access)
{
    unsigned *from = nullptr, *to = nullptr, host = 7;
    int can = -1;
    must(cudaMalloc(&from, sizeof *from));
    must(cudaMemcpy(from, &host, sizeof host, cudaMemcpyHostToDevice));
    must(cudaSetDevice(1));
    must(cudaMalloc(&to, sizeof *to));
    must(cudaDeviceCanAccessPeer(&can, 1, 0));
    const cudaError_t enabled = cudaDeviceEnablePeerAccess(0, 0);
    must(cudaMemcpyPeerAsync(to, 1, from, 0, sizeof *to));
    host = 0;
    must(cudaMemcpy(&host, to, sizeof host, cudaMemcpyDeviceToHost));
    return host == 7 && can == has_access &&
           enabled == (has_access ? cudaSuccess : cudaErrorPeerAccessUnsupported);
}

bool peers_copy()
{
    const outcome with = in_child("SIMT_DEVICES", "2", [] { return copy_to_peer(true); });
    const outcome without = in_child("SIMT_DEVICES", "2", [] {
        setenv("SIMT_PEERS", "0", 1);
        return copy_to_peer(false);
    });
    return with.status == 0 && without.status == 0;
}

} // namespace

void check_devices()
{
    check(devices_have_their_own_memory(), "each device has its own memory");
    check(other_devices_are_out_of_reach(), "memory and events of other devices are refused");
    check(peers_copy(), "devices copy to each other, with access and without");
}

void check_memory_and_api()
{
    check(shared_memory_is_poisoned(), "shared memory is poison in every block");
    check(memory_is_poisoned(), "new memory is poison");
    check(memory_has_a_limit(), "memory has a limit");
    check(bad_launches_are_refused(), "launches that no device takes are refused");
    check(bad_copies_are_refused(), "copies beyond an allocation are refused");
    check(faults_come_on_order(), "SIMT_FAIL makes the k-th call fail");
    check(a_kernel_that_fails_takes_the_device(), "SIMT_FAIL makes the k-th kernel fail");
    check(upload_through_one_buffer(true) == std::vector<unsigned>{1, 2},
          "an event frees a buffer");
    check(increment_across_streams(true) == 1, "a stream waits for an event");
    check(default_stream_takes_turns(), "the default stream takes turns with blocking streams");
    check(streams_are_lazy(), "missing waits show");
}
