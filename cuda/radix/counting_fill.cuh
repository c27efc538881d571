/* SPDX-License-Identifier: Apache-2.0 */
/* counting_fill.cuh - reads keys that are counted, in words of 16 bytes, and writes runs of equal
 * keys.
 *
 *   runs: a key, and where it starts --> items
 *
 * A warp finds the run that its piece of the output begins with, and goes from run to run. Rows of
 * the output that lie in one run are written at once. Of others it puts the key of each run that
 * begins there on its place in shared memory, with a bit for the place; then each lane has the key
 * of the last bit before its own places, and goes on from bit to bit.
 */
#ifndef CUDA_COUNTING_FILL_CUH
#define CUDA_COUNTING_FILL_CUH

#include "cuda/block/block_scan.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/cuda_sort.h"

#include <algorithm>
#include <stddef.h>
#include <stdint.h>
#include <type_traits>

typedef unsigned long long value_count;

template <typename K>
constexpr unsigned VALUES = 1u << 8 * sizeof(K); /* of 1 and 2 bytes */
template <typename K>
constexpr unsigned RUNS = RADIX_FEW_MOST;
template <>
constexpr unsigned RUNS<uint8_t> = VALUES<uint8_t>;
template <>
constexpr unsigned RUNS<uint16_t> = VALUES<uint16_t>;

/* Of values that occur, in order; none: nothing is to be written. */
template <typename K>
struct counting_runs {
    unsigned count;
    value_count starts[RUNS<K> + 1]; /* ascending; behind the last one, ALL_KEYS */
    K keys[RUNS<K>];                 /* as they are stored */
};
constexpr value_count ALL_KEYS = ~value_count{0};

/* What a thread reads or writes at a time. */
template <typename K>
constexpr unsigned KEYS_OF_WORD = sizeof(uint4) / sizeof(K);
template <typename K>
union key_word {
    uint4 word;
    K keys[KEYS_OF_WORD<K>];
};

/* What a thread has on its way: words, and how many keys each has. */
template <typename K>
struct counting_load {
    union key_word<K> words[counting_words(sizeof(K))];
    unsigned counts[counting_words(sizeof(K))];
};

/* Reads the thread's word of the block's share at `first` on, and of others `step` keys behind. */
template <typename K>
__device__ __forceinline__ struct counting_load<K> thread_load_words(const K *source, size_t count,
                                                                     size_t first, size_t step) {
    struct counting_load<K> own;
#pragma unroll
    for (unsigned row = 0; row < counting_words(sizeof(K)); row++) {
        const size_t index = first + row * step + threadIdx.x * KEYS_OF_WORD<K>;
        const size_t left = index < count ? count - index : 0;
        union key_word<K> &word = own.words[row];
        own.counts[row] = left < KEYS_OF_WORD<K> ? static_cast<unsigned>(left) : KEYS_OF_WORD<K>;
        if (left >= KEYS_OF_WORD<K>) {
            word.word = *reinterpret_cast<const uint4 *>(source + index);
        } else {
#pragma unroll
            for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++)
                word.keys[i] = i < left ? source[index + i] : K{0};
        }
    }
    return own;
}

/* What a warp writes at a time: a word a lane. */
template <typename K>
constexpr unsigned FILL_ROW = THREADS_PER_WARP * KEYS_OF_WORD<K>;
constexpr unsigned FILL_WARPS = THREADS_PER_BLOCK / THREADS_PER_WARP;
template <typename K>
struct fill_row {
    union key_word<K> words[THREADS_PER_WARP]; /* a run's key, where it begins */
    unsigned begins[FILL_ROW<K> / 32];         /* a bit for each place */
};

/* The run that a warp is at. */
template <typename K>
struct fill_run {
    unsigned number;
    K key;
    value_count next; /* the start of the one behind it */
};

/* The run that the output's key `index` is of. All lanes of the warp call it. */
template <typename K>
__device__ __forceinline__ struct fill_run<K> warp_find_run(const struct counting_runs<K> *runs,
                                                            size_t index) {
    unsigned from = 0, size = runs->count;
    while (size > 1) {
        const unsigned step = (size + THREADS_PER_WARP - 1) / THREADS_PER_WARP;
        const unsigned own = thread_lane() * step;
        const bool is_up_to = own < size && runs->starts[from + own] <= index;
        const unsigned last = static_cast<unsigned>(__popc(__ballot_sync(ALL_LANES, is_up_to))) - 1;
        from += last * step;
        size = min(step, size - last * step);
    }
    return {from, runs->keys[from], runs->starts[from + 1]};
}

/* That lane's key. All lanes of the warp call it. */
template <typename K>
__device__ __forceinline__ K warp_key_of(K key, int lane)
{
    typedef std::conditional_t<sizeof(K) <= sizeof(unsigned), unsigned, unsigned long long> word;
    return static_cast<K>(__shfl_sync(ALL_LANES, static_cast<word>(key), lane));
}

