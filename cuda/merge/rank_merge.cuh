/* SPDX-License-Identifier: Apache-2.0 */
/* rank_merge.cuh - a round that merges small runs in one launch: each key finds its own position.
 *
 * The position of a key in the merge of its group is its index in its own run plus its ranks in the
 * other runs. Equal keys are ordered by the numbers of their runs, so all positions differ.
 *
 * A block takes consecutive keys of a run. Its first and its last key bound the windows of the
 * other runs in which its keys can fall, by one search each, all at the same time. The windows are
 * copied to shared memory, where each thread ranks its key in all of them. Windows that do not fit
 * there (skewed keys) are searched in global memory.
 *
 * Source: as direct_merge_sort.cu, for more than two runs.
 */
#ifndef CUDA_RANK_MERGE_CUH
#define CUDA_RANK_MERGE_CUH

#include "cuda/block/async_copy.cuh"
#include "cuda/block/block_scan.cuh"
#include "cuda/merge/merge_runs.cuh"

constexpr unsigned RANK_MERGE_WAYS = 1u << RANK_MERGE_WAYS_BITS;

template <typename K>
struct rank_merge_shared {
    K windows[RANK_MERGE_WINDOW_BYTES / sizeof(K)];
    unsigned from[RANK_MERGE_WAYS];     /* start of the window, by way */
    unsigned to[RANK_MERGE_WAYS];       /* end of the window, by way */
    unsigned slot[RANK_MERGE_WAYS + 1]; /* start of the window in `windows`, if it fits */
};

/* The keys of a block. */
struct rank_chunk {
    size_t group;   /* index of the group's first key */
    unsigned way;   /* number of the run in the group */
    size_t first;   /* index of the chunk's first key */
    unsigned count; /* number of its keys */
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

/* Finds the bounds of the windows, with two threads for each, and assigns their slots. The windows
 * of the chunk's own run, and of ways that the group lacks, are empty. Ends with a barrier. */
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

/* Copies the windows to shared memory. Ends with a barrier. */
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

/* Returns the sum of the key's ranks in the windows, each relative to its start. window_at(k)
 * returns the address of way k's window. Some searches run side by side, so that their memory
 * latencies overlap. */
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

/* Merges runs from source to target. A block takes as many keys of one run as it has threads. */
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

/* A path for merge_runs. The count must be at most UINT_MAX. */
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
