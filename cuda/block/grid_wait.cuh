/* SPDX-License-Identifier: Apache-2.0 */
/* grid_wait.cuh - early start of kernels: the blocks of a kernel are started while the kernel
 * before it on the stream ends (struct launch). That saves one or two microseconds per kernel. Each
 * thread must wait first.
 */
#ifndef CUDA_GRID_WAIT_CUH
#define CUDA_GRID_WAIT_CUH

#include <cuda_runtime.h>

/* Code for older devices starts no kernel early: its PTX version is lower. */
constexpr int GRID_WAIT_PTX_LEAST = 90;

/* Waits until the kernel before this one is done and its writes are visible. If each thread of each
 * kernel calls this first, all earlier kernels are done as well. */
__device__ __forceinline__ void thread_wait_for_grid()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
