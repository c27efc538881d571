/* SPDX-License-Identifier: Apache-2.0 */
/* rank_merge.cuh - a round that merges small runs in one launch: each key finds its own place.
 *
 * A key's place among all runs of its group is its index in its own run plus its ranks in the
 * others. Equal keys go in the order of their runs, so that all places differ.
 *
 * A block takes some consecutive keys of a run. Its first and its last key bound the windows of all
 * other runs that its keys can fall into: a search for each of these, all at the same time. The
 * windows are copied to shared memory, where each thread ranks its key in all of them. Windows that
 * have no room there (skewed keys) are searched where they lie.
 *
 * Source: as direct_merge_sort.cu, for more than two runs.
 */
#ifndef CUDA_RANK_MERGE_CUH
#define CUDA_RANK_MERGE_CUH

#include "cuda/async_copy.cuh"
#include "cuda/block_scan.cuh"
#include "cuda/merge_runs.cuh"

constexpr unsigned RANK_MERGE_WAYS = 1u << RANK_MERGE_WAYS_BITS;

template <typename K>
struct rank_merge_shared {
    K windows[RANK_MERGE_WINDOW_BYTES / sizeof(K)];
    unsigned from[RANK_MERGE_WAYS];     /* of each way, where its window begins */
    unsigned to[RANK_MERGE_WAYS];       /* and ends */
    unsigned slot[RANK_MERGE_WAYS + 1]; /* where it lies in `windows`, if they have room */
};

/* The keys of a block: of which group and run, and where. */
struct rank_chunk {
    size_t group;   /* index of the group's first key */
    unsigned way;   /* the run's number in the group */
    size_t first;   /* index of the chunk's first key */
    unsigned count; /* of its keys */
};

template <unsigned THREADS>
__device__ __forceinline__ struct rank_chunk rank_chunk_at(const struct run_list &list)
{
    const size_t first = static_cast<size_t>(blockIdx.x) * THREADS;
    const size_t group = first & ~(run_list_group(list) - 1);
    const size_t left = list.count - first;
    const struct rank_chunk chunk = {group, static_cast<unsigned>((first - group) / list.run),
                                     first, left < THREADS ? static_cast<unsigned>(left) : THREADS};
    return chunk;
}

/* Bounds the windows, two threads for each, and lays them out. The chunk's own run has an empty
 * one, as have the ways that the group lacks. Ends with a barrier. */
template <typename K, unsigned THREADS>
__device__ __forceinline__ void block_find_windows(const K *source, const struct run_list &list,
                                                   const struct rank_chunk &chunk,
                                                   struct rank_merge_shared<K> *shared)
{
    static_assert(THREADS >= 2 * RANK_MERGE_WAYS && RANK_MERGE_WAYS == THREADS_PER_WARP,
                  "two searches for each way, and a lane");
    const unsigned way = threadIdx.x / 2;
    if (way < RANK_MERGE_WAYS) {
        const bool is_end = threadIdx.x % 2 == 1;
        const K key = source[chunk.first + (is_end ? chunk.count - 1 : 0)];
        const bool is_other = way < 1u << list.ways_bits && way != chunk.way;
        const size_t count = is_other ? run_list_count(list, chunk.group, way) : 0;
        const unsigned rank =
            thread_rank<K, unsigned>(source + chunk.group + way * list.run, 0,
                                     static_cast<unsigned>(count), key, way < chunk.way);
        (is_end ? shared->to : shared->from)[way] = rank;
    }
    __syncthreads();
    if (threadIdx.x < THREADS_PER_WARP) {
        const unsigned count = shared->to[threadIdx.x] - shared->from[threadIdx.x];
        const unsigned end = warp_inclusive_scan(count);
        shared->slot[threadIdx.x] = end - count;
        if (threadIdx.x == THREADS_PER_WARP - 1)
            shared->slot[RANK_MERGE_WAYS] = end;
    }
    __syncthreads();
}

