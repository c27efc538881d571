/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digit_sort.cu - stable LSD radix sort: the path for keys whose distribution no model fits.
 *
 *   items --radix_digit_plan.cuh--> first index of each value of each digit; digits to sort by
 *         --radix_digit_kernel, once per digit--> scratch --> items --> ...
 *
 * The time depends on the number of keys and digits, but not on the distribution of the keys. A
 * pass reads and writes each key once. A tile counts its keys of each digit value and publishes the
 * counts. It then looks back from tile to tile, adding their counts, until it reaches a tile that
 * has published the sum of all tiles up to it. A counter numbers the tiles as their blocks start.
 * So the tiles before a tile have started, and do not wait for it.
 *
 * A tile counts its keys before it ranks them, so that other tiles need not wait for its ranks (as
 * BlockRadixRankMatchEarlyCounts of CUB). It ranks its keys while it waits for the counts of
 * others, and stores each key at its index in the tile at once; CUB's AgentRadixSortOnesweep looks
 * back after both. The registers of a thread limit the number of its keys.
 *
 * The device determines the digits to sort by, and the kernels of surplus passes return at once. A
 * digit that is equal in all keys needs no pass. The index in the low half of 8-byte items needs no
 * pass either: it ascends in the input, and the sort is stable. Items of 16 bytes are sorted as an
 * 8-byte key and a 4-byte position among the items, 12 bytes instead of 16. That suffices because
 * the index of an item follows from its position.
 *
 * Source: A. Adinets and D. Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for
 * GPUs" (2022); the look-back is that of D. Merrill and M. Garland, "Single-pass Parallel Prefix
 * Scan with Decoupled Look-back" (2016).
 */
#include "cuda/radix/radix_digit_sort.h"

#include "cuda/block/launch.cuh"
#include "cuda/block/shared_memory.cuh"
#include "cuda/radix/radix_digit_plan.cuh"

#include <algorithm>
#include <type_traits>

/* Number of keys per thread. */
template <typename K>
constexpr unsigned RADIX_DIGIT_KEYS = radix_digit_keys(sizeof(K));
template <typename K>
constexpr unsigned RADIX_DIGIT_THREADS = radix_digit_threads(sizeof(K));
template <typename K>
constexpr unsigned RADIX_DIGIT_WARPS = RADIX_DIGIT_THREADS<K> / THREADS_PER_WARP;

/* State of a tile for one digit value, which other tiles read. 0: not published. LOOKBACK_PARTIAL:
 * the low bits count the keys of the tile. LOOKBACK_INCLUSIVE: they count the keys of all tiles of
 * the portion up to and including this one. LOOKBACK_COUNT masks the low bits.
 *
 * Flag and count are one aligned word, and no tile reads other data of another tile. So volatile
 * loads and stores are enough, without fences. */
constexpr unsigned LOOKBACK_PARTIAL = 1u << 30;
constexpr unsigned LOOKBACK_INCLUSIVE = 2u << 30;
constexpr unsigned LOOKBACK_COUNT = LOOKBACK_PARTIAL - 1;
static_assert(RADIX_PORTION_MOST < LOOKBACK_PARTIAL, "a sum has room");

/* A pass over a portion of the keys: the keys that one launch sorts by one digit. */
template <typename K>
struct radix_digit_pass {
    K *items;
    K *scratch;
    unsigned *states;      /* a row of RADIX_DIGIT_VALUES for each tile of the portion; all 0 */
    unsigned *next_states; /* states of the next pass, which this pass clears; or NULL */
    size_t count;          /* number of all keys */
    size_t first;          /* index of the portion's first key */
    unsigned keys;         /* number of keys in the portion */
    unsigned index;        /* number of the pass, from 0 */
    unsigned portion;      /* number of the portion, from 0 */
    struct key_order order;
};

/* Shared memory of a block. Count: the type of target indices. It has 32 bits if all indices are
 * below 2^32, as that takes fewer instructions. */
