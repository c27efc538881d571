/* SPDX-License-Identifier: Apache-2.0 */
/* radix_few.cuh - counts keys of 4 and 8 bytes that have few values, and writes their runs, as
 * counting_keys.cu does for keys of 1 and 2 bytes.
 *
 *   items --radix_few_count_kernel, a table in each block--> table of all: a value, how often
 *         --radix_few_runs_kernel--> runs: a key, and where it starts
 *         --counting_fill.cuh--> items
 *
 * The tables are hash tables with linear probing, which accept values as they occur. If a table is
 * full, there are more values than the sample showed. No key has been moved by then, and another
 * strategy sorts the keys.
 */
#ifndef CUDA_RADIX_FEW_CUH
#define CUDA_RADIX_FEW_CUH

#include "cuda/block/launch.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/block/thread_key.cuh"
#include "cuda/radix/counting_fill.cuh"

/* ---- a table ---- */

/* The type of atomic operations on keys. */
template <typename K>
using few_word = std::conditional_t<sizeof(K) == sizeof(unsigned), unsigned, unsigned long long>;

/* Marks an empty slot. So a key with this value gets no slot, as if the table were full. All its
 * bytes are equal, so that memset can write it, and it is unlikely in real data. */
constexpr int FEW_NONE_BYTE = 0x5b;
template <typename K>
constexpr K FEW_NONE = static_cast<K>(0x5b5b5b5b5b5b5b5bu);

/* Returns the first slot to probe for a key. */
template <typename K>
__device__ __forceinline__ unsigned thread_few_slot(K key)
{
    uint32_t bits = static_cast<uint32_t>(key);
    if constexpr (sizeof(K) == sizeof(uint64_t))
        bits ^= static_cast<uint32_t>(key >> 32) * 0x85ebca6bu;
    return bits * 0x9e3779b1u / (UINT32_MAX / RADIX_FEW_SLOTS + 1);
}

/* Returns the slot of the key, and claims one if it has none. Returns RADIX_FEW_SLOTS if it has
 * none and the table has RADIX_FEW_MOST values, if RADIX_FEW_PROBES slots are occupied by others,
 * or if the key is FEW_NONE. `values`: the number of values so far. Any threads at once. */
template <typename K>
__device__ __forceinline__ unsigned thread_claim_slot(K *keys, unsigned *values, K key)
{
    unsigned slot = thread_few_slot(key);
    for (unsigned probe = 0; probe < RADIX_FEW_PROBES && key != FEW_NONE<K>; probe++) {
        K seen = *static_cast<const volatile K *>(keys + slot);
        if (seen == FEW_NONE<K>) {
            seen = static_cast<K>(atomicCAS(reinterpret_cast<few_word<K> *>(keys + slot),
                                            few_word<K>{FEW_NONE<K>}, few_word<K>{key}));
            if (seen == FEW_NONE<K>)
                return atomicAdd(values, 1u) < RADIX_FEW_MOST ? slot : RADIX_FEW_SLOTS;
        }
        if (seen == key)
            return slot;
        slot = (slot + 1) % RADIX_FEW_SLOTS;
    }
    return RADIX_FEW_SLOTS;
}

/* The table of a block, in shared memory. */
template <typename K>
struct few_table {
    K keys[RADIX_FEW_SLOTS];
    unsigned counts[RADIX_FEW_SLOTS];
    unsigned values;
};

/* ---- count ---- */

/* The table of all keys, in global memory, and the runs that are made of it. */
template <typename K>
struct few_counted {
    K keys[RADIX_FEW_SLOTS]; /* FEW_NONE_BYTE in the beginning, all that follows cleared */
    atomic_count counts[RADIX_FEW_SLOTS];
    unsigned values;
    unsigned is_full;
    struct counting_runs<K> runs;
};

/* Counts the first `n` keys of a thread's word: first all keys that are in the first slot to probe,
 * which are most, then the others. Sets *is_full if one finds no slot. */
template <typename K>
__device__ __forceinline__ void thread_count_few(struct few_table<K> &table,
                                                 const union key_word<K> &word, unsigned n,
                                                 unsigned *is_full)
{
    unsigned missed = 0;
#pragma unroll
    for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++) {
        const K key = word.keys[i];
        const unsigned slot = thread_few_slot(key);
        const K seen = *static_cast<const volatile K *>(table.keys + slot);
        if (i < n && seen == key && key != FEW_NONE<K>)
            atomicAdd(&table.counts[slot], 1u);
        else
            missed |= i < n ? 1u << i : 0;
    }
#pragma unroll
    for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++) {
        if (!(missed >> i & 1))
            continue;
        const unsigned slot = thread_claim_slot(table.keys, &table.values, word.keys[i]);
        if (slot < RADIX_FEW_SLOTS)
            atomicAdd(&table.counts[slot], 1u);
        else
            *is_full = 1;
    }
}

/* Adds the block's counts to the table of all keys. */
template <typename K>
__device__ __forceinline__ void block_flush_few(const struct few_table<K> &table,
                                                struct few_counted<K> *values)
{
    for (unsigned i = threadIdx.x; i < RADIX_FEW_SLOTS; i += RADIX_FEW_THREADS) {
        if (table.counts[i] == 0)
            continue;
        const unsigned slot = thread_claim_slot(values->keys, &values->values, table.keys[i]);
        if (slot < RADIX_FEW_SLOTS)
            atomicAdd(&values->counts[slot], atomic_count{table.counts[i]});
        else
            values->is_full = 1;
    }
}

/* Counts the keys in *values, until a table is full. Any number of blocks, each of which gets fewer
 * than 2^32 keys; a struct few_table of dynamic shared memory. */
