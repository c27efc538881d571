/* SPDX-License-Identifier: Apache-2.0 */
/* radix_items.cuh - the last pass for items (key above index): a pack is sorted as short words, one
 * for each item, and then the items are moved once.
 *
 *   pack --read--> position and rank of each item --scan of the bins-->
 *   words (position above index in the pack) in order of bins --windows, until sorted-->
 *   words --equal positions: by the items--> indices in order --read again--> items
 *
 * Five items, of which 1 and 3 share a position, and two bins of four positions each:
 *
 *   index in the pack           0   1   2   3   4        found[]: rank (8 bits), position (24)
 *   position by the model       5   2   6   2   0
 *   bin and rank in it         1,0 0,0 1,1 0,1 0,2       a bin's ranks are in any order
 *   slot: bin's first + rank    3   0   4   1   2
 *   words by slot              2:1 2:3 0:4 5:0 6:2       position (51 bits) : index (13)
 *   words, windows sorted      0:4 2:1 2:3 5:0 6:2
 *   indices[]                   4   3   1   0   2        if item 3 is less than item 1
 *
 * A word has 8 bytes and an item 16, so two blocks share a multiprocessor, and sorting the windows
 * takes less time. The model's positions are some hundred times finer than its keys as a rule, so
 * that few items share one; only such items are compared. A bin with more than RADIX_ITEM_LIMIT
 * items is full. A warp sorts the words of a full bin; a pack with many full bins, with a bin that
 * is too large for a warp, or with many items of one position, is sorted by radix_tiles.cuh.
 */
#ifndef CUDA_RADIX_ITEMS_CUH
#define CUDA_RADIX_ITEMS_CUH

#include "cuda/block/shared_memory.cuh"
#include "cuda/radix/radix_tiles.cuh"

constexpr unsigned RADIX_ITEM_LIMIT = radix_bin_limit(sizeof(key_u128));

/* The bits of a word below its position: the item's index in the pack. */
constexpr unsigned RADIX_INDEX_BITS = 13;
static_assert(RADIX_TILE_ROOM <= 1u << RADIX_INDEX_BITS, "a word has room for an index");

/* The bits of a position that are kept. In 32 bits, the rank in a bin that a warp sorts has room
 * above them. */
constexpr unsigned RADIX_POSITION_BITS = 24;
static_assert(RADIX_SPAN_MOST <= 1u << (32 - RADIX_POSITION_BITS), "a rank has room");

/* Number of a thread's items that wait in shared memory; the others wait in registers. */
constexpr unsigned RADIX_STAGED_ITEMS = 8;

struct radix_item_shared {
    unsigned bins[RADIX_TILE_BINS]; /* items of a bin; then the index of its first word */
    union {
        uint64_t
            words[tile_slot<uint64_t>(RADIX_TILE_ROOM + RADIX_WINDOW + RADIX_WINDOW_SHIFT) + 1];
        key_u128 staged[RADIX_STAGED_ITEMS * RADIX_TILE_THREADS]; /* before and after the words */
    };
    union {
        uint16_t indices[RADIX_TILE_ROOM]; /* in the pack, of the items in their order */
        uint4 windows_of_indices[RADIX_TILE_ROOM / RADIX_WINDOW];
    };
    struct radix_model<key_u128> model;
    unsigned warp_sums[THREADS_PER_WARP];
};

/* Returns the number of low bits of a position in the pack that are dropped, so that at most
 * RADIX_POSITION_BITS remain. A bin spans 2^32 / bins.scale positions, so 2^12 bins span fewer than
 * 2^(13 + the leading zeros of the scale). */
__device__ __forceinline__ unsigned thread_position_shift(const struct radix_bins &bins)
{
    static_assert(RADIX_TILE_BINS == 1u << 12, "bins for 2^32 positions");
    const unsigned bits = 13 + static_cast<unsigned>(__clz(static_cast<int>(bins.scale)));
    return bits > RADIX_POSITION_BITS ? bits - RADIX_POSITION_BITS : 0;
}

/* Sets found[i] to the rank of the thread's item i in its bin, above its position. Returns true if
 * one of these bins is full. Handles one item after another: more at once need more registers
 * than there are. */