template <typename K, typename Count>
struct radix_digit_shared {
    static constexpr unsigned tile_keys = RADIX_DIGIT_THREADS<K> * RADIX_DIGIT_KEYS<K>;
    static_assert(RADIX_DIGIT_THREADS<K> >= RADIX_DIGIT_VALUES, "a thread for each value");
    /* Number of keys of each value in each warp; later the index in the tile of the next one. */
    unsigned warp_counts[RADIX_DIGIT_WARPS<K>][RADIX_DIGIT_VALUES];
    union { /* ordered by digit */
        typename radix_digit_word<K>::type words[tile_keys];
        uint32_t positions[tile_keys]; /* when the words have been written */
    };
    unsigned counts[RADIX_DIGIT_VALUES]; /* number of keys of each value in the tile */
    Count targets[RADIX_DIGIT_VALUES]; /* target index of a value's key minus its index in words */
    unsigned warp_sums[THREADS_PER_WARP];
    unsigned tile;
};

/* The source or the target of a pass: items, or an array of words and, for items of 16 bytes, an
 * array of positions. */
template <typename K>
struct radix_digit_side {
    K *items;
    typename radix_digit_word<K>::type *words;
    uint32_t *positions;
    bool is_items;
};

/* Returns the source of pass `index`, which is the target of the pass before. For items of 16 bytes
 * the last target, of index `passes`, is the array of items.
 *
 * Words take two quarters of the memory of the items, and positions one. They alternate between
 * scratch and items. For an odd number of passes to end in the items too, the first four targets
 * are in quarters of both, where 0 to 3 are the items and 4 to 7 the scratch: words and positions
 * are in 4 5 and 6, in 0 1 and 7, in 2 3 and 4, in 6 7 and 5. */
template <typename K>
__device__ __forceinline__ struct radix_digit_side<K>
thread_find_side(const struct radix_digit_pass<K> &pass, unsigned index, unsigned passes) {
    typedef typename radix_digit_word<K>::type word;
    const bool is_items = index == 0 || index == passes;
    if (!RADIX_IS_ITEM<K> || is_items) {
        K *const memory = RADIX_IS_ITEM<K> || index % 2 == 0 ? pass.items : pass.scratch;
        return {memory, reinterpret_cast<word *>(memory), NULL, is_items};
    }
    const bool goes_round = passes % 2 != 0 && index < 5;
    const unsigned usual = (passes - index) % 2 != 0 ? 4 : 0;
    const unsigned words = goes_round ? 0x62040 >> 4 * index & 7 : usual;
    const unsigned positions = goes_round ? 0x54760 >> 4 * index & 7 : usual + 2;
    const auto quarter = [&](unsigned number) {
        K *const memory = number < 4 ? pass.items : pass.scratch;
        return reinterpret_cast<uint32_t *>(memory) + number % 4 * pass.count;
    };
    return {NULL, reinterpret_cast<word *>(quarter(words)), quarter(positions), false};
}

struct radix_digit_tile {
    unsigned number; /* in the portion, from 0 */
    unsigned count;  /* of keys */
    size_t first;    /* index of its first key */
    bool is_full;
    bool is_last; /* of the portion */
};

/* Returns the tile with number `tile` of the pass, which counts the tiles of all portions. */
template <unsigned TILE, typename K>
__device__ __forceinline__ struct radix_digit_tile
thread_find_tile(const struct radix_digit_pass<K> &pass, unsigned tile)
{
    const unsigned number = tile - static_cast<unsigned>(pass.first / TILE);
    const unsigned before = number * TILE, left = pass.keys - before;
    return {number, min(left, TILE), pass.first + before, left >= TILE, left <= TILE};
}

/* Returns the index in the tile of the thread's first key. Its KEYS keys are THREADS_PER_WARP
 * apart. The keys of a warp are contiguous, and consecutive lanes have consecutive keys. So ranks
 * keep the order of the keys, which makes the sort stable. */
template <unsigned KEYS>
__device__ __forceinline__ unsigned thread_first_index()
{
    return threadIdx.x / THREADS_PER_WARP * (THREADS_PER_WARP * KEYS) + thread_lane();
}

/* Reads the thread's keys of the tile. `source` points to the tile's first key, and keys are STEP
 * elements apart. Keys past the tile's end are unspecified. */
template <unsigned STEP, typename T, unsigned N>
__device__ __forceinline__ void thread_load_steps(const T *source, unsigned first_index,
                                                  const struct radix_digit_tile &tile, T (&keys)[N])
{
    source += first_index * STEP;
    if (tile.is_full) {
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            keys[i] = source[i * THREADS_PER_WARP * STEP];
    } else {
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            keys[i] = first_index + i * THREADS_PER_WARP < tile.count
                          ? source[i * THREADS_PER_WARP * STEP]
                          : T{0};
    }
}

