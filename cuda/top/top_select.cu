/* SPDX-License-Identifier: Apache-2.0 */
/* top_select.cu - see cuda_top.h.
 *
 *   items --sample--> sample --sort--> the key of a given rank in it: a bound, with a few more than
 *         the wanted items below it
 *   items --filter--> scratch: the items below the bound; counts of the items below and equal to it
 *
 * One read of the items is enough if the counts are right. Either at least `top` items are below
 * the bound, and there is room for them. Or fewer are below it, but with the items equal to it
 * there are enough: then copies of the bound's key fill up the rest. A sample rarely misleads, but
 * data can be made so that it does. Then a second sample, of other items, gives a second bound. If
 * that one is wrong too, all items are sorted.
 *
 * Accuracy of the sample: of a sample of S items, about s = S top / count are among the first `top`
 * of all, with a standard deviation of sqrt(s) at most. The bound is the key of rank s + 4 sqrt(s)
 * + 16. So fewer than `top` items are below it in less than 1 of 10,000 cases. The room allows for
 * 6 deviations more, and is too small even more rarely.
 *
 * Source: bounds from a sample: R. W. Floyd, R. L. Rivest, "Expected time bounds for selection",
 * CACM 1975.
 */
#include "cuda/engine/cuda_top.h"

#include "cuda/block/block_scan.cuh"
#include "cuda/block/dispatch.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/block/thread_bits.cuh"
#include "cuda/block/thread_key.cuh"

#include <algorithm>
#include <math.h>

/* ---- kernels: sample, filter, fill ----
 *
 * A thread of the filter holds up to 64 bytes of keys in registers, as ordered bits. It loads 16
 * bytes at a time, and neighbouring threads load neighbouring words. A block handles one tile after
 * another. */

constexpr unsigned TOP_WARPS = TOP_THREADS / THREADS_PER_WARP;

/* Counts of a filter, including items that did not fit. */
struct top_totals {
    atomic_count below; /* items below the bound */
    atomic_count equal; /* items equal to the bound */
};

/* ---- keys in registers ---- */

/* At most 32 keys per thread, so that an unsigned has a bit for each. */
template <typename K>
constexpr unsigned TOP_WORDS =
    KEYS_OF_WORD<K> *TOP_THREAD_WORDS <= 32 ? TOP_THREAD_WORDS : 32 / KEYS_OF_WORD<K>;
template <typename K>
constexpr unsigned TOP_KEYS = TOP_WORDS<K> *KEYS_OF_WORD<K>;
template <typename K>
constexpr size_t TOP_TILE = (size_t)TOP_THREADS *TOP_KEYS<K>;