__device__ __forceinline__ bool block_find_items(struct radix_item_shared &shared,
                                                 const key_u128 *source,
                                                 const struct radix_pack &pack, unsigned shift,
                                                 unsigned (&found)[RADIX_TILE_KEYS])
{
    bool has_full = false;
    /* The first items are copied at once, the others are read when they are needed. */
#pragma unroll
    for (unsigned i = 0; i < RADIX_STAGED_ITEMS; i++) {
        const unsigned index = i * RADIX_TILE_THREADS + threadIdx.x;
        if (index < pack.count)
            thread_copy_async(&shared.staged[index], &source[index]);
    }
    thread_wait_for_copies();
#pragma unroll
    for (unsigned i = 0; i < RADIX_TILE_KEYS; i++) {
        const unsigned index = i * RADIX_TILE_THREADS + threadIdx.x;
        if (index >= pack.count)
            break;
        const key_u128 items[1] = {i < RADIX_STAGED_ITEMS ? shared.staged[index] : source[index]};
        unsigned positions[1];
        thread_radix_positions(thread_lookup(shared.model), items, positions);
        const unsigned position = (positions[0] - pack.bins.first) >> shift;
        const unsigned bin = __umulhi(position << shift, pack.bins.scale);
        const unsigned rank = atomicAdd(&shared.bins[bin], 1u);
        found[i] = rank << RADIX_POSITION_BITS | position;
        has_full |= rank >= RADIX_ITEM_LIMIT;
    }
    return has_full;
}

/* Stores the words in the slots of their bins, and key_max after them. Ends with a barrier. */
__device__ __forceinline__ void block_place_words(struct radix_item_shared &shared,
                                                  const struct radix_pack &pack, unsigned shift,
                                                  const unsigned (&found)[RADIX_TILE_KEYS])
{
#pragma unroll
    for (unsigned i = 0; i < RADIX_TILE_KEYS; i++) {
        const unsigned index = i * RADIX_TILE_THREADS + threadIdx.x;
        if (index >= pack.count)
            break;
        const unsigned position = found[i] & ((1u << RADIX_POSITION_BITS) - 1);
        const unsigned bin = __umulhi(position << shift, pack.bins.scale);
        const unsigned slot = shared.bins[bin] + (found[i] >> RADIX_POSITION_BITS);
        shared.words[tile_slot<uint64_t>(slot)] =
            static_cast<uint64_t>(position) << RADIX_INDEX_BITS | index;
    }
    if (threadIdx.x < RADIX_WINDOW + RADIX_WINDOW_SHIFT)
        shared.words[tile_slot<uint64_t>(pack.count + threadIdx.x)] = key_max<uint64_t>();
    __syncthreads();
}

__device__ __forceinline__ unsigned thread_word_index(uint64_t word)
{
    return static_cast<unsigned>(word) & ((1u << RADIX_INDEX_BITS) - 1);
}

__device__ __forceinline__ unsigned thread_word_position(uint64_t word)
{
    return static_cast<unsigned>(word >> RADIX_INDEX_BITS);
}

/* ---- full bins ---- */

/* The slots of a bin: begin..end, without end. */
struct radix_bin_span {
    unsigned begin, end;
};

/* Returns the span of `bin` in a pack of `count` items. starts[] has each bin's first slot. */
__device__ __forceinline__ struct radix_bin_span thread_bin_span(const unsigned *starts,
                                                                 unsigned bin, unsigned count)
{
    return {starts[bin], bin + 1 < RADIX_TILE_BINS ? starts[bin + 1] : count};
}

constexpr unsigned RADIX_TILE_WARPS = RADIX_TILE_THREADS / THREADS_PER_WARP;

/* Returns, in all threads, whether few bins are full and none has more than RADIX_SPAN_MOST items,
 * so that warps can sort the full ones quickly. "Few" means that at most RADIX_TILE_WARPS threads
 * find a full bin. Neighbouring bins, which are usually full together, are checked by different
 * threads. Call it after a barrier; it ends with one. */
__device__ __forceinline__ bool block_has_few_full(const unsigned *bins, unsigned count)
{
    bool has_full = false, has_more = false;
    for (unsigned bin = threadIdx.x; bin < RADIX_TILE_BINS; bin += RADIX_TILE_THREADS) {
        const struct radix_bin_span own = thread_bin_span(bins, bin, count);
        has_full |= own.end - own.begin > RADIX_ITEM_LIMIT;
        has_more |= own.end - own.begin > RADIX_SPAN_MOST;
    }
    const int finders = __syncthreads_count(has_full);
    return !__syncthreads_or(has_more) && finders <= static_cast<int>(RADIX_TILE_WARPS);
}

/* Sorts the words of each full bin, one warp per bin. Neighbouring bins go to different
 * warps. Each lane checks bins of its own stretch of bins[], in an order that lets the lanes of a
 * warp read from different banks. Call it after a barrier; it ends with one. Not inlined: few packs
 * need this code, and it should not take registers from the common path. */
