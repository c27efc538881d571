/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic_shared.cuh - shared memory whose size is set at launch: more than the 48 KiB that can be
 * declared. The CPU stand-in (tests/simt) cannot compile `extern __shared__`, so only this file
 * differs for it.
 */
#ifndef CUDA_DYNAMIC_SHARED_CUH
#define CUDA_DYNAMIC_SHARED_CUH

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

#endif
