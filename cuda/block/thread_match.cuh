/* SPDX-License-Identifier: Apache-2.0 */
/* thread_match.cuh - finds a byte in a word of 16 bytes. */
#ifndef CUDA_THREAD_MATCH_CUH
#define CUDA_THREAD_MATCH_CUH

#include <cuda_runtime.h>

/* Returns a bit for each byte of the word that equals the byte repeated four times in `bytes`. */
__device__ __forceinline__ unsigned thread_match_bytes(const uint4 &word, unsigned bytes)
{
    const unsigned parts[4] = {word.x, word.y, word.z, word.w};
    const unsigned low = 0x7f7f7f7fu;
    unsigned matches = 0;
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        const unsigned other = parts[i] ^ bytes;
        const unsigned zeros = ~(((other & low) + low) | other | low); /* 0x80 for each zero byte */
        matches |= (zeros >> 7) * 0x10204080u >> 28 << 4 * i;
    }
    return matches;
}

#endif
