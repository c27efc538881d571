/* SPDX-License-Identifier: Apache-2.0 */
/* thread_scramble.cuh - pseudo-random numbers as a function of an index. */
#ifndef CUDA_THREAD_SCRAMBLE_CUH
#define CUDA_THREAD_SCRAMBLE_CUH

#include <cuda_runtime.h>
#include <stdint.h>

/* Scrambles the bits of i (the finaliser of MurmurHash3, by A. Appleby). */
__device__ __forceinline__ uint64_t thread_scramble(uint64_t i)
{
    i ^= i >> 33;
    i *= 0xff51afd7ed558ccdu;
    i ^= i >> 33;
    i *= 0xc4ceb9fe1a85ec53u;
    return i ^ i >> 33;
}

/* Returns a number below `limit`, or 0 if limit is 0. Multiplies, because a division takes a
 * hundred instructions.
 */
__device__ __forceinline__ uint64_t thread_scramble_below(uint64_t i, uint64_t limit)
{
    return __umul64hi(thread_scramble(i), limit);
}

#endif
