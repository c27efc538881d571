/* SPDX-License-Identifier: Apache-2.0 */
/* counting_keys.cu - counting sort for keys of 1 and 2 bytes.
 *
 *   items --count--> number of keys of each value --scan--> runs of equal keys: key and start
 *         --fill (counting_fill.cuh)--> items
 *
 * The counters of a block are in shared memory. For 2-byte keys, a word holds two counters of 16
 * bits, and all words take 128 KiB. A counter that reaches 2^15 moves these 2^15 keys, a step, to
 * global memory. If a block has less shared memory, it counts only one half of the values, and the
 * keys are read twice.
 *
 * Keys are counted in their stored form. The scan visits the values in sort order and lists only
 * values that occur, so that the fill handles neither the key order nor absent values.
 */
#include "cuda/block/block_scan.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/block/thread_key.cuh"
#include "cuda/cuda_sort.h"
#include "cuda/radix/counting_fill.cuh"

#include <algorithm>

/* Number of keys of each value, in global memory. The index is the stored form of the key.
 *
 * For 1-byte keys, words[] holds the counts and steps[] is unused. For 2-byte keys, the lower half
 * of words[i] is for value i and the upper half for value i + 2^15; one atomic adds to both. When a
 * block ends, it adds its remaining counters there, each below 2^16. steps[value] counts the steps
 * of 2^15 keys that blocks moved before that. */
template <typename K>
constexpr unsigned COUNT_WORDS = VALUES<K> / sizeof(K);
constexpr unsigned COUNT_STEP_BITS = 15;
template <typename K>
struct value_counts {
    atomic_count words[COUNT_WORDS<K>];
    unsigned steps[sizeof(K) == 1 ? 1 : VALUES<K>];
};

/* Returns the number of keys of `value`, a key in its stored form. */
template <typename K>
__device__ __forceinline__ atomic_count thread_count_of(const struct value_counts<K> &counts,
                                                        unsigned value)
{
    if constexpr (sizeof(K) == 1)
        return counts.words[value];
    const atomic_count word = counts.words[value % COUNT_WORDS<K>];
    return static_cast<unsigned>(value < COUNT_WORDS<K> ? word : word >> 32) +
           (atomic_count{counts.steps[value]} << COUNT_STEP_BITS);
}

/* Workspace: the data that one kernel passes to the next. */
template <typename K>
struct counting_workspace {
    /* Cleared before the first kernel. */
    struct value_counts<K> counts;
    atomic_count states[COUNTING_SCANS]; /* totals of the scan's pieces; 0 until published */
    unsigned next_scan;                  /* number of the next piece */

    struct counting_runs<K> runs; /* not cleared */
};
template <typename K>
constexpr size_t COUNTING_CLEARED_BYTES = offsetof(struct counting_workspace<K>, runs);

/* ---- count ---- */

/* Counters of a block: the layout of value_counts::words, but with words of 32 bits instead of 64.
 * A block has one of PARTS equal parts of the words. */
template <typename K, unsigned PARTS>
constexpr unsigned PART_WORDS = COUNT_WORDS<K> / PARTS;
template <typename K, unsigned PARTS>
struct block_counters {
    unsigned *words;
    unsigned first; /* index in value_counts::words of the block's first word */
};

/* A counter of 16 bits that reaches COUNT_STEP moves these keys to value_counts::steps. A block
 * counts at most COUNT_STEP keys from one barrier to the next. So no counter overflows, and none
 * reaches COUNT_STEP again before it is reduced. */
constexpr unsigned COUNT_STEP = 1u << COUNT_STEP_BITS;
static_assert(COUNTING_THREADS * counting_words(2) * KEYS_OF_WORD<uint16_t> <= COUNT_STEP,
              "a block counts so few keys between barriers");

/* Adds n to the counter of `value`, if the block has that counter. Returns 0, or if the counter
 * reached COUNT_STEP, a value that the caller passes to thread_flush_step. For 1-byte keys, n must
 * be 0 or 1: the device adds 1 for all lanes with the same counter in one step. */
