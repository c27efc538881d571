/* SPDX-License-Identifier: Apache-2.0 */
/* paired_runs.cuh - two sorted runs beside each other in shared memory, and a thread's share of
 * their merge.
 *
 * A pair fills a range of a tile: run a ascends from its start, run b descends to its end, so that
 * the whole is a bitonic sequence. The range is cut into rows of ROW keys, as many as a thread
 * makes of the merge. Ranges begin and end with a row; there are no gaps.
 *
 *     | a0 a1 a2 ... a(n-1) | b(m-1) ... b2 b1 b0 |        n + m = rows of ROW keys
 *
 * No access meets a conflict of banks, whatever the keys are:
 *
 * - A thread's ROW keys of the output are some consecutive ones of a and some of b. As b descends,
 *   their places, modulo ROW, are all different: those of b go on where those of a begin. So the
 *   threads of a row of banks can each begin with another place modulo ROW, and go round from
 * there. What a thread gets is its bitonic sequence, turned round by some keys; that is one as
 * well, and the network of thread_bitonic_merge_turned sorts it.
 * - On its way back, key number j of a thread's row goes to the place j ^ x, with another x in each
 *   thread of a row of banks. The network leaves the keys in that order, at no cost: a comparator
 *   whose stride has its bit in x points the other way.
 * - The searches for the splits of neighbours look at places 8 or 16 keys apart, which is one bank;
 *   while the range is wide, each takes the place near it that is its own modulo ROW.
 *
 * Source: S. Odeh, O. Green, Z. Mwassi, O. Shmueli, Y. Birk, "Merge Path - Parallel Merging Made
 * Simple", IPDPS Workshops 2012; runs that face each other, read by residues, as in K. Berney, N.
 * Sitchinava, "Eliminating Bank Conflicts in GPU Mergesort", 2022.
 */
#ifndef CUDA_PAIRED_RUNS_CUH
#define CUDA_PAIRED_RUNS_CUH

#include "cuda/thread_network.cuh"

/* Keys that a thread makes of a merge, and that a row has. */
template <typename K>
constexpr unsigned ROW = merge_row_keys(sizeof(K));

template <typename K>
constexpr unsigned KEY_BYTES = sizeof(K);

/* A pair in a tile, by the places of its keys there. */
struct paired_runs {
    unsigned first; /* a multiple of ROW, as count is */
    unsigned count; /* of both runs */
    unsigned a_count;
};

/* The thread's own place within a row, x above: different in all threads that one access of shared
 * memory serves. */
template <typename K>
__device__ __forceinline__ unsigned thread_row_place()
{
    constexpr unsigned row_bytes = ROW<K> * sizeof(K);
    constexpr unsigned rows = row_bytes < BANK_ROW_BYTES ? BANK_ROW_BYTES / row_bytes : 1;
    constexpr unsigned keys_per_bank = sizeof(K) < 4 ? 4 / sizeof(K) : 1;
    return threadIdx.x / rows * keys_per_bank % ROW<K>;
}

/* A key of the tile by its offset in bytes: with offsets made by masks, an address takes an
 * instruction less than with indices. */
template <typename K>
__device__ __forceinline__ K &key_at_byte(K *tile, unsigned byte)
{
    return *reinterpret_cast<K *>(reinterpret_cast<unsigned char *>(tile) + byte);
}

template <typename K>
__device__ __forceinline__ const K &key_at_byte(const K *tile, unsigned byte)
{
    return *reinterpret_cast<const K *>(reinterpret_cast<const unsigned char *>(tile) + byte);
}

/* How many of the `diagonal` first keys of the merge come from a; `diagonal` is a multiple of ROW.
 * Equal keys of a go first. */
template <typename K>
__device__ __forceinline__ unsigned thread_pair_split(const K *tile, const struct paired_runs &pair,
                                                      unsigned diagonal)
{
    constexpr unsigned row_bytes = ROW<K> * KEY_BYTES<K>;
    const unsigned b_count = pair.count - pair.a_count;
    const unsigned a = pair.first * KEY_BYTES<K>;
    /* What stands at b + i is key number diagonal - 1 - i of b. */
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

/* Where the keys of a thread are that begins `start` keys behind the first one of its row and goes
 * round: in three stretches, in each of which they follow one another, as the row is some keys of a
 * and then some of b, and one of both is begun twice. Key number j is j keys behind the byte of its
 * stretch, less a row: so that no byte is below 0. */
struct pair_stretches {
    unsigned first;
    unsigned second;
    unsigned third;
    unsigned first_end; /* number of the key behind the stretch */
    unsigned second_end;
};

/* `a` and `b`: the bytes where the row would begin if all of it were of that run. */
template <typename K>
__device__ __forceinline__ struct pair_stretches
thread_find_stretches(unsigned a, unsigned b, unsigned count_of_a, unsigned start)
{
    constexpr unsigned row_bytes = ROW<K> * sizeof(K);
    const bool begins_in_a = start < count_of_a;
    const unsigned start_of_a = a + start * KEY_BYTES<K>, start_of_b = b + start * KEY_BYTES<K>;
    const unsigned third = begins_in_a ? start_of_a : start_of_b;
    const unsigned wrap = ROW<K> - start, end_of_a = count_of_a - start;
    const struct pair_stretches stretches = {
        third + row_bytes, begins_in_a ? start_of_b + row_bytes : start_of_a, third,
        begins_in_a ? end_of_a : wrap, begins_in_a ? wrap : ROW<K> + end_of_a};
    return stretches;
}

/* The thread's keys of the merge, behind `diagonal`, as a bitonic sequence turned round: `split`
 * and `next_split` keys of a lie before this diagonal and before the next one. */
template <typename K>
__device__ __forceinline__ void thread_pair_load(const K *tile, const struct paired_runs &pair,
                                                 unsigned diagonal, unsigned split,
                                                 unsigned next_split, K (&keys)[ROW<K>])
{
    constexpr unsigned row_bytes = ROW<K> * sizeof(K);
    const unsigned a = (pair.first + split) * KEY_BYTES<K>;
    const unsigned b = a + (pair.count - diagonal) * KEY_BYTES<K> - row_bytes;
    const struct pair_stretches stretches = thread_find_stretches<K>(
        a, b, next_split - split, (thread_row_place<K>() - split) % ROW<K>);
#pragma unroll
    for (unsigned j = 0; j < ROW<K>; j++) {
        const unsigned behind = j < stretches.second_end ? stretches.second : stretches.third;
        const unsigned byte = j < stretches.first_end ? stretches.first : behind;
        keys[j] = key_at_byte(tile, byte + (j * KEY_BYTES<K> - row_bytes));
    }
}

/* Sorts the thread's keys, which are bitonic, and puts them to their row, ascending or descending.
 * `row` is the place of its first key. */
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

#endif
