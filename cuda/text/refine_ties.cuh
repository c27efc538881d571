/* SPDX-License-Identifier: Apache-2.0 */
/* refine_ties.cuh - finds the tie groups among sorted items that are not in order. In names,
 * a tie is a tie group.
 *
 *   items -> compare: a bit per item: same tie group as the item before; and bits for the findings
 *                     of the comparison
 *         -> unite: the findings about the items of a tie group become those about the group, by
 *                   its number
 *         -> class: two bits per item: its tie group is to be sorted here, or by the host
 *
 * A tie group needs no work if each line has the same bytes as the line before, or if its keys are
 * exact and nothing is compared after the key. Otherwise it is sorted here if all its keys are
 * exact, or are whole lines, and if only bytes decide after the key.
 *
 * Later kernels visit the items chosen by bits, one warp per tile. The counts of the tiles before
 * give the number of an item among all chosen ones.
 */
#ifndef CUDA_REFINE_TIES_CUH
#define CUDA_REFINE_TIES_CUH

#include "core/line/line_key.h"
#include "cuda/block/block_scan.cuh"
#include "cuda/engine/cuda_lines.h"
#include "cuda/tuning.h"

#include <cuda_runtime.h>

/* ---- lines compared by one thread ----
 *
 * A thread compares 8 bytes at a time, up to the terminator. Lines are also sorted by words of 6
 * bytes. A round sorts items of 128 bits:
 *
 *   tie group (32 bits), 6 bytes of the line, number of bytes left in it (3), its offset (45)
 *
 * So tie groups stay together, their lines are ordered by their bytes, and lines with equal bytes
 * by their offsets. The number of bytes left is 7 if it is more than 6. The offset is an item's
 * index, whose lowest bit is the same in a whole tie group; a text has less than 2^44 bytes. */

constexpr unsigned REFINE_WORD_BYTES = 6;
constexpr unsigned REFINE_LEFT_BITS = 3;
constexpr unsigned REFINE_PLACE_BITS = 45;
constexpr unsigned REFINE_LEFT_MORE = (1u << REFINE_LEFT_BITS) - 1;
/* Number of low bits of a word (with the number of bytes left) that are in the item's index; the
 * others are in its key. */
constexpr unsigned REFINE_LOW_BITS = 64 - REFINE_PLACE_BITS;
constexpr uint64_t REFINE_WORD_MASK =
    ((uint64_t)1 << (8 * REFINE_WORD_BYTES + REFINE_LEFT_BITS)) - 1;
constexpr uint64_t REFINE_PLACE_MASK = ((uint64_t)1 << REFINE_PLACE_BITS) - 1;

static_assert(32 + 8 * REFINE_WORD_BYTES + REFINE_LEFT_BITS + REFINE_PLACE_BITS == 128, "an item");

/* Returns the 8 bytes at `place`, the first one lowest. Reads up to 15 bytes after the first. */
__device__ __forceinline__ uint64_t thread_text_word(const struct cuda_text &text, size_t place)
{
    const uint64_t *const words = reinterpret_cast<const uint64_t *>(text.text) + place / 8;
    const unsigned shift = static_cast<unsigned>(place % 8) * 8;
    return words[0] >> shift | words[1] << 1 << (63 - shift);
}

/* Returns a value whose lowest set bit is bit 7 of the word's first terminator; 0 if there is no
 * terminator. */
__device__ __forceinline__ uint64_t thread_find_end(const struct cuda_text &text, uint64_t word)
{
    const uint64_t difference = word ^ text.order.terminators;
    return (difference - 0x0101010101010101u) & ~difference & 0x8080808080808080u;
}

/* Returns true if the bytes from `a` on, up to the terminator, equal those from `b` on. Also
 * returns false if the first REFINE_WALK_BYTES are equal and without a terminator. */
__device__ __forceinline__ bool thread_is_same_line(const struct cuda_text &text, size_t a,
                                                    size_t b)
{
    for (unsigned walked = 0; walked < REFINE_WALK_BYTES; walked += 8) {
        const uint64_t word = thread_text_word(text, a + walked);
        const uint64_t difference = word ^ thread_text_word(text, b + walked);
        const uint64_t end = thread_find_end(text, word);
        if ((difference | end) != 0)
            return end != 0 && (difference & (end ^ (end - 1))) == 0;
    }
    return false;
}

/* Returns the word of the line whose next byte is at `place`: its bytes above the number of bytes
 * left. Bytes past the end are 0. */