/* Copies the windows. Ends with a barrier. */
template <typename K, unsigned THREADS>
__device__ __forceinline__ void block_copy_windows(const K *source, const struct run_list &list,
                                                   const struct rank_chunk &chunk,
                                                   struct rank_merge_shared<K> *shared)
{
    for (unsigned k = 0; k < 1u << list.ways_bits; k++) {
        const K *const window = source + chunk.group + k * list.run + shared->from[k];
        const unsigned count = shared->to[k] - shared->from[k];
        for (unsigned i = threadIdx.x; i < count; i += THREADS)
            thread_copy_async(shared->windows + shared->slot[k] + i, window + i);
    }
    thread_wait_for_copies();
    __syncthreads();
}

/* The sum of the key's ranks in the windows, each relative to its start; window_at(k) is where that
 * of way k lies. Some searches run side by side, so that they wait for memory together. */
template <typename K, typename Window_at>
__device__ __forceinline__ unsigned thread_rank_windows(const struct rank_merge_shared<K> &shared,
                                                        unsigned ways, unsigned own_way, K key,
                                                        const Window_at &window_at)
{
    constexpr unsigned batch = 4;
    unsigned sum = 0;
    for (unsigned first = 0; first < ways; first += batch) {
        unsigned counts[batch], ranks[batch] = {}, most = 0;
#pragma unroll
        for (unsigned i = 0; i < batch; i++) {
            counts[i] = shared.to[first + i] - shared.from[first + i];
            most = counts[i] > most ? counts[i] : most;
        }
        for (unsigned step = most > 0 ? 1u << (31 - __clz(static_cast<int>(most))) : 0; step > 0;
             step /= 2)
#pragma unroll
            for (unsigned i = 0; i < batch; i++) {
                const unsigned next = ranks[i] + step;
                if (next > counts[i])
                    continue;
                const K other = window_at(first + i)[next - 1];
                if (first + i < own_way ? !(key < other) : other < key)
                    ranks[i] = next;
            }
#pragma unroll
        for (unsigned i = 0; i < batch; i++)
            sum += ranks[i];
    }
    return sum;
}

/* A round, source -> target. A block for as many keys as it has threads, all of one run. */
template <typename K>
__global__ void __launch_bounds__(rank_merge_threads(sizeof(K)))
    rank_merge_kernel(const K *source, K *target, struct run_list list, struct key_order decoding)
{
    constexpr unsigned threads = rank_merge_threads(sizeof(K));
    __shared__ struct rank_merge_shared<K> shared;
    const struct rank_chunk chunk = rank_chunk_at<threads>(list);
    const unsigned ways = 1u << list.ways_bits;
    block_find_windows<K, threads>(source, list, chunk, &shared);
    const bool has_room =
        shared.slot[RANK_MERGE_WAYS] <= RANK_MERGE_WINDOW_BYTES / static_cast<unsigned>(sizeof(K));
    if (has_room)
        block_copy_windows<K, threads>(source, list, chunk, &shared);
    if (threadIdx.x >= chunk.count)
        return;
    const size_t index = chunk.first + threadIdx.x;
    const K key = source[index];
    size_t place = index - chunk.way * list.run;
    for (unsigned k = 0; k < ways; k++)
        place += shared.from[k];
    if (has_room)
        place += thread_rank_windows(shared, ways, chunk.way, key,
                                     [](unsigned k) { return shared.windows + shared.slot[k]; });
    else
        place += thread_rank_windows(shared, ways, chunk.way, key, [=](unsigned k) {
            return source + chunk.group + k * list.run + shared.from[k];
        });
    target[place] = thread_decode_key(decoding, key);
}

/* As a path of merge_runs. The count is at most UINT_MAX. */
template <typename K>
struct rank_merge {
    static bool round(const struct cuda_sort *sort, struct error *error,
                      const struct merge_round &round)
    {
        constexpr unsigned threads = rank_merge_threads(sizeof(K));
        const struct launch launch = {"rank_merge_kernel", launch_blocks(sort->count, threads),
                                      threads, sort->device, sort->stream};
        return launch_kernel(launch, error, rank_merge_kernel<K>,
                             static_cast<const K *>(round.source), static_cast<K *>(round.target),
                             round.list, round.decoding);
    }
};

#endif
