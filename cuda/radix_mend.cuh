/* SPDX-License-Identifier: Apache-2.0 */
/* radix_mend.cuh - the end of a sort by the digits of a code (radix_code.cuh): runs of keys that
 * share one are brought in order where they lie.
 *
 *   items, in order of codes --radix_mend_kernel--> items, in order; runs that it leaves, listed
 *
 * All pairs of neighbours are looked at, and what is in order already is only read, however long a
 * run of equal keys is. Else keys go to their targets (radix_runs.cuh).
 *
 * A block mends the runs that begin in its tile, with what they have of the next one. No other
 * block writes there; one that reads what is being mended looks at its code alone, which stays.
 */
#ifndef CUDA_RADIX_MEND_CUH
#define CUDA_RADIX_MEND_CUH

#include "cuda/radix_runs.cuh"

template <typename K>
constexpr unsigned RADIX_MEND_KEYS = 64 / sizeof(K); /* of a thread */
template <typename K>
constexpr unsigned RADIX_MEND_TILE = RADIX_MEND_THREADS *RADIX_MEND_KEYS<K>;
/* Keys of a thread with what a tile has of the next one; runs that are listed. */
template <typename K>
constexpr unsigned RADIX_MEND_ROWS = RADIX_MEND_KEYS<K> + RADIX_MEND_MOST / RADIX_MEND_THREADS;
template <typename K>
constexpr unsigned RADIX_MEND_RUNS = RADIX_MEND_FALLS *RADIX_MEND_ROWS<K>;

template <typename K>
__device__ __forceinline__ uint64_t thread_load_word(const struct radix_mend_task<K> &task,
                                                     size_t place)
{
    if constexpr (RADIX_HAS_PLACES<K>)
        return reinterpret_cast<const uint64_t *>(task.items)[2 * place + 1];
    uint64_t words[1] = {static_cast<uint64_t>(task.items[place])};
    thread_encode_keys(task.order, words);
    return words[0];
}

/* Words of a tile, and of the next one, in shared memory; words[-1] is before the tile. */
struct radix_mend_words {
    uint64_t *words;
    unsigned *falls; /* a bit for each word that is less than the one before it */
    size_t first;    /* place of words[0] */
    unsigned count;
    struct radix_code code;
};

/* The code of a word of the tile, and that of an item at any place. */
__device__ __forceinline__ uint64_t thread_tile_code(const struct radix_mend_words &tile,
                                                     unsigned index)
{
    return thread_code(tile.code, tile.words[index]);
}

template <typename K>
__device__ __forceinline__ uint64_t thread_place_code(const struct radix_mend_task<K> &task,
                                                      const struct radix_mend_words &tile,
                                                      size_t place)
{
    return thread_code(tile.code, thread_load_word(task, place));
}

/* True if both have one code. */
__device__ __forceinline__ bool thread_is_run(const struct radix_code &code, uint64_t word,
                                              uint64_t other)
{
    return thread_code(code, word) == thread_code(code, other);
}

/* True if the item at that place is there and has the word's code. */
template <typename K>
__device__ __forceinline__ bool thread_reaches(const struct radix_mend_task<K> &task,
                                               const struct radix_code &code, uint64_t word,
                                               size_t place)
{
    return place < task.count && thread_is_run(code, thread_load_word(task, place), word);
}

/* Runs that are not in order. */
template <typename K>
struct radix_mend_runs {
    unsigned count;
    struct radix_mend_part runs[RADIX_MEND_RUNS<K>];
};

/* How many of words[begin..end) have one code with the word, for the whole block. */
__device__ __forceinline__ unsigned block_count_run(const struct radix_mend_words &tile,
                                                    unsigned begin, unsigned end, uint64_t word)
{
    int all = 0;
    for (unsigned first = begin; first < end; first += RADIX_MEND_THREADS) {
        const unsigned index = first + threadIdx.x;
        all +=
            __syncthreads_count(index < end && thread_is_run(tile.code, tile.words[index], word));
    }
    return static_cast<unsigned>(all);
}

/* Writes the item of that word to its target; `index_bits` of an item come with it. */
template <typename K>
__device__ __forceinline__ void thread_put_word(const struct radix_mend_task<K> &task, K *target,
                                                uint64_t word, uint64_t index_bits)
{
    if constexpr (RADIX_HAS_PLACES<K>)
        *target = static_cast<K>(word) << 64 | index_bits;
    else
        *target = thread_decode_key(task.order, word);
}