/* Puts the runs that begin within the row from `first` on where they do, and makes the last one the
 * warp's. */
template <typename K>
__device__ __forceinline__ void warp_put_runs(const struct counting_runs<K> *runs, size_t first,
                                              struct fill_row<K> &row, struct fill_run<K> &run)
{
    K *const keys = row.words[0].keys;
    unsigned put = 0;
    do {
        const unsigned number = run.number + 1 + thread_lane();
        const value_count start = number <= runs->count ? runs->starts[number] : ALL_KEYS;
        const bool is_put = start < first + FILL_ROW<K>;
        const unsigned place = static_cast<unsigned>(start - first);
        if (is_put) {
            run.key = runs->keys[number];
            keys[place] = run.key;
            atomicOr(&row.begins[place / 32], 1u << place % 32);
        }
        put = static_cast<unsigned>(__popc(__ballot_sync(ALL_LANES, is_put)));
        run.number += put;
        if (put > 0)
            run.key = warp_key_of(run.key, static_cast<int>(put - 1));
        run.next = __shfl_sync(ALL_LANES, start, static_cast<int>(put % THREADS_PER_WARP));
    } while (put == THREADS_PER_WARP);
}

/* The lane's word of a row that begins with a key of `run` and has others; then `run` is the last
 * one's. */
template <typename K>
__device__ __forceinline__ union key_word<K> warp_make_word(const struct counting_runs<K> *runs,
                                                            size_t first, struct fill_row<K> &row,
                                                            struct fill_run<K> &run) {
    const K first_key = run.key;
    if (thread_lane() < FILL_ROW<K> / 32)
        row.begins[thread_lane()] = 0;
    __syncwarp();
    warp_put_runs(runs, first, row, run);
    __syncwarp();
    union key_word<K> word = row.words[thread_lane()];
    const unsigned place = thread_lane() * KEYS_OF_WORD<K>;
    const unsigned begins = row.begins[place / 32] >> place % 32 & ((1u << KEYS_OF_WORD<K>)-1);
    const unsigned before = __ballot_sync(ALL_LANES, begins != 0) & ((1u << thread_lane()) - 1);
    K key = first_key;
    if (begins != 0)
        key = row.words[thread_lane()].keys[31 - __clz(static_cast<int>(begins))];
    const K known = warp_key_of(key, 31 - __clz(static_cast<int>(before)));
    key = before ? known : first_key;
#pragma unroll
    for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++) {
        key = begins & 1u << i ? word.keys[i] : key;
        word.keys[i] = key;
    }
    __syncwarp();
    return word;
}

/* runs -> target[0..count). Each warp writes so many rows. */
template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    counting_fill_kernel(const struct counting_runs<K> *__restrict__ runs, K *target, size_t count,
                         unsigned rows_of_warp)
{
    __shared__ struct fill_row<K> rows[FILL_WARPS];
    const unsigned warp = threadIdx.x / THREADS_PER_WARP;
    const size_t own = static_cast<size_t>(rows_of_warp) * FILL_ROW<K>;
    const size_t begin = (static_cast<size_t>(blockIdx.x) * FILL_WARPS + warp) * own;
    const size_t end = min(begin + own, count);
    if (begin >= count || runs->count == 0)
        return;
    struct fill_run<K> run = warp_find_run(runs, begin);
    for (size_t first = begin; first < end; first += FILL_ROW<K>) {
        union key_word<K> word;
        if (run.next < first + FILL_ROW<K>) {
            word = warp_make_word(runs, first, rows[warp], run);
        } else {
#pragma unroll
            for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++)
                word.keys[i] = run.key;
        }
        const size_t index = first + thread_lane() * KEYS_OF_WORD<K>;
        if (index + KEYS_OF_WORD<K> <= end)
            *reinterpret_cast<uint4 *>(target + index) = word.word;
        else
#pragma unroll
            for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++)
                if (index + i < end)
                    target[index + i] = word.keys[i];
    }
}

/* runs -> items, by as many warps as keep the device busy. */
template <typename K>
static bool counting_start_fill(const struct cuda_sort &sort, const struct launch_site &site,
                                const struct counting_runs<K> *runs, struct error *error)
{
    const size_t rows = launch_blocks(sort.count, FILL_ROW<K>);
    const size_t warps = static_cast<size_t>(site.multiprocessors) * COUNTING_FILL_WARPS;
    const size_t rows_of_warp =
        std::clamp<size_t>(launch_blocks(rows, warps), 1, COUNTING_FILL_ROWS);
    return launch_kernel(launch_at(site, "counting_fill_kernel",
                                   launch_blocks(rows, rows_of_warp * FILL_WARPS),
                                   THREADS_PER_BLOCK),
                         error, counting_fill_kernel<K>, runs, static_cast<K *>(sort.items),
                         sort.count, static_cast<unsigned>(rows_of_warp));
}

#endif
