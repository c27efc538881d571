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
#pragma unroll
    for (unsigned step = row_bytes; step >= KEY_BYTES<K>; step /= 2) {
        const unsigned last = from + step - KEY_BYTES<K>;
        if (last < to && !(key_at_byte(tile, b + last) < key_at_byte(tile, a + last)))
            from += step;
    }
    return from / KEY_BYTES<K>;
}

/* The thread's keys of the merge, behind `diagonal`, as a bitonic sequence turned round: `split`
 * and `next_split` keys of a lie before this diagonal and before the next one. */
template <typename K>
__device__ __forceinline__ void thread_pair_load(const K *tile, const struct paired_runs &pair,
                                                 unsigned diagonal, unsigned split,
                                                 unsigned next_split, K (&keys)[ROW<K>])
{
    constexpr unsigned row_bytes = ROW<K> * sizeof(K);
    const unsigned bytes_of_a = (next_split - split) * KEY_BYTES<K>;
    const unsigned a = (pair.first + split) * KEY_BYTES<K>;
    const unsigned b = a + (pair.count - diagonal) * KEY_BYTES<K> - row_bytes;
    const unsigned start = (thread_row_place<K>() - split) * KEY_BYTES<K>;
#pragma unroll
    for (unsigned j = 0; j < ROW<K>; j++) {
        const unsigned byte = (start + j * KEY_BYTES<K>) % row_bytes;
        keys[j] = key_at_byte(tile, (byte < bytes_of_a ? a : b) + byte);
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
