/* SPDX-License-Identifier: Apache-2.0 */
/* radix_runs.cuh - runs of keys that share a code, in an array that is in order of codes: where a
 * key of one goes, and what becomes of those that are too long.
 *
 * A key's target is known from the keys of its run: those before it that are greater, and those
 * behind it that are less, move past it. A run that has more than RADIX_MEND_MOST keys, and is not
 * in order, is left to another way, as the work goes by the square of that: it is listed, unless
 * there are so many that all keys are better sorted anew, by all digits.
 *
 * Blocks have tiles of any type `Tile`: words[] are keys, words[-1] is before the tile, falls[] has
 * a bit for each that is less than the one before it; thread_tile_code(tile, index) is the code of
 * one, and thread_place_code(task, tile, place) that of any item of all.
 */
#ifndef CUDA_RADIX_RUNS_CUH
#define CUDA_RADIX_RUNS_CUH

#include "cuda/radix_digit_plan.cuh"

template <typename K>
struct radix_mend_task {
    K *items;
    size_t count;
    struct key_order order;
    struct radix_digit_plan *plan;
    unsigned *claims; /* cleared; a bit for RADIX_MEND_MOST keys: a run from there on is listed */
    struct radix_open *open;
    unsigned open_most;
    struct radix_totals *totals;
    struct sort_note *note;
};