/* Reads the thread's words of the tile, and encodes the keys of items. Words past the tile's end
 * have all bits set, so that they rank after all others. */
template <typename K, typename W, unsigned N>
__device__ __forceinline__ void thread_load_words(const struct radix_digit_side<K> &source,
                                                  const struct radix_digit_tile &tile,
                                                  const struct key_order &order, W (&words)[N])
{
    const unsigned first_index = thread_first_index<N>();
    if (RADIX_IS_ITEM<K> && source.is_items) /* the high half of an item is its second word */
        thread_load_steps<2>(source.words + 2 * tile.first + 1, first_index, tile, words);
    else
        thread_load_steps<1>(source.words + tile.first, first_index, tile, words);
    if (source.is_items)
        thread_encode_keys(order, words);
    if (!tile.is_full)
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            if (first_index + i * THREADS_PER_WARP >= tile.count)
                words[i] = key_max<W>();
}

/* Returns the lanes with the same digit as the calling one, as a mask. All lanes call it. */
__device__ __forceinline__ unsigned warp_digit_peers(unsigned digit)
{
    unsigned peers = ALL_LANES;
#pragma unroll
    for (unsigned bit = 0; bit < RADIX_DIGIT_BITS; bit++) {
#ifdef __CUDACC__
        /* From the C++ below, nvcc 13.0 makes code that tests each bit twice: 7 instructions
         * instead of 4. */
        unsigned same;
        asm("{ .reg .pred is_set; and.b32 %0, %1, %2; setp.ne.u32 is_set, %0, 0;"
            "  vote.sync.ballot.b32 %0, is_set, 0xffffffff; @!is_set not.b32 %0, %0; }"
            : "=r"(same)
            : "r"(digit), "r"(1u << bit));
        peers &= same;
#else
        const bool is_set = (digit & 1u << bit) != 0;
        const unsigned set = __ballot_sync(ALL_LANES, is_set);
        peers &= is_set ? set : ~set;
#endif
    }
    return peers;
}

/* Returns true, for the whole warp, if its lanes have at most RADIX_EARLY_FEW_DIGITS different
 * digits. */
__device__ __forceinline__ bool warp_has_few_digits(unsigned digit)
{
    const unsigned peers = __match_any_sync(ALL_LANES, digit);
    const bool is_first = (peers & ((1u << thread_lane()) - 1)) == 0;
    return __popc(__ballot_sync(ALL_LANES, is_first)) <= static_cast<int>(RADIX_EARLY_FEW_DIGITS);
}

/* Calls put(i, index in the tile) for each of the thread's words. indices[digit], which belongs to
 * the warp, is the index of its next word of the digit; it is advanced. ARE_FEW: the warp finds
 * lanes of equal digit with a step for each digit, instead of a step for each bit. */
template <bool ARE_FEW, typename W, unsigned N, typename Put>
__device__ __forceinline__ void warp_index_words(const W (&words)[N], unsigned shift,
                                                 unsigned *indices, const Put &put)
{
    const unsigned below = (1u << thread_lane()) - 1;
#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        const unsigned digit = thread_digit(words[i], shift);
        const unsigned peers =
            ARE_FEW ? __match_any_sync(ALL_LANES, digit) : warp_digit_peers(digit);
        const unsigned index = indices[digit] + static_cast<unsigned>(__popc(peers & below));
        __syncwarp();
        if ((peers & ~below) == 1u << thread_lane()) /* the last lane with this digit */
            indices[digit] = index + 1;
        __syncwarp();
        put(i, index);
    }
}

/* Look-back of a thread: it sums the keys of its digit value in all tiles of the portion before its
 * own. A load that is started is in flight while the thread does other work. */
struct radix_lookback {
    unsigned before; /* number of tiles whose keys are not in the sum; 0: done */
    unsigned sum;    /* keys of the value in the tiles from `before` to the one before its own */
    unsigned state;  /* loaded state of tile before - 1 */
};

/* Returns the address of the state of `tile` for the thread's value (LOOKBACK_PARTIAL). */
template <typename K>
__device__ __forceinline__ volatile unsigned *
thread_lookback_state(const struct radix_digit_pass<K> &pass, unsigned tile)
{
    return pass.states + tile * RADIX_DIGIT_VALUES + threadIdx.x;
}

