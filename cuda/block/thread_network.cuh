/* SPDX-License-Identifier: Apache-2.0 */
/* thread_network.cuh - sorting networks on keys in registers. All indices are constants after loops
 * are unrolled, so the arrays stay in registers.
 *
 * Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968: the odd-even merge
 * sort, and the bitonic sorter in the normalised form whose comparators all point the same way.
 */
#ifndef CUDA_THREAD_NETWORK_CUH
#define CUDA_THREAD_NETWORK_CUH

#include "cuda/block/thread_key.cuh"

/* Sorts keys[FIRST .. FIRST + COUNT) by Batcher's odd-even merge sort; COUNT is a power of two. For
 * 8 keys it has 19 comparators, the minimum, in 6 layers. */
template <unsigned FIRST, unsigned COUNT, typename K, unsigned N>
__device__ __forceinline__ void thread_sort(K (&keys)[N])
{
#pragma unroll
    for (unsigned run = 1; run < COUNT; run *= 2)
#pragma unroll
        for (unsigned stride = run; stride > 0; stride /= 2)
#pragma unroll
            for (unsigned i = stride % run; i + stride < COUNT; i++)
                if (((i - stride % run) & stride) == 0 && i / (2 * run) == (i + stride) / (2 * run))
                    thread_compare_exchange(keys[FIRST + i], keys[FIRST + i + stride]);
}

/* Does one step of a bitonic merge: compares keys `stride` apart. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_half_clean(K (&keys)[N], unsigned stride)
{
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        if ((i & stride) == 0)
            thread_compare_exchange(keys[i], keys[i + stride]);
}

/* Does the first step of a stage: compares key i with its mirror image. Two ascending halves become
 * two bitonic halves, and the smaller keys are in the lower one. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_mirror(K (&keys)[N])
{
#pragma unroll
    for (unsigned i = 0; i < N / 2; i++)
        thread_compare_exchange(keys[i], keys[N - 1 - i]);
}

/* Does the first `steps` (1..log2 N) steps of a stage on N keys (mirror) or of a merge (no mirror).
 */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_bitonic_steps(K (&keys)[N], bool mirror, unsigned steps)
{
    if (mirror)
        thread_mirror(keys);
    else
        thread_half_clean(keys, N / 2);
#pragma unroll
    for (unsigned stride = N / 4, step = 1; stride > 0; stride /= 2, step++)
        if (step < steps)
            thread_half_clean(keys, stride);
}

/* Sorts a bitonic sequence. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_bitonic_merge(K (&keys)[N])
{
#pragma unroll
    for (unsigned stride = N / 2; stride > 0; stride /= 2)
        thread_half_clean(keys, stride);
}

/* Sorts a bitonic sequence, but leaves key number i of the order in keys[i ^ turn], turn < N. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_bitonic_merge_turned(K (&keys)[N], unsigned turn)
{
#pragma unroll
    for (unsigned stride = N / 2; stride > 0; stride /= 2) {
        const bool is_turned = (turn & stride) != 0;
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            if ((i & stride) == 0)
                thread_compare_exchange_turned(keys[i], keys[i + stride], is_turned);
    }
}

#endif
