/* counting_keys.cu - keys of 1 and 2 bytes are sorted by counting how often each value occurs.
 *
 *   items --count--> counts of all values --scan--> where each value starts --fill--> items
 *
 * Keys are read 16 bytes a thread at a time. The counters of a block lie in shared memory; for
 * 2-byte keys there is room for a part of all values only, so that each block counts one part, and
 * the keys are read once for each part. To fill, a block finds the values of its
 * piece of the output, and a thread the values of its 16 bytes.
 */
#include "cuda/cuda_sort.h"
#include "cuda/dynamic_shared.cuh"
#include "cuda/launch.cuh"
#include "cuda/thread_key.cuh"
#include "cuda/warp_count.cuh"

typedef unsigned long long value_count;

template <typename K>
constexpr unsigned VALUES = 1u << 8 * sizeof(K);
/* Values that a block counts, and parts that they make of all. */
template <typename K>
constexpr unsigned VALUES_OF_BLOCK = VALUES<K> < COUNTING_VALUES ? VALUES<K> : COUNTING_VALUES;
template <typename K>
constexpr unsigned VALUE_PARTS = VALUES<K> / VALUES_OF_BLOCK<K>;

/* What a thread reads or writes at a time. */
template <typename K>
constexpr unsigned KEYS_OF_WORD = sizeof(uint4) / sizeof(K);
template <typename K>
union key_word {
    uint4 word;
    K keys[KEYS_OF_WORD<K>];
};

/* Adds the first `count` keys to the counters of the values from `first_value` on. All lanes of the
 * warp call it. */
template <typename K>
__device__ __forceinline__ void warp_count_word(const union key_word<K> &word, unsigned count,
                                                const struct key_order &encoding,
                                                unsigned first_value, unsigned *counters)
{
    K keys[KEYS_OF_WORD<K>];
#pragma unroll
    for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++)
        keys[i] = word.keys[i];
    thread_encode_keys(encoding, keys);
    const bool is_crowded = warp_is_crowded(keys[0]);
#pragma unroll
    for (unsigned i = 0; i < KEYS_OF_WORD<K>; i++) {
        const unsigned value = keys[i] - first_value;
        warp_count(counters, value, i < count && value < VALUES_OF_BLOCK<K>, is_crowded);
    }
}

/* counts[value] += the keys that have it. */
template <typename K>
__global__ void __launch_bounds__(COUNTING_THREADS)
    counting_count_kernel(const K *__restrict__ source, size_t count, struct key_order encoding,
                          value_count *counts)
{
    unsigned *const counters = reinterpret_cast<unsigned *>(block_dynamic_shared());
    const unsigned first_value = blockIdx.x % VALUE_PARTS<K> * VALUES_OF_BLOCK<K>;
    const size_t block = blockIdx.x / VALUE_PARTS<K>, blocks = gridDim.x / VALUE_PARTS<K>;
    for (unsigned i = threadIdx.x; i < VALUES_OF_BLOCK<K>; i += COUNTING_THREADS)
        counters[i] = 0;
    __syncthreads();
    const size_t words = (count + KEYS_OF_WORD<K> - 1) / KEYS_OF_WORD<K>;
    for (size_t first = block * COUNTING_THREADS; first < words;
         first += blocks * COUNTING_THREADS) {
        const size_t index = (first + threadIdx.x) * KEYS_OF_WORD<K>;
        const size_t left = index < count ? count - index : 0;
        union key_word<K> word = {
        };
        if (left >= KEYS_OF_WORD<K>)
            word.word = *reinterpret_cast<const uint4 *>(source + index);
        else
            for (unsigned i = 0; i < left; i++)
                word.keys[i] = source[index + i];
        warp_count_word<K>(word,
                           left < KEYS_OF_WORD<K> ? static_cast<unsigned>(left) : KEYS_OF_WORD<K>,
                           encoding, first_value, counters);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < VALUES_OF_BLOCK<K>; i += COUNTING_THREADS)
        if (counters[i] > 0)
            atomicAdd(&counts[first_value + i], static_cast<value_count>(counters[i]));
}

/* counts -> where each value starts; behind the last one, the end. One block. */
template <typename K>
__global__ void __launch_bounds__(COUNTING_SCAN_THREADS) counting_scan_kernel(value_count *counts)
{
    __shared__ value_count warp_sums[THREADS_PER_WARP];
    constexpr unsigned own = VALUES<K> / COUNTING_SCAN_THREADS;
    value_count *const mine = counts + threadIdx.x * own;
    value_count sum = 0, total = 0;
    for (unsigned i = 0; i < own; i++)
        sum += mine[i];
    value_count first = block_exclusive_scan<COUNTING_SCAN_THREADS>(sum, warp_sums, &total);
    for (unsigned i = 0; i < own; i++) {
        const value_count count = mine[i];
        mine[i] = first;
        first += count;
    }
    if (threadIdx.x == 0)
        counts[VALUES<K>] = total;
}

