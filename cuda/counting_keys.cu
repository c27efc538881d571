/* counting_keys.cu - keys of 1 and 2 bytes are sorted by counting how often each value occurs.
 *
 *   items --count--> counts of all values --scan--> runs: a key, and where it starts --fill-->
 * items
 *
 * The counters of a block lie in shared memory. Of 2-byte keys two share a word, 128 KiB in all,
 * and what a counter of 16 bits has no room for goes to the counts in steps; where a block has less
 * memory it counts one half of the values, and the keys are read twice. Keys are counted as they
 * are stored: it is the scan that goes by their order, and lists the values that do occur. So to
 * fill, a warp finds the run that its piece of the output begins with, and goes from run to run: a
 * value that is there once costs as much as one that is there a million times, and one that is not
 * there nothing.
 */
#include "cuda/block_scan.cuh"
#include "cuda/cuda_sort.h"
#include "cuda/dynamic_shared.cuh"
#include "cuda/launch.cuh"
#include "cuda/thread_key.cuh"
#include "cuda/warp_count.cuh"

#include <algorithm>

typedef unsigned long long value_count;

template <typename K>
constexpr unsigned VALUES = 1u << 8 * sizeof(K);

/* What the kernels leave to each other. */
template <typename K>
struct counting_workspace {
    /* Cleared before the first one. */
    value_count counts[VALUES<K>];      /* of a value as it is stored */
    value_count states[COUNTING_SCANS]; /* of the scan's pieces: what they have, once it is known */
    unsigned next_scan;                 /* numbers given to these */

    unsigned run_count;
    value_count run_starts[VALUES<K> + 1]; /* ascending; behind the last one, ALL_KEYS */
    K run_keys[VALUES<K>];
};
template <typename K>
constexpr size_t COUNTING_CLEARED_BYTES = offsetof(struct counting_workspace<K>, run_count);
constexpr value_count ALL_KEYS = ~value_count{0};

/* What a thread reads or writes at a time. */
template <typename K>
constexpr unsigned KEYS_OF_WORD = sizeof(uint4) / sizeof(K);
template <typename K>
union key_word {
    uint4 word;
    K keys[KEYS_OF_WORD<K>];
};

/* ---- count ---- */

/* Words of counters: word i has the counter of value i, and for 2 bytes in its upper half that of i
 * + 2^15. A block has all of them, or one of PARTS equal parts. */
template <typename K>
constexpr unsigned COUNTER_WORDS = VALUES<K> / sizeof(K);
template <typename K, unsigned PARTS>
constexpr unsigned PART_WORDS = COUNTER_WORDS<K> / PARTS;
template <typename K, unsigned PARTS>
struct block_counters {
    unsigned *words;
    unsigned first; /* of all words */
};

/* A counter of 16 bits that gets so far gives so much to the counts. A barrier comes before as much
 * again is counted, so that none overflows, and none gets so far twice. */
constexpr unsigned COUNTER_STEP = 1u << 15;
static_assert(COUNTING_THREADS * COUNTING_WORDS * KEYS_OF_WORD<uint16_t> <= COUNTER_STEP,
              "a block counts so few keys between barriers");

/* Adds n to the counter of the value, if it is one of the block's. What it returns is for
 * thread_give_step, once that is not 0. */
template <typename K, unsigned PARTS>
__device__ __forceinline__ unsigned
thread_count_value(const struct block_counters<K, PARTS> &counters, unsigned value, unsigned n)
{
    const unsigned index = value % COUNTER_WORDS<K> - counters.first;
    if constexpr (PARTS > 1)
        if (index >= PART_WORDS<K, PARTS>)
            return 0;
    if constexpr (sizeof(K) == 1) {
        atomicAdd(&counters.words[index], n);
        return 0;
    }
    const unsigned added = value < COUNTER_WORDS<K> ? n : n << 16;
    const unsigned old = atomicAdd(&counters.words[index], added);
    return ~old & (old + added) & (COUNTER_STEP << 16 | COUNTER_STEP);
}

template <typename K, unsigned PARTS>
__device__ __forceinline__ void thread_give_step(const struct block_counters<K, PARTS> &counters,
                                                 unsigned value, unsigned reached,
                                                 value_count *counts)
{
    if (reached == 0)
        return;
    atomicSub(&counters.words[value % COUNTER_WORDS<K> - counters.first], reached);
    atomicAdd(&counts[value], value_count{COUNTER_STEP});
}

/* Counts the word's first `n` keys, few of which other lanes have too. */
template <typename K, unsigned PARTS>
__device__ __forceinline__ void thread_count_word(const struct block_counters<K, PARTS> &counters,
                                                  const union key_word<K> &word, unsigned n,
                                                  value_count *counts)
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
        thread_give_step(counters, word.keys[i], reached[i], counts);
}

