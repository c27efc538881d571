/* radix_mend.cuh - the end of a sort by the digits of a code (radix_code.cuh): runs of keys that
 * share one are brought in order where they lie.
 *
 *   items, in order of codes --radix_mend_kernel--> items, in order; runs that it leaves, listed
 *
 * All pairs of neighbours are looked at, and what is in order already is only read, however long a
 * run of equal keys is. Else a key's target is known from the keys of its run: those before it that
 * are greater, and those behind it that are less, move past it.
 *
 * A block mends the runs that begin in its tile, with what they have of the next one. No other
 * block writes there; one that reads what is being mended looks at its code alone, which stays. A
 * run that has more than RADIX_MEND_MOST keys, and is not in order, is left to another way, as the
 * work goes by the square of that: it is listed, unless there are so many that all keys are better
 * sorted anew, by all digits.
 */
#ifndef CUDA_RADIX_MEND_CUH
#define CUDA_RADIX_MEND_CUH

#include "cuda/radix_digit_plan.cuh"

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
    for (unsigned row = threadIdx.x; row < RADIX_MEND_ROWS<K> * RADIX_MEND_THREADS / 32;
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

/* The last of all blocks notes how many runs are open, or that all is to be sorted anew. */
template <typename K>
__device__ __forceinline__ void thread_note_open(const struct radix_mend_task<K> &task)
{
    __threadfence();
    if (atomicAdd(&task.totals->blocks_done, 1u) == gridDim.x - 1)
        task.note->count =
            thread_is_too_much(task) ? RADIX_NOTE_AGAIN : atomicAdd(&task.totals->open, 0u);
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
