/* SPDX-License-Identifier: Apache-2.0 */
/* simt_selftest.cc - tests that the stand-in for CUDA finds errors and refuses what CUDA refuses.
 * TAP. The matrices and the shell tests use the rest: shuffles, votes and atomics, faults, limits
 * of memory, several devices.
 *
 * Cases that must die run in a child process, whose standard error is read.
 */
#include "cuda_runtime.h"

#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace
{

struct tap_output {
    unsigned tests = 0, failed = 0;
} tap;

void check(bool is_right, const std::string &claim)
{
    printf("%s %u - %s\n", is_right ? "ok" : "not ok", ++tap.tests, claim.c_str());
    tap.failed += !is_right;
}

/* Checks an API call of the test itself that must succeed. */
void must(cudaError_t error, int line = __builtin_LINE())
{
    if (error == cudaSuccess)
        return;
    printf("Bail out! line %d: %s\n", line, cudaGetErrorString(error));
    exit(1);
}

bool contains(const std::string &text, const char *part)
{
    return text.find(part) != std::string::npos;
}

cudaLaunchConfig_t shape(dim3 grid, dim3 block, size_t dynamic_shared_bytes = 0,
                         cudaStream_t stream = nullptr)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = dynamic_shared_bytes;
    config.stream = stream;
    return config;
}

template <class... P, class... A>
cudaError_t start(const cudaLaunchConfig_t &config, void (*kernel)(P...), A... arguments)
{
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* Runs `body` in a child. Returns what it writes to standard error if a signal or another status
 * than 0 ends it. */
template <class F>
std::string last_words(F body)
{
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0)
        exit(1);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        body();
        _exit(0);
    }
    close(ends[1]);
    std::string words;
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;)
        words.append(buffer, (size_t)got);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const bool is_dead = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
    return is_dead ? words : "it did not die";
}

struct device_free {
    void operator()(unsigned *numbers) const
    {
        must(cudaFree(numbers));
    }
};
typedef std::unique_ptr<unsigned[], device_free> device_array;

device_array make_array(size_t count)
{
    unsigned *numbers;
    must(cudaMalloc(&numbers, count * sizeof *numbers));
    return device_array(numbers);
}

std::vector<unsigned> read_array(const device_array &array, size_t count)
{
    std::vector<unsigned> numbers(count);
    must(cudaMemcpy(numbers.data(), array.get(), count * sizeof(unsigned), cudaMemcpyDeviceToHost));
    return numbers;
}

/* ---- barriers ---- */

enum scope { BLOCK, WARP, NOTHING };

/* Each thread reads what its neighbours wrote, which is correct only with the barrier. */
template <scope RING, scope BARRIER>
__global__ void rotate_kernel(unsigned *out)
{
    __shared__ unsigned written[256];
    const unsigned size = RING == WARP ? 32 : 256, place = threadIdx.x % size;
    const unsigned *const ring = written + threadIdx.x - place;
    written[threadIdx.x] = threadIdx.x;
    if (BARRIER == BLOCK)
        __syncthreads();
    if (BARRIER == WARP)
        __syncwarp();
    out[threadIdx.x] = ring[(place + 1) % size] + ring[(place + size - 1) % size];
}

bool rotation_is_right(void (*kernel)(unsigned *), unsigned ring)
{
    const device_array out = make_array(256);
    std::vector<unsigned> expected(256);
    for (unsigned i = 0; i < 256; i++)
        expected[i] = 2 * (i / ring * ring) + (i + 1) % ring + (i + ring - 1) % ring;
    must(start(shape(1, 256), kernel, out.get()));
    return read_array(out, 256) == expected;
}

/* ---- reports of divergent threads, and of threads that die ---- */

__global__ void divergent_kernel(unsigned *out)
{
    if (threadIdx.x < 10)
        return;
    __syncthreads();
    out[threadIdx.x] = 0;
}

__global__ void two_barriers_kernel(unsigned *out)
{
    if (threadIdx.x % 64 < 32)
        __syncthreads();
    else
        __syncthreads();
    out[threadIdx.x] = 0;
}