__device__ __forceinline__ uint64_t thread_line_word(const struct cuda_text &text, size_t place)
{
    const uint64_t word = thread_text_word(text, place);
    const uint64_t end = thread_find_end(text, word);
    const unsigned length = end == 0 ? 8 : static_cast<unsigned>(__ffsll(end) - 1) / 8;
    const unsigned left = length < REFINE_LEFT_MORE ? length : REFINE_LEFT_MORE;
    const unsigned bytes = length < REFINE_WORD_BYTES ? length : REFINE_WORD_BYTES;
    if (bytes == 0)
        return 0;
    const unsigned high =
        __byte_perm(static_cast<unsigned>(word), 0, 0x0123); /* first byte first */
    const unsigned low = __byte_perm(static_cast<unsigned>(word >> 32), 0, 0x0123);
    const uint64_t top = (static_cast<uint64_t>(high) << 32 | low) >> (64 - 8 * bytes);
    return top << (8 * (REFINE_WORD_BYTES - bytes) + REFINE_LEFT_BITS) | left;
}

__device__ __forceinline__ struct key_index thread_round_item(unsigned tie, uint64_t word,
                                                              uint64_t place)
{
    struct key_index item;
    item.key = (uint64_t)tie << 32 | word >> REFINE_LOW_BITS;
    item.index = word << REFINE_PLACE_BITS | place;
    return item;
}

/* Returns true if the lines that have the item's word end in it. The word is complemented by
 * `complement`. */
__device__ __forceinline__ bool thread_word_is_last(struct key_index item, uint64_t complement)
{
    const uint64_t word = item.index >> REFINE_PLACE_BITS ^ complement;
    return (word & REFINE_LEFT_MORE) != REFINE_LEFT_MORE;
}

/* ---- tie groups ---- */

constexpr unsigned REFINE_TILE_WORDS = 32;
constexpr unsigned REFINE_TILE = 32 * REFINE_TILE_WORDS;
constexpr unsigned REFINE_WARPS = REFINE_THREADS / THREADS_PER_WARP;

/* Findings about a tie group, as bits. */
constexpr unsigned REFINE_DIFFERS = 1; /* two of its lines differ, or may differ */
constexpr unsigned REFINE_HOSTS = 2;   /* if they differ, the host must sort them */

/* The number of chosen items in the lower half, and of their tie groups in the upper half. */
typedef unsigned long long refine_pair;

struct refine_totals {
    refine_pair device, host; /* number of items in tie groups to sort, by each */
    refine_pair chosen; /* number of items chosen by the last count, and of their tie groups */
};

/* Findings about the items, and about tie groups, by their numbers: bits in words. */
struct refine_marks {
    unsigned *same;   /* the item is in the same tie group as the item before */
    unsigned *device; /* its tie group is to be sorted here. Before refine_class_kernel: it differs,
                         or may differ, from the item before */
    unsigned *host;   /* its tie group is to be sorted by the host. Before refine_class_kernel: the
                         host must sort it if its tie group has lines that differ */
    unsigned *tie_differs; /* two lines of the tie group differ, or may differ */
    unsigned *tie_hosts;   /* the host must sort the tie group if they do */
    refine_pair *offsets;  /* of each tile: the counts of all tiles before */
    size_t tiles;          /* of the items that are marked */
    struct refine_totals *totals;
};

/* Sorted items, and the rules to compare them. */
struct refine_view {
    const struct key_index *items;
    size_t count;
    uint64_t place_mask; /* offset bits of the index; the bits above it distinguish tie groups, as
                            the key does */
    struct cuda_text text;
    size_t depth;        /* length of the known common prefix of a tie group's lines */
    uint64_t complement; /* mask that complements the words of a round; 0 if they ascend */
    bool is_round;       /* the items hold words of a round */
    bool is_by_bytes;    /* keys are the bytes of whole lines, and no other order follows */
    bool keeps_exact;    /* exact items of a tie group are in order */
    bool is_hosts;       /* the host sorts all tie groups */
};

__device__ __forceinline__ size_t thread_line_place(const struct refine_view &view,
                                                    struct key_index item)
{
    return static_cast<size_t>((item.index & view.place_mask) >> 1);
}

__device__ __forceinline__ bool thread_is_same_tie(const struct refine_view &view,
                                                   struct key_index a, struct key_index b)
{
    return a.key == b.key && ((a.index ^ b.index) & ~view.place_mask) == 0;
}

