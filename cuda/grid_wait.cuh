/* SPDX-License-Identifier: Apache-2.0 */
/* grid_wait.cuh - kernels whose blocks are brought up while the kernel before them on the stream
 * ends (struct launch), which spares a microsecond or two each: what they do first is to wait.
 */
#ifndef CUDA_GRID_WAIT_CUH
#define CUDA_GRID_WAIT_CUH

#include <cuda_runtime.h>

/* So old a device, or what was compiled for one, starts no kernel early. */
constexpr int GRID_WAIT_PTX_LEAST = 90;

/* Waits until the kernel before this one is done, and what it has written is seen. As that has
 * waited too, all before it are done as well, if each thread of each kernel begins with this. */
__device__ __forceinline__ void thread_wait_for_grid()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