/* Returns the index of the thread's key i in a tile. */
template <typename K>
__device__ __forceinline__ size_t thread_key_index(unsigned i)
{
    const unsigned word = i / KEYS_OF_WORD<K> * TOP_THREADS + threadIdx.x;
    return static_cast<size_t>(word) * KEYS_OF_WORD<K> + i % KEYS_OF_WORD<K>;
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
        for (unsigned i = 0; i < TOP_KEYS<K>; i += KEYS_OF_WORD<K>) {
            union key_word<K> word;
            word.word = *reinterpret_cast<const uint4 *>(source + first + thread_key_index<K>(i));
#pragma unroll
            for (unsigned j = 0; j < KEYS_OF_WORD<K>; j++)
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

/* Takes one key from each of 2^bits strides of the input, at a pseudo-random position that depends
 * only on the stride and the seed. The strides cover all keys and differ in size by at most one.
 * One thread per stride. */
template <typename K>
__global__ void __launch_bounds__(TOP_THREADS)
    top_sample_kernel(const K *source, size_t count, unsigned bits, size_t seed,
                      struct key_order encoding, K *sample)
{
    const size_t index = static_cast<size_t>(blockIdx.x) * TOP_THREADS + threadIdx.x;
    if (index >> bits)
        return;
    const size_t begin = index * count >> bits; /* with 2^47 items, a product has 63 bits */
    const size_t stride = ((index + 1) * count >> bits) - begin;
    K key[1] = {source[begin + thread_hash_below(index + seed, stride)]};
    thread_encode_keys(encoding, key);
    sample[index] = key[0];
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
    atomic_count place = 0;
    if (thread_lane() == 0 && fill > 0)
        place = atomicAdd(&target.totals->below, static_cast<atomic_count>(fill));
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

/* Gathers the keys below *bound_key and counts those equal to it. Few keys are below, so most steps
 * find none; each warp collects its keys in shared memory until a write pays. Any number of
 * blocks. */
template <typename K>
__global__ void __launch_bounds__(TOP_THREADS)
    top_filter_kernel(const K *__restrict__ source, size_t count, struct key_order encoding,
                      const K *bound_key, struct top_target<K> target)
{
    __shared__ K buffers[TOP_WARPS][TOP_BUFFER<K>];
    K *const buffer = buffers[threadIdx.x / THREADS_PER_WARP];
    const K bound = *bound_key;
    unsigned fill = 0;
    atomic_count equal = 0;
    for (size_t first = blockIdx.x * TOP_TILE<K>; first < count; first += gridDim.x * TOP_TILE<K>) {
        K keys[TOP_KEYS<K>];
        const unsigned present = thread_load_keys(source, count, first, encoding, keys);
        unsigned below = 0, same = 0;
#pragma unroll
        for (unsigned i = 0; i < TOP_KEYS<K>; i++) {
            below |= static_cast<unsigned>(keys[i] < bound) << i;
            same |= static_cast<unsigned>(keys[i] == bound) << i;
        }
        equal += static_cast<atomic_count>(__popc(same & present));
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

/* Writes *bound_key, decoded, to target[0..count). Any number of blocks. */
template <typename K>
__global__ void __launch_bounds__(TOP_THREADS)
    top_fill_kernel(const K *bound_key, struct key_order decoding, K *target, size_t count)
{
    const K key = thread_decode_key(decoding, *bound_key);
    for (size_t i = static_cast<size_t>(blockIdx.x) * TOP_THREADS + threadIdx.x; i < count;
         i += static_cast<size_t>(gridDim.x) * TOP_THREADS)
        target[i] = key;
}

/* ---- sizes ---- */

struct top_plan {
    unsigned sample_bits;
    size_t rank; /* rank of the bound in the sample */
    size_t room;
    bool is_all; /* no selection: all items are gathered */
};

static struct top_plan top_plan_make(size_t count, size_t top)
{
    struct top_plan plan = {0, 0, count, true};
    if (count <= TOP_COUNT_LEAST || top >= count)
        return plan;
    const unsigned rarest = 63 - static_cast<unsigned>(__builtin_clzll(count));
    plan.sample_bits =
        std::clamp(rarest - TOP_SAMPLE_RARITY_BITS, TOP_SAMPLE_BITS_LEAST, TOP_SAMPLE_BITS_MOST);
    const double sample = static_cast<double>((size_t)1 << plan.sample_bits);
    const double wanted = sample * (static_cast<double>(top) / static_cast<double>(count));
    const double rank = wanted + 4 * sqrt(wanted) + 16;
    const double room = (rank + 6 * sqrt(rank) + 21) / sample * static_cast<double>(count);
    plan.is_all = room >= static_cast<double>(count);
    if (!plan.is_all) { /* so the rank is less than the size of the sample by 21 and more */
        plan.rank = static_cast<size_t>(ceil(rank));
        plan.room = std::max(static_cast<size_t>(room), top);
    }
    return plan;
}

size_t top_room(size_t count, size_t top)
{
    return top_plan_make(count, top).room;
}

/* Sized for the widest key; nearly all of it is the sample. */
struct top_workspace {
    struct top_totals totals;
    alignas(16) key_u128 sample[(size_t)1 << TOP_SAMPLE_BITS_MOST];
};

/* ---- steps ---- */

/* One call of top_select(). */
template <typename K>
struct top_call {
    const struct cuda_sort *sort;
    size_t top;
    struct top_plan plan;
    struct top_totals *totals;
    K *sample;
    struct launch_site site;
};

template <typename K>
static struct launch top_launch(const struct top_call<K> &call, const char *name, size_t count,
                                size_t per_block)
{
    return launch_at(call.site, name,
                     launch_wave(call.site, TOP_BLOCKS, launch_blocks(count, per_block)),
                     TOP_THREADS);
}

/* Takes a sample and sorts it. The bound is then at call.plan.rank in it. */
template <typename K>
static bool top_guess_bound(const struct top_call<K> &call, size_t seed, struct error *error)
{
    const struct cuda_sort *const sort = call.sort;
    struct cuda_sort sample = *sort;
    sample.items = call.sample;
    sample.count = (size_t)1 << call.plan.sample_bits;
    sample.order = key_order_identity();
    return launch_kernel(launch_at(call.site, "top_sample_kernel",
                                   launch_blocks(sample.count, TOP_THREADS), TOP_THREADS),
                         error, top_sample_kernel<K>, static_cast<const K *>(sort->items),
                         sort->count, call.plan.sample_bits, seed, sort->order, call.sample) &&
           small_sort(&sample, error);
}

/* Filters the items and waits for the counts. */
template <typename K>
static bool top_filter(const struct top_call<K> &call, struct top_totals *totals,
                       struct error *error)
{
    const struct cuda_sort *const sort = call.sort;
    const struct top_target<K> target = {
        static_cast<K *>(sort->scratch), call.plan.room, sort->order, call.totals
    };
    return cuda_fill(*sort, call.totals, 0, sizeof *call.totals, error) &&
           launch_kernel(top_launch(call, "top_filter_kernel", sort->count, TOP_TILE<K>), error,
                         top_filter_kernel<K>, static_cast<const K *>(sort->items), sort->count,
                         sort->order, call.sample + call.plan.rank, target) &&
           cuda_fetch(*sort, totals, call.totals, sizeof *totals, error);
}

/* Appends the bound's key to the `below` gathered items until there are `top`. */
template <typename K>
static bool top_fill(const struct top_call<K> &call, size_t below, struct error *error)
{
    const size_t count = call.top - below;
    return launch_kernel(top_launch(call, "top_fill_kernel", count, TOP_THREADS), error,
                         top_fill_kernel<K>, call.sample + call.plan.rank, call.sort->order,
                         static_cast<K *>(call.sort->scratch) + below, count);
}

/* Filters by a bound from a sample, and sets *found to the number of items gathered; 0 if the bound
 * was wrong: too few items are below or equal to it, or more are below it than there is room for.
 */
template <typename K>
static bool top_gather(const struct top_call<K> &call, size_t seed, size_t *found,
                       struct error *error)
{
    struct top_totals totals = {};
    *found = 0;
    if (!top_guess_bound(call, seed, error) || !top_filter(call, &totals, error))
        return false;
    const size_t count = call.sort->count;
    if (!cuda_check_value(totals.below, count, call.sort->device, "number of keys below", error) ||
        !cuda_check_value(totals.equal, count - totals.below, call.sort->device,
                          "number of equal keys", error))
        return false;
    if (totals.below >= call.top) {
        *found = totals.below <= call.plan.room ? static_cast<size_t>(totals.below) : 0;
        return true;
    }
    if (totals.below + totals.equal < call.top)
        return true;
    *found = call.top;
    return top_fill(call, static_cast<size_t>(totals.below), error);
}

/* Starts to copy the first `count` items to scratch. */
static bool top_copy(const struct cuda_sort *sort, size_t count, size_t *found, struct error *error)
{
    *found = count;
    return cuda_copy(*sort, sort->scratch, sort->items, count * sort->item_bytes, error);
}

template <typename K>
static bool top_start(const struct cuda_sort *sort, size_t top, const struct top_plan &plan,
                      size_t *found, struct error *error)
{
    struct launch_site site;
    if (!launch_site_find(sort->device, sort->stream, &site, error))
        return false;
    struct top_workspace *const work = static_cast<struct top_workspace *>(sort->workspace);
    K *const sample = reinterpret_cast<K *>(work->sample);
    const struct top_call<K> call = {
        sort, top, plan, &work->totals, sample, site
    };
    return top_gather(call, sort->count, found, error) &&
           (*found > 0 || top_gather(call, ~sort->count, found, error));
}

bool top_select(const struct cuda_sort *sort, size_t top, size_t *found, struct error *error)
{
    const struct top_plan plan = top_plan_make(sort->count, top);
    *found = 0;
    if (top == 0 || sort->count == 0)
        return true;
    if (plan.is_all)
        return top_copy(sort, sort->count, found, error);
    const bool is_well = dispatch_width(sort, error, [&](auto key) {
        return top_start<decltype(key)>(sort, top, plan, found, error);
    });
    if (!is_well || *found > 0)
        return is_well;
    /* Any path could sort all items, but the one that was chosen may not accept so many, and
     * small_sort() needs no more memory. */
    return small_sort(sort, error) && top_copy(sort, top, found, error);
}

/* ---- select, then sort ---- */

size_t cuda_top_workspace_bytes(void)
{
    return sizeof(struct top_workspace);
}

bool cuda_top(const struct cuda_sort *sort, size_t top, const struct cuda_path *path, size_t *found,
              struct error *error)
{
    struct cuda_sort gathered = *sort;
    if (!top_select(sort, top, &gathered.count, error))
        return false;
    gathered.items = sort->scratch;
    gathered.scratch = sort->items;
    *found = std::min(gathered.count, top);
    return gathered.count == 0 || cuda_path_sort(path, &gathered, error);
}
