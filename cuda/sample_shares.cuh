/* sample_shares.cuh - each block parts its share of the items by the splitters, within the room of
 * the share: so nothing is counted before it is moved, and no block waits for another.
 *
 *   items --sample_part_kernel--> scratch: each share in order of buckets, encoded;
 *                                 where in its share each bucket begins; keys of each bucket in all
 */
#ifndef CUDA_SAMPLE_SHARES_CUH
#define CUDA_SAMPLE_SHARES_CUH

#include "cuda/dynamic_shared.cuh"
#include "cuda/sample_splitters.cuh"

template <typename K, unsigned KEYS>
struct sample_part_shared {
    union {
        struct {
            K keys[SAMPLE_WAYS];
            unsigned places[SAMPLE_WAYS];
        } tree;
        K share[SAMPLE_PART_THREADS * KEYS];
    };
    unsigned counts[SAMPLE_WAYS]; /* of each bucket, then where it begins */
    unsigned warp_sums[THREADS_PER_WARP];
};

/* The buckets of the thread's keys, of which the first one stands at `first` among the items. */
template <typename K, unsigned KEYS>
__device__ __forceinline__ void
thread_find_buckets(const struct sample_part_shared<K, KEYS> &shared, unsigned ways_bits,
                    const K (&keys)[KEYS], unsigned first, unsigned (&buckets)[KEYS])
{
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++)
        buckets[i] = 1;
#pragma unroll 1
    for (unsigned level = 0; level < ways_bits; level++)
#pragma unroll
        for (unsigned i = 0; i < KEYS; i++) {
            const K splitter = shared.tree.keys[buckets[i]];
            bool is_behind = splitter < keys[i];
            if (splitter == keys[i])
                is_behind = shared.tree.places[buckets[i]] <= first + i * SAMPLE_PART_THREADS;
            buckets[i] = 2 * buckets[i] + (is_behind ? 1 : 0);
        }
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++)
        buckets[i] -= 1u << ways_bits;
}

/* counts -> where each bucket begins in the share, which is noted; the totals grow. */
template <typename K, unsigned KEYS>
__device__ __forceinline__ void block_place_buckets(const struct sample_job<K> &job,
                                                    struct sample_part_shared<K, KEYS> *shared)
{
    constexpr unsigned own_most = SAMPLE_WAYS / SAMPLE_PART_THREADS;
    const unsigned own_ways = (1u << job.ways_bits) / SAMPLE_PART_THREADS;
    const unsigned first = threadIdx.x * own_ways;
    unsigned counts[own_most], sum = 0, total = 0;
#pragma unroll
    for (unsigned i = 0; i < own_most; i++) {
        counts[i] = i < own_ways ? shared->counts[first + i] : 0;
        sum += counts[i];
        if (counts[i] > 0)
            atomicAdd(&job.work.totals[first + i], counts[i]);
    }
    unsigned begin = block_exclusive_scan<SAMPLE_PART_THREADS>(sum, shared->warp_sums, &total);
    uint16_t *const begins = job.work.begins + (static_cast<size_t>(blockIdx.x) << job.ways_bits);
#pragma unroll
    for (unsigned i = 0; i < own_most; i++) {
        if (i < own_ways) {
            shared->counts[first + i] = begin;
            begins[first + i] = static_cast<uint16_t>(begin);
        }
        begin += counts[i];
    }
}

/* A block a share; a struct sample_part_shared of dynamic shared memory. */
template <typename K, unsigned KEYS>
__global__ void __launch_bounds__(SAMPLE_PART_THREADS, SAMPLE_PART_BLOCKS)
    sample_part_kernel(struct sample_job<K> job)
{
    auto *const shared =
        reinterpret_cast<struct sample_part_shared<K, KEYS> *>(block_dynamic_shared());
    thread_wait_for_grid();
    if (!sample_has_work(job))
        return;
    const unsigned start = blockIdx.x * job.share, count = min(job.share, job.count - start);
    K keys[KEYS];
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++) {
        const unsigned index = i * SAMPLE_PART_THREADS + threadIdx.x;
        keys[i] = index < count ? job.items[start + index] : K{0};
    }
    for (unsigned i = threadIdx.x; i < 1u << job.ways_bits; i += SAMPLE_PART_THREADS) {
        shared->counts[i] = 0;
        shared->tree.keys[i] = job.work.splitters.keys[i];
        shared->tree.places[i] = job.work.splitters.places[i];
    }
    thread_encode_keys(job.order, keys);
    __syncthreads();
    unsigned buckets[KEYS];
    thread_find_buckets<K, KEYS>(*shared, job.ways_bits, keys, start + threadIdx.x, buckets);
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++) {
        const bool is_key = i * SAMPLE_PART_THREADS + threadIdx.x < count;
        const unsigned rank = is_key ? atomicAdd(&shared->counts[buckets[i]], 1u) : 0;
        buckets[i] |= rank << SAMPLE_WAYS_BITS_MOST;
    }
    __syncthreads();
    block_place_buckets(job, shared);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++)
        if (i * SAMPLE_PART_THREADS + threadIdx.x < count)
            shared->share[shared->counts[buckets[i] % SAMPLE_WAYS] +
                          (buckets[i] >> SAMPLE_WAYS_BITS_MOST)] = keys[i];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++) {
        const unsigned index = i * SAMPLE_PART_THREADS + threadIdx.x;
        if (index < count)
            job.scratch[start + index] = shared->share[index];
    }
}

#endif
