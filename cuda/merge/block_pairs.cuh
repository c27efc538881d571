/* SPDX-License-Identifier: Apache-2.0 */
/* block_pairs.cuh - merges pairs of sorted runs in shared memory, in place, by all threads of a
 * warp or of a block. Each thread makes one row of the output.
 *
 * A pair fills a range of a tile. Run a ascends from the start of the range; run b descends to its
 * end, so that the whole is a bitonic sequence. The range is cut into rows of ROW keys, the number
 * that a thread makes. Ranges begin and end at row boundaries. There are no gaps.
 *
 *     | a0 a1 a2 ... a(n-1) | b(m-1) ... b2 b1 b0 |        n + m = rows of ROW keys
 *
 * Loads and stores of keys of 8 and 16 bytes have no bank conflict, whatever the keys are. Searches
 * have some in their last steps only:
 *
 * - A thread's ROW keys of the output are consecutive keys of a and consecutive keys of b. As b
 *   descends, their positions modulo ROW are all different: those of b continue those of a. So the
 *   threads of a row of banks can each start at another position modulo ROW, and wrap around. A
 *   thread gets its bitonic sequence rotated. That is bitonic as well, and the network of
 *   thread_bitonic_merge_turned sorts it.
 * - When a thread stores its row, key number j goes to position j ^ x, with a different x for each
 *   thread of a row of banks. The network leaves the keys in that order at no cost: a comparator
 *   whose stride is a bit set in x points the other way.
 * - The searches for the splits of neighbours access positions 8 or 16 keys apart, which are in one
 *   bank. While its range is wide, each search takes the nearby position that is its own modulo
 *   ROW.
 *
 * Source: S. Odeh, O. Green, Z. Mwassi, O. Shmueli, Y. Birk, "Merge Path - Parallel Merging Made
 * Simple", IPDPS Workshops 2012; runs that face each other, read by residues, as in K. Berney, N.
 * Sitchinava, "Eliminating Bank Conflicts in GPU Mergesort", 2022.
 */
#ifndef CUDA_BLOCK_PAIRS_CUH
#define CUDA_BLOCK_PAIRS_CUH

#include "cuda/block/thread_key.cuh"

#include <type_traits>

/* Keys of a row: the number that a thread makes in a merge. */
template <typename K>
constexpr unsigned ROW = merge_row_keys(sizeof(K));

/* As an unsigned, so that offsets in a tile have 32 bits. */
template <typename K>
constexpr unsigned KEY_BYTES = sizeof(K);

/* A pair in a tile, as indices in the tile. */
struct paired_runs {
    unsigned first; /* a multiple of ROW, like count */
    unsigned count; /* keys of both runs */
    unsigned a_count;
};

/* Returns the thread's own position within a row, x above. It differs between all threads that one
 * access of shared memory serves. */
template <typename K>
__device__ __forceinline__ unsigned thread_row_place()
{
    constexpr unsigned row_bytes = ROW<K> * KEY_BYTES<K>;
    constexpr unsigned rows = row_bytes < BANK_ROW_BYTES ? BANK_ROW_BYTES / row_bytes : 1;
    constexpr unsigned keys_per_bank = KEY_BYTES<K> < 4 ? 4 / KEY_BYTES<K> : 1;
    return threadIdx.x / rows * keys_per_bank % ROW<K>;
}

/* Returns the key at an offset in bytes. With offsets made by masks, an address takes one
 * instruction less than with indices. */
template <typename K>
__device__ __forceinline__ K &key_at_byte(K *tile, unsigned byte)
{
    using bytes = std::conditional_t<std::is_const_v<K>, const unsigned char, unsigned char>;
    return *reinterpret_cast<K *>(reinterpret_cast<bytes *>(tile) + byte);
}

/* Returns the number of keys of a among the first `diagonal` keys of the merge. `diagonal` is a
 * multiple of ROW. Equal keys of a go first. */
