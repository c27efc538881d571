/* SPDX-License-Identifier: Apache-2.0 */
/* simt_selftest_reports.cc - the self-test of reports: of divergent threads, and of threads that
 * die. */
#include "simt_selftest.h"

namespace
{

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

__attribute__((no_sanitize("undefined"))) /* it would report first */
__global__ void
overflowing_kernel(unsigned *out)
{
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x + 1];
}

/* Returns true if the kernel dies and the report contains both strings. */
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

} // namespace

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
