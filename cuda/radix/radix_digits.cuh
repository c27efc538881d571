/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digits.cuh - stable LSD radix sort: the path for keys whose distribution no model fits.
 *
 *   items --radix_digit_plan.cuh--> first index of each value of each digit; digits to sort by
 *         --radix_digit_kernel, once per digit--> scratch --> items --> ...
 *
 * The time depends on the number of keys and digits, but not on the distribution of the keys. A
 * pass reads and writes each key once. A tile counts its keys of each digit value and publishes the
 * counts. It then looks back from tile to tile, adding their counts, until it reaches a tile that
 * has published the sum of all tiles up to it. A counter numbers the tiles as their blocks start.
 * So the tiles before a tile have started, and do not wait for it. Keys of 4 bytes have their own
 * kernel for a pass (radix_digits_early.cuh).
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
#ifndef CUDA_RADIX_DIGITS_CUH
#define CUDA_RADIX_DIGITS_CUH

#include "cuda/block/dynamic_shared.cuh"
#include "cuda/radix/radix_digit_plan.cuh"

/* Number of keys per thread, and per tile of the usual size. */
template <typename K, bool HAS_INDICES>
constexpr struct radix_keys_choice
    RADIX_DIGIT_KEYS = radix_digit_keys(sizeof(K), HAS_INDICES && !RADIX_HAS_PLACES<K>);
template <typename K, bool HAS_INDICES = false>
constexpr unsigned RADIX_DIGIT_TILE = RADIX_DIGIT_THREADS *RADIX_DIGIT_KEYS<K, HAS_INDICES>.usual;
constexpr unsigned RADIX_DIGIT_WARPS = RADIX_DIGIT_THREADS / THREADS_PER_WARP;
static_assert(RADIX_DIGIT_THREADS >= RADIX_DIGIT_VALUES, "a thread for each value of a digit");

/* State of a tile for one digit value, which other tiles read. 0: not published. RADIX_LOOK_OWN:
 * the low bits count the keys of the tile. RADIX_LOOK_ALL: they count the keys of all tiles of the
 * portion up to and including this one. RADIX_LOOK_COUNT masks the low bits. */
constexpr unsigned RADIX_LOOK_OWN = 1u << 30;
constexpr unsigned RADIX_LOOK_ALL = 2u << 30;
constexpr unsigned RADIX_LOOK_COUNT = RADIX_LOOK_OWN - 1;
static_assert(RADIX_PORTION_MOST < RADIX_LOOK_OWN, "a sum has room");

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

/* Shared memory of a block whose tile has KEYS keys per thread. Count: the type of target indices.
 * It has 32 bits if all indices are below 2^32, as that takes fewer instructions. */
template <typename K, unsigned KEYS, typename Count>
struct radix_digit_shared {
    static constexpr unsigned tile_keys = RADIX_DIGIT_THREADS * KEYS;
    typedef typename radix_digit_word<K>::type word;
    union {
        /* Number of keys of each value in each warp; later their first index in the tile. */
        unsigned warp_counts[RADIX_DIGIT_WARPS][RADIX_DIGIT_VALUES];
        word words[tile_keys];
    };
    uint32_t places[RADIX_HAS_PLACES<K> ? tile_keys : 1];
    Count targets[RADIX_DIGIT_VALUES]; /* target index of a value's key minus its index in words */
    unsigned warp_sums[THREADS_PER_WARP];
    unsigned tile;
};

/* The source or the target of a pass: items, or an array of words followed by one of positions. */
template <typename K>
struct radix_digit_side {
    K *items;
    typename radix_digit_word<K>::type *words;
    uint32_t *places;
    bool is_items;
};

