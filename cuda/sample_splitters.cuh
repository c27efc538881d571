/* SPDX-License-Identifier: Apache-2.0 */
/* sample_splitters.cuh - a sample of the items, and from it the splitters that part them.
 *
 *   items --sample_group_kernel--> groups of the sample, each sorted
 *         --sample_rank_kernel--> splitters: every n-th key of the sample, as a search tree
 *
 * Both rank keys in place of moving them: within a group by comparing all with all, and among
 * groups by a search in each. So no key waits for another, and the whole device has a part in what
 * would keep one block busy for long.
 */
#ifndef CUDA_SAMPLE_SPLITTERS_CUH
#define CUDA_SAMPLE_SPLITTERS_CUH

#include "cuda/block_scan.cuh"
#include "cuda/grid_wait.cuh"
#include "cuda/thread_key.cuh"
#include "cuda/thread_scramble.cuh"

constexpr unsigned SAMPLE_WAYS = 1u << SAMPLE_WAYS_BITS_MOST; /* at the most */

/* Keys with their places among the items: of equal ones the first goes first. */
template <typename K>
struct sample_list {
    K *keys;
    unsigned *places;
};

template <typename K>
struct sample_workspace {
    struct sample_list<K> groups;    /* the sample */
    struct sample_list<K> splitters; /* as a tree from 1 on: below node i are 2i and 2i + 1 */
    unsigned *starts;                /* of the buckets, among all keys */
    uint16_t *begins;                /* of the buckets of each share */
    size_t bytes;
};

/* What is sorted, and how. */
template <typename K>
struct sample_job {
    K *items;
    K *scratch;
    const size_t *keys; /* 0: nothing is to be done; NULL: something is */
    struct key_order order;
    uint64_t seed; /* of the places of the sample */
    unsigned count;
    unsigned ways_bits; /* buckets */
    unsigned share;     /* keys of a block that parts; of the last one fewer */
    unsigned shares;
    struct sample_workspace<K> work;
};

template <typename K>
__device__ __forceinline__ bool sample_has_work(const struct sample_job<K> &job)
{
    return !job.keys || *job.keys > 0;
}

/* The sum of `value` over LANES neighbouring threads, a power of two, for all of them. */
template <unsigned LANES>
__device__ __forceinline__ unsigned lanes_sum(unsigned value)
{
#pragma unroll
    for (int distance = 1; distance < static_cast<int>(LANES); distance *= 2)
        value += __shfl_xor_sync(ALL_LANES, value, distance);
    return value;
}

/* Where the stretch begins that key `index` of the sample is taken from: they differ by one key at
 * most, and leave none out. */
__device__ __forceinline__ unsigned sample_stretch(unsigned count, unsigned sample_bits,
                                                   unsigned index)
{
    return static_cast<unsigned>(static_cast<uint64_t>(count) * index >> sample_bits);
}

__device__ __forceinline__ unsigned sample_place(unsigned count, unsigned sample_bits,
                                                 uint64_t seed, unsigned index)
{
    const unsigned first = sample_stretch(count, sample_bits, index);
    const unsigned keys = sample_stretch(count, sample_bits, index + 1) - first;
    return first + static_cast<unsigned>(thread_scramble_below(seed + index, keys));
}

/* The upper half of a key, or of one of 4 bytes all of it: where it tells keys apart, it is looked
 * at alone, in half the reads of shared memory; where all are the same, the lower one is. */
template <typename K>
struct sample_halves {
    using half = uint32_t;
    static constexpr unsigned bits = sizeof(K) == sizeof(uint32_t) ? 0 : 32; /* of the lower one */
};
template <>
struct sample_halves<key_u128> {
    using half = uint64_t;
    static constexpr unsigned bits = 64;
};
template <typename K>
using sample_half = typename sample_halves<K>::half;

template <typename K>
__device__ __forceinline__ sample_half<K> thread_upper(K key)
{
    return static_cast<sample_half<K>>(key >> sample_halves<K>::bits);
}

constexpr unsigned SAMPLE_GROUP_LANES = 8; /* threads that rank a key, each among some others */

/* One key of each stretch of the items, at a place that looks like chance, sorted by groups. All
 * blocks of a group have it, and each ranks a part of it. Clears the starts. */
