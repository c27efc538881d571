/* SPDX-License-Identifier: Apache-2.0 */
/* bitonic_sort.cu - sorts the whole array by Batcher's bitonic network, in place, for any count.
 *
 * The network has the normalised form. Stage k, for k = 2, 4, 8 ..., turns sorted blocks of k / 2
 * keys into sorted blocks of k. Its first step compares key i with its mirror image k-1-i in the
 * block. The next steps compare keys k/4, k/8 ... 1 apart. Every comparator puts the smaller key at
 * the lower index. So keys past the end of the array, taken as key_max, never move. They are read
 * as key_max and not written, and the array needs no room for them.
 *
 * The cost is the number of passes over memory:
 *   1. bitonic_tile_sort_kernel: all stages up to k = TILE, in shared memory. Encodes.
 *   2. for each k > TILE: bitonic_outer_kernel, for the steps with strides of TILE and more, up to
 *      3 to 5 of them in one pass, by the width of the keys (2^steps keys in a thread's registers,
 *      the mirror step like the others); then bitonic_tile_merge_kernel, for all shorter strides.
 *      The last one decodes.
 * In shared memory, too, a thread takes 8 keys at a time through up to 3 steps.
 *
 * small_sort() begins with tile_sort_kernel, whose tiles have 4,096 keys, and goes on with the same
 * kernels from the next stage on. Its bitonic_tile_merge_kernel has tiles of small_merge_tile()
 * keys.
 *
 * Source: K. E. Batcher, "Sorting networks and their applications", AFIPS 1968; fused steps as in
 * H. Peters, O. Schulz-Hildebrandt, N. Luttenberger, "Fast in-place sorting with CUDA based on
 * bitonic sort", PPAM 2009.
 */
#include "cuda/block/block_tile.cuh"
#include "cuda/block/dispatch.cuh"
#include "cuda/block/launch.cuh"

/* Maximum number of steps that a thread does on 8 keys in registers. */
constexpr unsigned TILE_FUSED_STEPS = 3;
static_assert(1u << TILE_FUSED_STEPS == KEYS_PER_THREAD, "the steps of a thread's keys");

__host__ __device__ constexpr unsigned log2_of(size_t power)
{
    return power > 1 ? 1 + log2_of(power / 2) : 0;
}

/* Fused steps of a stage. A thread holds 2^fused keys, and could do the steps with strides of
 * 2^(low + fused - 1) down to 2^low; it does the first `steps` of them. */
struct bitonic_steps {
    unsigned low;
    unsigned steps;
    bool mirror; /* the first step is the mirror step */
};

/* Positions of the keys of thread `item`. Key q is at lower + (q << low) if q is in the lower half
 * of the thread's keys, and else at upper + (q << low). `lower` and `upper` differ only for the
 * mirror step, which reads the upper half backwards. Then the mirror image of register q is
 * register N-1-q, and registers q and q+s in either half are s << low apart for the next steps. */
template <typename Index>
struct bitonic_place {
    Index lower;
    Index upper;
};

template <typename Index>
__device__ __forceinline__ struct bitonic_place<Index>
bitonic_place_at(const struct bitonic_steps &steps, unsigned fused, Index item) {
    const Index mask = (static_cast<Index>(1) << steps.low) - 1;
    const Index offset = item & mask;
    const Index first = (item >> steps.low) << (steps.low + fused);
    return {first + offset, first + (steps.mirror ? mask - offset : offset)};
}

/* Returns the position of key i of the tile in shared memory. One position in nine is unused, so
 * that threads with a stride of 8 keys access different banks, and with 1, 2 or 4 at most two
 * access one. Exchanging bits of i avoids all conflicts, but takes more time to calculate: 1.3
 * times as long for 1e6 u32 (H200). */
__host__ __device__ __forceinline__ constexpr unsigned
bitonic_slot(unsigned i)
{
    return i + i / KEYS_PER_THREAD;
}

template <typename K>
__device__ __forceinline__ void
thread_load_bitonic(const K *tile, const struct bitonic_steps &steps, K (&keys)[KEYS_PER_THREAD])
{
    const struct bitonic_place<unsigned> place =
        bitonic_place_at<unsigned>(steps, TILE_FUSED_STEPS, threadIdx.x);
#pragma unroll
    for (unsigned q = 0; q < KEYS_PER_THREAD; q++)
        keys[q] = tile[bitonic_slot((q < KEYS_PER_THREAD / 2 ? place.lower : place.upper) +
                                    (q << steps.low))];
}

template <typename K>
__device__ __forceinline__ void thread_store_bitonic(const K (&keys)[KEYS_PER_THREAD],
                                                     const struct bitonic_steps &steps, K *tile)
{
    const struct bitonic_place<unsigned> place =
        bitonic_place_at<unsigned>(steps, TILE_FUSED_STEPS, threadIdx.x);
#pragma unroll
    for (unsigned q = 0; q < KEYS_PER_THREAD; q++)
        tile[bitonic_slot((q < KEYS_PER_THREAD / 2 ? place.lower : place.upper) +
                          (q << steps.low))] = keys[q];
}

