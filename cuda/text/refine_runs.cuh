/* SPDX-License-Identifier: Apache-2.0 */
/* refine_runs.cuh - finds the tie groups (runs of equal keys) among sorted items that are not in
 * order. A tie group is called a run here.
 *
 *   items -> mark: compares neighbours within a run; a bit per item: same run as the item before;
 *                  classifies the runs inside a tile
 *         -> cross: for a run that crosses tiles, collects the findings at the tile of its head
 *         -> class: two bits per item: its run is to be sorted here, or by the host
 *
 * A run needs no work if each line has the same bytes as the line before. Otherwise it is sorted
 * here if all its keys are exact, or are whole lines, and if only bytes decide after the key.
 *
 * Later kernels visit the items chosen by bits, one warp per tile. The counts of the tiles before
 * give the number of an item among all chosen ones.
 */
#ifndef CUDA_REFINE_RUNS_CUH
#define CUDA_REFINE_RUNS_CUH

#include "core/line/line_key.h"
#include "cuda/block/block_scan.cuh"
#include "cuda/tuning.h"

#include <cuda_runtime.h>

/* ---- lines compared by one thread ----
 *
 * 8 bytes at a time, up to their terminator. Lines are also sorted by words of 6 bytes. A round
 * sorts items of 128 bits:
 *
 *   run (32 bits), 6 bytes of the line, number of bytes left in it (3), offset of the line (45)
 *
 * So runs stay together, the lines of a run are ordered by their bytes, and lines with equal bytes
 * by their offsets. The number of bytes left is 7 if it is more than 6. The offset is an item's
 * index, whose lowest bit is the same in a whole run; a text has less than 2^44 bytes. */

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

struct refine_text {
    const unsigned char *text;
    uint64_t terminators; /* the terminator in each byte */
};

/* Returns the 8 bytes at `place`, the first one lowest. Reads up to 15 bytes after the first. */
__device__ __forceinline__ uint64_t thread_text_word(const struct refine_text &text, size_t place)
{
    const uint64_t *const words = reinterpret_cast<const uint64_t *>(text.text) + place / 8;
    const unsigned shift = static_cast<unsigned>(place % 8) * 8;
    return words[0] >> shift | words[1] << 1 << (63 - shift);
}

/* Returns a value whose lowest set bit is bit 7 of the word's first terminator; 0 if there is no
 * terminator. */
__device__ __forceinline__ uint64_t thread_find_end(const struct refine_text &text, uint64_t word)
{
    const uint64_t difference = word ^ text.terminators;
    return (difference - 0x0101010101010101u) & ~difference & 0x8080808080808080u;
}

/* Returns true if the bytes from `a` on, up to the terminator, equal those from `b` on. Also
 * returns false if the first REFINE_WALK_BYTES are equal and without a terminator. */
