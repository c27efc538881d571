/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digits_early.cuh - a pass of radix_digits.cuh that counts the digits before it ranks them,
 * for 4-byte keys, or 8-byte items with a 4-byte key above an index.
 *
 *   keys --atomics--> counts of the tile, published --> first index of each warp's keys of a digit
 *        --ranks, while the block looks back--> shared memory, ordered by digit --> target
 *
 * Other tiles need not wait until this tile has ranked its keys, and this tile ranks its keys while
 * it waits for the counts of others. The index of a key in the tile follows directly from ranking.
 * Counting takes one instruction per key, as the result of the atomic is not used.
 *
 * The limit is the registers of a thread: they must hold its keys, the state of the look-back and
 * the ranking. So for keys above an index, only the upper halves are in registers. The lower halves
 * are read again after the upper ones have been ordered.
 */
#ifndef CUDA_RADIX_DIGITS_EARLY_CUH
#define CUDA_RADIX_DIGITS_EARLY_CUH

#include "cuda/radix/radix_digits.cuh"

template <typename K, bool HAS_INDICES>
constexpr bool RADIX_COUNTS_EARLY = sizeof(K) == sizeof(uint32_t) ||
                                    (sizeof(K) == sizeof(uint64_t) && HAS_INDICES);

/* Returns a digit of the upper 4 bytes of the word. */
template <typename K>
__device__ __forceinline__ unsigned thread_upper_digit(K word, unsigned shift)
{
    return thread_digit(static_cast<uint32_t>(word >> (8 * (sizeof(K) - sizeof(uint32_t)))), shift);
}

/* Words of a tile. Words of 8 bytes are stored as separate halves. */
template <typename K, unsigned TILE>
struct radix_early_words {
    uint32_t uppers[TILE];
    __device__ __forceinline__ K operator[](unsigned i) const
    {
        return uppers[i];
    }
};
template <unsigned TILE>
struct radix_early_words<uint64_t, TILE> {
    uint32_t uppers[TILE];
    uint32_t lowers[TILE];
    __device__ __forceinline__ uint64_t operator[](unsigned i) const
    {
        return static_cast<uint64_t>(uppers[i]) << 32 | lowers[i];
    }
};

/* Shared memory of a block whose tile has KEYS keys per thread. Count: as in struct
 * radix_digit_shared. */
template <typename K, unsigned KEYS, typename Count>
struct radix_early_shared {
    static constexpr unsigned tile_keys = RADIX_DIGIT_THREADS * KEYS;
    /* Number of keys of each value in each warp; later the index in the tile of the next one. */
    unsigned warp_counts[RADIX_DIGIT_WARPS][RADIX_DIGIT_VALUES];
    struct radix_early_words<K, tile_keys> words; /* ordered by digit */
    unsigned counts[RADIX_DIGIT_VALUES];          /* number of keys of each value in the tile */
    Count targets[RADIX_DIGIT_VALUES]; /* target index of a value's key minus its index in words */
    unsigned warp_sums[THREADS_PER_WARP];
    unsigned tile;
};

/* Look-back of a thread: it sums the keys of its digit value in all tiles of the portion before its
 * own. A load that is started is in flight while the thread does other work. */
struct radix_look_back {
    unsigned before; /* number of tiles whose keys are not in the sum; 0: done */
    unsigned sum;    /* keys of the value in the tiles from `before` to the one before its own */
    unsigned seen;   /* loaded state of tile before - 1 */
};

/* Returns the address of the state of `tile` for the thread's value (RADIX_LOOK_OWN). */
template <typename K>
__device__ __forceinline__ volatile unsigned *
thread_look_state(const struct radix_digit_pass<K> &pass, unsigned tile)
{
    return pass.states + tile * RADIX_DIGIT_VALUES + threadIdx.x;
}

/* Starts to load the state of the next tile, if any is left. */
template <typename K>
__device__ __forceinline__ void thread_look_ask(const struct radix_digit_pass<K> &pass,
                                                struct radix_look_back &look)
{
    look.seen = RADIX_LOOK_ALL;
    if (look.before > 0)
        look.seen = *thread_look_state(pass, look.before - 1);
}

/* Adds the loaded state to the sum, if the tile has published it. */
__device__ __forceinline__ void thread_look_take(struct radix_look_back &look)
{
    if (look.seen == 0)
        return;
    look.sum += look.seen & RADIX_LOOK_COUNT;
    look.before = look.seen & RADIX_LOOK_ALL ? 0 : look.before - 1;
}

/* Does one step of the look-back: takes the loaded state, and starts the next load. Publishes the
 * sum of all tiles up to this one when it is complete. */