template <typename K, unsigned PARTS>
__device__ __forceinline__ unsigned
thread_count_value(const struct block_counters<K, PARTS> &counters, unsigned value, unsigned n)
{
    const unsigned index = value % COUNT_WORDS<K> - counters.first;
    if constexpr (PARTS > 1)
        if (index >= PART_WORDS<K, PARTS>)
            return 0;
    if constexpr (sizeof(K) == 1) {
        if (n > 0)
            atomicAdd(&counters.words[index], 1u);
        return 0;
    }
    const unsigned added = value < COUNT_WORDS<K> ? n : n << 16;
    const unsigned old = atomicAdd(&counters.words[index], added);
    return ~old & (old + added) & (COUNT_STEP << 16 | COUNT_STEP);
}

/* Moves one step from the block's counter of `value` to the counts. `reached` is the result of
 * thread_count_value; does nothing if that is 0. */
template <typename K, unsigned PARTS>
__device__ __forceinline__ void thread_flush_step(const struct block_counters<K, PARTS> &counters,
                                                  unsigned value, unsigned reached,
                                                  struct value_counts<K> *counts)
{
    if (reached == 0)
        return;
    atomicSub(&counters.words[value % COUNT_WORDS<K> - counters.first], reached);
    atomicAdd(&counts->steps[value], 1u);
}

/* Counts the first `n` keys of the thread's word. Fast if few lanes have equal keys. */
template <typename K, unsigned PARTS>
__device__ __forceinline__ void thread_count_word(const struct block_counters<K, PARTS> &counters,
                                                  const union key_word<K> &word, unsigned n,
                                                  struct value_counts<K> *counts)
{
    unsigned reached[KEYS_OF_WORD<K>], any = 0;
#pragma unroll
    for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++) {
        reached[i] = thread_count_value(counters, word.keys[i], i < n);
        any |= reached[i];
    }
    if (any == 0)
        return;
#pragma unroll
    for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++)
        thread_flush_step(counters, word.keys[i], reached[i], counts);
}

/* Counts the first `n` keys of each lane's word, for 2-byte keys. Fast if many lanes have equal
 * keys, as one lane counts for all of them. All lanes of the warp call it. */
template <typename K, unsigned PARTS>
__device__ __forceinline__ void
warp_count_contended(const struct block_counters<K, PARTS> &counters, const union key_word<K> &word,
                     unsigned n, struct value_counts<K> *counts)
{
    const unsigned first = word.keys[0], leading = __shfl_sync(ALL_LANES, first, 0);
    bool is_one_value = n == KEYS_OF_WORD<K> && first == leading;
#pragma unroll
    for (unsigned i = 1; i < KEYS_OF_WORD<K>; i++)
        is_one_value = is_one_value && word.keys[i] == first;
    if (__all_sync(ALL_LANES, is_one_value)) {
        if (thread_lane() > 0)
            return;
        const unsigned reached =
            thread_count_value(counters, first, THREADS_PER_WARP * KEYS_OF_WORD<K>);
        thread_flush_step(counters, first, reached, counts);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++) {
        const unsigned value = word.keys[i];
        const unsigned peers = __match_any_sync(ALL_LANES, i < n ? value : VALUES<K>);
        if (i >= n || (peers & ((1u << thread_lane()) - 1)) != 0)
            continue;
        const unsigned reached =
            thread_count_value(counters, value, static_cast<unsigned>(__popc(peers)));
        thread_flush_step(counters, value, reached, counts);
    }
}

/* Adds the block's counters to the counts. */
template <typename K, unsigned PARTS>
__device__ __forceinline__ void
block_flush_counters(const struct block_counters<K, PARTS> &counters,
                     struct value_counts<K> *counts)
{
    for (unsigned i = threadIdx.x; i < PART_WORDS<K, PARTS>; i += COUNTING_THREADS) {
        const atomic_count word = counters.words[i];
        if (word > 0)
            atomicAdd(&counts->words[counters.first + i],
                      sizeof(K) == 1 ? word : (word & UINT16_MAX) | word >> 16 << 32);
    }
}

