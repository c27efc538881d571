/* SPDX-License-Identifier: Apache-2.0 */
/* radix_dense.cuh - the last pass for packs whose keys lie close together: each value is counted,
 * and the counts are written out as keys.
 *
 * The maps are monotone, so the first key of each bucket can be found: radix_pack_kernel does, and
 * sets aside the packs whose keys can have no more values than a block has counters for. They need
 * no model, no bins and no repair:
 *
 *   pack --read once--> value - lowest --counted--> counters --scan--> the place of each value's
 *   first key --> values at their places --> lowest + value, decoded, to items
 *
 * Few values have a counter of 32 bits each, and may be there any number of times: a bit for each
 * place tells where a value begins, and the bits before a place say which value that is. So writing
 * is shared out evenly, however uneven the counts are. More values have 8 bits each, four to a
 * word, and each thread puts as many copies as it has counted of its own values to their places;
 * a sum of all counters that is not the number of keys shows that one has overflowed. Such a pack,
 * and one that gives a single thread too much to do, is left to the other packs' kernel.
 *
 * Counting sort, and the rank by counting bits: Knuth, "The Art of Computer Programming", volume 3,
 * section 5.2; G. Jacobson, "Space-efficient Static Trees and Graphs", FOCS 1989.
 */
#ifndef CUDA_RADIX_DENSE_CUH
#define CUDA_RADIX_DENSE_CUH

#include "cuda/radix_tiles.cuh"

constexpr unsigned RADIX_DENSE_KEYS = RADIX_TILE_ROOM / RADIX_DENSE_THREADS; /* of a thread */
constexpr unsigned RADIX_DENSE_ROWS = RADIX_TILE_ROOM / THREADS_PER_WARP;    /* places of a warp */
constexpr unsigned RADIX_DENSE_WARPS = RADIX_DENSE_THREADS / THREADS_PER_WARP;

static_assert(RADIX_TILE_ROOM % RADIX_DENSE_THREADS == 0, "each thread has as many keys");
static_assert(RADIX_DENSE_THREAD_WORDS % 2 == 1, "threads begin at different banks");
static_assert(RADIX_DENSE_VALUES <= 1u << 16 && RADIX_TILE_ROOM < 1u << 16, "halves of a word");

struct radix_dense_shared {
    unsigned counters[RADIX_DENSE_WORDS];
    uint16_t values[RADIX_TILE_ROOM];  /* ascending: of each key, or of each run of equal ones */
    unsigned begins[RADIX_DENSE_ROWS]; /* a bit for each place: a run begins there */
    unsigned warp_sums[THREADS_PER_WARP];
};

/* The sums over the words of a thread, or of all before it: keys, and in the upper half runs (or,
 * of counters that are 8 bits wide, threads with too many keys). */
constexpr unsigned RADIX_DENSE_UPPER = 16;
constexpr unsigned RADIX_DENSE_LOWER_MASK = (1u << RADIX_DENSE_UPPER) - 1;

/* The words that are the thread's. */
struct radix_dense_words {
    unsigned begin;
    unsigned end;
};

__device__ __forceinline__ struct radix_dense_words thread_dense_words(unsigned words)
{
    const unsigned own = ((words + RADIX_DENSE_THREADS - 1) / RADIX_DENSE_THREADS) | 1;
    const struct radix_dense_words range = {threadIdx.x * own, (threadIdx.x + 1) * own};
    return range;
}

/* Reads the pack, and counts its keys; IS_WIDE: with 32 bits a value. Without its old value being
 * asked for, adding 1 to one counter from many lanes is one step for all of them. */
template <typename K, bool IS_WIDE>
__device__ __forceinline__ void block_count_values(unsigned *counters, const K *source,
                                                   unsigned count, K lowest)
{
    K keys[RADIX_DENSE_KEYS];
#pragma unroll
    for (unsigned i = 0; i < RADIX_DENSE_KEYS; i++) {
        const unsigned index = i * RADIX_DENSE_THREADS + threadIdx.x;
        keys[i] = index < count ? source[index] : lowest;
    }
#pragma unroll
    for (unsigned i = 0; i < RADIX_DENSE_KEYS; i++) {
        const unsigned value = static_cast<unsigned>(keys[i] - lowest);
        if (i * RADIX_DENSE_THREADS + threadIdx.x >= count)
            continue;
        if constexpr (IS_WIDE)
            atomicAdd(&counters[value], 1u);
        else
            atomicAdd(&counters[value / 4], 1u << 8 * (value % 4));
    }
}

