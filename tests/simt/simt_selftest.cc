/* simt_selftest.cc - tests the stand-in for CUDA itself, before anything is concluded from it. TAP.
 *
 * What is expected comes from the CUDA programming guide, worked out here in plain loops over
 * lanes. What must fail, or depends on the environment, runs in a child process, whose standard
 * error is read.
 */
#include "cuda_runtime.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace
{

/* ---- TAP ---- */

struct tap_output {
    unsigned tests = 0, failed = 0;
} tap;

void check(bool is_right, const char *claim)
{
    printf("%s %u - %s\n", is_right ? "ok" : "not ok", ++tap.tests, claim);
    tap.failed += !is_right;
}

/* An API call of the test itself that must succeed. */
void must(cudaError_t error, int line = __builtin_LINE())
{
    if (error == cudaSuccess)
        return;
    printf("Bail out! line %d: %s\n", line, cudaGetErrorString(error));
    exit(1);
}

struct outcome {
    int status; /* the exit status; -1 when a signal ended it */
    std::string errors;
};

/* Runs `body` in a child, with NAME=VALUE in its environment; its result is the exit status. */
template <class F>
outcome in_child(const char *name, const char *value, F body)
{
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0)
        exit(1);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        setenv(name, value, 1);
        const bool is_right = body();
        _exit(is_right ? 0 : 1);
    }
    close(ends[1]);
    outcome outcome = {-1, ""};
    char buffer[4096];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;)
        outcome.errors.append(buffer, (size_t)got);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status))
        outcome.status = WEXITSTATUS(status);
    return outcome;
}

bool contains(const std::string &text, const char *part)
{
    return text.find(part) != std::string::npos;
}

/* ---- device memory as a vector ---- */

