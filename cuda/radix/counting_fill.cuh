/* SPDX-License-Identifier: Apache-2.0 */
/* counting_fill.cuh - the input and output of counting sorts: reads keys in words of 16 bytes, and
 * writes runs of equal keys.
 *
 *   runs: key and start --> items
 *
 * A warp writes a piece of the output row by row. It finds the run of its first key, and then
 * steps from run to run. If a row is within one run, every lane writes the run's key. Otherwise the
 * warp stores the key of each run that begins in the row at the run's start, in shared memory, and
 * sets the bit of that index. A lane begins its word with the key of the last bit set before it,
 * and changes to another key at each bit set in its own word.
 */
#ifndef CUDA_COUNTING_FILL_CUH
#define CUDA_COUNTING_FILL_CUH

#include "cuda/block/block_scan.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/block/thread_key.cuh"
#include "cuda/cuda_sort.h"

#include <algorithm>
#include <stddef.h>
#include <stdint.h>
#include <type_traits>

/* Number of values of a key of 1 or 2 bytes, and maximum number of runs of any key. */
template <typename K>
constexpr unsigned VALUES = 1u << 8 * sizeof(K);
template <typename K>
constexpr unsigned RUNS = RADIX_FEW_MOST;
template <>
inline constexpr unsigned RUNS<uint8_t> = VALUES<uint8_t>;
template <>
inline constexpr unsigned RUNS<uint16_t> = VALUES<uint16_t>;

/* Runs of equal keys, one for each value that occurs, in sort order. */
template <typename K>
struct counting_runs {
    unsigned count;                   /* number of runs; 0: the fill writes nothing */
    atomic_count starts[RUNS<K> + 1]; /* first indices, ascending; starts[count] is ALL_KEYS */
    K keys[RUNS<K>];                  /* in their stored form */
};
constexpr atomic_count ALL_KEYS = ~atomic_count{0};

/* Words that a thread loads together. */
template <typename K>
struct counting_load {
    union key_word<K> words[counting_words(sizeof(K))];
    unsigned counts[counting_words(sizeof(K))]; /* number of keys in each word */
};

/* Reads the thread's word of the block's piece, which begins at index `first`, and its words of the
 * pieces `step`, 2 * `step`, ... keys later. Keys from `count` on are 0; counts[] excludes them. */
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

/* A row: the keys that a warp writes together, one word per lane. */
template <typename K>
constexpr unsigned FILL_ROW = THREADS_PER_WARP * KEYS_OF_WORD<K>;
constexpr unsigned FILL_WARPS = THREADS_PER_BLOCK / THREADS_PER_WARP;
template <typename K>
struct fill_row {
    union key_word<K> words[THREADS_PER_WARP]; /* at the start of a run, its key; else undefined */
    unsigned begins[FILL_ROW<K> / 32];         /* one bit per key: set if a run begins there */
};

/* The current run of a warp. */
template <typename K>
struct fill_run {
    unsigned number; /* index in counting_runs */
    K key;
    atomic_count next; /* start of the next run; ALL_KEYS after the last one */
};

/* Returns the run that contains output index `index`. There must be at least one run. All lanes of
 * the warp call it. */
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

/* Returns the key of `lane`. All lanes of the warp call it. */
template <typename K>
__device__ __forceinline__ K warp_key_of(K key, int lane)
{
    typedef std::conditional_t<sizeof(K) <= sizeof(unsigned), unsigned, unsigned long long> word;
    return static_cast<K>(__shfl_sync(ALL_LANES, static_cast<word>(key), lane));
}

/* Stores the keys of the runs after `run` that begin in the row at index `first`, and sets their
 * bits. `run` becomes the last of them. All lanes of the warp call it. */
template <typename K>
__device__ __forceinline__ void warp_put_runs(const struct counting_runs<K> *runs, size_t first,
                                              struct fill_row<K> &row, struct fill_run<K> &run)
{
    K *const keys = row.words[0].keys;
    unsigned put = 0;
    do {
        const unsigned number = run.number + 1 + thread_lane();
        const atomic_count start = number <= runs->count ? runs->starts[number] : ALL_KEYS;
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

/* Returns the lane's word of the row at index `first`, in which at least one run begins. On entry,
 * `run` is the last run that begins before the row or at its first key; on return, it is the run of
 * the row's last key. All lanes of the warp call it. */
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

/* Writes the runs to target[0..count). Each warp writes `rows_of_warp` rows. */
template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    counting_fill_kernel(const struct counting_runs<K> *runs, K *target, size_t count,
                         unsigned rows_of_warp)
{
    thread_wait_for_dependency();
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

/* Launches the kernel that writes the runs to sort.items. A warp writes up to COUNTING_FILL_ROWS
 * rows. It writes fewer if otherwise a multiprocessor would have less than about
 * COUNTING_FILL_WARPS warps, which keep it busy. */
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