/* Starts to load the state of the next tile, if any is left. */
template <typename K>
__device__ __forceinline__ void thread_lookback_load(const struct radix_digit_pass<K> &pass,
                                                     struct radix_lookback &look)
{
    look.state = LOOKBACK_INCLUSIVE;
    if (look.before > 0)
        look.state = *thread_lookback_state(pass, look.before - 1);
}

/* Does one step of the look-back: adds the loaded state, if its tile has published it, and starts
 * the next load. Publishes the sum of all tiles up to this one when it is complete. */
template <typename K, typename Shared>
__device__ __forceinline__ void thread_lookback_step(const struct radix_digit_pass<K> &pass,
                                                     unsigned tile, const Shared &shared,
                                                     struct radix_lookback &look)
{
    if (look.before == 0)
        return;
    if (look.state != 0) {
        look.sum += look.state & LOOKBACK_COUNT;
        look.before = look.state & LOOKBACK_INCLUSIVE ? 0 : look.before - 1;
    }
    if (look.before > 0)
        thread_lookback_load(pass, look);
    else
        *thread_lookback_state(pass, tile) =
            LOOKBACK_INCLUSIVE | (look.sum + shared.counts[threadIdx.x]);
}

/* The tile's keys of the thread's digit value. Threads from RADIX_DIGIT_VALUES on have no value. */
struct radix_digit_own {
    unsigned count;
    unsigned begin; /* index of the first in the tile, ordered by digit */
};

/* Turns the warps' counts into indices in the tile ordered by digit, and publishes the tile's
 * counts as `published`. `state`: of this tile and the thread's value. Begins after a barrier and
 * ends with one. */
template <unsigned WARPS>
__device__ __forceinline__ struct radix_digit_own
block_sum_digits(unsigned (*warp_counts)[RADIX_DIGIT_VALUES], unsigned *warp_sums,
                 volatile unsigned *state, unsigned published)
{
    const bool has_value = threadIdx.x < RADIX_DIGIT_VALUES;
    struct radix_digit_own own = {0, 0};
    unsigned all = 0;
    if (has_value) {
        for (unsigned warp = 0; warp < WARPS; warp++)
            own.count += warp_counts[warp][threadIdx.x];
        *state = published | own.count;
    }
    own.begin = block_exclusive_scan<WARPS * THREADS_PER_WARP>(own.count, warp_sums, &all);
    if (has_value) {
        unsigned index = own.begin;
        for (unsigned warp = 0; warp < WARPS; warp++) {
            const unsigned count = warp_counts[warp][threadIdx.x];
            warp_counts[warp][threadIdx.x] = index;
            index += count;
        }
    }
    __syncthreads();
    return own;
}

/* Returns `value`, opaque to the optimiser. So the compiler computes the digits again, instead of
 * keeping one in a register for each key. */
__device__ __forceinline__ unsigned thread_opaque(unsigned value)
{
#ifdef __CUDACC__
    asm volatile("" : "+r"(value));
#endif
    return value;
}

/* Indices in the tile of a thread's words: two of 16 bits in each element. */
template <unsigned N>
struct radix_put_indices {
    unsigned pairs[(N + 1) / 2];
    __device__ __forceinline__ void set(unsigned i, unsigned index)
    {
        pairs[i / 2] = i % 2 == 0 ? index : pairs[i / 2] | index << 16;
    }
    __device__ __forceinline__ unsigned operator[](unsigned i) const
    {
        return pairs[i / 2] >> i % 2 * 16 & 0xffff;
    }
};

/* Of a thread's items: their positions, and the indices of their words in the ordered tile. */
template <typename K>
struct radix_digit_own_items {
    struct radix_put_indices<RADIX_DIGIT_KEYS<K>> indices;
    uint32_t positions[RADIX_DIGIT_KEYS<K>];
};