static __device__ __attribute__((noinline)) void
block_sort_full_bins(const unsigned *bins, unsigned count, uint64_t *words)
{
    constexpr unsigned rows = RADIX_TILE_BINS / THREADS_PER_WARP;
    static_assert(rows % THREADS_PER_WARP == 0, "each lane has each of its bins once");
    for (unsigned row = threadIdx.x / THREADS_PER_WARP; row < rows; row += RADIX_TILE_WARPS) {
        const unsigned bin = thread_lane() * rows + (row ^ thread_lane());
        const struct radix_bin_span own = thread_bin_span(bins, bin, count);
        unsigned lanes = __ballot_sync(ALL_LANES, own.end - own.begin > RADIX_ITEM_LIMIT);
        for (; lanes != 0; lanes &= lanes - 1) {
            const int lane = __ffs(static_cast<int>(lanes)) - 1;
            const struct radix_bin_span span = {__shfl_sync(ALL_LANES, own.begin, lane),
                                                __shfl_sync(ALL_LANES, own.end, lane)};
            group_network_sort<THREADS_PER_WARP>(words, span.begin, span.end - span.begin);
        }
    }
    __syncthreads();
}

/* Sorts the words of full bins. Returns false if too many of them share a position: such words are
 * compared one by one, so their number is limited to the size of a bin that is not full. Begins
 * after a barrier and ends with one. */
__device__ __forceinline__ bool block_settle_words(struct radix_item_shared &shared, unsigned count)
{
    block_sort_full_bins(shared.bins, count, shared.words);
    bool is_heavy = false;
    for (unsigned i = threadIdx.x + RADIX_ITEM_LIMIT; i < count; i += RADIX_TILE_THREADS)
        is_heavy |= thread_word_position(shared.words[tile_slot<uint64_t>(i)]) ==
                    thread_word_position(shared.words[tile_slot<uint64_t>(i - RADIX_ITEM_LIMIT)]);
    return !__syncthreads_or(is_heavy);
}

/* Lists the indices in the sorted words of a window. Returns a bit for each word that has the
 * position of one beside it. */
__device__ __forceinline__ unsigned thread_list_indices(struct radix_item_shared &shared,
                                                        unsigned first, unsigned count)
{
    union {
        uint16_t indices[RADIX_WINDOW];
        uint4 all;
    } list;
    static_assert(sizeof list.indices == sizeof list.all, "stored at once");
    uint64_t word = shared.words[tile_slot<uint64_t>(first)];
    const uint64_t before = first > 0 ? shared.words[tile_slot<uint64_t>(first - 1)] : ~word;
    bool is_equal = thread_word_position(before) == thread_word_position(word);
    unsigned equals = 0;
#pragma unroll
    for (unsigned i = 0; i < RADIX_WINDOW; i++) {
        const uint64_t next = shared.words[tile_slot<uint64_t>(first + i + 1)];
        const bool is_next_equal = thread_word_position(word) == thread_word_position(next);
        list.indices[i] = static_cast<uint16_t>(thread_word_index(word));
        equals |= (is_equal || is_next_equal ? 1u : 0u) << i;
        is_equal = is_next_equal;
        word = next;
    }
    shared.windows_of_indices[first / RADIX_WINDOW] = list.all;
    const unsigned left = count - first;
    return left < RADIX_WINDOW ? equals & ((1u << left) - 1) : equals;
}

/* Finds the final position of an item whose word, at `index` of the sorted words, has the same
 * position as others. Few words have one position: their bin is not full, or block_settle_words()
 * has found so. */
__device__ __forceinline__ void thread_list_by_item(struct radix_item_shared &shared,
                                                    unsigned index, unsigned count,
                                                    const key_u128 *source)
{
    const uint64_t *const words = shared.words;
    const uint64_t word = words[tile_slot<uint64_t>(index)];
    const unsigned position = thread_word_position(word);
    const key_u128 item = source[thread_word_index(word)];
    unsigned target = index;
    for (unsigned i = index; i-- > 0;) {
        const uint64_t other = words[tile_slot<uint64_t>(i)];
        if (thread_word_position(other) != position)
            break;
        target -= item < source[thread_word_index(other)] ? 1 : 0;
    }
    for (unsigned i = index + 1; i < count; i++) {
        const uint64_t other = words[tile_slot<uint64_t>(i)];
        if (thread_word_position(other) != position)
            break;
        target += source[thread_word_index(other)] < item ? 1 : 0;
    }
    shared.indices[target] = static_cast<uint16_t>(thread_word_index(word));
}