/* Returns the findings from two neighbours in a tie group. */
__device__ __forceinline__ unsigned thread_compare_lines(const struct refine_view &view,
                                                         struct key_index a, struct key_index b)
{
    const bool is_exact = line_is_exact(a) && line_is_exact(b);
    if (is_exact && view.keeps_exact)
        return 0;
    const bool is_here = (is_exact || view.is_by_bytes) && !view.is_hosts;
    const unsigned hosts = is_here ? 0 : REFINE_HOSTS;
    if (view.is_round && thread_word_is_last(b, view.complement))
        return hosts;
    const bool is_same = thread_is_same_line(view.text, thread_line_place(view, a) + view.depth,
                                             thread_line_place(view, b) + view.depth);
    return is_same ? hosts : hosts | REFINE_DIFFERS;
}

/* Returns the number of this warp in the grid: its tile in kernels of one warp per tile. */
__device__ __forceinline__ size_t warp_number()
{
    return static_cast<size_t>(blockIdx.x) * REFINE_WARPS + threadIdx.x / THREADS_PER_WARP;
}

__device__ __forceinline__ unsigned warp_sum(unsigned value)
{
    return __shfl_sync(ALL_LANES, warp_inclusive_scan(value),
                       static_cast<int>(THREADS_PER_WARP - 1));
}

/* Returns a mask of the lanes up to this one, included. */
__device__ __forceinline__ unsigned thread_bits_through_lane()
{
    return ALL_LANES >> (THREADS_PER_WARP - 1 - thread_lane());
}

/* ---- mark ---- */

__device__ __forceinline__ struct key_index warp_item_before(struct key_index item)
{
    item.key = __shfl_up_sync(ALL_LANES, item.key, 1);
    item.index = __shfl_up_sync(ALL_LANES, item.index, 1);
    return item;
}

/* Compares the items of a tile with the items before them. One block per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_compare_kernel(struct refine_view view, struct refine_marks marks)
{
    constexpr unsigned own = REFINE_TILE_WORDS / REFINE_WARPS;
#pragma unroll
    for (unsigned j = 0; j < own; j++) {
        const size_t word = warp_number() * own + j, i = word * 32 + thread_lane();
        struct key_index item = {0, 0};
        if (i < view.count)
            item = view.items[i];
        struct key_index before = warp_item_before(item);
        if (thread_lane() == 0 && i > 0 && i < view.count)
            before = view.items[i - 1];
        const bool is_same = i > 0 && i < view.count && thread_is_same_tie(view, before, item);
        const unsigned found = is_same ? thread_compare_lines(view, before, item) : 0;
        const unsigned same = __ballot_sync(ALL_LANES, is_same);
        const unsigned differs = __ballot_sync(ALL_LANES, (found & REFINE_DIFFERS) != 0);
        const unsigned hosts = __ballot_sync(ALL_LANES, (found & REFINE_HOSTS) != 0);
        if (thread_lane() == 0) {
            marks.same[word] = same;
            marks.device[word] = differs;
            marks.host[word] = hosts;
        }
    }
}

/* Calls visit(word, number of the tie group of this lane's item) for each word of the warp's tile.
 * marks.offsets must count the items with a bit in marks.same. */
template <typename VISIT>
__device__ __forceinline__ void warp_visit_ties(const struct refine_marks &marks, VISIT visit)
{
    const size_t first = warp_number() * REFINE_TILE_WORDS;
    const unsigned same = marks.same[first + thread_lane()];
    const unsigned own = static_cast<unsigned>(__popc(same));
    const unsigned before =
        static_cast<unsigned>(marks.offsets[warp_number()]) + warp_inclusive_scan(own) - own;
    for (unsigned word = 0; word < REFINE_TILE_WORDS; word++) {
        const unsigned word_same = __shfl_sync(ALL_LANES, same, static_cast<int>(word));
        const unsigned word_before = __shfl_sync(ALL_LANES, before, static_cast<int>(word));
        const size_t item = (first + word) * 32 + thread_lane();
        /* Each item that is not the first of its tie group lowers the numbers after it. */
        visit(word, item - word_before -
                        static_cast<unsigned>(__popc(word_same & thread_bits_through_lane())));
    }
}