/* Reads the positions of the thread's keys; in the first pass, computes them. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_load_positions(const struct radix_digit_side<K> &source,
                                                      const struct radix_digit_tile &tile,
                                                      uint32_t (&positions)[N])
{
    const unsigned first_index = thread_first_index<N>();
    if (!source.is_items) {
        thread_load_steps<1>(source.positions + tile.first, first_index, tile, positions);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        positions[i] = static_cast<uint32_t>(tile.first) + first_index + i * THREADS_PER_WARP;
}

/* Completes targets[] for the thread's value, which is set as if no tile were before this one.
 * `before`: number of keys of that value in the portion's tiles before this one, which has `count`.
 * The last tile of the portion also sets firsts[] for the next portion. Each tile clears its states
 * of the next pass, if that is requested. */
template <typename K, typename Count>
__device__ __forceinline__ void
thread_find_target(const struct radix_digit_pass<K> &pass, const struct radix_digit_tile &tile,
                   unsigned before, unsigned count, atomic_count (*firsts)[RADIX_DIGIT_VALUES],
                   Count *targets)
{
    targets[threadIdx.x] += before;
    if (tile.is_last)
        firsts[(pass.portion + 1) % 2][threadIdx.x] =
            firsts[pass.portion % 2][threadIdx.x] + before + count;
    if (pass.next_states)
        pass.next_states[tile.number * RADIX_DIGIT_VALUES + threadIdx.x] = 0;
}

/* Calls write(word, target index) for the first `count` words of the tile, which is ordered by
 * digit. */
template <typename K, typename Shared, typename Digit, typename Write>
__device__ __forceinline__ void block_write_tile(const Shared &shared, unsigned count,
                                                 const Digit &digit_of, const Write &write)
{
#pragma unroll
    for (unsigned i = 0; i < RADIX_DIGIT_KEYS<K>; i++) {
        const unsigned index = i * RADIX_DIGIT_THREADS<K> + threadIdx.x;
        const auto word = shared.words[index];
        const auto target_index = shared.targets[digit_of(word)] + index;
        if (index < count)
            write(word, target_index);
    }
}

/* Writes the tile, which is ordered by digit, and decodes keys that become items. */
template <typename K, typename Shared, typename Digit>
__device__ __forceinline__ void
block_write_words(const Shared &shared, const struct radix_digit_side<K> &target,
                  const struct radix_digit_tile &tile, const Digit &digit_of,
                  const struct key_order &order)
{
    typedef typename radix_digit_word<K>::type W;
    typedef decltype(shared.targets[0] + 0u) Index;
    const auto write = [&](W word, Index index) { target.words[index] = word; };
    if (target.is_items && !key_order_is_identity(order))
        block_write_tile<K>(shared, tile.count, digit_of, [&](W word, Index index) {
            target.words[index] = static_cast<W>(key_order_decode(order, 8 * sizeof(W), word));
        });
    else if (tile.is_full)
        block_write_tile<K>(shared, Shared::tile_keys, digit_of, write);
    else
        block_write_tile<K>(shared, tile.count, digit_of, write);
}

/* Writes the tile's words, which are ordered by digit. Then orders the positions in the same shared
 * memory, and writes them. The last pass writes whole items instead; words wait in registers. */
template <typename K, typename Shared, typename Digit>
__device__ __forceinline__ void
block_write_items(Shared &shared, const struct radix_digit_side<K> &target,
                  const struct radix_digit_tile &tile, const Digit &digit_of, uint64_t first_index,
                  const struct radix_digit_own_items<K> &own)
{
    constexpr unsigned N = RADIX_DIGIT_KEYS<K>;
    uint64_t words[N];
#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        const unsigned index = i * RADIX_DIGIT_THREADS<K> + threadIdx.x;
        words[i] = shared.words[index];
        if (!target.is_items && index < tile.count)
            target.words[shared.targets[digit_of(words[i])] + index] = words[i];
    }
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        shared.positions[own.indices[i]] = own.positions[i];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        const unsigned index = i * RADIX_DIGIT_THREADS<K> + threadIdx.x;
        if (index >= tile.count)
            continue;
        const auto target_index = shared.targets[digit_of(words[i])] + index;
        if (target.is_items)
            target.items[target_index] =
                static_cast<K>(words[i]) << 64 | (first_index + shared.positions[index]);
        else
            target.positions[target_index] = shared.positions[index];
    }
}

/* Stores the tile's words in shared memory, ordered by digit, and sets targets[]; for items also
 * *items. Thread 0 must have set shared.tile. Thread d does what concerns value d. While the warps
 * rank their words, loads of other tiles' states are in flight. Ranking needs only barriers of the
 * warp, because no warp touches the row of another in warp_counts. */