/* What the thread has counted: keys, and in the upper half values. */
__device__ __forceinline__ unsigned thread_sum_wide(const unsigned *counters,
                                                    const struct radix_dense_words &words)
{
    unsigned sums = 0;
    for (unsigned i = words.begin; i < words.end; i++) {
        const unsigned count = counters[i];
        sums += count + (count > 0 ? 1u << RADIX_DENSE_UPPER : 0);
    }
    return sums;
}

/* Keys, and in the upper half 1 if they are too many. */
__device__ __forceinline__ unsigned thread_sum_narrow(const unsigned *counters,
                                                      const struct radix_dense_words &words)
{
    unsigned sum = 0;
    for (unsigned i = words.begin; i < words.end; i++)
        sum = __dp4a(counters[i], 0x01010101u, sum);
    return sum + (sum > RADIX_DENSE_COPIES ? 1u << RADIX_DENSE_UPPER : 0);
}

/* Lists the thread's values and marks where their keys begin; `sums` is what is before them. Clears
 * the counters. */
__device__ __forceinline__ void thread_put_runs(struct radix_dense_shared &shared,
                                                const struct radix_dense_words &words,
                                                unsigned sums)
{
    unsigned place = sums & RADIX_DENSE_LOWER_MASK, run = sums >> RADIX_DENSE_UPPER;
    unsigned row = place / THREADS_PER_WARP, begins = 0;
    for (unsigned i = words.begin; i < words.end; i++) {
        const unsigned count = shared.counters[i];
        if (count == 0)
            continue;
        shared.counters[i] = 0;
        shared.values[run++] = static_cast<uint16_t>(i);
        if (row != place / THREADS_PER_WARP) {
            atomicOr(&shared.begins[row], begins);
            row = place / THREADS_PER_WARP;
            begins = 0;
        }
        begins |= 1u << place % THREADS_PER_WARP;
        place += count;
    }
    if (begins)
        atomicOr(&shared.begins[row], begins);
}

/* Puts the thread's values, each as often as it was counted, from `place` on. Clears the
 * counters. */
__device__ __forceinline__ void thread_put_copies(struct radix_dense_shared &shared,
                                                  const struct radix_dense_words &words,
                                                  unsigned place)
{
    for (unsigned i = words.begin; i < words.end; i++) {
        unsigned counts = shared.counters[i];
        shared.counters[i] = 0;
        while (counts) {
            const unsigned shift = static_cast<unsigned>(__ffs(static_cast<int>(counts)) - 1) & ~7u;
            shared.values[place++] = static_cast<uint16_t>(4 * i + shift / 8);
            counts -= 1u << shift;
        }
    }
}

/* Writes runs of equal keys: each warp some rows, a lane a place. */
template <typename K>
__device__ __forceinline__ void block_write_runs(const struct radix_dense_shared &shared,
                                                 unsigned count, K lowest, K *target,
                                                 const struct key_order &decoding)
{
    const unsigned rows = (count + THREADS_PER_WARP - 1) / THREADS_PER_WARP;
    const unsigned warp_rows = (rows + RADIX_DENSE_WARPS - 1) / RADIX_DENSE_WARPS;
    const unsigned first_row = threadIdx.x / THREADS_PER_WARP * warp_rows;
    const unsigned end_row = min(first_row + warp_rows, rows);
    if (first_row >= rows)
        return;
    unsigned own_runs = 0;
    for (unsigned row = thread_lane(); row < first_row; row += THREADS_PER_WARP)
        own_runs += static_cast<unsigned>(__popc(shared.begins[row]));
    unsigned runs = __shfl_sync(ALL_LANES, warp_inclusive_scan(own_runs),
                                static_cast<int>(THREADS_PER_WARP - 1));
    const unsigned up_to_lane = ALL_LANES >> (THREADS_PER_WARP - 1 - thread_lane());
    for (unsigned row = first_row; row < end_row; row++) {
        const unsigned begins = shared.begins[row];
        const unsigned run = runs + static_cast<unsigned>(__popc(begins & up_to_lane)) - 1;
        const unsigned place = row * THREADS_PER_WARP + thread_lane();
        runs += static_cast<unsigned>(__popc(begins));
        if (place < count)
            target[place] =
                thread_decode_key(decoding, static_cast<K>(lowest + shared.values[run]));
    }
}