/* Adds the findings about items to those about their tie groups. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS) refine_unite_kernel(struct refine_marks marks)
{
    const size_t tile = warp_number(), first = tile * REFINE_TILE_WORDS;
    if (tile >= marks.tiles)
        return;
    const unsigned own_differs = marks.device[first + thread_lane()];
    const unsigned own_hosts = marks.host[first + thread_lane()];
    if (!__any_sync(ALL_LANES, (own_differs | own_hosts) != 0))
        return;
    warp_visit_ties(marks, [&](unsigned word, size_t tie) {
        const unsigned differs = __shfl_sync(ALL_LANES, own_differs, static_cast<int>(word));
        const unsigned hosts = __shfl_sync(ALL_LANES, own_hosts, static_cast<int>(word));
        if ((differs | hosts) == 0)
            return;
        /* One lane adds for all lanes with the same tie group. */
        const unsigned peers = __match_any_sync(ALL_LANES, static_cast<unsigned>(tie));
        const unsigned bit = 1u << tie % 32;
        if ((peers & (thread_bits_through_lane() >> 1)) != 0)
            return;
        if ((differs & peers) != 0)
            atomicOr(&marks.tie_differs[tie / 32], bit);
        if ((hosts & peers) != 0)
            atomicOr(&marks.tie_hosts[tie / 32], bit);
    });
}

/* Chooses the device or the host for each tie group, and adds up the totals. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS) refine_class_kernel(struct refine_marks marks)
{
    const size_t tile = warp_number(), own = tile * REFINE_TILE_WORDS + thread_lane();
    if (tile >= marks.tiles)
        return;
    unsigned own_device = 0, own_host = 0;
    warp_visit_ties(marks, [&](unsigned word, size_t tie) {
        const bool differs = (marks.tie_differs[tie / 32] >> tie % 32 & 1) != 0;
        const bool hosts = (marks.tie_hosts[tie / 32] >> tie % 32 & 1) != 0;
        const unsigned device = __ballot_sync(ALL_LANES, differs && !hosts);
        const unsigned host = __ballot_sync(ALL_LANES, differs && hosts);
        own_device = word == thread_lane() ? device : own_device;
        own_host = word == thread_lane() ? host : own_host;
    });
    marks.device[own] = own_device;
    marks.host[own] = own_host;
    const unsigned devices = warp_sum(static_cast<unsigned>(__popc(own_device)));
    const unsigned hosts = warp_sum(static_cast<unsigned>(__popc(own_host)));
    if (thread_lane() == 0 && devices > 0)
        atomicAdd(&marks.totals->device, static_cast<refine_pair>(devices));
    if (thread_lane() == 0 && hosts > 0)
        atomicAdd(&marks.totals->host, static_cast<refine_pair>(hosts));
}

/* ---- choose ---- */

/* Counts the chosen items, and the tie groups whose first item is chosen. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_count_kernel(struct refine_marks marks, const unsigned *chosen)
{
    const size_t tile = warp_number();
    if (tile >= marks.tiles)
        return;
    const size_t word = tile * REFINE_TILE_WORDS + thread_lane();
    const unsigned bits = chosen[word], heads = bits & ~marks.same[word];
    const unsigned items = warp_sum(static_cast<unsigned>(__popc(bits)));
    const unsigned ties = warp_sum(static_cast<unsigned>(__popc(heads)));
    if (thread_lane() == 0)
        marks.offsets[tile] = static_cast<refine_pair>(ties) << 32 | items;
}

/* Calls visit(item, its number among the chosen ones, the number of its tie group among theirs) for
 * the chosen items of the warp's tile. marks.offsets must count the chosen items. */
template <typename VISIT>
__device__ __forceinline__ void warp_visit_chosen(const struct refine_marks &marks,
                                                  const unsigned *chosen, VISIT visit)
{
    const size_t tile = warp_number();
    if (tile >= marks.tiles)
        return;
    const unsigned lane = thread_lane(), below = (1u << lane) - 1;
    const unsigned bits = chosen[tile * REFINE_TILE_WORDS + lane];
    if (!__any_sync(ALL_LANES, bits != 0))
        return;
    const unsigned heads = bits & ~marks.same[tile * REFINE_TILE_WORDS + lane];
    const refine_pair own = static_cast<refine_pair>(__popc(heads)) << 32 | __popc(bits);
    const refine_pair before = marks.offsets[tile] + warp_inclusive_scan(own) - own;
    for (unsigned word = 0; word < REFINE_TILE_WORDS; word++) {
        const int source = static_cast<int>(word);
        const unsigned word_bits = __shfl_sync(ALL_LANES, bits, source);
        const unsigned word_heads = __shfl_sync(ALL_LANES, heads, source);
        const refine_pair word_before = __shfl_sync(ALL_LANES, before, source);
        if ((word_bits >> lane & 1) == 0)
            continue;
        const unsigned slot = static_cast<unsigned>(word_before) + __popc(word_bits & below);
        const unsigned ties =
            static_cast<unsigned>(word_before >> 32) + __popc(word_heads & (below << 1 | 1));
        visit(tile * REFINE_TILE + word * 32 + lane, slot, ties - 1);
    }
}

#endif