/* Moves the part's items to their targets, all of them read before the first is written. */
template <typename K>
__device__ __forceinline__ void block_mend_part(const struct radix_mend_task<K> &task,
                                                const struct radix_mend_words &tile,
                                                const struct radix_mend_part &part)
{
    constexpr unsigned keys = RADIX_MEND_ROWS<K>;
    unsigned targets[keys];
    uint64_t indices[RADIX_HAS_PLACES<K> ? keys : 1];
    K *const items = task.items + tile.first;
#pragma unroll
    for (unsigned i = 0; i < keys; i++) {
        const unsigned index = i * RADIX_MEND_THREADS + threadIdx.x;
        targets[i] = index;
        if (index < part.begin || index >= part.end)
            continue;
        targets[i] = thread_mend_target(task, tile, part, index);
        if constexpr (RADIX_HAS_PLACES<K>)
            if (targets[i] != index)
                indices[i] = static_cast<uint64_t>(items[index]);
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < keys; i++) {
        const unsigned index = i * RADIX_MEND_THREADS + threadIdx.x;
        if (targets[i] == index)
            continue;
        thread_put_word(task, &items[targets[i]], tile.words[index],
                        RADIX_HAS_PLACES<K> ? indices[i] : 0);
    }
}

/* Lists the part's runs that have falls, one by its first; hands on those that are too long. Ends
 * with a barrier. */
template <typename K>
__device__ __forceinline__ void
block_list_runs(const struct radix_mend_task<K> &task, const struct radix_mend_words &tile,
                const struct radix_mend_part &part, struct radix_mend_runs<K> &list)
{
    if (threadIdx.x == 0)
        list.count = 0;
    __syncthreads();
    for (unsigned row = threadIdx.x;
         row < RADIX_MEND_ROWS<K> * RADIX_MEND_THREADS / THREADS_PER_WARP;
         row += RADIX_MEND_THREADS)
        for (unsigned falls = tile.falls[row]; falls != 0; falls &= falls - 1) {
            const unsigned bit = static_cast<unsigned>(__ffs(static_cast<int>(falls))) - 1;
            const unsigned index = row * THREADS_PER_WARP + bit;
            const struct radix_mend_part run = thread_find_ends(tile, part, index);
            if (thread_has_falls(tile.falls, run.begin, index))
                continue;
            if (run.end - run.begin > RADIX_MEND_MOST)
                thread_list_run(task, tile, thread_tile_code(tile, index));
            else
                list.runs[atomicAdd(&list.count, 1u)] = run;
        }
    __syncthreads();
}

/* Mends the listed runs one by one, a thread a key: where there are few, most keys have nothing to
 * do with them. */
template <typename K>
__device__ __forceinline__ void block_mend_runs(const struct radix_mend_task<K> &task,
                                                const struct radix_mend_words &tile,
                                                const struct radix_mend_runs<K> &list)
{
    K *const items = task.items + tile.first;
    for (unsigned number = 0; number < list.count; number++) {
        const struct radix_mend_part run = list.runs[number];
        const unsigned index = run.begin + threadIdx.x;
        const bool is_in = index < run.end;
        const unsigned target = is_in ? thread_run_target(tile.words, run, index) : index;
        uint64_t index_bits = 0;
        if constexpr (RADIX_HAS_PLACES<K>) {
            if (is_in)
                index_bits = static_cast<uint64_t>(items[index]);
            __syncthreads();
        }
        if (target != index)
            thread_put_word(task, &items[target], tile.words[index], index_bits);
    }
}

/* The first run of a tile, which has begun before: how many words of the tile it has. It is the
 * block's of that tile, unless it is too long. */
template <typename K>
__device__ __forceinline__ unsigned block_skip_run(const struct radix_mend_task<K> &task,
                                                   const struct radix_mend_words &tile,
                                                   bool goes_on)
{
    const uint64_t word = tile.words[0];
    const unsigned count = block_count_run(tile, 0, tile.count, word);
    const size_t end = tile.first + count;
    bool falls = word < tile.words[-1];
    for (unsigned i = threadIdx.x + 1; i < count; i += RADIX_MEND_THREADS)
        falls = falls || tile.words[i] < tile.words[i - 1];
    if (__syncthreads_or(falls) && threadIdx.x == 0 &&
        ((count == tile.count && goes_on) ||
         (end > RADIX_MEND_MOST &&
          thread_reaches(task, tile.code, word, end - 1 - RADIX_MEND_MOST))))
        thread_list_run(task, tile, thread_tile_code(tile, 0));
    return count;
}

/* The last run of a tile, which goes on: how many words it has of the next tile, which are read, as
 * far as it is to be mended. The first of them is there. */
