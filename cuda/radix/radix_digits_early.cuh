/* SPDX-License-Identifier: Apache-2.0 */
/* radix_digits_early.cuh - a pass of radix_digits.cuh over keys of 4 bytes, or of 4 above an index,
 * whose digits are counted before they are ranked.
 *
 *   keys --atomics--> counts of the tile, made known --> where each warp's keys of a digit begin
 *        --ranks, while the block looks back--> shared memory, in order of digits --> target
 *
 * So other tiles need not wait until this one has ranked its keys, nor this one for them meanwhile;
 * and a rank is at once the place in the tile. Counting takes one instruction a key, as nothing is
 * asked of its atomic; but keys in registers, what is asked for by looking back and the ranking
 * have to fit a thread's registers. So of keys above an index the upper halves alone are there, and
 * the lower ones are read once more when those have been put in order.
 */
#ifndef CUDA_RADIX_DIGITS_EARLY_CUH
#define CUDA_RADIX_DIGITS_EARLY_CUH

#include "cuda/radix/radix_digits.cuh"

template <typename K, bool HAS_INDICES>
constexpr bool RADIX_COUNTS_EARLY = sizeof(K) == sizeof(uint32_t) ||
                                    (sizeof(K) == sizeof(uint64_t) && HAS_INDICES);

/* The digit of a word, which is in its upper 4 bytes. */
template <typename K>
__device__ __forceinline__ unsigned thread_upper_digit(K word, unsigned shift)
{
    return thread_digit(static_cast<uint32_t>(word >> (8 * (sizeof(K) - sizeof(uint32_t)))), shift);
}

/* Words of a tile; those of 8 bytes as their halves. */
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

/* Of tiles with so many keys a thread. Count: as in struct radix_digit_shared. */
template <typename K, unsigned KEYS, typename Count>
struct radix_early_shared {
    static constexpr unsigned tile_keys = RADIX_DIGIT_THREADS * KEYS;
    /* Keys of a value that a warp has; then the index in the tile of the next of them. */
    unsigned warp_counts[RADIX_DIGIT_WARPS][RADIX_DIGIT_VALUES];
    struct radix_early_words<K, tile_keys> words; /* in order of digits */
    unsigned counts[RADIX_DIGIT_VALUES];          /* of the tile */
    Count targets[RADIX_DIGIT_VALUES]; /* of a value's key: the target less its index here */
    unsigned warp_sums[THREADS_PER_WARP];
    unsigned tile;
};

/* A thread that looks for the keys of its value, if it has one, in all tiles of the portion before
 * its own. What it asks for is on its way while it does other work. */
struct radix_look_back {
    unsigned before; /* tiles whose keys are not in the sum */
    unsigned sum;
    unsigned seen; /* of the last of these tiles */
};

/* What is known of a tile's keys of the thread's value. */
template <typename K>
__device__ __forceinline__ volatile unsigned *
thread_look_state(const struct radix_digit_pass<K> &pass, unsigned tile)
{
    return pass.states + tile * RADIX_DIGIT_VALUES + threadIdx.x;
}

template <typename K>
__device__ __forceinline__ void thread_look_ask(const struct radix_digit_pass<K> &pass,
                                                struct radix_look_back &look)
{
    look.seen = RADIX_LOOK_ALL;
    if (look.before > 0)
        look.seen = *thread_look_state(pass, look.before - 1);
}

__device__ __forceinline__ void thread_look_take(struct radix_look_back &look)
{
    if (look.seen == 0)
        return;
    look.sum += look.seen & RADIX_LOOK_COUNT;
    look.before = look.seen & RADIX_LOOK_ALL ? 0 : look.before - 1;
}

/* Takes what was asked for and asks for more, if not all is known. Once it is, it is made known to
 * the tiles behind. */
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

/* Turns the warps' counts into indices in the tile, and makes the sums known. `first`: where the
 * portion's keys of the thread's value go, if it has one. Begins after a barrier and ends with one.
 */
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

/* The same value, but the compiler does not know that: what comes of it is found anew, and does not
 * take a register for each key meanwhile. */
__device__ __forceinline__ unsigned thread_hide(unsigned value)
{
#ifdef __CUDACC__
    asm volatile("" : "+r"(value));
#endif
    return value;
}

/* True, for the whole warp, if its lanes have few digits. */
__device__ __forceinline__ bool warp_has_few_digits(unsigned digit)
{
    const unsigned peers = __match_any_sync(ALL_LANES, digit);
    const bool is_first = (peers & ((1u << thread_lane()) - 1)) == 0;
    return __popc(__ballot_sync(ALL_LANES, is_first)) <= static_cast<int>(RADIX_EARLY_FEW_DIGITS);
}

/* Calls put(i, index in the tile) for each of the warp's keys; indices[]: of each digit, that of
 * the warp's next key. ARE_FEW: lanes of one digit are found digit by digit, and else bit by bit.
 */
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
        if ((peers & ~below) == 1u << thread_lane()) /* the last of them */
            indices[digit] = index + 1;
        __syncwarp();
        put(i, index);
    }
}

/* Finds where the tile's keys of the thread's value go, if it has one, of which the portion has
 * `before` in the tiles before. */
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

/* Reads the upper 4 bytes of the tile's words; behind its end as thread_load_words. */
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
    if (step == 1 && source.is_items) /* keys above an index have the identical order */
        thread_encode_keys(order, uppers);
    if (!tile.is_full)
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            if (first_index + i * THREADS_PER_WARP >= tile.count)
                uppers[i] = key_infinity<uint32_t>();
}

/* Where a thread has put its words in the tile, two indices of 16 bits each. */
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

/* Puts the lower halves of the words to where the upper ones are. They have come from memory with
 * those: it is the cache that is asked. */
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

/* Puts the tile's words into shared memory in order of their digits, and finds where these go.
 * Begins when shared.tile is known, before a barrier, and ends with one. */
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

/* As radix_digit_kernel, with a struct radix_early_shared. */
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
