/* SPDX-License-Identifier: Apache-2.0 */
/* top_select.cuh - the kernels of a selection: sample, rank by digits, filter, fill.
 *
 * All kernels read keys in the same way. A thread holds up to 64 bytes of keys in registers, as
 * ordered bits. It loads 16 bytes at a time, and neighbouring threads load neighbouring words. A
 * block handles one tile after another.
 */
#ifndef CUDA_TOP_SELECT_CUH
#define CUDA_TOP_SELECT_CUH

#include "cuda/block/block_scan.cuh"
#include "cuda/block/thread_key.cuh"

constexpr unsigned TOP_WARPS = TOP_THREADS / THREADS_PER_WARP;
constexpr unsigned TOP_VALUES = 1u << TOP_DIGIT_BITS;

/* A counter on the device. */
typedef unsigned long long top_count;

/* Counts of a filter, including items that did not fit. */
struct top_totals {
    top_count below; /* items below the bound */
    top_count equal; /* items equal to the bound */
};

/* A search for the key of a given rank: one digit per kernel, the highest digit first. All 0 at the
 * start. */
template <typename K>
struct top_search {
    K key;          /* the digits found, 0 below them; after the last kernel, the key */
    top_count rank; /* rank of the key among the keys that share these digits */
    top_count counts[TOP_VALUES]; /* of the next digit's values; all 0 between kernels */
    unsigned blocks_done;
};

struct top_digit {
    unsigned shift, bits;
    bool is_first; /* `rank` below is the rank among all keys, to start with */
    size_t rank;
};

/* ---- keys in registers ---- */

template <typename K>
constexpr unsigned TOP_WORD_KEYS = sizeof(uint4) / sizeof(K);
/* An unsigned has a bit for each of a thread's keys. */
template <typename K>
constexpr unsigned TOP_WORDS =
    TOP_WORD_KEYS<K> *TOP_THREAD_WORDS <= 32 ? TOP_THREAD_WORDS : 32 / TOP_WORD_KEYS<K>;
template <typename K>
constexpr unsigned TOP_KEYS = TOP_WORDS<K> *TOP_WORD_KEYS<K>;
template <typename K>
constexpr size_t TOP_TILE = (size_t)TOP_THREADS *TOP_KEYS<K>;

template <typename K>
union top_word {
    uint4 word;
    K keys[TOP_WORD_KEYS<K>];
};

/* Returns the index of the thread's key i in a tile. */
template <typename K>
__device__ __forceinline__ size_t thread_key_index(unsigned i)
{
    const unsigned word = i / TOP_WORD_KEYS<K> * TOP_THREADS + threadIdx.x;
    return static_cast<size_t>(word) * TOP_WORD_KEYS<K> + i % TOP_WORD_KEYS<K>;
}

/* Loads the thread's keys of the tile that starts at `first`, encoded. Returns a bit for each key
 * that exists. */
template <typename K>
__device__ __forceinline__ unsigned thread_load_keys(const K *__restrict__ source, size_t count,
                                                     size_t first, const struct key_order &encoding,
                                                     K (&keys)[TOP_KEYS<K>])
{
    unsigned present = ~0u >> (32 - TOP_KEYS<K>);
    if (count - first >= TOP_TILE<K>) {
#pragma unroll
        for (unsigned i = 0; i < TOP_KEYS<K>; i += TOP_WORD_KEYS<K>) {
            union top_word<K> word;
            word.word = *reinterpret_cast<const uint4 *>(source + first + thread_key_index<K>(i));
#pragma unroll
            for (unsigned j = 0; j < TOP_WORD_KEYS<K>; j++)
                keys[i + j] = word.keys[j];
        }
    } else {
#pragma unroll
        for (unsigned i = 0; i < TOP_KEYS<K>; i++) {
            const size_t index = first + thread_key_index<K>(i);
            keys[i] = index < count ? source[index] : K{0};
            present &= ~(static_cast<unsigned>(index >= count) << i);
        }
    }
    thread_encode_keys(encoding, keys);
    return present;
}

/* ---- sample ---- */