/* The same where many lanes have the same keys: one of them counts for all. */
template <typename K, unsigned PARTS>
__device__ __forceinline__ void warp_count_crowd(const struct block_counters<K, PARTS> &counters,
                                                 const union key_word<K> &word, unsigned n,
                                                 value_count *counts)
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
        thread_give_step(counters, first, reached, counts);
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
        thread_give_step(counters, value, reached, counts);
    }
}

/* What a thread has on its way: words, and how many keys each has. */
template <typename K>
struct thread_words {
    union key_word<K> words[COUNTING_WORDS];
    unsigned counts[COUNTING_WORDS];
};

/* Reads the thread's word of the block's share at `first` on, and of others `step` keys behind. */
template <typename K>
__device__ __forceinline__ struct thread_words<K> thread_load_words(const K *source, size_t count,
                                                                    size_t first, size_t step) {
    struct thread_words<K> own;
#pragma unroll
    for (unsigned row = 0; row < COUNTING_WORDS; row++) {
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

/* Adds what the block has counted. */
template <typename K, unsigned PARTS>
__device__ __forceinline__ void block_give_counts(const struct block_counters<K, PARTS> &counters,
                                                  value_count *counts)
{
    for (unsigned i = threadIdx.x; i < PART_WORDS<K, PARTS>; i += COUNTING_THREADS) {
        const unsigned word = counters.words[i];
        const unsigned low = sizeof(K) == 1 ? word : word & UINT16_MAX;
        const unsigned high = sizeof(K) == 1 ? 0 : word >> 16;
        value_count *const own = counts + counters.first + i;
        if (low > 0)
            atomicAdd(own, value_count{low});
        if (high > 0)
            atomicAdd(own + COUNTER_WORDS<K>, value_count{high});
    }
}

/* counts[value] += the keys that have it. PARTS blocks read the same keys. */
template <typename K, unsigned PARTS>
__global__ void __launch_bounds__(COUNTING_THREADS, counting_blocks(sizeof(K)))
    counting_count_kernel(const K *__restrict__ source, size_t count, value_count *counts)
{
    constexpr unsigned piece = COUNTING_THREADS * KEYS_OF_WORD<K>;
    const struct block_counters<K, PARTS> counters = {
        reinterpret_cast<unsigned *>(block_dynamic_shared()), blockIdx.x
                                                                  % PARTS *PART_WORDS<K, PARTS>
    };
    const size_t step = static_cast<size_t>(gridDim.x / PARTS) * piece;
    size_t first = static_cast<size_t>(blockIdx.x / PARTS) * piece;
    struct thread_words<K> next = thread_load_words(source, count, first, step);
    for (unsigned i = threadIdx.x; i < PART_WORDS<K, PARTS>; i += COUNTING_THREADS)
        counters.words[i] = 0;
    for (; first < count; first += COUNTING_WORDS * step) {
        const struct thread_words<K> own = next;
        next = thread_load_words(source, count, first + COUNTING_WORDS * step, step);
        __syncthreads();
#pragma unroll
        for (unsigned i = 0; i < COUNTING_WORDS; i++) {
            if (!__any_sync(ALL_LANES, own.counts[i] > 0))
                break;
            if (warp_is_crowded(own.words[i].keys[0]))
                warp_count_crowd(counters, own.words[i], own.counts[i], counts);
            else
                thread_count_word(counters, own.words[i], own.counts[i], counts);
        }
    }
    __syncthreads();
    block_give_counts(counters, counts);
}

/* ---- scan ---- */

/* A piece has a value for each thread. What it has: its keys, and below these its runs. */
template <typename K>
constexpr unsigned SCAN_THREADS = VALUES<K> / (sizeof(K) == 1 ? 1 : COUNTING_SCANS);
constexpr unsigned SCAN_RUN_BITS = 17;
constexpr value_count SCAN_IS_KNOWN = value_count{1} << 63;

/* What the pieces before this one have, which are done or on their way. Begins and ends with a
 * barrier. */
template <typename K>
__device__ __forceinline__ value_count block_sum_pieces(const volatile value_count *states,
                                                        unsigned piece, value_count *warp_sums)
{
    value_count state = 0, sum = 0;
    __syncthreads();
    if (threadIdx.x < piece)
        while ((state = states[threadIdx.x]) == 0)
            ;
    (void)block_exclusive_scan<SCAN_THREADS<K>>(state & ~SCAN_IS_KNOWN, warp_sums, &sum);
    return sum;
}

/* counts -> runs. */
template <typename K>
__global__ void __launch_bounds__(SCAN_THREADS<K>)
    counting_scan_kernel(struct counting_workspace<K> *work, struct key_order order)
{
    __shared__ value_count warp_sums[THREADS_PER_WARP];
    __shared__ unsigned piece;
    if (threadIdx.x == 0)
        piece = atomicAdd(&work->next_scan, 1u);
    __syncthreads();
    const unsigned value = piece * SCAN_THREADS<K> + threadIdx.x;
    const K key = thread_decode_key(order, static_cast<K>(value));
    const value_count count = work->counts[key];
    value_count total = 0;
    value_count before = block_exclusive_scan<SCAN_THREADS<K>>(count << SCAN_RUN_BITS | (count > 0),
                                                               warp_sums, &total);
    if (threadIdx.x == 0)
        *static_cast<volatile value_count *>(&work->states[piece]) = total | SCAN_IS_KNOWN;
    const value_count pieces = block_sum_pieces<K>(work->states, piece, warp_sums);
    before += pieces;
    const unsigned run = static_cast<unsigned>(before & ((1u << SCAN_RUN_BITS) - 1));
    if (count > 0) {
        work->run_starts[run] = before >> SCAN_RUN_BITS;
        work->run_keys[run] = key;
    }
    if (value == VALUES<K> - 1) {
        work->run_count = run + (count > 0);
        work->run_starts[run + (count > 0)] = ALL_KEYS;
    }
}

/* ---- fill ---- */

/* What a warp writes at a time: a word a lane. */
template <typename K>
constexpr unsigned FILL_ROW = THREADS_PER_WARP *KEYS_OF_WORD<K>;
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
__device__ __forceinline__ struct fill_run<K>
warp_find_run(const struct counting_workspace<K> *work, size_t index) {
    unsigned from = 0, size = work->run_count;
    while (size > 1) {
        const unsigned step = (size + THREADS_PER_WARP - 1) / THREADS_PER_WARP;
        const unsigned own = thread_lane() * step;
        const bool is_up_to = own < size && work->run_starts[from + own] <= index;
        const unsigned last = static_cast<unsigned>(__popc(__ballot_sync(ALL_LANES, is_up_to))) - 1;
        from += last * step;
        size = min(step, size - last * step);
    }
    return {from, work->run_keys[from], work->run_starts[from + 1]};
}

/* Puts the runs that begin within the row from `first` on where they do, and makes the last one the
 * warp's. */
template <typename K>
__device__ __forceinline__ void warp_put_runs(const struct counting_workspace<K> *work,
                                              size_t first, struct fill_row<K> &row,
                                              struct fill_run<K> &run)
{
    K *const keys = row.words[0].keys;
    unsigned put = 0;
    do {
        const unsigned number = run.number + 1 + thread_lane();
        const value_count start = number <= work->run_count ? work->run_starts[number] : ALL_KEYS;
        const bool is_put = start < first + FILL_ROW<K>;
        const unsigned place = static_cast<unsigned>(start - first);
        if (is_put) {
            run.key = work->run_keys[number];
            keys[place] = run.key;
            atomicOr(&row.begins[place / 32], 1u << place % 32);
        }
        put = static_cast<unsigned>(__popc(__ballot_sync(ALL_LANES, is_put)));
        run.number += put;
        if (put > 0)
            run.key = static_cast<K>(
                __shfl_sync(ALL_LANES, static_cast<unsigned>(run.key), static_cast<int>(put - 1)));
        run.next = __shfl_sync(ALL_LANES, start, static_cast<int>(put % THREADS_PER_WARP));
    } while (put == THREADS_PER_WARP);
}

/* The lane's word of a row that begins with a key of `run` and has others; then `run` is the last
 * one's. */
template <typename K>
__device__ __forceinline__ union key_word<K>
warp_make_word(const struct counting_workspace<K> *work, size_t first, struct fill_row<K> &row,
               struct fill_run<K> &run) {
    const K first_key = run.key;
    if (thread_lane() < FILL_ROW<K> / 32)
        row.begins[thread_lane()] = 0;
    __syncwarp();
    warp_put_runs(work, first, row, run);
    __syncwarp();
    union key_word<K> word = row.words[thread_lane()];
    const unsigned place = thread_lane() * KEYS_OF_WORD<K>;
    const unsigned begins = row.begins[place / 32] >> place % 32 & ((1u << KEYS_OF_WORD<K>)-1);
    const unsigned before = __ballot_sync(ALL_LANES, begins != 0) & ((1u << thread_lane()) - 1);
    K key = first_key;
    if (begins != 0)
        key = row.words[thread_lane()].keys[31 - __clz(static_cast<int>(begins))];
    const unsigned known =
        __shfl_sync(ALL_LANES, static_cast<unsigned>(key), 31 - __clz(static_cast<int>(before)));
    key = before ? static_cast<K>(known) : first_key;
#pragma unroll
    for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++) {
        key = begins & 1u << i ? word.keys[i] : key;
        word.keys[i] = key;
    }
    __syncwarp();
    return word;
}

/* Each warp writes so many rows. */
template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    counting_fill_kernel(const struct counting_workspace<K> *__restrict__ work, K *target,
                         size_t count, unsigned rows_of_warp)
{
    __shared__ struct fill_row<K> rows[FILL_WARPS];
    const unsigned warp = threadIdx.x / THREADS_PER_WARP;
    const size_t own = static_cast<size_t>(rows_of_warp) * FILL_ROW<K>;
    const size_t begin = (static_cast<size_t>(blockIdx.x) * FILL_WARPS + warp) * own;
    const size_t end = min(begin + own, count);
    if (begin >= count)
        return;
    struct fill_run<K> run = warp_find_run(work, begin);
    for (size_t first = begin; first < end; first += FILL_ROW<K>) {
        union key_word<K> word;
        if (run.next < first + FILL_ROW<K>) {
            word = warp_make_word(work, first, rows[warp], run);
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

/* ---- the path ---- */

static bool counting_ask(const struct cuda_sort &sort, cudaDeviceAttr attribute, size_t *answer,
                         struct error *error)
{
    int value = 0;
    if (!cuda_check(cudaDeviceGetAttribute(&value, attribute, static_cast<int>(sort.device)),
                    sort.device, "cudaDeviceGetAttribute", error))
        return false;
    *answer = static_cast<size_t>(value);
    return true;
}

/* Counts with `blocks` blocks, or fewer if the work is less, of each part. */
template <typename K, unsigned PARTS>
static bool counting_start_count(const struct cuda_sort &sort, size_t blocks, value_count *counts,
                                 struct error *error)
{
    const size_t useful = launch_blocks(sort.count, COUNTING_THREADS * KEYS_OF_WORD<K>);
    const struct launch count = {"counting_count_kernel",
                                 std::min(blocks, useful) * PARTS,
                                 COUNTING_THREADS,
                                 sort.device,
                                 sort.stream,
                                 PART_WORDS<K, PARTS> * sizeof(unsigned)};
    return launch_kernel(count, error, counting_count_kernel<K, PARTS>,
                         static_cast<const K *>(sort.items), sort.count, counts);
}

template <typename K>
static bool counting_start(const struct cuda_sort &sort, size_t shared_most, struct error *error)
{
    struct counting_workspace<K> *const work =
        static_cast<struct counting_workspace<K> *>(sort.workspace);
    size_t multiprocessors = 0, shared_bytes = 0;
    if (!counting_ask(sort, cudaDevAttrMultiProcessorCount, &multiprocessors, error) ||
        !counting_ask(sort, cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared_bytes, error) ||
        !cuda_check(cudaMemsetAsync(work, 0, COUNTING_CLEARED_BYTES<K>, sort.stream), sort.device,
                    "cudaMemsetAsync", error))
        return false;
    const size_t rows = launch_blocks(sort.count, FILL_ROW<K>);
    const size_t rows_of_warp = std::min<size_t>(
        launch_blocks(rows, multiprocessors * COUNTING_FILL_WARPS), COUNTING_FILL_ROWS);
    const struct launch scan = {"counting_scan_kernel", VALUES<K> / SCAN_THREADS<K>,
                                SCAN_THREADS<K>, sort.device, sort.stream};
    const struct launch fill = {"counting_fill_kernel",
                                launch_blocks(rows, rows_of_warp * FILL_WARPS), THREADS_PER_BLOCK,
                                sort.device, sort.stream};
    const size_t blocks = multiprocessors * counting_blocks(sizeof(K));
    shared_most = std::min(shared_most, shared_bytes);
    return (COUNTER_WORDS<K> * sizeof(unsigned) <= shared_most
                ? counting_start_count<K, 1>(sort, blocks, work->counts, error)
                : counting_start_count<K, 2>(sort, blocks, work->counts, error)) &&
           launch_kernel(scan, error, counting_scan_kernel<K>, work, sort.order) &&
           launch_kernel(fill, error, counting_fill_kernel<K>,
                         static_cast<const struct counting_workspace<K> *>(work),
                         static_cast<K *>(sort.items), sort.count,
                         static_cast<unsigned>(rows_of_warp));
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

size_t counting_workspace_bytes(size_t, size_t, unsigned item_bytes)
{
    return item_bytes == 1 ? sizeof(struct counting_workspace<uint8_t>)
                           : sizeof(struct counting_workspace<uint16_t>);
}