/* The value of the output's key `index`, among from..to. */
__device__ __forceinline__ unsigned thread_find_value(const value_count *starts, unsigned from,
                                                      unsigned to, size_t index)
{
    while (from < to) {
        const unsigned middle = (from + to + 1) / 2;
        if (starts[middle] <= index)
            from = middle;
        else
            to = middle - 1;
    }
    return from;
}

template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    counting_fill_kernel(const value_count *__restrict__ starts, K *target, size_t count,
                         struct key_order decoding)
{
    constexpr unsigned piece = COUNTING_FILL_WORDS * THREADS_PER_BLOCK * KEYS_OF_WORD<K>;
    const size_t first = static_cast<size_t>(blockIdx.x) * piece;
    const size_t last = count - first < piece ? count - 1 : first + piece - 1;
    const unsigned from = thread_find_value(starts, 0, VALUES<K> - 1, first);
    const unsigned to = thread_find_value(starts, from, VALUES<K> - 1, last);
    for (unsigned round = 0; round < COUNTING_FILL_WORDS; round++) {
        const size_t index = first + (round * THREADS_PER_BLOCK + threadIdx.x) * KEYS_OF_WORD<K>;
        if (index >= count)
            return;
        unsigned value = thread_find_value(starts, from, to, index);
        union key_word<K> word = {
        };
        for (unsigned i = 0; i < KEYS_OF_WORD<K> && index + i < count; i++) {
            while (starts[value + 1] <= index + i)
                value++;
            word.keys[i] = thread_decode_key(decoding, static_cast<K>(value));
        }
        if (count - index >= KEYS_OF_WORD<K>)
            *reinterpret_cast<uint4 *>(target + index) = word.word;
        else
            for (unsigned i = 0; index + i < count; i++)
                target[index + i] = word.keys[i];
    }
}

template <typename K>
static bool counting_start(const struct cuda_sort *sort, struct error *error)
{
    value_count *const counts = static_cast<value_count *>(sort->workspace);
    K *const items = static_cast<K *>(sort->items);
    const unsigned device = sort->device;
    int multiprocessors = 0;
    if (!cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                           static_cast<int>(device)),
                    device, "cudaDeviceGetAttribute", error) ||
        !cuda_check(cudaMemsetAsync(counts, 0, VALUES<K> * sizeof *counts, sort->stream), device,
                    "cudaMemsetAsync", error))
        return false;
    const size_t resident = static_cast<size_t>(multiprocessors) * COUNTING_BLOCKS * VALUE_PARTS<K>;
    const size_t useful =
        launch_blocks(sort->count, COUNTING_THREADS * KEYS_OF_WORD<K>) * VALUE_PARTS<K>;
    const size_t fill_blocks =
        launch_blocks(sort->count, COUNTING_FILL_WORDS * THREADS_PER_BLOCK * KEYS_OF_WORD<K>);
    const struct launch count = {"counting_count_kernel",
                                 resident < useful ? resident : useful,
                                 COUNTING_THREADS,
                                 device,
                                 sort->stream,
                                 VALUES_OF_BLOCK<K> * sizeof(unsigned)};
    const struct launch scan = {"counting_scan_kernel", 1, COUNTING_SCAN_THREADS, device,
                                sort->stream};
    const struct launch fill = {"counting_fill_kernel", fill_blocks, THREADS_PER_BLOCK, device,
                                sort->stream};
    return launch_kernel(count, error, counting_count_kernel<K>, static_cast<const K *>(items),
                         sort->count, sort->order, counts) &&
           launch_kernel(scan, error, counting_scan_kernel<K>, counts) &&
           launch_kernel(fill, error, counting_fill_kernel<K>,
                         static_cast<const value_count *>(counts), items, sort->count, sort->order);
}

bool counting_sort(const struct cuda_sort *sort, struct error *error)
{
    if (sort->item_bytes == 1)
        return counting_start<uint8_t>(sort, error);
    if (sort->item_bytes == 2)
        return counting_start<uint16_t>(sort, error);
    return error_set(error, "device %u: items of %u bytes are not sorted by counting", sort->device,
                     sort->item_bytes);
}

size_t counting_workspace_bytes(size_t, size_t, unsigned item_bytes)
{
    return item_bytes == 1 ? (VALUES<uint8_t> + 1) * sizeof(value_count)
                           : (VALUES<uint16_t> + 1) * sizeof(value_count);
}
