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