/* The first place whose code is not less than that one, or, behind it, greater. */
template <typename K, typename Tile>
__device__ __forceinline__ size_t thread_find_run(const struct radix_mend_task<K> &task,
                                                  const Tile &tile, uint64_t wanted, bool is_behind)
{
    size_t from = 0, to = task.count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        const uint64_t found = thread_place_code(task, tile, middle);
        if (found < wanted || (is_behind && found == wanted))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* So many keys are not worth sorting apart. */
template <typename K>
__device__ __forceinline__ bool thread_is_too_much(const struct radix_mend_task<K> &task)
{
    return atomicAdd(&task.plan->open_keys, radix_count{0}) > task.count / RADIX_MEND_OPEN_RARITY ||
           atomicAdd(&task.totals->open, 0u) > task.open_most;
}

/* Lists the run of that code, if nobody has: it has more keys than a claim is for, so that no two
 * begin there. */
template <typename K, typename Tile>
__device__ __forceinline__ void thread_list_run(const struct radix_mend_task<K> &task,
                                                const Tile &tile, uint64_t code)
{
    if (thread_is_too_much(task))
        return;
    const size_t first = thread_find_run(task, tile, code, false);
    const size_t claim = first / RADIX_MEND_MOST;
    const unsigned bit = 1u << claim % 32;
    if ((atomicOr(&task.claims[claim / 32], bit) & bit) != 0)
        return;
    const size_t count = thread_find_run(task, tile, code, true) - first;
    const unsigned number = atomicAdd(&task.totals->open, 1u);
    if (number < task.open_most)
        task.open[number] = {first, count};
    atomicAdd(&task.plan->open_keys, static_cast<radix_count>(count));
}

/* Some of the words: whole runs, or one. */
struct radix_mend_part {
    unsigned begin;
    unsigned end;
};

/* Finds tile.falls of the part; returns how many threads have found any, which have up to ROWS
 * each. Ends with a barrier. */
template <unsigned ROWS, typename Tile>
__device__ __forceinline__ unsigned block_find_falls(const Tile &tile,
                                                     const struct radix_mend_part &part)
{
    bool is_any = false;
    for (unsigned index = threadIdx.x; index < ROWS * RADIX_MEND_THREADS;
         index += RADIX_MEND_THREADS) {
        const bool falls =
            index > part.begin && index < part.end && tile.words[index] < tile.words[index - 1];
        const unsigned mask = __ballot_sync(ALL_LANES, falls);
        if (thread_lane() == 0)
            tile.falls[index / THREADS_PER_WARP] = mask;
        is_any = is_any || falls;
    }
    return static_cast<unsigned>(__syncthreads_count(is_any));
}

/* True if some of words[begin + 1..end) fall. */
__device__ __forceinline__ bool thread_has_falls(const unsigned *falls, unsigned begin,
                                                 unsigned end)
{
    unsigned any = 0;
    for (unsigned i = begin + 1; i < end; i = (i | (THREADS_PER_WARP - 1)) + 1) {
        const unsigned left = end - (i & ~(THREADS_PER_WARP - 1u));
        const unsigned mask = ~0u << i % THREADS_PER_WARP;
        any |=
            falls[i / THREADS_PER_WARP] & mask & (left < THREADS_PER_WARP ? (1u << left) - 1 : ~0u);
    }
    return any != 0;
}

/* How many words next to that one have its code, of less than `most`: behind it, or before it. In
 * steps that double, as most runs are short, and then back by halves. */
template <bool IS_FORWARD, typename Tile>
__device__ __forceinline__ unsigned thread_run_reach(const Tile &tile, unsigned index,
                                                     unsigned most)
{
    const auto code = thread_tile_code(tile, index);
    const auto reaches = [&](unsigned by) {
        return thread_tile_code(tile, IS_FORWARD ? index + by : index - by) == code;
    };
    unsigned reach = 0, beyond = 1;
    while (beyond < most && reaches(beyond)) {
        reach = beyond;
        beyond *= 2;
    }
    beyond = min(beyond, most);
    while (reach + 1 < beyond) {
        const unsigned middle = (reach + beyond) / 2;
        if (reaches(middle))
            reach = middle;
        else
            beyond = middle;
    }
    return reach;
}

/* The run of a word in the part; of one that is too long more than RADIX_MEND_MOST words. */
template <typename Tile>
__device__ __forceinline__ struct radix_mend_part
thread_find_ends(const Tile &tile, const struct radix_mend_part &part, unsigned index)
{
    const unsigned before = min(index - part.begin, RADIX_MEND_MOST);
    const unsigned behind = min(part.end - 1 - index, RADIX_MEND_MOST);
    const struct radix_mend_part run = {
        index - thread_run_reach<false>(tile, index, before + 1),
        index + 1 + thread_run_reach<true>(tile, index, behind + 1),
    };
    return run;
}

/* Where the word goes in its run. */
__device__ __forceinline__ unsigned
thread_run_target(const uint64_t *words, const struct radix_mend_part &run, unsigned index)
{
    unsigned target = index;
    for (unsigned i = run.begin; i < index; i++)
        target -= words[i] > words[index] ? 1 : 0;
    for (unsigned i = index + 1; i < run.end; i++)
        target += words[i] < words[index] ? 1 : 0;
    return target;
}

/* Where the word goes in a run of more than a few words. In one that is too long it stays, and the
 * first that falls lists it. */
template <typename K, typename Tile>
__device__ __forceinline__ unsigned
thread_long_target(const struct radix_mend_task<K> &task, const Tile &tile,
                   const struct radix_mend_part &part, unsigned index)
{
    const struct radix_mend_part run = thread_find_ends(tile, part, index);
    if (!thread_has_falls(tile.falls, run.begin, run.end))
        return index;
    if (run.end - run.begin > RADIX_MEND_MOST) {
        if (index > run.begin && thread_has_falls(tile.falls, index - 1, index + 1) &&
            !thread_has_falls(tile.falls, run.begin, index))
            thread_list_run(task, tile, thread_tile_code(tile, index));
        return index;
    }
    return thread_run_target(tile.words, run, index);
}

/* Where the word goes. Most runs are short: they are gone through from the word on. */
template <typename K, typename Tile>
__device__ __forceinline__ unsigned
thread_mend_target(const struct radix_mend_task<K> &task, const Tile &tile,
                   const struct radix_mend_part &part, unsigned index)
{
    const uint64_t *const words = tile.words;
    const uint64_t word = words[index];
    const auto code = thread_tile_code(tile, index);
    const unsigned first = index - min(index - part.begin, RADIX_MEND_SHORT);
    const unsigned last = min(part.end, index + 1 + RADIX_MEND_SHORT);
    unsigned begin = index, end = index + 1, target = index;
    for (; begin > first && thread_tile_code(tile, begin - 1) == code; begin--)
        target -= words[begin - 1] > word ? 1 : 0;
    for (; end < last && thread_tile_code(tile, end) == code; end++)
        target += words[end] < word ? 1 : 0;
    const bool is_short =
        (begin > first || first == part.begin) && (end < last || last == part.end);
    return is_short ? target : thread_long_target(task, tile, part, index);
}

/* The last of all blocks notes how many runs are open, or that all is to be sorted anew. */
template <typename K>
__device__ __forceinline__ void thread_note_open(const struct radix_mend_task<K> &task)
{
    __threadfence();
    if (atomicAdd(&task.totals->blocks_done, 1u) == gridDim.x - 1)
        task.note->count =
            thread_is_too_much(task) ? RADIX_NOTE_AGAIN : atomicAdd(&task.totals->open, 0u);
}

#endif