template <typename K, typename Count>
__device__ __forceinline__ struct radix_digit_tile
block_order_tile(const struct radix_digit_pass<K> &pass, struct radix_digit_plan *plan,
                 const struct radix_digit_side<K> &source, unsigned digit,
                 struct radix_digit_shared<K, Count> &shared,
                 struct radix_digit_own_items<K> *items)
{
    constexpr unsigned keys = RADIX_DIGIT_KEYS<K>;
    const unsigned shift = digit * RADIX_DIGIT_BITS;
    const bool has_value = threadIdx.x < RADIX_DIGIT_VALUES;
    unsigned *const own_counts = shared.warp_counts[threadIdx.x / THREADS_PER_WARP];
    for (unsigned i = thread_lane(); i < RADIX_DIGIT_VALUES; i += THREADS_PER_WARP)
        own_counts[i] = 0;
    __syncthreads();
    const struct radix_digit_tile tile =
        thread_find_tile<RADIX_DIGIT_THREADS<K> * keys>(pass, shared.tile);
    typename radix_digit_word<K>::type words[keys];
    const Count first =
        has_value ? static_cast<Count>(plan->firsts[digit][pass.portion % 2][threadIdx.x]) : 0;
    thread_load_words(source, tile, pass.order, words);
    /* Count the digits of the words of each warp. */
#pragma unroll
    for (unsigned i = 0; i < keys; i++)
        atomicAdd(&own_counts[thread_digit(words[i], shift)], 1u);
    __syncthreads();
    /* Publish the tile's counts. Those of a warp become the indices of its next words. */
    const struct radix_digit_own own = block_sum_digits<RADIX_DIGIT_WARPS<K>>(
        shared.warp_counts, shared.warp_sums, thread_lookback_state(pass, tile.number),
        tile.number == 0 ? LOOKBACK_INCLUSIVE : LOOKBACK_PARTIAL);
    if (has_value) {
        shared.counts[threadIdx.x] = own.count;
        shared.targets[threadIdx.x] = first - own.begin;
    }
    struct radix_lookback look = {};
    look.before = has_value ? tile.number : 0;
    thread_lookback_load(pass, look);
    /* Rank each word, store it at its index, and do a step of the look-back. */
    const auto store_and_look_back = [&](unsigned i, unsigned index) {
        shared.words[index] = words[i];
        if constexpr (RADIX_IS_ITEM<K>)
            items->indices.set(i, index);
        thread_lookback_step(pass, tile.number, shared, look);
    };
    const unsigned same_shift = thread_opaque(shift);
    if (warp_has_few_digits(thread_digit(words[0], shift)))
        warp_index_words<true>(words, same_shift, own_counts, store_and_look_back);
    else
        warp_index_words<false>(words, same_shift, own_counts, store_and_look_back);
    if constexpr (RADIX_IS_ITEM<K>)
        thread_load_positions(source, tile, items->positions);
    /* Look back: do the remaining steps, and complete targets[]. */
    while (look.before > 0)
        thread_lookback_step(pass, tile.number, shared, look);
    if (has_value)
        thread_find_target(pass, tile, look.sum, shared.counts[threadIdx.x], plan->firsts[digit],
                           shared.targets);
    __syncthreads();
    return tile;
}

/* Does a pass over a portion, with one block per tile. Does nothing if the plan has fewer passes.
 * Needs a struct radix_digit_shared of dynamic shared memory. */
template <typename K, typename Count>
__global__ void __launch_bounds__(radix_digit_threads(sizeof(K)), radix_digit_blocks(sizeof(K)))
    radix_digit_kernel(struct radix_digit_pass<K> pass, struct radix_digit_plan *plan)
{
    thread_wait_for_dependency();
    typedef typename radix_digit_word<K>::type W;
    struct radix_digit_shared<K, Count> &shared =
        *reinterpret_cast<struct radix_digit_shared<K, Count> *>(block_dynamic_shared());
    const unsigned passes = plan->passes;
    if (pass.index >= passes)
        return;
    if (threadIdx.x == 0)
        shared.tile = atomicAdd(&plan->next_tiles[pass.index], 1u);
    const unsigned digit = plan->digits[pass.index];
    struct radix_digit_own_items<K> items;
    const struct radix_digit_tile tile = block_order_tile(
        pass, plan, thread_find_side(pass, pass.index, passes), digit, shared, &items);
    const unsigned shift = thread_opaque(digit * RADIX_DIGIT_BITS);
    const struct radix_digit_side<K> target = thread_find_side(pass, pass.index + 1, passes);
    const auto digit_of = [=](W word) { return thread_digit(word, shift); };
    if constexpr (RADIX_IS_ITEM<K>)
        block_write_items(shared, target, tile, digit_of, plan->first_index, items);
    else
        block_write_words(shared, target, tile, digit_of, pass.order);
}