/* Writes a key for each place. */
template <typename K>
__device__ __forceinline__ void block_write_copies(const struct radix_dense_shared &shared,
                                                   unsigned count, K lowest, K *target,
                                                   const struct key_order &decoding)
{
#pragma unroll
    for (unsigned i = 0; i < RADIX_DENSE_KEYS; i++) {
        const unsigned place = i * RADIX_DENSE_THREADS + threadIdx.x;
        if (place >= count)
            break;
        target[place] = thread_decode_key(decoding, static_cast<K>(lowest + shared.values[place]));
    }
}

/* Few values. Begins and ends with counters that are clear. */
template <typename K>
__device__ __forceinline__ void block_sort_few_values(struct radix_dense_shared &shared,
                                                      const struct radix_move<K> &move,
                                                      const struct radix_dense_pack<K> &dense)
{
    const struct radix_pack &pack = dense.pack;
    const struct radix_dense_words words = thread_dense_words(dense.values);
    unsigned total = 0;
    block_count_values<K, true>(shared.counters, move.source + pack.first, pack.count,
                                dense.lowest);
    __syncthreads();
    for (unsigned row = threadIdx.x; row < RADIX_DENSE_ROWS; row += RADIX_DENSE_THREADS)
        shared.begins[row] = 0;
    const unsigned sums = block_exclusive_scan<RADIX_DENSE_THREADS>(
        thread_sum_wide(shared.counters, words), shared.warp_sums, &total);
    thread_put_runs(shared, words, sums);
    __syncthreads();
    block_write_runs(shared, pack.count, dense.lowest, move.target + pack.first, move.decoding);
}

/* Many values, none of them often. Begins and ends with counters that are clear. False if the
 * counts do not fit it; then the pack is as it was. */
template <typename K>
__device__ __forceinline__ bool block_sort_many_values(struct radix_dense_shared &shared,
                                                       const struct radix_move<K> &move,
                                                       const struct radix_dense_pack<K> &dense)
{
    const struct radix_pack &pack = dense.pack;
    const struct radix_dense_words words = thread_dense_words((dense.values + 3) / 4);
    unsigned total = 0;
    block_count_values<K, false>(shared.counters, move.source + pack.first, pack.count,
                                 dense.lowest);
    __syncthreads();
    const unsigned sums = block_exclusive_scan<RADIX_DENSE_THREADS>(
        thread_sum_narrow(shared.counters, words), shared.warp_sums, &total);
    if (total != pack.count) {
        for (unsigned i = words.begin; i < words.end; i++)
            shared.counters[i] = 0;
        __syncthreads();
        return false;
    }
    thread_put_copies(shared, words, sums);
    __syncthreads();
    block_write_copies(shared, pack.count, dense.lowest, move.target + pack.first, move.decoding);
    return true;
}

/* Sorts the dense packs; those that it cannot sort go to the other packs. Any number of blocks. A
 * block has all its barriers between the counts of a pack and its keys: while one warp writes
 * these, another counts the next pack, with counters that are clear by then. */
template <typename K>
__global__ void __launch_bounds__(RADIX_DENSE_THREADS, radix_dense_blocks(sizeof(K)))
    radix_dense_kernel(struct radix_move<K> move, struct radix_totals *totals,
                       const struct radix_dense_pack<K> *dense_packs, struct radix_pack *packs)
{
    thread_wait_for_grid();
    __shared__ struct radix_dense_shared shared;
    const struct radix_share share = block_share(totals->dense);
    for (unsigned i = threadIdx.x; i < RADIX_DENSE_WORDS; i += RADIX_DENSE_THREADS)
        shared.counters[i] = 0;
    __syncthreads();
    for (unsigned index = share.begin; index < share.end; index++) {
        const struct radix_dense_pack<K> dense = dense_packs[index];
        if (dense.values <= RADIX_DENSE_WORDS)
            block_sort_few_values(shared, move, dense);
        else if (!block_sort_many_values(shared, move, dense) && threadIdx.x == 0)
            packs[atomicAdd(&totals->packs, 1u)] = dense.pack;
    }
}

#endif