/* Scrambles the bits of i (the finaliser of splitmix64, by S. Vigna). */
__device__ __forceinline__ uint64_t top_scramble(uint64_t i)
{
    i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
    i = (i ^ i >> 27) * 0x94d049bb133111ebu;
    return i ^ i >> 31;
}

/* Returns the start of stride `index`. The 2^bits strides cover all keys and differ in size by at
 * most one. */
__device__ __forceinline__ size_t top_stride_begin(size_t count, unsigned bits, size_t index)
{
    const size_t rest = count & (((size_t)1 << bits) - 1);
    return index * (count >> bits) + (index * rest >> bits);
}

/* Takes one key from each of 2^bits strides of the input, at a pseudo-random position that is the
 * same in every job. One thread per stride. */
template <typename K>
__global__ void __launch_bounds__(TOP_THREADS)
    top_sample_kernel(const K *source, size_t count, unsigned bits, struct key_order encoding,
                      K *sample)
{
    const size_t index = static_cast<size_t>(blockIdx.x) * TOP_THREADS + threadIdx.x;
    if (index >> bits)
        return;
    const size_t begin = top_stride_begin(count, bits, index);
    const size_t stride = top_stride_begin(count, bits, index + 1) - begin;
    K key[1] = {source[begin + top_scramble(index + count) % stride]};
    thread_encode_keys(encoding, key);
    sample[index] = key[0];
}

/* ---- rank ---- */

/* Finds the value of the digit that contains the rank. Only the last block to finish calls it. */
template <typename K>
__device__ __forceinline__ void block_find_value(struct top_search<K> *search,
                                                 const struct top_digit &digit)
{
    __shared__ top_count warp_sums[THREADS_PER_WARP];
    constexpr unsigned own = TOP_VALUES / TOP_THREADS;
    const top_count rank = digit.is_first ? digit.rank : search->rank;
    top_count counts[own], sum = 0, total = 0;
#pragma unroll
    for (unsigned i = 0; i < own; i++) {
        counts[i] = atomicExch(&search->counts[threadIdx.x * own + i], top_count{0});
        sum += counts[i];
    }
    top_count before = block_exclusive_scan<TOP_THREADS>(sum, warp_sums, &total);
    __syncthreads(); /* all threads have read the rank */
#pragma unroll
    for (unsigned i = 0; i < own; i++) {
        if (before <= rank && rank - before < counts[i]) {
            search->key |= static_cast<K>(static_cast<K>(threadIdx.x * own + i) << digit.shift);
            search->rank = rank - before;
        }
        before += counts[i];
    }
    if (threadIdx.x == 0)
        search->blocks_done = 0;
}

/* Counts the values of the digit among the keys that share the digits found so far. The last block
 * to finish finds the digit. Any number of blocks. */