/* Copies scratch to items if the plan has an odd number of passes. Any number of blocks. */
template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    radix_digit_copy_kernel(const K *scratch, K *items, size_t count,
                            const struct radix_digit_plan *plan)
{
    thread_wait_for_dependency();
    constexpr unsigned rows = 32 / sizeof(K);
    const size_t step = static_cast<size_t>(gridDim.x) * THREADS_PER_BLOCK * rows;
    size_t first = static_cast<size_t>(blockIdx.x) * THREADS_PER_BLOCK * rows + threadIdx.x;
    if (plan->passes % 2 == 0)
        return;
    for (; first < count; first += step) {
        K keys[rows];
#pragma unroll
        for (unsigned i = 0; i < rows; i++)
            if (first + i * THREADS_PER_BLOCK < count)
                keys[i] = scratch[first + i * THREADS_PER_BLOCK];
#pragma unroll
        for (unsigned i = 0; i < rows; i++)
            if (first + i * THREADS_PER_BLOCK < count)
                items[first + i * THREADS_PER_BLOCK] = keys[i];
    }
}

/* ---- host ---- */

static size_t states_bytes(size_t keys, size_t tile)
{
    return launch_blocks(keys, tile) * RADIX_DIGIT_VALUES * sizeof(unsigned);
}

/* One call of radix_digit_sort(). */
template <typename K>
struct digit_call {
    struct cuda_sort sort;
    struct radix_digit_plan *plan;
    size_t tile;         /* keys */
    unsigned *states[2]; /* of the tiles of a portion */
    size_t portion;      /* keys, in whole tiles */
    struct launch_site site;
};

template <typename K>
static struct digit_call<K> prepare_run(const struct cuda_sort &sort,
                                        const struct launch_site &site, size_t portion,
                                        void *memory) {
    struct radix_digit_plan *const plan = static_cast<struct radix_digit_plan *>(memory);
    unsigned *const states = reinterpret_cast<unsigned *>(plan + 1);
    const size_t tile = size_t{RADIX_DIGIT_THREADS<K>} * RADIX_DIGIT_KEYS<K>;
    const size_t whole_tiles = std::min(portion, RADIX_PORTION_MOST) / tile * tile;
    const size_t bytes = states_bytes(std::min(sort.count, whole_tiles), tile);
    return {sort, plan, tile, {states, states + bytes / sizeof *states}, whole_tiles, site};
}

/* Counts the digits, and plans the passes. Clears the states of the first pass, which are stored
 * after the plan. Those of a later pass are cleared by the pass before it or, with several
 * portions, before each portion. */
template <typename K, bool HAS_INDICES>
static bool make_plan(const struct digit_call<K> &call, struct error *error)
{
    const size_t blocks = launch_wave(call.site, RADIX_DIGIT_COUNT_BLOCKS,
                                      launch_blocks(call.sort.count, RADIX_COUNT_PIECE<K>));
    const size_t cleared =
        call.sort.count <= call.portion ? states_bytes(call.sort.count, call.tile) : 0;
    const K *const items = static_cast<const K *>(call.sort.items);
    return cuda_fill(call.sort, call.plan, 0, sizeof *call.plan + cleared, error) &&
           launch_kernel(launch_at(call.site, "radix_digit_count_kernel", blocks,
                                   RADIX_DIGIT_COUNT_THREADS,
                                   sizeof(struct radix_digit_counters<K, HAS_INDICES>)),
                         error, radix_digit_count_kernel<K, HAS_INDICES>, items, call.sort.count,
                         call.sort.order, call.plan) &&
           launch_kernel(launch_at(call.site, "radix_digit_plan_kernel", 1, RADIX_PLAN_THREADS),
                         error, radix_digit_plan_kernel<K, HAS_INDICES>, items, call.sort.count,
                         call.plan, call.sort.status);
}

