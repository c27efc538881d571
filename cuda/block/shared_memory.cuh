/* SPDX-License-Identifier: Apache-2.0 */
/* shared_memory.cuh - shared memory whose size is set at launch, and asynchronous copies to it. The
 * CPU stand-in (tests/simt) has its own of both.
 */
#ifndef CUDA_SHARED_MEMORY_CUH
#define CUDA_SHARED_MEMORY_CUH

#include <cuda_runtime.h>

/* Returns the block's dynamic shared memory: struct launch's shared_bytes, aligned to 16 bytes. */
__device__ __forceinline__ unsigned char *block_dynamic_shared()
{
#ifdef __CUDACC__
    extern __shared__ __align__(16) unsigned char block_dynamic_shared_bytes[];
    return block_dynamic_shared_bytes;
#else
    return static_cast<unsigned char *>(simt_dynamic_shared());
#endif
}

/* ---- asynchronous copies ----
 *
 * A thread copies from global to shared memory. Many copies are in flight at a time, and none takes
 * a register. Keys of less than 4 bytes, which the hardware cannot copy so, are copied at once. */

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