template <typename K>
__device__ __forceinline__ unsigned thread_pair_split(const K *tile, const struct paired_runs &pair,
                                                      unsigned diagonal)
{
    constexpr unsigned row_bytes = ROW<K> * KEY_BYTES<K>;
    const unsigned b_count = pair.count - pair.a_count;
    const unsigned a = pair.first * KEY_BYTES<K>;
    /* If i keys of a are before the diagonal, the last key of b before it is at b + i. */
    const unsigned b = a + (pair.count - diagonal) * KEY_BYTES<K>;
    const unsigned own_place = thread_row_place<K>() * KEY_BYTES<K>;
    unsigned from = (diagonal > b_count ? diagonal - b_count : 0) * KEY_BYTES<K>;
    unsigned to = (diagonal < pair.a_count ? diagonal : pair.a_count) * KEY_BYTES<K>;
    while (to >= from + 2 * row_bytes) {
        const unsigned middle = ((from + to) / 2 & ~(row_bytes - 1)) | own_place;
        if (key_at_byte(tile, b + middle) < key_at_byte(tile, a + middle))
            to = middle;
        else
            from = middle + KEY_BYTES<K>;
    }
    unsigned at_a = a + from, at_b = b + from;
    const unsigned end_of_a = a + to;
#pragma unroll
    for (unsigned step = row_bytes; step >= KEY_BYTES<K>; step /= 2) {
        const bool is_before =
            at_a + step <= end_of_a && !(key_at_byte(tile, at_b + step - KEY_BYTES<K>) <
                                         key_at_byte(tile, at_a + step - KEY_BYTES<K>));
        if (is_before)
            at_a += step;
        if (is_before)
            at_b += step;
    }
    return (at_a - a) / KEY_BYTES<K>;
}

/* The loads of a thread. Load j is of key k = (start + j) % ROW of its row, which is at byte
 * (k < count_of_a ? a : b) + k * KEY_BYTES: `a` and `b` are the bytes at which the row would start
 * if all of it were from that run. In keys, with ROW = 4, for a thread whose own position is 0:
 *
 *   position               0  1  2  3  4  5  6  7  8  9 10 11
 *   tile                  a0 a1 a2 a3 a4 a5 b5 b4 b3 b2 b1 b0
 *   diagonal 4, split 2          k0 k1 k2             k3           a = 2, b = 6, count_of_a = 3
 *   start (0 - 2) % 4            j2 j3 j0             j1           j is position % 4
 *
 * So the loads are three stretches of consecutive keys, because the run of load 0 is entered twice:
 * the first ends before load first_end, the second before second_end. A stretch is the byte that
 * load 0 would have in it, plus a row, because that of the third can be below 0. */
struct pair_stretches {
    unsigned first, second, third;
    unsigned first_end, second_end;
};

template <typename K>
__device__ __forceinline__ struct pair_stretches
thread_find_stretches(unsigned a, unsigned b, unsigned count_of_a, unsigned start)
{
    constexpr unsigned row_bytes = ROW<K> * KEY_BYTES<K>;
    const bool begins_in_a = start < count_of_a;
    const unsigned start_of_a = a + start * KEY_BYTES<K>, start_of_b = b + start * KEY_BYTES<K>;
    const unsigned third = begins_in_a ? start_of_a : start_of_b;
    const unsigned wrap = ROW<K> - start, end_of_a = count_of_a - start;
    return {third + row_bytes, begins_in_a ? start_of_b + row_bytes : start_of_a, third,
            begins_in_a ? end_of_a : wrap, begins_in_a ? wrap : ROW<K> + end_of_a};
}

/* Loads the thread's keys of the merge, from `diagonal` on, as a rotated bitonic sequence. `split`
 * and `next_split` are the numbers of keys of a before this diagonal and before the next one. */
template <typename K>
__device__ __forceinline__ void thread_pair_load(const K *tile, const struct paired_runs &pair,
                                                 unsigned diagonal, unsigned split,
                                                 unsigned next_split, K (&keys)[ROW<K>])
{
    constexpr unsigned row_bytes = ROW<K> * KEY_BYTES<K>;
    const unsigned a = (pair.first + split) * KEY_BYTES<K>;
    const unsigned b = a + (pair.count - diagonal) * KEY_BYTES<K> - row_bytes;
    const struct pair_stretches stretches = thread_find_stretches<K>(
        a, b, next_split - split, (thread_row_place<K>() - split) % ROW<K>);
#pragma unroll
    for (unsigned j = 0; j < ROW<K>; j++) {
        const unsigned later = j < stretches.second_end ? stretches.second : stretches.third;
        const unsigned byte = j < stretches.first_end ? stretches.first : later;
        keys[j] = key_at_byte(tile, byte + (j * KEY_BYTES<K> - row_bytes));
    }
}

/* Sorts the thread's keys, which are bitonic, and stores them in its row, ascending or descending.
 * `row` is the position of the row's first key. */
template <typename K>
__device__ __forceinline__ void thread_row_merge(K (&keys)[ROW<K>], bool is_descending, K *tile,
                                                 unsigned row)
{
    const unsigned own_place = thread_row_place<K>();
    thread_bitonic_merge_turned(keys, is_descending ? own_place ^ (ROW<K> - 1) : own_place);
    const unsigned place = (row + own_place) * KEY_BYTES<K>;
#pragma unroll
    for (unsigned j = 0; j < ROW<K>; j++)
        key_at_byte(tile, place ^ (j * KEY_BYTES<K>)) = keys[j];
}

/* ---- all threads of a warp or of a block ---- */