/* Adds the number of keys of each value to `counts`. The grid is any number of groups of PARTS
 * blocks. The blocks of a group read the same keys, and each counts its part of the values. Needs
 * PART_WORDS words of dynamic shared memory. */
template <typename K, unsigned PARTS>
__global__ void __launch_bounds__(COUNTING_THREADS,
                                  blocks_with_room(COUNTING_THREADS, counting_blocks(sizeof(K))))
    counting_count_kernel(const K *__restrict__ source, size_t count,
                          struct value_counts<K> *counts)
{
    constexpr unsigned piece = COUNTING_THREADS * KEYS_OF_WORD<K>;
    const struct block_counters<K, PARTS> counters = {
        reinterpret_cast<unsigned *>(block_dynamic_shared()), blockIdx.x
                                                                  % PARTS *PART_WORDS<K, PARTS>
    };
    const size_t step = static_cast<size_t>(gridDim.x / PARTS) * piece;
    size_t first = static_cast<size_t>(blockIdx.x / PARTS) * piece;
    struct counting_load<K> next = thread_load_words(source, count, first, step);
    for (unsigned i = threadIdx.x; i < PART_WORDS<K, PARTS>; i += COUNTING_THREADS)
        counters.words[i] = 0;
    for (; first < count; first += counting_words(sizeof(K)) * step) {
        const struct counting_load<K> own = next;
        next = thread_load_words(source, count, first + counting_words(sizeof(K)) * step, step);
        __syncthreads();
#pragma unroll
        for (unsigned i = 0; i < counting_words(sizeof(K)); i++) {
            if (!__any_sync(ALL_LANES, own.counts[i] > 0))
                break;
            if (sizeof(K) > 1 && warp_is_contended(own.words[i].keys[0]))
                warp_count_contended(counters, own.words[i], own.counts[i], counts);
            else
                thread_count_word(counters, own.words[i], own.counts[i], counts);
        }
    }
    __syncthreads();
    block_flush_counters(counters, counts);
}

/* ---- scan ---- */

/* Values per piece of the scan, one per thread. A total of a piece holds its number of keys above
 * its number of runs, which takes the low SCAN_RUN_BITS bits. */
template <typename K>
constexpr unsigned SCAN_THREADS = VALUES<K> / (sizeof(K) == 1 ? 1 : COUNTING_SCANS);
constexpr unsigned SCAN_RUN_BITS = 17;
constexpr atomic_count SCAN_IS_KNOWN = atomic_count{1} << 63;

/* Returns the sum of the totals of all pieces before `piece`. Waits until these are published, so
 * their blocks must have started. Begins with a barrier. */
template <typename K>
__device__ __forceinline__ atomic_count block_sum_pieces(const volatile atomic_count *states,
                                                         unsigned piece, atomic_count *warp_sums)
{
    atomic_count state = 0, sum = 0;
    __syncthreads();
    if (threadIdx.x < piece)
        while ((state = states[threadIdx.x]) == 0)
            ;
    (void)block_exclusive_scan<SCAN_THREADS<K>>(state & ~SCAN_IS_KNOWN, warp_sums, &sum);
    return sum;
}

/* Makes the runs from the counts, one block per piece. A block takes its piece number when it
 * starts, so the blocks of all pieces before it have started too. */
