/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic_shared.cuh - the shared memory whose size a launch states: more than the 48 KiB that may
 * be declared. `extern __shared__` cannot be spelled for the stand-in (tests/simt), so this is the
 * one place where the two differ.
 */
#ifndef CUDA_DYNAMIC_SHARED_CUH
#define CUDA_DYNAMIC_SHARED_CUH

#include <cuda_runtime.h>

/* struct launch's shared_bytes of them, aligned to 16 bytes. */
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