__device__ __forceinline__ bool thread_is_same_line(const struct refine_text &text, size_t a,
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

__device__ __forceinline__ uint64_t thread_reverse_bytes(uint64_t word)
{
    const unsigned low = static_cast<unsigned>(word), high = static_cast<unsigned>(word >> 32);
    return (uint64_t)__byte_perm(low, 0, 0x0123) << 32 | __byte_perm(high, 0, 0x0123);
}

/* Returns the word of the line whose next byte is at `place`: its bytes above the number of bytes
 * left. Bytes past the end are 0.
 */
__device__ __forceinline__ uint64_t thread_line_word(const struct refine_text &text, size_t place)
{
    const uint64_t word = thread_text_word(text, place);
    const uint64_t end = thread_find_end(text, word);
    const unsigned length = end == 0 ? 8 : static_cast<unsigned>(__ffsll(end) - 1) / 8;
    const unsigned left = length < REFINE_LEFT_MORE ? length : REFINE_LEFT_MORE;
    const unsigned bytes = length < REFINE_WORD_BYTES ? length : REFINE_WORD_BYTES;
    if (bytes == 0)
        return 0;
    const uint64_t top = thread_reverse_bytes(word) >> (64 - 8 * bytes);
    return top << (8 * (REFINE_WORD_BYTES - bytes) + REFINE_LEFT_BITS) | left;
}

__device__ __forceinline__ struct key_index thread_round_item(unsigned run, uint64_t word,
                                                              uint64_t place)
{
    struct key_index item;
    item.key = (uint64_t)run << 32 | word >> REFINE_LOW_BITS;
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

/* ---- runs ---- */

constexpr unsigned REFINE_TILE_WORDS = 32;
constexpr unsigned REFINE_TILE = 32 * REFINE_TILE_WORDS;
constexpr unsigned REFINE_WARPS = REFINE_THREADS / THREADS_PER_WARP;
/* Tiles that a single block scans per step. */
constexpr unsigned REFINE_THREAD_TILES = 8;
constexpr unsigned REFINE_SCAN_TILES = REFINE_THREADS * REFINE_THREAD_TILES;

/* Findings about a run, as bits. */
constexpr unsigned REFINE_DIFFERS = 1; /* two of its lines differ, or may differ */
constexpr unsigned REFINE_HOSTS = 2;   /* if they differ, the host must sort them */

/* The number of chosen items in the lower half, and of their runs in the upper half. */
typedef unsigned long long refine_pair;

struct refine_tile {
    unsigned first_head; /* the first item that starts a run; REFINE_TILE if there is none */
    unsigned last_head;
    unsigned before;    /* findings, in this tile, about the run of the items before first_head */
    unsigned head_tile; /* tile in which that run starts */
};

struct refine_totals {
    refine_pair device, host; /* number of items in runs to sort, by each */
    refine_pair chosen;       /* number of items chosen by the last count, and of their runs */
};

/* Findings about the items: bits in words, and an entry per tile. */
struct refine_marks {
    unsigned *same; /* the item is in the same run as the item before */
    unsigned *device;
    unsigned *host;
    struct refine_tile *tiles;
    unsigned *crossing;   /* findings about the last run that starts in the tile */
    refine_pair *offsets; /* number of chosen items in the tiles before */
    struct refine_totals *totals;
};

/* Sorted items, and the rules to compare them. */
struct refine_view {
    const struct key_index *items;
    size_t count;
    uint64_t place_mask; /* offset bits of the index; the bits above it distinguish runs, as the key
                            does */
    struct refine_text text;
    size_t depth;        /* length of the known common prefix of a run's lines */
    uint64_t complement; /* mask that complements the words of a round */
    bool is_round;       /* the items hold words of a round */
    bool is_by_bytes;    /* keys are the bytes of whole lines, and no other order follows */
    bool keeps_exact;    /* exact items of a run are in order */
    bool is_hosts;       /* the host sorts all runs */
};

__device__ __forceinline__ size_t thread_line_place(const struct refine_view &view,
                                                    struct key_index item)
{
    return static_cast<size_t>((item.index & view.place_mask) >> 1);
}

__device__ __forceinline__ bool thread_is_same_run(const struct refine_view &view,
                                                   struct key_index a, struct key_index b)
{
    return a.key == b.key && ((a.index ^ b.index) & ~view.place_mask) == 0;
}

/* Returns the findings from two neighbours of a run. */
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

/* ---- mark ---- */

/* The tile in process. `same`, `differs` and `hosts` have a bit per item. A run has the bit number
 * of its head plus 32; the run that started before the tile has bit 0. */
struct refine_tile_runs {
    unsigned same[REFINE_TILE_WORDS];
    unsigned differs[REFINE_TILE_WORDS];
    unsigned hosts[REFINE_TILE_WORDS];
    unsigned head[REFINE_TILE_WORDS]; /* bit number of the run that continues into the word */
    unsigned run_differs[REFINE_TILE_WORDS + 1];
    unsigned run_hosts[REFINE_TILE_WORDS + 1];
};

__device__ __forceinline__ struct key_index warp_item_before(struct key_index item)
{
    item.key = __shfl_up_sync(ALL_LANES, item.key, 1);
    item.index = __shfl_up_sync(ALL_LANES, item.index, 1);
    return item;
}

/* Fills same, differs and hosts. Returns true if there are findings about any run. */
__device__ __forceinline__ bool block_compare_neighbours(const struct refine_view &view,
                                                         size_t tile, struct refine_tile_runs *runs)
{
    constexpr unsigned own = REFINE_TILE_WORDS / REFINE_WARPS;
    unsigned known = 0;
#pragma unroll
    for (unsigned j = 0; j < own; j++) {
        const unsigned word = threadIdx.x / THREADS_PER_WARP * own + j;
        const size_t i = tile * REFINE_TILE + word * 32 + thread_lane();
        struct key_index item = {0, 0};
        if (i < view.count)
            item = view.items[i];
        struct key_index before = warp_item_before(item);
        if (thread_lane() == 0 && i > 0 && i < view.count)
            before = view.items[i - 1];
        const bool is_same = i > 0 && i < view.count && thread_is_same_run(view, before, item);
        const unsigned bits = is_same ? thread_compare_lines(view, before, item) : 0;
        const unsigned same = __ballot_sync(ALL_LANES, is_same);
        const unsigned differs = __ballot_sync(ALL_LANES, (bits & REFINE_DIFFERS) != 0);
        const unsigned hosts = __ballot_sync(ALL_LANES, (bits & REFINE_HOSTS) != 0);
        if (thread_lane() == 0) {
            runs->same[word] = same;
            runs->differs[word] = differs;
            runs->hosts[word] = hosts;
        }
        known |= bits;
    }
    return __syncthreads_or(known != 0) != 0;
}

/* Finds the heads of runs. Called by the first warp. */
__device__ __forceinline__ void warp_find_heads(struct refine_tile_runs *runs,
                                                struct refine_tile *found)
{
    const unsigned lane = thread_lane();
    const unsigned heads = ~runs->same[lane];
    const unsigned words = __ballot_sync(ALL_LANES, heads != 0);
    const unsigned first = heads == 0 ? 0 : lane * 32 + static_cast<unsigned>(__ffs(heads)) - 1;
    const unsigned last = heads == 0 ? 0 : lane * 32 + 31 - static_cast<unsigned>(__clz(heads));
    const unsigned below = words & ((1u << lane) - 1);
    const unsigned before = __shfl_sync(ALL_LANES, last, 31 - __clz(below | 1));
    runs->head[lane] = below == 0 ? 0 : before + 32;
    runs->run_differs[lane] = runs->run_hosts[lane] = 0;
    if (lane == 0)
        runs->run_differs[REFINE_TILE_WORDS] = runs->run_hosts[REFINE_TILE_WORDS] = 0;
    const unsigned least = __shfl_sync(ALL_LANES, first, __ffs(words | 1u << 31) - 1);
    const unsigned greatest = __shfl_sync(ALL_LANES, last, 31 - __clz(words | 1));
    found->first_head = words == 0 ? REFINE_TILE : least;
    found->last_head = greatest;
}

/* Returns the bit number of the item's run. */
__device__ __forceinline__ unsigned thread_run_bit(const struct refine_tile_runs &runs,
                                                   unsigned word)
{
    const unsigned heads = ~runs.same[word] & (ALL_LANES >> (31 - thread_lane()));
    return heads == 0 ? runs.head[word]
                      : (word + 1) * 32 + 31 - static_cast<unsigned>(__clz(heads));
}

/* Collects the findings about neighbours in the bits of their runs. */
__device__ __forceinline__ void block_gather_runs(struct refine_tile_runs *runs)
{
    for (unsigned word = threadIdx.x / THREADS_PER_WARP; word < REFINE_TILE_WORDS;
         word += REFINE_WARPS) {
        const bool differs = (runs->differs[word] >> thread_lane() & 1) != 0;
        const bool hosts = (runs->hosts[word] >> thread_lane() & 1) != 0;
        const unsigned run = thread_run_bit(*runs, word);
        if (differs)
            atomicOr(&runs->run_differs[run / 32], 1u << run % 32);
        if (hosts)
            atomicOr(&runs->run_hosts[run / 32], 1u << run % 32);
    }
    __syncthreads();
}

__device__ __forceinline__ unsigned thread_run_known(const struct refine_tile_runs &runs,
                                                     unsigned run)
{
    const bool differs = (runs.run_differs[run / 32] >> run % 32 & 1) != 0;
    const bool hosts = (runs.run_hosts[run / 32] >> run % 32 & 1) != 0;
    return (differs ? REFINE_DIFFERS : 0) | (hosts ? REFINE_HOSTS : 0);
}

/* Writes the class of each item's run. */
__device__ __forceinline__ void block_write_classes(const struct refine_tile_runs &runs,
                                                    size_t tile, const struct refine_marks &marks)
{
    for (unsigned word = threadIdx.x / THREADS_PER_WARP; word < REFINE_TILE_WORDS;
         word += REFINE_WARPS) {
        const unsigned known = thread_run_known(runs, thread_run_bit(runs, word));
        const unsigned device = __ballot_sync(ALL_LANES, known == REFINE_DIFFERS);
        const unsigned host = __ballot_sync(ALL_LANES, known == (REFINE_DIFFERS | REFINE_HOSTS));
        if (thread_lane() == 0) {
            marks.device[tile * REFINE_TILE_WORDS + word] = device;
            marks.host[tile * REFINE_TILE_WORDS + word] = host;
        }
    }
}

/* Marks the items of a tile per block. Bits of runs that cross tiles are corrected later. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_mark_kernel(struct refine_view view, struct refine_marks marks)
{
    __shared__ struct refine_tile_runs runs;
    const size_t tile = blockIdx.x, word = tile * REFINE_TILE_WORDS + threadIdx.x;
    struct refine_tile found = {0, 0, 0, 0};
    const bool is_known = block_compare_neighbours(view, tile, &runs);
    if (threadIdx.x < THREADS_PER_WARP) {
        marks.same[word] = runs.same[threadIdx.x];
        warp_find_heads(&runs, &found);
    }
    __syncthreads();
    if (is_known) {
        block_gather_runs(&runs);
        block_write_classes(runs, tile, marks);
    } else if (threadIdx.x < REFINE_TILE_WORDS) {
        marks.device[word] = marks.host[word] = 0;
    }
    if (threadIdx.x == 0) {
        found.before = thread_run_known(runs, 0);
        marks.crossing[tile] =
            found.first_head == REFINE_TILE ? 0 : thread_run_known(runs, found.last_head + 32);
        marks.tiles[tile] = found;
    }
}

/* ---- cross ---- */

/* Returns the last nonzero value of the threads before this one, or 0; *total is the last nonzero
 * value of all threads. All threads call it. `warp_last` is in shared memory and may be reused
 * after the next barrier. */
__device__ __forceinline__ unsigned block_last_before(unsigned value, unsigned *warp_last,
                                                      unsigned *total)
{
    const unsigned warp = threadIdx.x / THREADS_PER_WARP;
    const unsigned with = __ballot_sync(ALL_LANES, value != 0);
    const unsigned below = with & ((1u << thread_lane()) - 1);
    const unsigned last = __shfl_sync(ALL_LANES, value, 31 - __clz(with | 1));
    const unsigned before = __shfl_sync(ALL_LANES, value, 31 - __clz(below | 1));
    if (thread_lane() == 0)
        warp_last[warp] = last;
    __syncthreads();
    unsigned found = below == 0 ? 0 : before;
    *total = 0;
    for (unsigned w = 0; w < REFINE_WARPS; w++) {
        found = w < warp && below == 0 && warp_last[w] != 0 ? warp_last[w] : found;
        *total = warp_last[w] != 0 ? warp_last[w] : *total;
    }
    return found;
}

/* Adds this tile's findings about a run that starts before it to `head`, the tile of the run's
 * head. */
__device__ __forceinline__ void thread_cross_tile(const struct refine_marks &marks, size_t tile,
                                                  const struct refine_tile &found, unsigned head)
{
    marks.tiles[tile].head_tile = head;
    if (found.before != 0)
        atomicOr(&marks.crossing[head], found.before);
}

/* Finds the tile in which the run at the start of each tile begins. One block; a thread handles
 * consecutive tiles. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_cross_kernel(struct refine_marks marks, size_t tiles)
{
    __shared__ unsigned warp_last[REFINE_WARPS];
    unsigned last_before = 0; /* the last tile with a head among all before, plus 1 */
    for (size_t first = 0; first < tiles; first += REFINE_SCAN_TILES) {
        const size_t own = first + threadIdx.x * REFINE_THREAD_TILES;
        const size_t end = own + REFINE_THREAD_TILES < tiles ? own + REFINE_THREAD_TILES : tiles;
        unsigned last = 0, total = 0;
        for (size_t tile = own; tile < end; tile++)
            if (marks.tiles[tile].first_head < REFINE_TILE)
                last = static_cast<unsigned>(tile) + 1;
        unsigned head = block_last_before(last, warp_last, &total);
        head = head == 0 ? last_before : head;
        for (size_t tile = own; tile < end; tile++) {
            const struct refine_tile found = marks.tiles[tile];
            if (found.first_head > 0)
                thread_cross_tile(marks, tile, found, head - 1);
            if (found.first_head < REFINE_TILE)
                head = static_cast<unsigned>(tile) + 1;
        }
        last_before = total == 0 ? last_before : total;
        __syncthreads(); /* warp_last is reused */
    }
}

/* ---- class ---- */

/* Returns the bits of the items before `end` in this lane's word of a tile. */
__device__ __forceinline__ unsigned thread_bits_before(unsigned end)
{
    const unsigned first = thread_lane() * 32;
    if (end <= first)
        return 0;
    return end - first >= 32 ? ALL_LANES : (1u << (end - first)) - 1;
}

/* Sets the class of the items in `bits`, which are of one run, by its findings. */
__device__ __forceinline__ void thread_set_class(unsigned known, unsigned bits, unsigned *device,
                                                 unsigned *host)
{
    *device = (*device & ~bits) | (known == REFINE_DIFFERS ? bits : 0);
    *host = (*host & ~bits) | (known == (REFINE_DIFFERS | REFINE_HOSTS) ? bits : 0);
}

/* Returns the tile of this warp. */
__device__ __forceinline__ size_t warp_tile()
{
    return static_cast<size_t>(blockIdx.x) * REFINE_WARPS + threadIdx.x / THREADS_PER_WARP;
}

__device__ __forceinline__ unsigned warp_sum(unsigned value)
{
    return __shfl_sync(ALL_LANES, warp_inclusive_scan(value),
                       static_cast<int>(THREADS_PER_WARP - 1));
}

/* Corrects the bits of runs that cross tiles, and adds up the totals. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_class_kernel(struct refine_marks marks, size_t tiles)
{
    const size_t tile = warp_tile();
    if (tile >= tiles)
        return;
    const size_t word = tile * REFINE_TILE_WORDS + thread_lane();
    const struct refine_tile found = marks.tiles[tile];
    unsigned device = marks.device[word], host = marks.host[word];
    const bool goes_on = tile + 1 < tiles && marks.tiles[tile + 1].first_head > 0;
    if (found.first_head > 0)
        thread_set_class(marks.crossing[found.head_tile], thread_bits_before(found.first_head),
                         &device, &host);
    if (goes_on && found.first_head < REFINE_TILE)
        thread_set_class(marks.crossing[tile], ~thread_bits_before(found.last_head), &device,
                         &host);
    if (found.first_head > 0 || goes_on) {
        marks.device[word] = device;
        marks.host[word] = host;
    }
    const unsigned devices = warp_sum(static_cast<unsigned>(__popc(device)));
    const unsigned hosts = warp_sum(static_cast<unsigned>(__popc(host)));
    if (thread_lane() == 0 && devices > 0)
        atomicAdd(&marks.totals->device, static_cast<refine_pair>(devices));
    if (thread_lane() == 0 && hosts > 0)
        atomicAdd(&marks.totals->host, static_cast<refine_pair>(hosts));
}

/* ---- choose ---- */

/* Counts the chosen items, and the runs whose first item is chosen. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_count_kernel(struct refine_marks marks, const unsigned *chosen, size_t tiles)
{
    const size_t tile = warp_tile();
    if (tile >= tiles)
        return;
    const size_t word = tile * REFINE_TILE_WORDS + thread_lane();
    const unsigned bits = chosen[word], heads = bits & ~marks.same[word];
    const unsigned items = warp_sum(static_cast<unsigned>(__popc(bits)));
    const unsigned runs = warp_sum(static_cast<unsigned>(__popc(heads)));
    if (thread_lane() == 0)
        marks.offsets[tile] = static_cast<refine_pair>(runs) << 32 | items;
}

/* Calls visit(item, number of the item among the chosen ones, number of its run among their runs)
 * for the chosen items of the warp's tile. */
template <typename VISIT>
__device__ __forceinline__ void warp_visit_chosen(const struct refine_marks &marks,
                                                  const unsigned *chosen, size_t tiles, VISIT visit)
{
    const size_t tile = warp_tile();
    if (tile >= tiles)
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
        const unsigned runs =
            static_cast<unsigned>(word_before >> 32) + __popc(word_heads & (below << 1 | 1));
        visit(tile * REFINE_TILE + word * 32 + lane, slot, runs - 1);
    }
}

#endif