template <typename K, unsigned SAMPLE_BITS>
__global__ void __launch_bounds__(SAMPLE_GROUP_THREADS)
    sample_group_kernel(struct sample_job<K> job)
{
    constexpr unsigned group_keys = sample_group(SAMPLE_BITS);
    constexpr unsigned group_blocks = group_keys * SAMPLE_GROUP_LANES / SAMPLE_GROUP_THREADS;
    __shared__ K keys[group_keys];
    __shared__ unsigned places[group_keys];
    thread_wait_for_grid();
    const unsigned thread = blockIdx.x * SAMPLE_GROUP_THREADS + threadIdx.x;
    const unsigned group = blockIdx.x / group_blocks * group_keys;
    if (thread < 1u << job.ways_bits)
        job.work.starts[thread] = 0;
    if (threadIdx.x < group_keys) {
        const unsigned place = sample_place(job.count, SAMPLE_BITS, job.seed, group + threadIdx.x);
        K key[1] = {job.items[place]};
        thread_encode_keys(job.order, key);
        keys[threadIdx.x] = key[0];
        places[threadIdx.x] = place;
    }
    __syncthreads();
    const unsigned own = thread / SAMPLE_GROUP_LANES % group_keys;
    const K key = keys[own];
    unsigned rank = 0;
#pragma unroll 8
    for (unsigned i = threadIdx.x % SAMPLE_GROUP_LANES; i < group_keys; i += SAMPLE_GROUP_LANES)
        rank += keys[i] < key || (keys[i] == key && i < own) ? 1 : 0;
    rank = lanes_sum<SAMPLE_GROUP_LANES>(rank);
    if (threadIdx.x % SAMPLE_GROUP_LANES == 0) {
        job.work.groups.keys[group + rank] = key;
        job.work.groups.places[group + rank] = places[own];
    }
}

/* Where splitter `number`, from 1 on, stands in the tree. */
__device__ __forceinline__ unsigned sample_tree_node(unsigned number, unsigned ways_bits)
{
    const unsigned zeros = static_cast<unsigned>(__ffs(static_cast<int>(number))) - 1;
    return (1u << (ways_bits - 1 - zeros)) + (number >> (zeros + 1));
}

/* The rank of each key in all groups; those that are splitters go to the tree. A block has as many
 * neighbours of a group as a warp has lanes, and each warp ranks all of them in some groups: what
 * its lanes read is close together. Groups ascend with their places, so that equal keys of groups
 * before go first. */
template <typename K, unsigned SAMPLE_BITS>
__global__ void __launch_bounds__(SAMPLE_RANK_THREADS) sample_rank_kernel(struct sample_job<K> job)
{
    constexpr unsigned group_keys = sample_group(SAMPLE_BITS);
    constexpr unsigned warps = SAMPLE_RANK_THREADS / THREADS_PER_WARP;
    constexpr unsigned groups = (1u << SAMPLE_BITS) / group_keys / warps; /* of a warp */
    __shared__ unsigned sums[THREADS_PER_WARP];
    thread_wait_for_grid();
    if (!sample_has_work(job))
        return;
    const unsigned own = blockIdx.x * THREADS_PER_WARP + thread_lane();
    const unsigned group = threadIdx.x / THREADS_PER_WARP * groups;
    const K key = job.work.groups.keys[own];
    const auto is_before = [&](unsigned i, unsigned rank) {
        const unsigned index = (group + i) * group_keys + rank;
        const K other = job.work.groups.keys[index];
        return other < key || (other == key && index < own);
    };
    unsigned ranks[groups] = {}, sum = 0;
    if (threadIdx.x < THREADS_PER_WARP)
        sums[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (unsigned step = group_keys / 2; step > 0; step /= 2)
#pragma unroll
        for (unsigned i = 0; i < groups; i++)
            if (is_before(i, ranks[i] + step - 1))
                ranks[i] += step;
#pragma unroll
    for (unsigned i = 0; i < groups; i++)
        sum += ranks[i] + (is_before(i, ranks[i]) ? 1 : 0);
    atomicAdd(&sums[thread_lane()], sum);
    __syncthreads();
    const unsigned rank = sums[thread_lane()];
    const unsigned rarity_bits = SAMPLE_BITS - job.ways_bits, number = rank >> rarity_bits;
    if (threadIdx.x < THREADS_PER_WARP && number > 0 && rank == number << rarity_bits) {
        const unsigned node = sample_tree_node(number, job.ways_bits);
        job.work.splitters.keys[node] = key;
        job.work.splitters.places[node] = job.work.groups.places[own];
    }
}

#endif
