/* SPDX-License-Identifier: Apache-2.0 */
/* radix_ordered.cuh - input that is in order already, or in the opposite order, is found out by one
 * read, and what is to be parted is the whole array or nothing.
 *
 *   items --radix_order_kernel--> what each block saw of its share: keys that rise, that fall
 *         --radix_whole_kernel--> both: a segment of all keys, as if nobody had looked
 *                                 no fall: an empty segment, as items are sorted
 *                                 indices below keys of 4 bytes: the same, and a note for digits
 *                                 no rise: the same, and items are turned round
 *                                 few values: the same, and a note that they are to be counted
 *
 * With an empty segment all kernels that follow find nothing to do and end at once: so nothing
 * waits for the host, and nothing is read or written but the items.
 *
 * Other input pays two short kernels. A block first compares a few keys spread over the whole
 * array, which the shapes with long runs (two sorted files, an organ pipe) do not pass, then the
 * neighbours in its share, piece by piece, and leaves with the first piece that shows disorder.
 * Of random keys nobody looks at a second piece. Few keys out of place cost one read at most.
 *
 * Order is that of whole keys, so equal keys may stand as they like, and turning round needs no
 * care for them. Stored bits stay as they are: what encode and decode would do cancels.
 *
 * One block more meanwhile looks at a sample for few values (radix_few.cuh).
 */
#ifndef CUDA_RADIX_ORDERED_CUH
#define CUDA_RADIX_ORDERED_CUH

#include "cuda/radix_few.cuh"
#include "cuda/radix_levels.cuh"

/* What was seen of pairs of keys, as bits. */
constexpr unsigned RADIX_RISES = 1; /* the key behind is greater */
constexpr unsigned RADIX_FALLS = 2; /* the key behind is smaller */
constexpr unsigned RADIX_DISORDER = RADIX_RISES | RADIX_FALLS;
constexpr unsigned RADIX_NO_INDEX = 4; /* the low half behind is smaller, or is no index */

/* One thread of radix_whole_kernel for the answer of each block. */
constexpr unsigned RADIX_ORDER_THREADS = RADIX_SEGMENTS;
constexpr unsigned RADIX_ORDER_ANSWERS = RADIX_SEGMENTS;

/* Who looks at the keys, and for what. */
struct radix_look {
    unsigned *answers; /* of each block; behind them, not 0: there are few values */
    unsigned blocks;   /* up to RADIX_ORDER_ANSWERS; none: nobody looks */
    bool is_for_few;   /* a block more looks for few values */
};

/* Pairs that a thread compares between two barriers: 32 bytes on their way. */
template <typename K>
constexpr unsigned RADIX_ORDER_PAIRS = 32 / sizeof(K);
template <typename K>
constexpr unsigned RADIX_ORDER_PIECE = RADIX_ORDER_THREADS *RADIX_ORDER_PAIRS<K>;

template <typename K>
__host__ __device__ __forceinline__ unsigned radix_order_pieces(size_t count)
{
    return static_cast<unsigned>((count + RADIX_ORDER_PIECE<K> - 1) / RADIX_ORDER_PIECE<K>);
}

/* Compares before[i] with behind[i], stored bits all of them. */
template <typename K, unsigned N>
__device__ __forceinline__ unsigned thread_compare_pairs(const struct key_order &encoding,
                                                         K (&before)[N], K (&behind)[N])
{
    thread_encode_keys(encoding, before);
    thread_encode_keys(encoding, behind);
    unsigned seen = 0;
#pragma unroll
    for (unsigned i = 0; i < N; i++)
        seen |=
            (before[i] < behind[i] ? RADIX_RISES : 0) | (behind[i] < before[i] ? RADIX_FALLS : 0);
    return seen;
}

/* RADIX_NO_INDEX or not, of keys of which one is far behind the other: of 8 bytes in the identical
 * order the low half may be an index, which rises from one end of the array to the other. */
template <typename K>
__device__ __forceinline__ unsigned thread_compare_indices(const struct key_order &encoding,
                                                           K before, K behind)
{
    if constexpr (sizeof(K) == sizeof(uint64_t))
        if (key_order_is_identity(encoding))
            return static_cast<uint32_t>(behind) < static_cast<uint32_t>(before) ? RADIX_NO_INDEX
                                                                                 : 0;
    return RADIX_NO_INDEX;
}

/* Keys at even distances, from the first one to the last, each with the next one. */
template <typename K>
__device__ __forceinline__ unsigned thread_compare_sample(const K *items, size_t count,
                                                          const struct key_order &encoding)
{
    if (threadIdx.x >= RADIX_ORDER_SAMPLE)
        return 0;
    const size_t last = count - 1;
    const size_t stride = last / RADIX_ORDER_SAMPLE;
    const size_t index = threadIdx.x * stride;
    const size_t next = threadIdx.x + 1 < RADIX_ORDER_SAMPLE ? index + stride : last;
    K before[1] = {items[index]}, behind[1] = {items[next]};
    const unsigned indices = thread_compare_indices(encoding, before[0], behind[0]);
    return thread_compare_pairs(encoding, before, behind) | indices;
}