template <typename K, typename Shared>
__device__ __forceinline__ void thread_look_on(const struct radix_digit_pass<K> &pass,
                                               unsigned tile, const Shared &shared,
                                               struct radix_look_back &look)
{
    if (look.before == 0)
        return;
    thread_look_take(look);
    if (look.before > 0)
        thread_look_ask(pass, look);
    else
        *thread_look_state(pass, tile) = RADIX_LOOK_ALL | (look.sum + shared.counts[threadIdx.x]);
}

/* Turns the warps' counts into indices in the tile, publishes the tile's counts, and sets targets[]
 * as if no tile were before this one. `first`: target index of the portion's first key of the
 * thread's value. Begins after a barrier and ends with one. */
template <typename K, unsigned KEYS, typename Count>
__device__ __forceinline__ void block_sum_early(const struct radix_digit_pass<K> &pass,
                                                unsigned tile, Count first,
                                                struct radix_early_shared<K, KEYS, Count> &shared)
{
    const bool has_value = threadIdx.x < RADIX_DIGIT_VALUES;
    unsigned count = 0, all = 0;
    if (has_value) {
        for (unsigned warp = 0; warp < RADIX_DIGIT_WARPS; warp++)
            count += shared.warp_counts[warp][threadIdx.x];
        *thread_look_state(pass, tile) = (tile == 0 ? RADIX_LOOK_ALL : RADIX_LOOK_OWN) | count;
        shared.counts[threadIdx.x] = count;
    }
    unsigned index = block_exclusive_scan<RADIX_DIGIT_THREADS>(count, shared.warp_sums, &all);
    if (has_value) {
        shared.targets[threadIdx.x] = first - index;
        for (unsigned warp = 0; warp < RADIX_DIGIT_WARPS; warp++) {
            const unsigned own = shared.warp_counts[warp][threadIdx.x];
            shared.warp_counts[warp][threadIdx.x] = index;
            index += own;
        }
    }
    __syncthreads();
}

/* Returns `value`, but hides from the compiler that it is the same. So the compiler computes the
 * digits again, instead of keeping one in a register for each key. */
__device__ __forceinline__ unsigned thread_hide(unsigned value)
{
#ifdef __CUDACC__
    asm volatile("" : "+r"(value));
#endif
    return value;
}

/* Returns true, for the whole warp, if its lanes have at most RADIX_EARLY_FEW_DIGITS digits. */
__device__ __forceinline__ bool warp_has_few_digits(unsigned digit)
{
    const unsigned peers = __match_any_sync(ALL_LANES, digit);
    const bool is_first = (peers & ((1u << thread_lane()) - 1)) == 0;
    return __popc(__ballot_sync(ALL_LANES, is_first)) <= static_cast<int>(RADIX_EARLY_FEW_DIGITS);
}

/* Calls put(i, index in the tile) for each of the thread's keys. indices[digit], which belongs to
 * the warp, is the index of its next key of the digit; it is advanced. ARE_FEW: the warp finds
 * lanes of equal digit with a step for each digit, instead of a step for each bit. */