template <typename K>
__device__ __forceinline__ unsigned block_follow_run(const struct radix_mend_task<K> &task,
                                                     const struct radix_mend_words &tile)
{
    const uint64_t word = tile.words[tile.count - 1];
    const size_t next = tile.first + tile.count;
    const unsigned room = static_cast<unsigned>(min(task.count - next, size_t{RADIX_MEND_MOST}));
    unsigned count = 0;
    for (unsigned begin = 0, end = min(RADIX_MEND_FEW, room); count == begin && begin < end;
         begin = end, end = room) {
        for (unsigned i = max(begin, 1u) + threadIdx.x; i < end; i += RADIX_MEND_THREADS)
            tile.words[tile.count + i] = thread_load_word(task, next + i);
        __syncthreads();
        count += block_count_run(tile, tile.count + begin, tile.count + end, word);
    }
    return count;
}

/* Reads the tile, a word before and one behind it; returns, for the whole block, whether any are
 * out of order. Begins and ends with a barrier. */
template <typename K>
__device__ __forceinline__ bool block_load_tile(const struct radix_mend_task<K> &task,
                                                const struct radix_mend_words &tile)
{
    uint64_t words[RADIX_MEND_KEYS<K>], edge = 0;
#pragma unroll
    for (unsigned i = 0; i < RADIX_MEND_KEYS<K>; i++) {
        const unsigned index = i * RADIX_MEND_THREADS + threadIdx.x;
        words[i] = index < tile.count ? thread_load_word(task, tile.first + index) : UINT64_MAX;
    }
    if (threadIdx.x == 0 && tile.first > 0)
        edge = thread_load_word(task, tile.first - 1);
    if (threadIdx.x == 1 && tile.first + tile.count < task.count)
        edge = thread_load_word(task, tile.first + tile.count);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < RADIX_MEND_KEYS<K>; i++)
        tile.words[i * RADIX_MEND_THREADS + threadIdx.x] = words[i];
    if (threadIdx.x == 0)
        tile.words[-1] = edge;
    if (threadIdx.x == 1)
        tile.words[RADIX_MEND_TILE<K>] = edge;
    __syncthreads();
    bool is_disorder = false;
#pragma unroll
    for (unsigned i = 0; i < RADIX_MEND_KEYS<K>; i++) {
        const uint64_t *const before = tile.words + i * RADIX_MEND_THREADS + threadIdx.x - 1;
        is_disorder = is_disorder || words[i] < *before;
    }
    return __syncthreads_or(is_disorder);
}

/* Mends the runs that begin in the tile. */
template <typename K>
__device__ __forceinline__ void block_mend_tile(const struct radix_mend_task<K> &task,
                                                const struct radix_mend_words &tile,
                                                struct radix_mend_runs<K> &list)
{
    const bool is_disorder = block_load_tile(task, tile);
    const bool goes_on =
        tile.first + tile.count < task.count &&
        thread_is_run(tile.code, tile.words[tile.count - 1], tile.words[tile.count]);
    if (!is_disorder && !goes_on)
        return;
    struct radix_mend_part part = {0, tile.count};
    if (tile.first > 0 && thread_is_run(tile.code, tile.words[-1], tile.words[0]))
        part.begin = block_skip_run(task, tile, goes_on);
    if (goes_on && part.begin < tile.count)
        part.end += block_follow_run(task, tile);
    const unsigned falls = block_find_falls<RADIX_MEND_ROWS<K>>(tile, part);
    if (falls > RADIX_MEND_FALLS) {
        block_mend_part(task, tile, part);
    } else if (falls > 0) {
        block_list_runs(task, tile, part, list);
        block_mend_runs(task, tile, list);
    }
}

/* Mends all runs that are not too long. The last block to be done notes how many are open, or that
 * all is to be sorted anew. Any number of blocks. */
template <typename K>
__global__ void __launch_bounds__(RADIX_MEND_THREADS, RADIX_MEND_BLOCKS)
    radix_mend_kernel(struct radix_mend_task<K> task)
{
    thread_wait_for_grid();
    __shared__ uint64_t words[1 + RADIX_MEND_TILE<K> + RADIX_MEND_MOST];
    __shared__ unsigned falls[(RADIX_MEND_TILE<K> + RADIX_MEND_MOST) / THREADS_PER_WARP];
    __shared__ struct radix_mend_runs<K> list;
    if (!task.plan->mends)
        return;
    struct radix_mend_words tile = {words + 1, falls, 0, 0, task.plan->code};
    const size_t stride = static_cast<size_t>(gridDim.x) * RADIX_MEND_TILE<K>;
    for (tile.first = static_cast<size_t>(blockIdx.x) * RADIX_MEND_TILE<K>; tile.first < task.count;
         tile.first += stride) {
        tile.count =
            static_cast<unsigned>(min(task.count - tile.first, size_t{RADIX_MEND_TILE<K>}));
        block_mend_tile(task, tile, list);
    }
    if (threadIdx.x == 0)
        thread_note_open(task);
}

#endif