template <typename K>
__global__ void __launch_bounds__(RADIX_FEW_THREADS,
                                  blocks_with_room(RADIX_FEW_THREADS, RADIX_FEW_BLOCKS))
    radix_few_count_kernel(const K *source, size_t count, struct few_counted<K> *values)
{
    thread_wait_for_dependency();
    typedef struct few_table<K> table_type;
    constexpr unsigned piece = RADIX_FEW_THREADS * KEYS_OF_WORD<K>,
                       words = counting_words(sizeof(K));
    table_type &table = *reinterpret_cast<table_type *>(block_dynamic_shared());
    const size_t step = static_cast<size_t>(gridDim.x) * piece;
    for (unsigned slot = threadIdx.x; slot < RADIX_FEW_SLOTS; slot += RADIX_FEW_THREADS) {
        table.keys[slot] = FEW_NONE<K>;
        table.counts[slot] = 0;
    }
    if (threadIdx.x == 0)
        table.values = 0;
    __syncthreads();
    for (size_t first = static_cast<size_t>(blockIdx.x) * piece; first < count;
         first += words * step) {
        const unsigned is_full = *static_cast<const volatile unsigned *>(&values->is_full);
        const struct counting_load<K> own = thread_load_words(source, count, first, step);
        if (is_full != 0)
            break;
#pragma unroll
        for (unsigned i = 0; i < words; i++)
            thread_count_few(table, own.words[i], own.counts[i], &values->is_full);
    }
    __syncthreads();
    block_flush_few(table, values);
}

/* ---- runs ---- */

/* Values as ordered bits, with their counts, in any order. */
template <typename K>
struct few_list {
    K keys[RADIX_FEW_MOST];
    atomic_count counts[RADIX_FEW_MOST];
    unsigned count;
};

/* Ends with a barrier. */
template <typename K>
__device__ __forceinline__ void block_list_few(const struct few_counted<K> *values,
                                               const struct key_order &order,
                                               struct few_list<K> &list)
{
    if (threadIdx.x == 0)
        list.count = 0;
    __syncthreads();
    for (unsigned slot = threadIdx.x; slot < RADIX_FEW_SLOTS; slot += RADIX_FEW_RUN_THREADS) {
        const atomic_count count = values->counts[slot];
        if (count == 0)
            continue;
        K keys[1] = {values->keys[slot]};
        thread_encode_keys(order, keys);
        const unsigned place = atomicAdd(&list.count, 1u);
        list.keys[place] = keys[0];
        list.counts[place] = count;
    }
    __syncthreads();
}

/* values -> their runs. If the table was full, there are no runs, and status->is_refused is set. A
 * thread for each slot, which compares its value with all others; a struct few_list of dynamic
 * shared memory. */
template <typename K>
__global__ void __launch_bounds__(RADIX_FEW_RUN_THREADS)
    radix_few_runs_kernel(struct few_counted<K> *values, struct key_order order,
                          struct sort_status *status)
{
    thread_wait_for_dependency();
    struct few_list<K> &list = *reinterpret_cast<struct few_list<K> *>(block_dynamic_shared());
    struct counting_runs<K> &runs = values->runs;
    const unsigned slot = blockIdx.x * RADIX_FEW_RUN_THREADS + threadIdx.x;
    if (values->is_full != 0) { /* runs.count is 0 */
        if (slot == 0)
            status->is_refused = true;
        return;
    }
    block_list_few(values, order, list);
    if (slot == 0) {
        runs.count = list.count;
        runs.starts[list.count] = ALL_KEYS;
    }
    if (values->counts[slot] == 0)
        return;
    K keys[1] = {values->keys[slot]};
    thread_encode_keys(order, keys);
    unsigned run = 0;
    atomic_count start = 0;
    for (unsigned i = 0; i < list.count; i++) {
        const bool is_before = list.keys[i] < keys[0];
        run += is_before ? 1 : 0;
        start += is_before ? list.counts[i] : 0;
    }
    runs.starts[run] = start;
    runs.keys[run] = values->keys[slot];
}

/* Starts to sort keys of up to RADIX_FEW_MOST values. If there are more values, or too many of them
 * collide in a table, no key is moved, and the kernels set sort.status->is_refused. */
template <typename K>
static bool radix_few_sort(const struct cuda_sort &sort, const struct launch_site &site,
                           struct few_counted<K> *values, struct error *error)
{
    constexpr size_t keys_bytes = sizeof values->keys;
    if (!cuda_fill(sort, values, FEW_NONE_BYTE, keys_bytes, error) ||
        !cuda_fill(sort, values->counts, 0, sizeof *values - keys_bytes, error))
        return false;
    const size_t pieces = launch_blocks(sort.count, RADIX_FEW_THREADS * KEYS_OF_WORD<K>);
    return launch_kernel(launch_at(site, "radix_few_count_kernel",
                                   launch_wave(site, RADIX_FEW_BLOCKS, pieces), RADIX_FEW_THREADS,
                                   sizeof(struct few_table<K>)),
                         error, radix_few_count_kernel<K>, static_cast<const K *>(sort.items),
                         sort.count, values) &&
           launch_kernel(launch_at(site, "radix_few_runs_kernel",
                                   RADIX_FEW_SLOTS / RADIX_FEW_RUN_THREADS, RADIX_FEW_RUN_THREADS,
                                   sizeof(struct few_list<K>)),
                         error, radix_few_runs_kernel<K>, values, sort.order, sort.status) &&
           counting_start_fill<K>(sort, site, &values->runs, error);
}

#endif
