/* thread_scramble.cuh - numbers that look like chance and are always the same.
 */
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

#endif