/* Lists the indices of the items in their order. Begins after a barrier and ends with one. */
__device__ __forceinline__ void block_list_indices(struct radix_item_shared &shared,
                                                   const key_u128 *source, unsigned count)
{
    constexpr unsigned step = RADIX_TILE_THREADS * RADIX_WINDOW;
    const unsigned begin = threadIdx.x * RADIX_WINDOW;
    static_assert(RADIX_TILE_ROOM <= 32 / RADIX_WINDOW * step, "a bit for each word of a thread");
    unsigned equals = 0;
    for (unsigned first = begin, shift = 0; first < count; first += step, shift += RADIX_WINDOW)
        equals |= thread_list_indices(shared, first, count) << shift;
    __syncthreads();
    for (; equals != 0; equals &= equals - 1) {
        const unsigned bit = static_cast<unsigned>(__ffs(static_cast<int>(equals))) - 1;
        thread_list_by_item(shared, begin + bit / RADIX_WINDOW * step + bit % RADIX_WINDOW, count,
                            source);
    }
    __syncthreads();
}

/* Moves the items to the order of their indices. Reads all of them before it writes the first. */
__device__ __forceinline__ void block_move_items(struct radix_item_shared &shared,
                                                 const key_u128 *source, unsigned count,
                                                 key_u128 *target)
{
    key_u128 items[RADIX_TILE_KEYS - RADIX_STAGED_ITEMS];
#pragma unroll
    for (unsigned i = 0; i < RADIX_TILE_KEYS; i++) {
        const unsigned index = i * RADIX_TILE_THREADS + threadIdx.x;
        if (index >= count)
            break;
        const key_u128 *const item = &source[shared.indices[index]];
        if (i < RADIX_STAGED_ITEMS)
            thread_copy_async(&shared.staged[index], item);
        else
            items[i - RADIX_STAGED_ITEMS] = *item;
    }
    thread_wait_for_copies();
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < RADIX_TILE_KEYS; i++) {
        const unsigned index = i * RADIX_TILE_THREADS + threadIdx.x;
        if (index >= count)
            break;
        target[index] =
            i < RADIX_STAGED_ITEMS ? shared.staged[index] : items[i - RADIX_STAGED_ITEMS];
    }
}

/* Sorts the pack to target, which may be the source. Returns false, and moves nothing, if the pack
 * cannot be sorted by words. Begins and ends with bins that are clear. */
__device__ __forceinline__ bool block_sort_items(struct radix_item_shared &shared,
                                                 const key_u128 *source,
                                                 const struct radix_pack &pack, key_u128 *target)
{
    unsigned found[RADIX_TILE_KEYS];
    const unsigned shift = thread_position_shift(pack.bins);
    const bool has_own_full = block_find_items(shared, source, pack, shift, found);
    const bool has_full = block_scan_bins(shared.bins, shared.warp_sums, has_own_full);
    bool is_left = has_full && !block_has_few_full(shared.bins, pack.count);
    if (!is_left) {
        block_place_words(shared, pack, shift, found);
        is_left = has_full && !block_settle_words(shared, pack.count);
    }
    if (is_left) {
        block_clear_bins(shared.bins);
        __syncthreads();
        return false;
    }
    if (!block_sort_bins(shared.bins, shared.words, pack.count, RADIX_TILE_ROUNDS))
        return false;
    block_list_indices(shared, source, pack.count);
    block_move_items(shared, source, pack.count, target);
    return true;
}

/* Sorts the packs from move.source to move.target, and lists the packs that it cannot sort in
 * left[]. Any number of blocks; a struct radix_item_shared of dynamic shared memory. */
static __global__ void __launch_bounds__(RADIX_TILE_THREADS, RADIX_ITEM_BLOCKS)
    radix_items_kernel(struct radix_move<key_u128> move, const struct radix_model<key_u128> *models,
                       struct radix_totals *totals, const struct radix_pack *packs,
                       struct radix_pack *left)
{
    thread_wait_for_dependency();
    struct radix_item_shared &shared =
        *reinterpret_cast<struct radix_item_shared *>(block_dynamic_shared());
    const struct even_share share = block_even_share(totals->packs);
    block_clear_bins(shared.bins);
    unsigned segment = RADIX_SEGMENTS; /* whose model is in shared memory: none yet */
    for (unsigned index = share.begin; index < share.end; index++) {
        const struct radix_pack pack = packs[index];
        if (pack.segment != segment) {
            segment = pack.segment;
            block_load_model<key_u128, RADIX_TILE_THREADS>(models + segment, shared.model);
            __syncthreads();
        }
        if (!block_sort_items(shared, move.source + pack.first, pack, move.target + pack.first) &&
            threadIdx.x == 0)
            left[atomicAdd(&totals->left, 1u)] = pack;
    }
}

#endif