template <typename K>
__global__ void __launch_bounds__(TOP_THREADS)
    top_digit_kernel(const K *source, size_t count, struct key_order encoding,
                     struct top_search<K> *search, struct top_digit digit)
{
    __shared__ unsigned counters[TOP_VALUES];
    __shared__ bool is_last;
    const K found = search->key;
    for (unsigned i = threadIdx.x; i < TOP_VALUES; i += TOP_THREADS)
        counters[i] = 0;
    __syncthreads();
    for (size_t first = blockIdx.x * TOP_TILE<K>; first < count; first += gridDim.x * TOP_TILE<K>) {
        K keys[TOP_KEYS<K>];
        const unsigned present = thread_load_keys(source, count, first, encoding, keys);
        for (unsigned i = 0; i < TOP_KEYS<K>; i++) {
            const K rest = static_cast<K>(keys[i] ^ found) >> digit.shift;
            const bool counted = (present >> i & 1) != 0 && rest >> digit.bits == 0;
            if (!__any_sync(ALL_LANES, counted))
                continue;
            const unsigned value =
                counted ? static_cast<unsigned>(rest) : TOP_VALUES + thread_lane();
            warp_count(counters, value, counted, warp_is_crowded(value));
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < TOP_VALUES; i += TOP_THREADS)
        if (counters[i] > 0)
            atomicAdd(&search->counts[i], static_cast<top_count>(counters[i]));
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        is_last = atomicAdd(&search->blocks_done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (is_last)
        block_find_value(search, digit);
}

/* ---- filter ---- */

/* Capacity of a warp's buffer of found keys: all keys of its part of a tile, twice. */
template <typename K>
constexpr unsigned TOP_BUFFER = 2 * THREADS_PER_WARP *TOP_KEYS<K>;

/* Destination of the keys below the bound. */
template <typename K>
struct top_target {
    K *keys;
    size_t room; /* keys past it are only counted */
    struct key_order decoding;
    struct top_totals *totals;
};

/* Writes the warp's buffer to the target. */
template <typename K>
__device__ __forceinline__ void warp_flush(const K *buffer, unsigned fill,
                                           const struct top_target<K> &target)
{
    top_count place = 0;
    if (thread_lane() == 0 && fill > 0)
        place = atomicAdd(&target.totals->below, static_cast<top_count>(fill));
    place = __shfl_sync(ALL_LANES, place, 0);
    for (unsigned i = thread_lane(); i < fill; i += THREADS_PER_WARP)
        if (place + i < target.room)
            target.keys[place + i] = thread_decode_key(target.decoding, buffer[i]);
    __syncwarp();
}

/* Appends the keys whose bits are set in `chosen` to the warp's buffer, which has room. Returns its
 * new fill. */
template <typename K>
__device__ __forceinline__ unsigned warp_append(const K (&keys)[TOP_KEYS<K>], unsigned chosen,
                                                K *buffer, unsigned fill)
{
    const unsigned own = static_cast<unsigned>(__popc(chosen));
    const unsigned inclusive = warp_inclusive_scan(own);
    unsigned place = fill + inclusive - own;
#pragma unroll
    for (unsigned i = 0; i < TOP_KEYS<K>; i++)
        if (chosen >> i & 1)
            buffer[place++] = keys[i];
    __syncwarp();
    return fill + __shfl_sync(ALL_LANES, inclusive, static_cast<int>(THREADS_PER_WARP - 1));
}

/* Gathers the keys below search->key and counts those equal to it. Few keys are below, so most
 * steps find none; each warp collects its keys in shared memory until a write pays. Any number of
 * blocks. */
template <typename K>
__global__ void __launch_bounds__(TOP_THREADS)
    top_filter_kernel(const K *__restrict__ source, size_t count, struct key_order encoding,
                      const struct top_search<K> *search, struct top_target<K> target)
{
    __shared__ K buffers[TOP_WARPS][TOP_BUFFER<K>];
    K *const buffer = buffers[threadIdx.x / THREADS_PER_WARP];
    const K bound = search->key;
    unsigned fill = 0;
    top_count equal = 0;
    for (size_t first = blockIdx.x * TOP_TILE<K>; first < count; first += gridDim.x * TOP_TILE<K>) {
        K keys[TOP_KEYS<K>];
        const unsigned present = thread_load_keys(source, count, first, encoding, keys);
        unsigned below = 0, same = 0;
#pragma unroll
        for (unsigned i = 0; i < TOP_KEYS<K>; i++) {
            below |= static_cast<unsigned>(keys[i] < bound) << i;
            same |= static_cast<unsigned>(keys[i] == bound) << i;
        }
        equal += static_cast<top_count>(__popc(same & present));
        if (!__any_sync(ALL_LANES, below & present))
            continue;
        fill = warp_append(keys, below & present, buffer, fill);
        if (fill > TOP_BUFFER<K> / 2) {
            warp_flush(buffer, fill, target);
            fill = 0;
        }
    }
    warp_flush(buffer, fill, target);
    equal = warp_inclusive_scan(equal);
    if (thread_lane() == THREADS_PER_WARP - 1 && equal > 0)
        atomicAdd(&target.totals->equal, equal);
}

/* Writes search->key, decoded, to target[0..count). Any number of blocks. */
template <typename K>
__global__ void __launch_bounds__(TOP_THREADS)
    top_fill_kernel(const struct top_search<K> *search, struct key_order decoding, K *target,
                    size_t count)
{
    const K key = thread_decode_key(decoding, search->key);
    for (size_t i = static_cast<size_t>(blockIdx.x) * TOP_THREADS + threadIdx.x; i < count;
         i += static_cast<size_t>(gridDim.x) * TOP_THREADS)
        target[i] = key;
}

#endif