__global__ void divergent_warp_kernel(unsigned *out)
{
    if (threadIdx.x != 3)
        out[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
    else
        __syncthreads();
}

__global__ void some_lanes_kernel(unsigned *out)
{
    out[threadIdx.x] = __ballot_sync(0xfffffffeu, 1);
}

__global__ void dying_kernel(unsigned *out)
{
    if (threadIdx.x == 5)
        abort();
    out[threadIdx.x] = 0;
}

/* What the undefined behaviour sanitizer does in the kernels of gpusort (tests/rules.mk). */
__global__ void trapping_kernel(unsigned *out)
{
    if (threadIdx.x == 5)
        __builtin_trap();
    out[threadIdx.x] = 0;
}

#if defined(__SANITIZE_ADDRESS__)
__attribute__((no_sanitize("undefined"))) /* it would report first */
__global__ void
overflowing_kernel(unsigned *out)
{
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x + 1];
}
#endif

/* Returns true if the kernel dies and the report contains both strings. */
bool dies_with(void (*kernel)(unsigned *), const char *name, const char *words)
{
    const std::string report = last_words([&] {
        const device_array out = make_array(64);
        must(start(shape(1, 64), kernel, out.get()));
        must(cudaDeviceSynchronize());
    });
    const bool is_told =
        contains(report, name) && contains(report, words) && contains(report, "block 0");
    if (!is_told)
        printf("# %s\n", report.c_str());
    return is_told;
}

/* ---- poison ---- */

__global__ void read_unwritten_kernel(unsigned *out)
{
    __shared__ unsigned tile[16];
    unsigned *const dynamic = (unsigned *)simt_dynamic_shared();
    out[2 * (blockIdx.x * 16 + threadIdx.x)] = tile[threadIdx.x];
    out[2 * (blockIdx.x * 16 + threadIdx.x) + 1] = dynamic[threadIdx.x];
    tile[threadIdx.x] = dynamic[threadIdx.x] = 1;
}

bool shared_memory_is_poisoned()
{
    const device_array out = make_array(2 * 16 * 40);
    must(start(shape(40, 16, 64), read_unwritten_kernel, out.get()));
    return read_array(out, 2 * 16 * 40) == std::vector<unsigned>(2 * 16 * 40, 0xa5a5a5a5u);
}

bool memory_is_poisoned()
{
    const device_array device = make_array(100);
    unsigned *pinned;
    must(cudaMallocHost(&pinned, 400));
    const bool is_right = pinned[99] == 0xa5a5a5a5u &&
                          read_array(device, 100) == std::vector<unsigned>(100, 0xa5a5a5a5u);
    must(cudaFreeHost(pinned));
    return is_right;
}

/* ---- the API ---- */

__global__ void increment_kernel(unsigned *number)
{
    *number += 1;
}

bool bad_launches_are_refused()
{
    const device_array out = make_array(256);
    void (*const kernel)(unsigned *) = increment_kernel;
    const auto result = [&](dim3 grid, dim3 block, size_t shared) {
        return start(shape(grid, block, shared), kernel, out.get());
    };
    bool is_right = result(1, 1025, 0) == cudaErrorInvalidConfiguration &&
                    result(0, 256, 0) == cudaErrorInvalidConfiguration &&
                    result(1, 256, 227 * 1024 + 1) == cudaErrorInvalidConfiguration &&
                    result(1, 256, 100000) == cudaErrorInvalidValue;
    must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    is_right = is_right && result(1, 256, 100000) == cudaSuccess &&
               cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess;
    return is_right;
}

/* Uploads two numbers through one pinned buffer, without the wait between them that is required. */
std::vector<unsigned> upload_through_one_buffer()
{
    cudaStream_t stream;
    unsigned *pinned;
    const device_array device = make_array(2);
    must(cudaStreamCreate(&stream));
    must(cudaMallocHost(&pinned, sizeof(*pinned)));
    for (unsigned i = 0; i < 2; i++) {
        *pinned = i + 1;
        must(cudaMemcpyAsync(device.get() + i, pinned, sizeof(*pinned), cudaMemcpyHostToDevice,
                             stream));
    }
    must(cudaStreamSynchronize(stream));
    must(cudaFreeHost(pinned));
    must(cudaStreamDestroy(stream));
    return read_array(device, 2);
}

/* Sets a number on one stream and increments it on another, which does not wait. */
unsigned increment_across_streams()
{
    cudaStream_t setter, incrementer;
    const device_array number = make_array(1);
    must(cudaStreamCreate(&setter));
    must(cudaStreamCreate(&incrementer));
    must(cudaMemsetAsync(number.get(), 0, sizeof(unsigned), setter));
    must(start(shape(1, 1, 0, incrementer), increment_kernel, number.get()));
    must(cudaDeviceSynchronize());
    must(cudaStreamDestroy(setter));
    must(cudaStreamDestroy(incrementer));
    return read_array(number, 1)[0];
}