/* Keys in the rows of a warp. */
template <typename K>
constexpr unsigned KEYS_OF_WARP = ROW<K> *THREADS_PER_WARP;

/* Sorts the thread's keys into its row of the tile. Every other row descends. */
template <typename K>
__device__ __forceinline__ void thread_sort_row(K (&keys)[ROW<K>], K *tile)
{
    constexpr unsigned half = ROW<K> / 2;
    thread_sort<0, half>(keys);
    thread_sort<half, half>(keys);
#pragma unroll
    for (unsigned i = 0; i < half / 2; i++) {
        const K kept = keys[half + i];
        keys[half + i] = keys[ROW<K> - 1 - i];
        keys[ROW<K> - 1 - i] = kept;
    }
    thread_row_merge(keys, threadIdx.x % 2 == 1, tile, threadIdx.x * ROW<K>);
}

/* Merges pairs, one output row per thread. `pair` is the thread's pair. `diagonal` counts from its
 * start and grows by a row from thread to thread. All threads of the block call it, even those
 * without a row, after a barrier; it ends without one. `splits` has a word per thread.
 * `is_of_warp`: each pair lies within the keys of one warp, so warp barriers are enough. `keys` is
 * set to the keys of the thread's row, not in order; of a thread without a row it stays as it is,
 * and may be uninitialized. */
template <typename K>
__device__ __forceinline__ void
block_merge_pairs(K *tile, unsigned *splits, const struct paired_runs &pair, unsigned diagonal,
                  bool is_descending, bool is_of_warp, bool has_row, K (&keys)[ROW<K>])
{
    const bool is_last = diagonal + ROW<K> == pair.count;
    unsigned split = 0;
    if (has_row)
        splits[threadIdx.x] = split = thread_pair_split(tile, pair, diagonal);
    is_of_warp ? __syncwarp() : __syncthreads();
    if (has_row)
        thread_pair_load(tile, pair, diagonal, split,
                         is_last ? pair.a_count : splits[threadIdx.x + 1], keys);
    is_of_warp ? __syncwarp() : __syncthreads();
    /* A descending merge fills its range from the end. */
    if (has_row)
        thread_row_merge(keys, is_descending, tile,
                         pair.first + (is_descending ? pair.count - ROW<K> - diagonal : diagonal));
}

/* In: a tile of sorted runs of `run` keys, every other one of which descends. Out: sorted tiles of
 * tile_size keys, all of which ascend. `run` and tile_size are ROW<K> times a power of two. All
 * threads of the block call it; those with a row merge. Begins after a barrier that covers the runs
 * of a warp, and ends with one. `keys` and `splits` are as in block_merge_pairs. */
template <typename K>
__device__ __forceinline__ void block_merge_runs(K *tile, unsigned *splits, unsigned run,
                                                 unsigned tile_size, bool has_row,
                                                 K (&keys)[ROW<K>])
{
    for (; run < tile_size; run *= 2) {
        const unsigned row = threadIdx.x * ROW<K>;
        const unsigned start = row & ~(2 * run - 1);
        const struct paired_runs pair = {start, 2 * run, run};
        /* Every other run descends, to face the one before it; finished tiles do not. */
        const bool is_descending = (row & (2 * run)) != 0 && 2 * run < tile_size;
        block_merge_pairs(tile, splits, pair, row - start, is_descending,
                          2 * run <= KEYS_OF_WARP<K>, has_row, keys);
        2 * run < KEYS_OF_WARP<K> ? __syncwarp() : __syncthreads();
    }
    __syncthreads();
}

/* Writes the first `count` keys of the tile, decoded. The tile has ROW<K> keys for each of
 * `threads` threads, which call it. */
template <typename K>
__device__ __forceinline__ void block_store_tile(const K *tile, unsigned threads, K *target,
                                                 unsigned count, const struct key_order &decoding)
{
#pragma unroll
    for (unsigned i = 0; i < ROW<K>; i++) {
        const unsigned index = i * threads + threadIdx.x;
        if (index < count)
            target[index] = thread_decode_key(decoding, tile[index]);
    }
}

/* Merges the tile's sorted runs, as block_merge_runs, and writes its first `count` keys, decoded.
 * At least one thread for each row. */
template <typename K, unsigned TILE>
__device__ __forceinline__ void block_merge_tile(K *tile, unsigned *splits, unsigned run, K *target,
                                                 unsigned count, const struct key_order &decoding)
{
    constexpr unsigned rows = TILE / ROW<K>;
    const bool has_row = threadIdx.x < rows;
    K keys[ROW<K>];
    block_merge_runs(tile, splits, run, TILE, has_row, keys);
    if (has_row)
        block_store_tile(tile, rows, target, count, decoding);
}

#endif
