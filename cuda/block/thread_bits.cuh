/* SPDX-License-Identifier: Apache-2.0 */
/* thread_bits.cuh - pseudo-random numbers as a function of an index, and bytes found in a word. */
#ifndef CUDA_THREAD_BITS_CUH
#define CUDA_THREAD_BITS_CUH

#include <cuda_runtime.h>
#include <stdint.h>

/* Returns a hash of i (fmix64, the finaliser of MurmurHash3, by A. Appleby). */
__device__ __forceinline__ uint64_t thread_hash(uint64_t i)
{
    i ^= i >> 33;
    i *= 0xff51afd7ed558ccdu;
    i ^= i >> 33;
    i *= 0xc4ceb9fe1a85ec53u;
    return i ^ i >> 33;
}

/* Returns a hash of i below `limit`, or 0 if limit is 0. Multiplies, because a division takes a
 * hundred instructions.
 */
__device__ __forceinline__ uint64_t thread_hash_below(uint64_t i, uint64_t limit)
{
    return __umul64hi(thread_hash(i), limit);
}

/* Returns a bit for each byte of the word that equals the byte repeated in `bytes`. */
__device__ __forceinline__ unsigned thread_match_bytes(const uint4 &word, uint64_t bytes)
{
    const unsigned parts[4] = {word.x, word.y, word.z, word.w};
    const unsigned low = 0x7f7f7f7fu;
    unsigned matches = 0;
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        const unsigned other = parts[i] ^ static_cast<unsigned>(bytes);
        const unsigned zeros = ~(((other & low) + low) | other | low); /* 0x80 for each zero byte */
        matches |= (zeros >> 7) * 0x10204080u >> 28 << 4 * i;
    }
    return matches;
}

#endif