/* Starts pass `index`, portion by portion. */
template <typename K, typename Count>
static bool start_pass(const struct digit_call<K> &call, unsigned index, struct error *error)
{
    const struct cuda_sort &sort = call.sort;
    const bool is_one = sort.count <= call.portion;
    auto pass = radix_digit_pass<K>();
    pass.items = static_cast<K *>(sort.items);
    pass.scratch = static_cast<K *>(sort.scratch);
    pass.states = call.states[is_one ? index % 2 : 0];
    pass.next_states = is_one ? call.states[(index + 1) % 2] : NULL;
    pass.count = sort.count;
    pass.index = index;
    pass.order = sort.order;
    for (; pass.first < sort.count; pass.first += call.portion, pass.portion++) {
        pass.keys = static_cast<unsigned>(std::min(sort.count - pass.first, call.portion));
        if (!is_one &&
            !cuda_fill(call.sort, pass.states, 0, states_bytes(pass.keys, call.tile), error))
            return false;
        if (!launch_kernel(launch_at(call.site, "radix_digit_kernel",
                                     launch_blocks(pass.keys, call.tile), RADIX_DIGIT_THREADS<K>,
                                     sizeof(struct radix_digit_shared<K, Count>)),
                           error, radix_digit_kernel<K, Count>, pass, call.plan))
            return false;
    }
    return true;
}

/* Starts all passes that there may be. Positions of items of 16 bytes have 32 bits. */
template <typename K, bool HAS_INDICES>
static bool start_passes(const struct digit_call<K> &call, struct error *error)
{
    typedef std::conditional_t<RADIX_IS_ITEM<K>, uint32_t, uint64_t> wide;
    const bool is_wide = call.sort.count > UINT32_MAX;
    bool started = true;
    for (unsigned index = 0; started && index < RADIX_COUNTED_DIGITS<K, HAS_INDICES>; index++)
        started = is_wide ? start_pass<K, wide>(call, index, error)
                          : start_pass<K, uint32_t>(call, index, error);
    return started;
}

/* Copies keys if an odd number of passes has left them in the scratch; items are never left there
 * (thread_find_side). */
template <typename K>
static bool copy_back(const struct digit_call<K> &call, struct error *error)
{
    if constexpr (!RADIX_IS_ITEM<K>) {
        const size_t blocks = launch_wave(call.site, RADIX_COPY_BLOCKS,
                                          launch_blocks(call.sort.count, THREADS_PER_BLOCK));
        return launch_kernel(
            launch_at(call.site, "radix_digit_copy_kernel", blocks, THREADS_PER_BLOCK), error,
            radix_digit_copy_kernel<K>, static_cast<const K *>(call.sort.scratch),
            static_cast<K *>(call.sort.items), call.sort.count, call.plan);
    }
    return true;
}

template <typename K, bool HAS_INDICES>
static bool sort_width(const struct cuda_sort &sort, const struct launch_site &site, size_t portion,
                       void *memory, struct error *error)
{
    const struct digit_call<K> call = prepare_run<K>(sort, site, portion, memory);
    return make_plan<K, HAS_INDICES>(call, error) && start_passes<K, HAS_INDICES>(call, error) &&
           copy_back(call, error);
}

bool radix_digit_sort(const struct cuda_sort &sort, const struct launch_site &site,
                      bool is_above_index, size_t portion, void *memory, struct error *error)
{
    if (sort.item_bytes == 4)
        return sort_width<uint32_t, false>(sort, site, portion, memory, error);
    if (sort.item_bytes > 8)
        return sort_width<key_u128, true>(sort, site, portion, memory, error);
    return is_above_index ? sort_width<uint64_t, true>(sort, site, portion, memory, error)
                          : sort_width<uint64_t, false>(sort, site, portion, memory, error);
}

size_t radix_digit_bytes(size_t count, unsigned item_bytes)
{
    const size_t tile = size_t{radix_digit_threads(item_bytes)} * radix_digit_keys(item_bytes);
    return sizeof(struct radix_digit_plan) +
           2 * states_bytes(std::min(count, RADIX_PORTION_MOST), tile);
}