template <typename K>
__global__ void __launch_bounds__(SCAN_THREADS<K>)
    counting_scan_kernel(struct counting_workspace<K> *work, struct key_order order)
{
    __shared__ atomic_count warp_sums[THREADS_PER_WARP];
    __shared__ unsigned piece;
    if (threadIdx.x == 0)
        piece = atomicAdd(&work->next_scan, 1u);
    __syncthreads();
    const unsigned value = piece * SCAN_THREADS<K> + threadIdx.x;
    const K key = thread_decode_key(order, static_cast<K>(value));
    const atomic_count count = thread_count_of(work->counts, key);
    atomic_count total = 0;
    atomic_count before = block_exclusive_scan<SCAN_THREADS<K>>(
        count << SCAN_RUN_BITS | (count > 0), warp_sums, &total);
    if (threadIdx.x == 0)
        *static_cast<volatile atomic_count *>(&work->states[piece]) = total | SCAN_IS_KNOWN;
    const atomic_count pieces = block_sum_pieces<K>(work->states, piece, warp_sums);
    before += pieces;
    const unsigned run = static_cast<unsigned>(before & ((1u << SCAN_RUN_BITS) - 1));
    if (count > 0) {
        work->runs.starts[run] = before >> SCAN_RUN_BITS;
        work->runs.keys[run] = key;
    }
    if (value == VALUES<K> - 1) {
        work->runs.count = run + (count > 0);
        work->runs.starts[run + (count > 0)] = ALL_KEYS;
    }
}

/* ---- the path ---- */

/* Launches the count kernel. The blocks of each part fill the device once, or are fewer if the keys
 * are few. */
template <typename K, unsigned PARTS>
static bool counting_start_count(const struct cuda_sort &sort, const struct launch_site &site,
                                 struct value_counts<K> *counts, struct error *error)
{
    const size_t useful = launch_blocks(sort.count, COUNTING_THREADS * KEYS_OF_WORD<K>);
    const size_t blocks = launch_wave(site, counting_blocks(sizeof(K)), useful);
    const struct launch count =
        launch_at(site, "counting_count_kernel", blocks * PARTS, COUNTING_THREADS,
                  PART_WORDS<K, PARTS> * sizeof(unsigned));
    return launch_kernel(count, error, counting_count_kernel<K, PARTS>,
                         static_cast<const K *>(sort.items), sort.count, counts);
}

/* Launches all kernels of the sort. A block uses at most `shared_most` bytes of shared memory. */
template <typename K>
static bool counting_start(const struct cuda_sort &sort, size_t shared_most, struct error *error)
{
    struct counting_workspace<K> *const work =
        static_cast<struct counting_workspace<K> *>(sort.workspace);
    struct launch_site site;
    int shared_bytes = 0;
    if (!launch_site_find(sort.device, sort.stream, &site, error) ||
        !cuda_attribute(sort.device, cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared_bytes,
                        error) ||
        !cuda_fill(sort, work, 0, COUNTING_CLEARED_BYTES<K>, error))
        return false;
    const struct launch scan =
        launch_at(site, "counting_scan_kernel", VALUES<K> / SCAN_THREADS<K>, SCAN_THREADS<K>);
    const bool fits = COUNT_WORDS<K> * sizeof(unsigned) <=
                      std::min(shared_most, static_cast<size_t>(shared_bytes));
    return (fits ? counting_start_count<K, 1>(sort, site, &work->counts, error)
                 : counting_start_count<K, sizeof(K)>(sort, site, &work->counts, error)) &&
           launch_kernel(scan, error, counting_scan_kernel<K>, work, sort.order) &&
           counting_start_fill<K>(sort, site, &work->runs, error);
}

bool counting_sort(const struct cuda_sort *sort, size_t shared_most, struct error *error)
{
    if (sort->item_bytes == 1)
        return counting_start<uint8_t>(*sort, shared_most, error);
    if (sort->item_bytes == 2)
        return counting_start<uint16_t>(*sort, shared_most, error);
    return error_set(error, "device %u: items of %u bytes are not sorted by counting", sort->device,
                     sort->item_bytes);
}

size_t counting_workspace_bytes(unsigned item_bytes)
{
    return item_bytes == 1 ? sizeof(struct counting_workspace<uint8_t>)
                           : sizeof(struct counting_workspace<uint16_t>);
}