template <class T>
class device_array
{
  public:
    explicit device_array(size_t count) : count_(count)
    {
        must(cudaMalloc(&data_, count * sizeof(T)));
    }
    explicit device_array(const std::vector<T> &values) : device_array(values.size())
    {
        must(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~device_array()
    {
        must(cudaFree(data_));
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;

    T *data() const
    {
        return data_;
    }
    std::vector<T> read() const
    {
        std::vector<T> values(count_);
        must(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }

  private:
    T *data_ = nullptr;
    size_t count_;
};

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

/* ---- the grid ---- */

__global__ void count_threads_kernel(unsigned *counts)
{
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    atomicAdd(&counts[block * blockDim.x * blockDim.y * blockDim.z + thread], 1u);
}

bool every_thread_runs_once()
{
    const dim3 grid(5, 3, 2), block(7, 5, 3);
    const size_t count = 5 * 3 * 2 * 7 * 5 * 3;
    device_array<unsigned> counts(std::vector<unsigned>(count, 0));
    must(start(shape(grid, block), count_threads_kernel, counts.data()));
    return counts.read() == std::vector<unsigned>(count, 1);
}

/* ---- barriers ---- */

__global__ void block_sum_kernel(const unsigned *in, unsigned *out)
{
    __shared__ unsigned sums[1024];
    sums[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (threadIdx.x < stride)
            sums[threadIdx.x] += sums[threadIdx.x + stride];
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = sums[0];
}

bool block_sums_are_right()
{
    const unsigned blocks = 4, threads = 512;
    std::vector<unsigned> in(blocks * threads), expected(blocks, 0);
    for (unsigned i = 0; i < in.size(); i++) {
        in[i] = i * 2654435761u;
        expected[i / threads] += in[i];
    }
    device_array<unsigned> device_in(in), device_out(blocks);
    must(start(shape(blocks, threads), block_sum_kernel, (const unsigned *)device_in.data(),
               device_out.data()));
    return device_out.read() == expected;
}

/* Batcher's bitonic network, one key a thread. */
template <class K>
__global__ void bitonic_kernel(K *keys)
{
    __shared__ K tile[1024];
    const unsigned i = threadIdx.x;
    tile[i] = keys[i];
    __syncthreads();
    for (unsigned size = 2; size <= blockDim.x; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            const unsigned other = i ^ stride;
            if (other > i && (tile[i] > tile[other]) == ((i & size) == 0))
                std::swap(tile[i], tile[other]);
            __syncthreads();
        }
    keys[i] = tile[i];
}

template <class K>
bool bitonic_sorts()
{
    std::vector<K> keys(1024);
    for (size_t i = 0; i < keys.size(); i++)
        keys[i] = (K)(i * 0x9e3779b97f4a7c15u >> 20);
    device_array<K> device_keys(keys);
    must(start(shape(1, 1024), bitonic_kernel<K>, device_keys.data()));
    std::sort(keys.begin(), keys.end());
    return device_keys.read() == keys;
}

/* Each thread takes what its neighbour wrote; right only with the barrier. */
template <bool HAS_BARRIER>
__global__ void rotate_kernel(unsigned *out)
{
    __shared__ unsigned written[256];
    written[threadIdx.x] = threadIdx.x;
    if (HAS_BARRIER)
        __syncthreads();
    out[threadIdx.x] = written[(threadIdx.x + 1) % 256] + written[(threadIdx.x + 255) % 256];
}

template <bool HAS_BARRIER>
__global__ void rotate_warp_kernel(unsigned *out)
{
    __shared__ unsigned written[256];
    const unsigned warp = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
    written[threadIdx.x] = threadIdx.x;
    if (HAS_BARRIER)
        __syncwarp();
    out[threadIdx.x] = written[warp + (lane + 1) % 32] + written[warp + (lane + 31) % 32];
}

bool rotation_is_right(void (*kernel)(unsigned *), unsigned ring)
{
    device_array<unsigned> out(256);
    std::vector<unsigned> expected(256);
    for (unsigned i = 0; i < 256; i++)
        expected[i] = 2 * (i / ring * ring) + (i + 1) % ring + (i + ring - 1) % ring;
    must(start(shape(1, 256), kernel, out.data()));
    return out.read() == expected;
}

__global__ void vote_kernel(int *out)
{
    const int count = __syncthreads_count(threadIdx.x % 3 == 0);
    const int all = __syncthreads_and(threadIdx.x < 100), most = __syncthreads_and(threadIdx.x);
    const int any = __syncthreads_or(threadIdx.x == 42), none = __syncthreads_or(0);
    out[threadIdx.x] = count * 10000 + all * 1000 + most * 100 + any * 10 + none;
}

bool block_votes_are_right()
{
    device_array<int> out(100);
    must(start(shape(1, 100), vote_kernel, out.data()));
    return out.read() == std::vector<int>(100, 34 * 10000 + 1000 + 10);
}

/* ---- warps ---- */

struct wide {
    uint64_t low;
    uint32_t high;
    uint16_t tag;
};

enum shuffle { SHUFFLE_INDEX, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR };

__global__ void shuffle_kernel(shuffle kind, unsigned operand, int width, unsigned *out)
{
    const wide own = {threadIdx.x, ~threadIdx.x, (uint16_t)(threadIdx.x * 3)};
    wide got = own;
    if (kind == SHUFFLE_INDEX)
        got = __shfl_sync(0xffffffffu, own, (int)operand, width);
    else if (kind == SHUFFLE_UP)
        got = __shfl_up_sync(0xffffffffu, own, operand, width);
    else if (kind == SHUFFLE_DOWN)
        got = __shfl_down_sync(0xffffffffu, own, operand, width);
    else
        got = __shfl_xor_sync(0xffffffffu, own, (int)operand, width);
    const bool is_whole = got.high == ~(uint32_t)got.low && got.tag == (uint16_t)(got.low * 3);
    out[threadIdx.x] = is_whole ? (unsigned)got.low : 9999;
}

/* The lane read, by the programming guide, section "Warp Shuffle Functions". */
unsigned shuffle_source(shuffle kind, unsigned lane, unsigned operand, unsigned width)
{
    const unsigned first = lane - lane % width;
    switch (kind) {
    case SHUFFLE_INDEX:
        return first + operand % width;
    case SHUFFLE_UP:
        return lane % width < operand ? lane : lane - operand;
    case SHUFFLE_DOWN:
        return lane % width + operand >= width ? lane : lane + operand;
    default:
        return (lane ^ operand) >= first + width ? lane : lane ^ operand;
    }
}

bool shuffles_are_right(shuffle kind)
{
    bool is_right = true;
    device_array<unsigned> out(96);
    for (unsigned width = 1; width <= 32; width *= 2)
        for (unsigned operand : {0u, 1u, 2u, 5u, 8u, 16u, 31u}) {
            std::vector<unsigned> expected(96);
            for (unsigned i = 0; i < 96; i++)
                expected[i] = i / 32 * 32 + shuffle_source(kind, i % 32, operand, width);
            must(start(shape(1, 96), shuffle_kernel, kind, operand, (int)width, out.data()));
            is_right = is_right && out.read() == expected;
        }
    return is_right;
}

/* Lanes part, meet under masks of their own, some leave, and the rest meet again. */
__global__ void parted_kernel(unsigned *out)
{
    const unsigned lane = threadIdx.x % 32;
    const unsigned odd = 0xaaaaaaaau;
    unsigned result;
    if (lane % 2)
        result = __ballot_sync(odd, lane > 10) ^ (unsigned)__all_sync(odd, lane > 0);
    else
        result = __ballot_sync(~odd, lane < 10) ^ (unsigned)__any_sync(~odd, lane > 30);
    out[threadIdx.x] = result;
    if (lane >= 20)
        return;
    out[threadIdx.x] += __ballot_sync(0xffffffffu, 1);
}

bool parted_lanes_meet()
{
    std::vector<unsigned> expected(64);
    for (unsigned i = 0; i < 64; i++) {
        unsigned votes = 0;
        for (unsigned lane = i % 2; lane < 32; lane += 2)
            votes |= (unsigned)(i % 2 ? lane > 10 : lane < 10) << lane;
        expected[i] = (votes ^ i % 2) + (i % 32 < 20 ? 0xfffffu : 0);
    }
    device_array<unsigned> out(64);
    must(start(shape(1, 64), parted_kernel, out.data()));
    return out.read() == expected;
}

__global__ void match_kernel(unsigned *out)
{
    const uint64_t key = threadIdx.x * 0x100000000u % 7;
    int all_same = 7;
    unsigned result = __match_any_sync(0xffffffffu, (unsigned long long)key);
    result ^= __match_all_sync(0xffffffffu, threadIdx.x / 32, &all_same) + (unsigned)all_same;
    result ^= __reduce_add_sync(0xffffffffu, threadIdx.x % 32);
    result ^= __reduce_max_sync(0xffffffffu, threadIdx.x % 32) << 8;
    out[threadIdx.x] = result;
}

bool matches_are_right()
{
    std::vector<unsigned> expected(64);
    for (unsigned i = 0; i < 64; i++) {
        for (unsigned lane = 0; lane < 32; lane++)
            expected[i] |=
                (unsigned)((i / 32 * 32 + lane) * 0x100000000u % 7 == i * 0x100000000u % 7) << lane;
        expected[i] ^= (0xffffffffu + 1) ^ (31 * 32 / 2) ^ (31u << 8);
    }
    device_array<unsigned> out(64);
    must(start(shape(1, 64), match_kernel, out.data()));
    return out.read() == expected;
}

/* ---- atomics and bits ---- */

__global__ void histogram_kernel(const unsigned char *in, size_t count, unsigned *counts,
                                 unsigned long long *greatest)
{
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) {
        atomicAdd(&own[in[i]], 1u);
        atomicMax(greatest, (unsigned long long)in[i] * count + i);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

bool atomics_count()
{
    const size_t count = 100003;
    std::vector<unsigned char> in(count);
    std::vector<unsigned> expected(256, 0);
    unsigned long long expected_greatest = 0;
    for (size_t i = 0; i < count; i++) {
        in[i] = (unsigned char)(i * i * 2654435761u >> 13);
        expected[in[i]]++;
        expected_greatest = std::max<unsigned long long>(expected_greatest, in[i] * count + i);
    }
    device_array<unsigned char> device_in(in);
    device_array<unsigned> counts(std::vector<unsigned>(256, 0));
    device_array<unsigned long long> greatest(std::vector<unsigned long long>(1, 0));
    must(start(shape(9, 256), histogram_kernel, (const unsigned char *)device_in.data(), count,
               counts.data(), greatest.data()));
    return counts.read() == expected && greatest.read()[0] == expected_greatest;
}

/* Bit intrinsics against loops over bits and bytes. */
bool bits_are_right(unsigned x, unsigned y)
{
    const unsigned long long pair = (unsigned long long)y << 32 | x;
    int ones = 0, leading = 0, first = 0;
    unsigned reversed = 0;
    for (int bit = 0; bit < 32; bit++) {
        ones += x >> bit & 1;
        leading = x >> bit & 1 ? 0 : leading + 1;
        first = first == 0 && (x >> bit & 1) ? bit + 1 : first;
        reversed = reversed << 1 | (x >> bit & 1);
    }
    bool is_right = __popc(x) == ones && __clz((int)x) == leading && __ffs((int)x) == first &&
                    __brev(x) == reversed;
    for (unsigned shift = 0; shift < 32; shift++) {
        const unsigned left = shift ? y << shift | x >> (32 - shift) : y;
        const unsigned right = shift ? x >> shift | y << (32 - shift) : x;
        is_right = is_right && __funnelshift_l(x, y, shift) == left &&
                   __funnelshift_r(x, y, shift) == right;
    }
    return is_right && __byte_perm(x, y, 0x3210) == x && __byte_perm(x, y, 0x7654) == y &&
           __byte_perm(x, y, 0x0123) == __builtin_bswap32(x) &&
           __popcll(pair) == __popc(x) + __popc(y) && __brevll(pair) >> 32 == reversed &&
           __clzll((long long)pair) == (y ? __clz((int)y) : 32 + __clz((int)x)) &&
           __umul64hi(pair, 1ull << 32) == pair >> 32 && min(-1, 1u) == 1u && max(-1, 1) == 1;
}

/* ---- what must be reported ---- */

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

__global__ void stranger_kernel(unsigned *out)
{
    out[threadIdx.x] = __ballot_sync(0xfffffffeu, 1);
}

__global__ void dying_kernel(unsigned *out)
{
    if (threadIdx.x == 5)
        abort();
    out[threadIdx.x] = 0;
}

__global__ void spinning_kernel(unsigned *out)
{
    while (*(volatile unsigned *)out != 12345)
        __nanosleep(100);
}

__attribute__((no_sanitize("undefined"))) /* it would speak first */
__global__ void
overflowing_kernel(unsigned *out)
{
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x + 1];
}

/* True if the kernel dies and the report holds both words. */
bool dies_with(void (*kernel)(unsigned *), const char *name, const char *words)
{
    const outcome outcome = in_child("SIMT_ORDER", "forward", [&] {
        device_array<unsigned> out(64);
        must(start(shape(1, 64), kernel, out.data()));
        must(cudaDeviceSynchronize());
        return true;
    });
    const bool is_told = outcome.status != 0 && contains(outcome.errors, name) &&
                         contains(outcome.errors, words) &&
                         contains(outcome.errors, "block (0,0,0)");
    if (!is_told)
        printf("# status %d, %s\n", outcome.status, outcome.errors.c_str());
    return is_told;
}

__global__ void handshake_kernel(unsigned *turn)
{
    while (*(volatile unsigned *)turn != threadIdx.x)
        __nanosleep(10);
    *turn = threadIdx.x + 1;
}

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
        const bool started = start(shape(1, 256), rotate_kernel<true>, out.data()) == cudaSuccess;
        const bool failed =
            start(shape(1, 256), rotate_kernel<true>, out.data()) == cudaErrorLaunchOutOfResources;
        return first && second && third && !created && started && failed;
    });
    return outcome.status == 0;
}

/* The launch succeeds, as it does on a device; whoever waits is told, and everybody after that. */
bool a_kernel_that_fails_takes_the_device()
{
    const outcome outcome = in_child("SIMT_FAIL", "kernel:2", [] {
        unsigned *out = nullptr;
        must(cudaMalloc(&out, 256 * sizeof *out));
        must(start(shape(1, 256), rotate_kernel<true>, out));
        must(cudaDeviceSynchronize());
        must(start(shape(1, 256), rotate_kernel<true>, out));
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
    void (*const kernel)(unsigned *) = rotate_kernel<true>;
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

/* Uploads two numbers through one pinned buffer; waits: between them, as one must. */
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

__global__ void increment_kernel(unsigned *number)
{
    *number += 1;
}

/* A number set in one stream and incremented in another, which waits for it or not. */
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

/* Work of the default stream goes between that of a blocking one. */
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

/* ---- speed ---- */

__global__ void barriers_kernel(unsigned crossings)
{
    for (unsigned i = 0; i < crossings; i++)
        __syncthreads();
}

double barriers_per_second()
{
    cudaEvent_t begin, end;
    float milliseconds = 0;
    const unsigned crossings = 2000, threads = 256;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    must(cudaEventRecord(begin));
    must(start(shape(1, threads), barriers_kernel, crossings));
    must(cudaEventRecord(end));
    must(cudaEventSynchronize(end));
    must(cudaEventElapsedTime(&milliseconds, begin, end));
    must(cudaEventDestroy(begin));
    must(cudaEventDestroy(end));
    return crossings * threads / (milliseconds / 1000);
}

/* ---- the list ---- */

void check_model()
{
    check(every_thread_runs_once(), "every thread of a grid of three dimensions runs once");
    check(block_sums_are_right(), "a block sums in shared memory");
    check(block_votes_are_right(), "__syncthreads_count, _and, _or");
    check(shuffles_are_right(SHUFFLE_INDEX), "__shfl_sync of 16 bytes, every width");
    check(shuffles_are_right(SHUFFLE_UP), "__shfl_up_sync, every width");
    check(shuffles_are_right(SHUFFLE_DOWN), "__shfl_down_sync, every width");
    check(shuffles_are_right(SHUFFLE_XOR), "__shfl_xor_sync, every width");
    check(parted_lanes_meet(),
          "lanes that part vote under masks of their own; ended ones are left out");
    check(matches_are_right(), "__match_any_sync, __match_all_sync, __reduce_*_sync");
    check(atomics_count(), "atomics in shared and global memory");
    check(bits_are_right(0, 0) && bits_are_right(1, 0x80000000u) &&
              bits_are_right(0xffffffffu, 7) && bits_are_right(0x12345678u, 0x9abcdef0u),
          "bit intrinsics, and min and max of mixed signs");
}

void check_orders()
{
    for (const char *order : {"forward", "reverse", "random:1", "random:2"}) {
        const std::string claim = std::string("a bitonic sort and warp exchanges, order ") + order;
        const outcome outcome = in_child("SIMT_ORDER", order, [] {
            return bitonic_sorts<uint8_t>() && bitonic_sorts<uint64_t>() &&
                   rotation_is_right(rotate_kernel<true>, 256) &&
                   rotation_is_right(rotate_warp_kernel<true>, 32) && parted_lanes_meet();
        });
        check(outcome.status == 0, claim.c_str());
    }
    for (const char *order : {"reverse", "random:1", "random:2"}) {
        const std::string claim = std::string("missing barriers show, order ") + order;
        const outcome outcome = in_child("SIMT_ORDER", order, [] {
            return !rotation_is_right(rotate_kernel<false>, 256) &&
                   !rotation_is_right(rotate_warp_kernel<false>, 32);
        });
        check(outcome.status == 0, claim.c_str());
    }
    const outcome unknown = in_child("SIMT_ORDER", "sideways", every_thread_runs_once);
    check(unknown.status == -1 && contains(unknown.errors, "sideways"),
          "an unknown order is an error");
}

void check_reports()
{
    check(dies_with(divergent_kernel, "divergent_kernel", "divergent barrier: 54 threads wait"),
          "a barrier that ended threads miss is reported");
    check(
        dies_with(two_barriers_kernel, "two_barriers_kernel", "divergent barrier: 32 threads wait"),
        "threads at two barriers are reported");
    check(dies_with(divergent_warp_kernel, "divergent_warp_kernel", "(mask ffffffff)"),
          "a warp primitive that a lane misses is reported");
    check(dies_with(stranger_kernel, "stranger_kernel", "leaves out the lane"),
          "a mask without the caller is reported");
    check(dies_with(dying_kernel, "dying_kernel", "thread (5,0,0): died here"),
          "an abort in a kernel names the thread");
    check(dies_with(spinning_kernel, "spinning_kernel", "spins"), "a loop without end is reported");
#if defined(__SANITIZE_ADDRESS__)
    check(dies_with(overflowing_kernel, "overflowing_kernel", "global-buffer-overflow"),
          "AddressSanitizer watches shared memory");
#else
    (void)overflowing_kernel;
    printf("ok %u - AddressSanitizer watches shared memory # SKIP built without it\n", ++tap.tests);
#endif
    device_array<unsigned> turn(std::vector<unsigned>(1, 0));
    must(start(shape(1, 64), handshake_kernel, turn.data()));
    check(turn.read()[0] == 64, "__nanosleep lets the other threads run");
}

void check_memory_and_api()
{
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

} // namespace

int main()
{
    check_model();
    check_orders();
    check_reports();
    check(shared_memory_is_poisoned(), "shared memory is poison in every block");
    check_memory_and_api();
    printf("1..%u\n# %.1f million barriers a second\n", tap.tests, barriers_per_second() / 1e6);
    return tap.failed != 0;
}