template <bool ARE_FEW, unsigned N, typename Put>
__device__ __forceinline__ void warp_index_words(const uint32_t (&words)[N], unsigned shift,
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

/* Completes targets[] for the thread's value. `before`: number of keys of that value in the
 * portion's tiles before this one. The last tile of the portion also sets firsts[] for the next
 * portion. Each tile clears its states of the next pass, if that is requested. */
template <typename K, unsigned KEYS, typename Count>
__device__ __forceinline__ void
thread_find_target(const struct radix_digit_pass<K> &pass, const struct radix_digit_tile &tile,
                   unsigned before, radix_count (*firsts)[RADIX_DIGIT_VALUES],
                   struct radix_early_shared<K, KEYS, Count> &shared)
{
    if (threadIdx.x >= RADIX_DIGIT_VALUES)
        return;
    shared.targets[threadIdx.x] += before;
    if (tile.is_last)
        firsts[(pass.portion + 1) % 2][threadIdx.x] =
            firsts[pass.portion % 2][threadIdx.x] + before + shared.counts[threadIdx.x];
    if (pass.next_states)
        pass.next_states[tile.number * RADIX_DIGIT_VALUES + threadIdx.x] = 0;
}

/* Reads the upper 4 bytes of the thread's words of the tile, and encodes 4-byte keys in the first
 * pass. Words past the tile's end have all bits set, as with thread_load_words. */
template <typename K, unsigned N>
__device__ __forceinline__ void
thread_load_uppers(const struct radix_digit_side<K> &source, const struct radix_digit_tile &tile,
                   const struct key_order &order, uint32_t (&uppers)[N])
{
    constexpr unsigned step = sizeof(K) / sizeof(uint32_t);
    const unsigned first_index = thread_first_index<N>();
    thread_load_steps<step>(reinterpret_cast<const uint32_t *>(source.words + tile.first) +
                                (step - 1),
                            first_index, tile, uppers);
    if (step == 1 && source.is_items) /* keys above an index have the identity order */
        thread_encode_keys(order, uppers);
    if (!tile.is_full)
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            if (first_index + i * THREADS_PER_WARP >= tile.count)
                uppers[i] = key_infinity<uint32_t>();
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

/* Reads the lower halves of the words and stores them at the indices of the upper halves. These
 * reads hit the cache, as memory delivered both halves when the upper ones were read. */
template <unsigned N, unsigned TILE>
__device__ __forceinline__ void thread_put_lowers(const struct radix_digit_side<uint64_t> &source,
                                                  const struct radix_digit_tile &tile,
                                                  const struct radix_put_indices<N> &indices,
                                                  struct radix_early_words<uint64_t, TILE> &words)
{
    static_assert(TILE <= 1u << 16, "an index has room");
    uint32_t lowers[N];
    thread_load_steps<2>(reinterpret_cast<const uint32_t *>(source.words + tile.first),
                         thread_first_index<N>(), tile, lowers);
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        words.lowers[indices[i]] = lowers[i];
}

/* Stores the tile's words in shared memory, ordered by digit, and sets targets[]. Thread 0 must
 * have set shared.tile; a barrier precedes its first use here. Ends with a barrier. */
template <typename K, unsigned KEYS, typename Count>
__device__ __forceinline__ struct radix_digit_tile
block_order_early(const struct radix_digit_pass<K> &pass, struct radix_digit_plan *plan,
                  unsigned digit, struct radix_early_shared<K, KEYS, Count> &shared)
{
    const unsigned shift = digit * RADIX_DIGIT_BITS % 32;
    const bool has_value = threadIdx.x < RADIX_DIGIT_VALUES;
    unsigned *const own_counts = shared.warp_counts[threadIdx.x / THREADS_PER_WARP];
    for (unsigned i = thread_lane(); i < RADIX_DIGIT_VALUES; i += THREADS_PER_WARP)
        own_counts[i] = 0;
    __syncthreads();
    const struct radix_digit_tile tile =
        thread_find_tile<RADIX_DIGIT_THREADS * KEYS>(pass, shared.tile);
    const struct radix_digit_side<K> source =
        thread_digit_side(pass, pass.index % 2 != 0, pass.index == 0);
    uint32_t uppers[KEYS];
    const Count first =
        has_value ? static_cast<Count>(plan->firsts[digit][pass.portion % 2][threadIdx.x]) : 0;
    thread_load_uppers(source, tile, pass.order, uppers);
#pragma unroll
    for (unsigned i = 0; i < KEYS; i++)
        atomicAdd(&own_counts[thread_digit(uppers[i], shift)], 1u);
    __syncthreads();
    block_sum_early(pass, tile.number, first, shared);
    struct radix_look_back look = {};
    look.before = has_value ? tile.number : 0;
    thread_look_ask(pass, look);
    struct radix_put_indices<KEYS> indices;
    const auto put = [&](unsigned i, unsigned index) {
        shared.words.uppers[index] = uppers[i];
        indices.set(i, index);
        thread_look_on(pass, tile.number, shared, look);
    };
    const unsigned same_shift = thread_hide(shift);
    if (warp_has_few_digits(thread_digit(uppers[0], shift)))
        warp_index_words<true>(uppers, same_shift, own_counts, put);
    else
        warp_index_words<false>(uppers, same_shift, own_counts, put);
    if constexpr (sizeof(K) > sizeof(uint32_t))
        thread_put_lowers(source, tile, indices, shared.words);
    while (look.before > 0)
        thread_look_on(pass, tile.number, shared, look);
    thread_find_target(pass, tile, look.sum, plan->firsts[digit], shared);
    __syncthreads();
    return tile;
}

/* As radix_digit_kernel, but with a struct radix_early_shared of dynamic shared memory. */
template <typename K, unsigned KEYS, typename Count>
__global__ void __launch_bounds__(RADIX_DIGIT_THREADS, RADIX_DIGIT_BLOCKS)
    radix_digit_early_kernel(struct radix_digit_pass<K> pass, struct radix_digit_plan *plan)
{
    thread_wait_for_grid();
    struct radix_early_shared<K, KEYS, Count> &shared =
        *reinterpret_cast<struct radix_early_shared<K, KEYS, Count> *>(block_dynamic_shared());
    const unsigned passes = plan->passes;
    if (pass.index >= passes)
        return;
    if (threadIdx.x == 0)
        shared.tile = atomicAdd(&plan->next_tiles[pass.index], 1u);
    const unsigned digit = plan->digits[pass.index];
    const struct radix_digit_tile tile = block_order_early(pass, plan, digit, shared);
    const unsigned shift = thread_hide(digit * RADIX_DIGIT_BITS % 32);
    block_write_words(
        shared, thread_digit_side(pass, pass.index % 2 == 0, pass.index + 1 == passes), tile,
        [=](K word) { return thread_upper_digit(word, shift); }, 0, pass.order);
}

#endif