bool streams_are_lazy()
{
    const bool is_lazy = upload_through_one_buffer() == std::vector<unsigned>{2, 2} &&
                         increment_across_streams() == 0;
    setenv("SIMT_STREAMS", "eager", 1);
    return is_lazy && upload_through_one_buffer() == std::vector<unsigned>{1, 2} &&
           increment_across_streams() == 1;
}

/* ---- several devices ---- */

/* A copy or a kernel of device 1 that uses memory of device 0, and an event of the other device. */
bool other_devices_are_out_of_reach()
{
    unsigned host = 0;
    cudaStream_t stream;
    cudaEvent_t event;
    const device_array number = make_array(1);
    must(cudaEventCreate(&event));
    must(cudaSetDevice(1));
    must(cudaStreamCreate(&stream));
    const device_array own = make_array(1);
    const auto increment = [&](const device_array &array) {
        return start(shape(1, 1, 0, stream), increment_kernel, array.get());
    };
    const bool is_right = cudaMemcpyAsync(&host, number.get(), sizeof host, cudaMemcpyDeviceToHost,
                                          stream) == cudaErrorInvalidValue &&
                          increment(number) == cudaErrorIllegalAddress &&
                          increment(own) == cudaSuccess &&
                          cudaEventRecord(event, stream) == cudaErrorInvalidResourceHandle;
    must(cudaStreamDestroy(stream));
    must(cudaEventDestroy(event));
    must(cudaSetDevice(0));
    return is_right;
}

void check_orders()
{
    for (const char *order : {"1", "2", "3"}) {
        setenv("SIMT_ORDER", order, 1);
        check(rotation_is_right(rotate_kernel<BLOCK, BLOCK>, 256) &&
                  rotation_is_right(rotate_kernel<WARP, WARP>, 32) &&
                  !rotation_is_right(rotate_kernel<BLOCK, NOTHING>, 256) &&
                  !rotation_is_right(rotate_kernel<WARP, NOTHING>, 32),
              std::string("barriers work, and missing ones show, SIMT_ORDER=") + order);
    }
    const std::string words = last_words([] {
        setenv("SIMT_ORDER", "sideways", 1);
        (void)rotation_is_right(rotate_kernel<WARP, WARP>, 32);
    });
    check(contains(words, "sideways"), "an unknown order is an error");
}

void check_reports()
{
    static const struct {
        void (*kernel)(unsigned *);
        const char *name, *words, *claim;
    } deaths[] = {
        {divergent_kernel, "divergent_kernel", "divergent barrier: 54 threads wait",
         "a barrier that ended threads miss is reported"},
        {two_barriers_kernel, "two_barriers_kernel", "divergent barrier: 32 threads wait",
         "threads at two barriers are reported"},
        {divergent_warp_kernel, "divergent_warp_kernel", "at the warp primitive",
         "a warp primitive that a lane misses is reported"},
        {some_lanes_kernel, "some_lanes_kernel", "of some lanes",
         "a mask of some lanes is reported"},
        {dying_kernel, "dying_kernel", "thread 5: died here",
         "an abort in a kernel names the thread"},
        {trapping_kernel, "trapping_kernel", "thread 5: died here",
         "undefined behaviour in a kernel names the thread"},
#if defined(__SANITIZE_ADDRESS__)
        {overflowing_kernel, "overflowing_kernel", "global-buffer-overflow",
         "AddressSanitizer watches shared memory"},
#endif
    };
    for (const auto &death : deaths)
        check(dies_with(death.kernel, death.name, death.words), death.claim);
}

} // namespace

int main()
{
    setenv("SIMT_DEVICES", "2", 1);
    check(other_devices_are_out_of_reach(), "memory and events of other devices are refused");
    check_orders();
    check_reports();
    check(shared_memory_is_poisoned(), "shared memory is poison in every block");
    check(memory_is_poisoned(), "new memory is poison");
    check(bad_launches_are_refused(), "launches that no device takes are refused");
    check(streams_are_lazy(), "missing waits show");
    printf("1..%u\n", tap.tests);
    return tap.failed != 0;
}
