/* SPDX-License-Identifier: Apache-2.0 */
/* merge_runs.cuh - the common part of all merge sorts: sorted tiles, then rounds that merge several
 * runs into one and alternate between items and scratch.
 *
 * Data: items -> sorted tiles -> items or scratch -> rounds -> items. If the number of rounds is
 * odd, the tile sort writes to scratch. So the last round always writes to items, and no copy is
 * needed. The first load encodes and the last store decodes; the passes between move ordered bits.
 */
#ifndef CUDA_MERGE_RUNS_CUH
#define CUDA_MERGE_RUNS_CUH

#include "cuda/block/launch.cuh"
#include "cuda/block/thread_key.cuh"
#include "cuda/cuda_sort.h"

#include <utility>

/* The runs of a round: `count` keys in runs of `run` keys; the last run may be shorter. `run` is
 * the tile size times a power of two. A group of 2^ways_bits runs is merged into one. */
struct run_list {
    size_t count;
    size_t run;
    unsigned ways_bits;
};

__host__ __device__ __forceinline__ size_t run_list_group(const struct run_list &list)
{
    return list.run << list.ways_bits;
}

/* Returns the number of keys of run `way` of the group that starts at `group`. */
__device__ __forceinline__ size_t run_list_count(const struct run_list &list, size_t group,
                                                 unsigned way)
{
    const size_t first = group + way * list.run;
    if (first >= list.count)
        return 0;
    return list.count - first < list.run ? list.count - first : list.run;
}

/* For direct-merge: runs 2 i and 2 i + 1. Either may be short; b may be empty. */
struct run_pair {
    size_t a; /* index of the first key of the pair, and of its merge */
    size_t a_count;
    size_t b;
    size_t b_count;
};

/* Returns the pair that contains the key at `position`. */
__device__ __forceinline__ struct run_pair run_pair_at(const struct run_list &list, size_t position)
{
    /* A tile is a power of two keys, and so is a run. */
    const size_t a = position & ~(2 * list.run - 1);
    return {a, run_list_count(list, a, 0), a + run_list_count(list, a, 0),
            run_list_count(list, a, 1)};
}

/* One round of a merge sort, as passed to a path. */
struct merge_round {
    const void *source;
    void *target;
    struct run_list list;
    struct key_order decoding; /* the identity in all rounds but the last */
};

/* Returns log2 of the number of tiles, rounded up: the number of times that the runs must double.
 */
static inline unsigned merge_doublings(const struct cuda_sort *sort)
{
    unsigned doublings = 0;
    for (size_t tiles = launch_blocks(sort->count, sort->tile_size);
         (size_t)1 << doublings < tiles;)
        doublings++;
    return doublings;
}

/* Sorts by `sort_tiles`, then by merge(round) for each round. A round merges at most
 * 2^most_ways_bits runs. There are as few rounds as that allows, with about equal fan-in. */
template <typename Merge>
static bool merge_runs(const struct cuda_sort *sort, tile_sort_function *sort_tiles,
                       unsigned most_ways_bits, const Merge &merge, struct error *error)
{
    const unsigned doublings = merge_doublings(sort);
    const unsigned rounds = (doublings + most_ways_bits - 1) / most_ways_bits;
    void *source = rounds % 2 ? sort->scratch : sort->items;
    void *target = rounds % 2 ? sort->items : sort->scratch;
    const struct key_order identity = key_order_identity();
    if (!sort_tiles(sort, source, rounds == 0 ? sort->order : identity, error))
        return false;
    for (unsigned i = 0; i < rounds; i++) {
        const unsigned done = doublings * i / rounds, next = doublings * (i + 1) / rounds;
        const struct merge_round round = {source,
                                          target,
                                          {sort->count, sort->tile_size << done, next - done},
                                          i + 1 == rounds ? sort->order : identity};
        if (!merge(round))
            return false;
        std::swap(source, target);
    }
    return true;
}

#endif