/* The keys of a piece, each with its neighbour. */
template <typename K>
__device__ __forceinline__ unsigned
thread_compare_piece(const K *items, size_t count, unsigned piece, const struct key_order &encoding)
{
    const size_t first = static_cast<size_t>(piece) * RADIX_ORDER_PIECE<K> + threadIdx.x;
    K before[RADIX_ORDER_PAIRS<K>], behind[RADIX_ORDER_PAIRS<K>];
#pragma unroll
    for (unsigned i = 0; i < RADIX_ORDER_PAIRS<K>; i++) {
        const size_t index = first + i * RADIX_ORDER_THREADS;
        const bool is_pair = index + 1 < count;
        before[i] = is_pair ? items[index] : K{0};
        behind[i] = is_pair ? items[index + 1] : K{0};
    }
    return thread_compare_pairs(encoding, before, behind);
}

/* What any thread of the block has seen. A barrier. */
__device__ __forceinline__ unsigned block_seen(unsigned seen)
{
    const bool rises = __syncthreads_or((seen & RADIX_RISES) != 0);
    const bool falls = __syncthreads_or((seen & RADIX_FALLS) != 0);
    const bool no_index = __syncthreads_or((seen & RADIX_NO_INDEX) != 0);
    return (rises ? RADIX_RISES : 0) | (falls ? RADIX_FALLS : 0) | (no_index ? RADIX_NO_INDEX : 0);
}

/* look.answers: what each block saw, of all neighbours in its share unless that is disorder. */
template <typename K>
__global__ void __launch_bounds__(RADIX_ORDER_THREADS, RADIX_ORDER_BLOCKS)
    radix_order_kernel(const K *__restrict__ items, size_t count, struct key_order encoding,
                       struct radix_look look)
{
    thread_wait_for_grid();
    if constexpr (RADIX_HAS_FEW<K>) {
        __shared__ struct few_sample<K> sample;
        if (blockIdx.x == look.blocks) {
            const bool has_few = block_has_few<RADIX_ORDER_THREADS>(items, count, sample);
            if (threadIdx.x == 0)
                look.answers[blockIdx.x] = has_few;
            return;
        }
    }
    const struct radix_share share = block_share(radix_order_pieces<K>(count), look.blocks);
    unsigned seen = block_seen(thread_compare_sample(items, count, encoding));
    unsigned piece = share.begin;
    while (piece < share.end && !__syncthreads_or((seen & RADIX_DISORDER) == RADIX_DISORDER))
        seen |= thread_compare_piece(items, count, piece++, encoding);
    seen = block_seen(seen);
    if (threadIdx.x == 0)
        look.answers[blockIdx.x] = seen;
}

/* Swaps the keys with their mirror images. All blocks share it. */
template <typename K>
__device__ __forceinline__ void block_turn_round(K *items, size_t count)
{
    const size_t half = count / 2;
    const size_t stride = static_cast<size_t>(gridDim.x) * RADIX_ORDER_PIECE<K>;
    size_t first = static_cast<size_t>(blockIdx.x) * RADIX_ORDER_PIECE<K> + threadIdx.x;
    for (; first < half; first += stride) {
        K low[RADIX_ORDER_PAIRS<K>], high[RADIX_ORDER_PAIRS<K>];
#pragma unroll
        for (unsigned i = 0; i < RADIX_ORDER_PAIRS<K>; i++) {
            const size_t index = first + i * RADIX_ORDER_THREADS;
            if (index < half) {
                low[i] = items[index];
                high[i] = items[count - 1 - index];
            }
        }
#pragma unroll
        for (unsigned i = 0; i < RADIX_ORDER_PAIRS<K>; i++) {
            const size_t index = first + i * RADIX_ORDER_THREADS;
            if (index < half) {
                items[index] = high[i];
                items[count - 1 - index] = low[i];
            }
        }
    }
}

/* Makes the whole array one segment, or an empty one if it is in order, for which it may have to be
 * turned round, or if it goes another way, which the note says then: that of few values, or if it
 * has the choice that of indices; and clears the totals.
 * Any number of blocks. */
template <typename K>
__global__ void __launch_bounds__(RADIX_ORDER_THREADS)
    radix_whole_kernel(K *items, size_t count, struct radix_look look, bool has_choice,
                       struct radix_segments *whole, struct radix_totals *totals,
                       struct sort_note *note)
{
    thread_wait_for_grid();
    __shared__ unsigned warp_sums[THREADS_PER_WARP];
    const unsigned own = threadIdx.x < look.blocks ? look.answers[threadIdx.x] : 0;
    const bool has_few = look.is_for_few && look.answers[look.blocks] != 0;
    const unsigned unseen = has_choice ? 0 : RADIX_NO_INDEX;
    const unsigned all =
        block_seen(look.blocks > 0 ? own | unseen : RADIX_DISORDER | RADIX_NO_INDEX);
    const unsigned seen = all & RADIX_DISORDER;
    if (blockIdx.x == 0) {
        const unsigned long long other_way = seen != RADIX_DISORDER ? 0
                                             : has_few              ? RADIX_NOTE_FEW
                                             : all == seen          ? RADIX_NOTE_INDICES
                                                                    : 0;
        const bool is_segment = threadIdx.x == 0 && seen == RADIX_DISORDER && other_way == 0;
        block_set_segments<K>(whole, 0, is_segment ? count : 0, warp_sums);
        if (threadIdx.x == 0) {
            *totals = {};
            totals->count = whole->keys[0];
            totals->other_way = other_way;
            if (other_way != 0) /* also where no kernel behind this one does it */
                note->count = other_way;
            if (!is_segment)
                thread_tell_way(note, RADIX_WAY_OTHER);
        }
    }
    if (seen == RADIX_FALLS)
        block_turn_round(items, count);
}

#endif
