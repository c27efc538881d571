/* SPDX-License-Identifier: Apache-2.0 */
/* simt_selftest.cc - tests the stand-in for CUDA itself, before other tests rely on it. TAP.
 *
 * Expected results follow the CUDA programming guide, and are computed here by plain loops over
 * lanes. Cases that must fail, or depend on the environment, run in a child process, whose standard
 * error is read.
 */
#include "simt_selftest.h"

struct tap_output tap;

void check(bool is_right, const char *claim)
{
    printf("%s %u - %s\n", is_right ? "ok" : "not ok", ++tap.tests, claim);
    tap.failed += !is_right;
}

void must(cudaError_t error, int line)
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

cudaLaunchConfig_t shape(dim3 grid, dim3 block, size_t dynamic_shared_bytes, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = dynamic_shared_bytes;
    config.stream = stream;
    return config;
}

namespace
{

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

} // namespace

int main()
{
    check_devices(); /* first, because the number of devices is read once */
    check_model();
    check_orders();
    check_reports();
    check_memory_and_api();
    printf("1..%u\n# %.1f million barriers a second\n", tap.tests, barriers_per_second() / 1e6);
    return tap.failed != 0;
}