/* Returns the side in pass.scratch or in pass.items. */
template <typename K>
__device__ __forceinline__ struct radix_digit_side<K>
thread_digit_side(const struct radix_digit_pass<K> &pass, bool is_scratch, bool is_items) {
    typedef typename radix_digit_word<K>::type word;
    K *const memory = is_scratch ? pass.scratch : pass.items;
    word *const words = reinterpret_cast<word *>(memory);
    return {memory, words, reinterpret_cast<uint32_t *>(words + pass.count), is_items};
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
    if (RADIX_HAS_PLACES<K> && source.is_items) /* the high half of an item is its second word */
        thread_load_steps<2>(source.words + 2 * tile.first + 1, first_index, tile, words);
    else
        thread_load_steps<1>(source.words + tile.first, first_index, tile, words);
    if (source.is_items)
        thread_encode_keys(order, words);
    if (!tile.is_full)
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            if (first_index + i * THREADS_PER_WARP >= tile.count)
                words[i] = key_infinity<W>();
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

/* Sets ranks[i] to the number of keys of the warp before words[i] that have the same digit. Sets
 * counts[], which belongs to the warp and must be 0, to the number of its keys of each digit. */
template <typename Digit, typename W, unsigned N>
__device__ __forceinline__ void warp_rank_digits(const W (&words)[N], const Digit &digit_of,
                                                 unsigned *counts, unsigned (&ranks)[N])
{
    const unsigned below = (1u << thread_lane()) - 1;
#pragma unroll
    for (unsigned i = 0; i < N; i++) {
        const unsigned digit = digit_of(words[i]);
        const unsigned peers = warp_digit_peers(digit);
        const unsigned before = static_cast<unsigned>(__popc(peers & below));
        ranks[i] = counts[digit] + before;
        __syncwarp();
        if ((peers & ~below) == 1u << thread_lane()) /* the last lane with this digit */
            counts[digit] = ranks[i] + 1;
        __syncwarp();
    }
}

/* Returns the number of keys of the thread's value in all tiles of the portion before `tile`.
 * Publishes that number plus `own`, the number in this tile. `states` points to the state of the
 * value in the first tile; states of consecutive tiles are RADIX_DIGIT_VALUES words apart. */
__device__ __forceinline__ unsigned thread_look_back(volatile unsigned *states, unsigned tile,
                                                     unsigned own)
{
    unsigned sum = 0;
    for (unsigned before = tile; before > 0;) {
        unsigned seen[RADIX_LOOK_TILES]; /* loaded at the same time */
#pragma unroll
        for (unsigned i = 0; i < RADIX_LOOK_TILES; i++) {
            seen[i] = RADIX_LOOK_ALL;
            if (i < before)
                seen[i] = states[static_cast<size_t>(before - 1 - i) * RADIX_DIGIT_VALUES];
        }
        bool is_known = true;
#pragma unroll
        for (unsigned i = 0; i < RADIX_LOOK_TILES; i++) {
            is_known = is_known && seen[i] != 0 && before > 0;
            sum += is_known ? seen[i] & RADIX_LOOK_COUNT : 0;
            before = !is_known ? before : seen[i] & RADIX_LOOK_ALL ? 0 : before - 1;
        }
    }
    states[static_cast<size_t>(tile) * RADIX_DIGIT_VALUES] = RADIX_LOOK_ALL | (sum + own);
    return sum;
}

/* The tile's keys of the thread's digit value. Threads from RADIX_DIGIT_VALUES on have no value. */
struct radix_digit_own {
    unsigned count;
    unsigned begin; /* index of the first in the tile, ordered by digit */
};

/* Turns the warps' counts into indices in the tile ordered by digit, and publishes the tile's
 * counts. `state`: of this tile and the thread's value. Begins after a barrier and ends with one.
 */
__device__ __forceinline__ struct radix_digit_own
block_sum_digits(unsigned (*warp_counts)[RADIX_DIGIT_VALUES], unsigned *warp_sums,
                 volatile unsigned *state)
{
    const bool has_value = threadIdx.x < RADIX_DIGIT_VALUES;
    struct radix_digit_own own = {0, 0};
    unsigned all = 0;
    if (has_value) {
        for (unsigned warp = 0; warp < RADIX_DIGIT_WARPS; warp++)
            own.count += warp_counts[warp][threadIdx.x];
        *state = RADIX_LOOK_OWN | own.count;
    }
    own.begin = block_exclusive_scan<RADIX_DIGIT_THREADS>(own.count, warp_sums, &all);
    if (has_value) {
        unsigned index = own.begin;
        for (unsigned warp = 0; warp < RADIX_DIGIT_WARPS; warp++) {
            const unsigned count = warp_counts[warp][threadIdx.x];
            warp_counts[warp][threadIdx.x] = index;
            index += count;
        }
    }
    __syncthreads();
    return own;
}

/* Reads the positions of the thread's keys; in the first pass, computes them. */
template <typename K, unsigned N>
__device__ __forceinline__ void thread_load_places(const struct radix_digit_side<K> &source,
                                                   const struct radix_digit_tile &tile,
                                                   uint32_t (&places)[N])
{
    const unsigned first_index = thread_first_index<N>();
    if (!source.is_items) {
        thread_load_steps<1>(source.places + tile.first, first_index, tile, places);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        places[i] = static_cast<uint32_t>(tile.first) + first_index + i * THREADS_PER_WARP;
}

/* Sets targets[] (struct radix_digit_shared) for the tile's keys of each value, after looking back.
 * The last tile of the portion also sets firsts[] for the next portion. Each tile clears its states
 * of the next pass, if that is requested. */
template <typename K, typename Count>
__device__ __forceinline__ void
block_find_targets(const struct radix_digit_pass<K> &pass, const struct radix_digit_tile &tile,
                   const struct radix_digit_own &own, radix_count (*firsts)[RADIX_DIGIT_VALUES],
                   Count *targets)
{
    if (threadIdx.x >= RADIX_DIGIT_VALUES)
        return;
    const radix_count first = firsts[pass.portion % 2][threadIdx.x] +
                              thread_look_back(pass.states + threadIdx.x, tile.number, own.count);
    targets[threadIdx.x] = static_cast<Count>(first - own.begin);
    if (tile.is_last)
        firsts[(pass.portion + 1) % 2][threadIdx.x] = first + own.count;
    if (pass.next_states)
        pass.next_states[tile.number * RADIX_DIGIT_VALUES + threadIdx.x] = 0;
}

/* Calls write(word, index in the tile, target index) for the first `count` keys of the tile, which
 * is ordered by digit. */
template <typename Shared, typename Digit, typename Write>
__device__ __forceinline__ void block_write_tile(const Shared &shared, unsigned count,
                                                 const Digit &digit_of, const Write &write)
{
#pragma unroll
    for (unsigned i = 0; i < Shared::tile_keys / RADIX_DIGIT_THREADS; i++) {
        const unsigned index = i * RADIX_DIGIT_THREADS + threadIdx.x;
        const auto word = shared.words[index];
        const auto place = shared.targets[digit_of(word)] + index;
        if (index < count)
            write(word, index, place);
    }
}

/* Writes the tile, which is ordered by digit, to words and their positions or, after decoding the
 * keys, to items. */
template <typename K, typename Shared, typename Digit>
__device__ __forceinline__ void
block_write_words(const Shared &shared, const struct radix_digit_side<K> &target,
                  const struct radix_digit_tile &tile, const Digit &digit_of, uint64_t first_index,
                  const struct key_order &order)
{
    typedef typename radix_digit_word<K>::type W;
    typedef decltype(shared.targets[0] + 0u) Place;
    if constexpr (RADIX_HAS_PLACES<K>) {
        if (target.is_items)
            block_write_tile(shared, tile.count, digit_of,
                             [&](W word, unsigned index, Place place) {
                                 target.items[place] = static_cast<K>(word) << 64 |
                                                       (first_index + shared.places[index]);
                             });
        else
            block_write_tile(shared, tile.count, digit_of,
                             [&](W word, unsigned index, Place place) {
                                 target.words[place] = word;
                                 target.places[place] = shared.places[index];
                             });
    } else if (target.is_items && !key_order_is_identity(order)) {
        block_write_tile(shared, tile.count, digit_of, [&](W word, unsigned, Place place) {
            target.words[place] = static_cast<W>(key_order_decode(order, 8 * sizeof(W), word));
        });
    } else if (tile.is_full) {
        block_write_tile(shared, Shared::tile_keys, digit_of,
                         [&](W word, unsigned, Place place) { target.words[place] = word; });
    } else {
        block_write_tile(shared, tile.count, digit_of,
                         [&](W word, unsigned, Place place) { target.words[place] = word; });
    }
}

/* Sorts one tile by the digit of the pass and writes it. digit_of(word) returns that digit. */
template <typename K, typename Shared, typename Digit>
__device__ __forceinline__ void block_sort_digit(const struct radix_digit_pass<K> &pass,
                                                 struct radix_digit_plan *plan, Shared &shared,
                                                 const Digit &digit_of)
{
    const unsigned passes = plan->passes, digit = plan->digits[pass.index];
    const bool is_odd = pass.index % 2 != 0;
    const struct radix_digit_side<K> source = thread_digit_side(pass, is_odd, pass.index == 0);
    const struct radix_digit_side<K> target =
        thread_digit_side(pass, !is_odd, pass.index + 1 == passes);
    unsigned *const own_counts = shared.warp_counts[threadIdx.x / THREADS_PER_WARP];
    for (unsigned i = thread_lane(); i < RADIX_DIGIT_VALUES; i += THREADS_PER_WARP)
        own_counts[i] = 0;
    __syncthreads();
    const struct radix_digit_tile tile = thread_find_tile<Shared::tile_keys>(pass, shared.tile);
    constexpr unsigned keys = Shared::tile_keys / RADIX_DIGIT_THREADS;
    typename radix_digit_word<K>::type words[keys];
    unsigned ranks[keys];
    thread_load_words(source, tile, pass.order, words);
    warp_rank_digits(words, digit_of, own_counts, ranks);
    __syncthreads();
    const struct radix_digit_own own =
        block_sum_digits(shared.warp_counts, shared.warp_sums,
                         pass.states + tile.number * RADIX_DIGIT_VALUES + threadIdx.x);
#pragma unroll
    for (unsigned i = 0; i < keys; i++)
        ranks[i] += own_counts[digit_of(words[i])];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < keys; i++)
        shared.words[ranks[i]] = words[i];
    if constexpr (RADIX_HAS_PLACES<K>) {
        uint32_t places[keys]; /* loaded while the block looks back */
        thread_load_places(source, tile, places);
        block_find_targets(pass, tile, own, plan->firsts[digit], shared.targets);
#pragma unroll
        for (unsigned i = 0; i < keys; i++)
            shared.places[ranks[i]] = places[i];
    } else {
        block_find_targets(pass, tile, own, plan->firsts[digit], shared.targets);
    }
    __syncthreads();
    block_write_words(shared, target, tile, digit_of, plan->first_index, pass.order);
}

/* Does a pass over a portion, with one block per tile. Does nothing if the plan has fewer passes.
 * Needs a struct radix_digit_shared of dynamic shared memory. */
template <typename K, unsigned KEYS, typename Count>
__global__ void __launch_bounds__(RADIX_DIGIT_THREADS, RADIX_DIGIT_BLOCKS)
    radix_digit_kernel(struct radix_digit_pass<K> pass, struct radix_digit_plan *plan)
{
    thread_wait_for_grid();
    typedef typename radix_digit_word<K>::type W;
    struct radix_digit_shared<K, KEYS, Count> &shared =
        *reinterpret_cast<struct radix_digit_shared<K, KEYS, Count> *>(block_dynamic_shared());
    if (pass.index >= plan->passes)
        return;
    if (threadIdx.x == 0)
        shared.tile = atomicAdd(&plan->next_tiles[pass.index], 1u);
    const unsigned shift = plan->digits[pass.index] * RADIX_DIGIT_BITS;
    block_sort_digit(pass, plan, shared, [=](W word) { return thread_digit(word, shift); });
}

/* Copies scratch to items if the plan has an odd number of passes. Any number of blocks. */
template <typename K>
__global__ void __launch_bounds__(THREADS_PER_BLOCK)
    radix_digit_copy_kernel(const K *__restrict__ scratch, K *__restrict__ items, size_t count,
                            const struct radix_digit_plan *plan)
{
    thread_wait_for_grid();
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

#endif
