/* thread_network.cuh - sorting networks on keys in registers. All indices are constants once the
 * loops are unrolled, so that no array leaves the registers.
 *
 * Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968: the odd-even merge
 * sort, and the bitonic sorter in the normalised form whose comparators all point the same way.
 */
#ifndef CUDA_THREAD_NETWORK_CUH
#define CUDA_THREAD_NETWORK_CUH

#include "cuda/thread_key.cuh"

static_assert(KEYS_PER_THREAD == 8, "the odd-even merge sort below is written out for 8 keys");

/* Sorts 8 keys by Batcher's odd-even merge sort: 19 comparators in 6 layers, the fewest there are
 * for 8 keys. */
template <typename K>
__device__ __forceinline__ void thread_sort(K (&k)[KEYS_PER_THREAD])
{
#pragma unroll
    for (unsigned i = 0; i < 8; i += 2)
        thread_compare_exchange(k[i], k[i + 1]);
#pragma unroll
    for (unsigned i = 0; i < 8; i += 4) {
        thread_compare_exchange(k[i], k[i + 2]);
        thread_compare_exchange(k[i + 1], k[i + 3]);
        thread_compare_exchange(k[i + 1], k[i + 2]);
    }
#pragma unroll
    for (unsigned i = 0; i < 4; i++)
        thread_compare_exchange(k[i], k[i + 4]);
    thread_compare_exchange(k[2], k[4]);
    thread_compare_exchange(k[3], k[5]);
#pragma unroll
    for (unsigned i = 1; i < 7; i += 2)
        thread_compare_exchange(k[i], k[i + 1]);
}

/* One step of a bitonic merge: comparators between keys `stride` apart. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_half_clean(K (&keys)[N], unsigned stride)
{
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        if ((i & stride) == 0)
            thread_compare_exchange(keys[i], keys[i + stride]);
}

/* The first step of a stage: comparators between i and its mirror image, so that two ascending
 * halves make two bitonic ones, the lower half with the smaller keys. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_mirror(K (&keys)[N])
{
#pragma unroll
    for (unsigned i = 0; i < N / 2; i++)
        thread_compare_exchange(keys[i], keys[N - 1 - i]);
}

/* The first `steps` (1..log2 N) steps of a stage on N keys (mirror) or of a merge (no mirror). */
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

#endif