/* Returns the next fused steps of a stage with `left` steps to go. If `left` is no multiple of 3,
 * the one or two extra steps come first, so that the last steps always have strides 4, 2, 1. */
__device__ __forceinline__ struct bitonic_steps bitonic_steps_in_tile(unsigned left, bool mirror)
{
    const unsigned over = left % TILE_FUSED_STEPS;
    return {left - TILE_FUSED_STEPS, over ? over : TILE_FUSED_STEPS, mirror};
}

/* Does the last `left` steps of a stage on the keys in the tile. A barrier before and after. */
template <typename K>
__device__ __forceinline__ void block_bitonic_steps(K *tile, unsigned left, bool mirror)
{
    while (left > 0) {
        const struct bitonic_steps steps = bitonic_steps_in_tile(left, mirror);
        K keys[KEYS_PER_THREAD];
        thread_load_bitonic(tile, steps, keys);
        thread_bitonic_steps(keys, mirror, steps.steps);
        thread_store_bitonic(keys, steps, tile);
        __syncthreads();
        left -= steps.steps;
        mirror = false;
    }
}

template <typename K, unsigned TILE>
__device__ __forceinline__ void block_store_bitonic(const K *tile, K *target, unsigned count,
                                                    const struct key_order &decoding)
{
    K keys[KEYS_PER_THREAD];
#pragma unroll
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        keys[i] = tile[bitonic_slot(thread_striped_index<TILE>(i))];
    block_store_striped<K, TILE>(keys, target, count, decoding);
}

/* Returns the number of the block's keys that are in the array. */
template <unsigned TILE>
__device__ __forceinline__ unsigned block_tile_count(size_t count)
{
    const size_t left = count - static_cast<size_t>(blockIdx.x) * TILE;
    return left < TILE ? static_cast<unsigned>(left) : TILE;
}

/* Sorts tiles in place: all stages up to k = TILE. One block per tile. */
template <typename K, unsigned TILE>
__global__ void __launch_bounds__(block_threads<TILE>())
    bitonic_tile_sort_kernel(K *items, size_t count, struct key_order encoding,
                             struct key_order decoding)
{
    __shared__ K tile[bitonic_slot(TILE)];
    K *const own = items + static_cast<size_t>(blockIdx.x) * TILE;
    const unsigned in_tile = block_tile_count<TILE>(count);
    K keys[KEYS_PER_THREAD];
    block_load_striped<K, TILE>(own, in_tile, encoding, keys);
    thread_sort<0, KEYS_PER_THREAD>(keys); /* replaces stages 2, 4 and 8, on any 8 keys */
    thread_store_bitonic(keys, {0, TILE_FUSED_STEPS, false}, tile);
    __syncthreads();
    for (unsigned stage = TILE_FUSED_STEPS + 1; stage <= log2_of(TILE); stage++)
        block_bitonic_steps(tile, stage, true);
    block_store_bitonic<K, TILE>(tile, own, in_tile, decoding);
}

/* Does the last log2 TILE steps of a stage with k > TILE, in place. One block per tile. The first
 * of them work on striped keys as read from memory. */
template <typename K, unsigned TILE>
__global__ void __launch_bounds__(block_threads<TILE>())
    bitonic_tile_merge_kernel(K *items, size_t count, struct key_order decoding)
{
    __shared__ K tile[bitonic_slot(TILE)];
    K *const own = items + static_cast<size_t>(blockIdx.x) * TILE;
    const unsigned in_tile = block_tile_count<TILE>(count);
    const struct bitonic_steps steps = bitonic_steps_in_tile(log2_of(TILE), false);
    K keys[KEYS_PER_THREAD];
    block_load_striped<K, TILE>(own, in_tile, key_order_identity(), keys);
    thread_bitonic_steps(keys, false, steps.steps);
    thread_store_bitonic(keys, steps, tile);
    __syncthreads();
    block_bitonic_steps(tile, log2_of(TILE) - steps.steps, false);
    block_store_bitonic<K, TILE>(tile, own, in_tile, decoding);
}

/* Does up to FUSED steps with strides of at least a tile, in place. One thread for each set of keys
 * that FUSED steps compare with each other. */
template <typename K, unsigned FUSED>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    bitonic_outer_kernel(K *items, size_t count, struct bitonic_steps steps)
{
    constexpr unsigned keys_per_thread = 1u << FUSED;
    const size_t item = static_cast<size_t>(blockIdx.x) * THREADS_PER_BLOCK + threadIdx.x;
    const struct bitonic_place<size_t> place = bitonic_place_at<size_t>(steps, FUSED, item);
    if (place.lower >= count)
        return; /* the lowest key is past the end: nothing to compare */
    K keys[keys_per_thread];
#pragma unroll
    for (unsigned q = 0; q < keys_per_thread; q++) {
        const size_t index = (q < keys_per_thread / 2 ? place.lower : place.upper) +
                             (static_cast<size_t>(q) << steps.low);
        keys[q] = index < count ? items[index] : key_max<K>();
    }
    thread_bitonic_steps(keys, steps.mirror, steps.steps);
#pragma unroll
    for (unsigned q = 0; q < keys_per_thread; q++) {
        const size_t index = (q < keys_per_thread / 2 ? place.lower : place.upper) +
                             (static_cast<size_t>(q) << steps.low);
        if (index < count)
            items[index] = keys[q];
    }
}

