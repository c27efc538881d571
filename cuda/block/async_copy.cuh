/* SPDX-License-Identifier: Apache-2.0 */
/* async_copy.cuh - asynchronous copies from global to shared memory by a thread. Many are in flight
 * at a time, and none takes a register. Keys of less than 4 bytes, which the hardware cannot copy
 * so, and the CPU stand-in (tests/simt) are copied at once.
 */
#ifndef CUDA_ASYNC_COPY_CUH
#define CUDA_ASYNC_COPY_CUH

#include <cuda_runtime.h>
#ifdef __CUDACC__
#    include <cuda_pipeline_primitives.h>
#endif

template <typename K>
__device__ __forceinline__ void thread_copy_async(K *shared, const K *global)
{
#ifdef __CUDACC__
    if constexpr (sizeof(K) >= 4)
        __pipeline_memcpy_async(shared, global, sizeof(K));
    else
#endif
        *shared = *global;
}

/* Waits for all copies that the thread has started. */
__device__ __forceinline__ void thread_wait_for_copies()
{
#ifdef __CUDACC__
    __pipeline_commit();
    __pipeline_wait_prior(0);
#endif
}

#endif