/* Launches the kernel for `fused`, which is 1 to MOST. */
template <typename K, unsigned MOST = bitonic_fused_steps(sizeof(K))>
static bool bitonic_outer_launch(const struct cuda_sort *sort, unsigned fused,
                                 const struct bitonic_steps &steps, struct error *error)
{
    if constexpr (MOST > 1)
        if (fused < MOST)
            return bitonic_outer_launch<K, MOST - 1>(sort, fused, steps, error);
    const size_t threads = launch_blocks(sort->count, static_cast<size_t>(1) << (steps.low + MOST))
                           << steps.low;
    return launch_kernel(launch_for(*sort, "bitonic_outer_kernel",
                                    launch_blocks(threads, THREADS_PER_BLOCK), THREADS_PER_BLOCK),
                         error, bitonic_outer_kernel<K, MOST>, static_cast<K *>(sort->items),
                         sort->count, steps);
}

/* Does the steps of stage `stage` (k = 2^stage) with strides of at least 2^tile_bits. With few
 * keys a thread holds only those that the pass connects, so that there are many threads. With many
 * keys it holds more, to have more loads in flight. */
template <typename K>
static bool bitonic_outer_steps(const struct cuda_sort *sort, struct error *error, unsigned stage,
                                unsigned tile_bits)
{
    constexpr unsigned most = bitonic_fused_steps(sizeof(K));
    unsigned left = stage;
    while (left > tile_bits) {
        const unsigned over = (left - tile_bits) % most, steps = over ? over : most;
        unsigned fused = steps;
        while (fused < most && sort->count >> fused > BITONIC_THREADS)
            fused++;
        if (!bitonic_outer_launch<K>(sort, fused, {left - fused, steps, left == stage}, error))
            return false;
        left -= steps;
    }
    return true;
}

/* Returns how to decode what a pass writes, after which runs have `sorted` keys. */
static struct key_order decoding_after(const struct cuda_sort *sort, size_t sorted)
{
    return sort->count <= sorted ? sort->order : key_order_identity();
}

/* Merges encoded runs of 2^run_bits keys until the array is one run. A run is at least as long as a
 * tile. */
template <typename K, unsigned TILE>
static bool bitonic_merge(const struct cuda_sort *sort, unsigned run_bits, struct error *error)
{
    const struct launch launch =
        launch_for(*sort, "bitonic_tile_merge_kernel", launch_blocks(sort->count, TILE),
                   block_threads<TILE>());
    for (unsigned stage = run_bits + 1; sort->count > (size_t)1 << (stage - 1); stage++)
        if (!bitonic_outer_steps<K>(sort, error, stage, log2_of(TILE)) ||
            !launch_kernel(launch, error, bitonic_tile_merge_kernel<K, TILE>,
                           static_cast<K *>(sort->items), sort->count,
                           decoding_after(sort, (size_t)1 << stage)))
            return false;
    return true;
}

template <typename K, unsigned TILE>
static bool bitonic_start(const struct cuda_sort *sort, struct error *error)
{
    return launch_kernel(launch_for(*sort, "bitonic_tile_sort_kernel",
                                    launch_blocks(sort->count, TILE), block_threads<TILE>()),
                         error, bitonic_tile_sort_kernel<K, TILE>, static_cast<K *>(sort->items),
                         sort->count, sort->order, decoding_after(sort, TILE)) &&
           bitonic_merge<K, TILE>(sort, log2_of(TILE), error);
}

bool bitonic_sort(const struct cuda_sort *sort, struct error *error)
{
    return dispatch(sort, error, [&](auto key, auto tile) {
        return bitonic_start<decltype(key), tile()>(sort, error);
    });
}

bool small_sort(const struct cuda_sort *sort, struct error *error)
{
    struct cuda_sort tiles = *sort;
    tiles.tile_size = TILE_SORT_KEYS;
    while (tiles.tile_size > SMALL_TILE_LEAST && tiles.tile_size / 2 >= sort->count)
        tiles.tile_size /= 2;
    return tile_sort(&tiles, tiles.items, decoding_after(sort, TILE_SORT_KEYS), error) &&
           dispatch_width(sort, error, [&](auto key) {
               using K = decltype(key);
               return bitonic_merge<K, small_merge_tile(sizeof(K))>(sort, log2_of(TILE_SORT_KEYS),
                                                                    error);
           });
}
