/* SPDX-License-Identifier: Apache-2.0 */
/* lines_measure.cuh - finds the lengths of lines, in the order of their items, and the start of
 * each in the output.
 *
 *   items --gather_measure_kernel--> starts of lines within their group, and bytes of the groups
 *         --scan_kernel--> starts of groups, and total bytes
 *         --gather_find_kernel--> for each tile of the output, the line of its first byte
 *
 * Lines are at random positions, so each costs one or two sectors of memory, and its length is
 * found only once. The copy gets the lengths from the starts, which have 64 bits and so need no
 * special case for long lines.
 *
 * No thread reads far. It reads a few words of a line, and its warp searches the rest together.
 */
#ifndef CUDA_LINES_MEASURE_CUH
#define CUDA_LINES_MEASURE_CUH

#include "cuda/block/block_scan.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/block/thread_bits.cuh"
#include "cuda/block/thread_key.cuh"
#include "cuda/engine/cuda_lines.h"
#include "cuda/tuning.h"

#include <cuda_runtime.h>
#include <stdint.h>

/* A struct cuda_gather and its workspace, for the kernels. */
struct gather_view {
    struct cuda_text text;
    const struct key_index *items;
    uint64_t count;        /* number of lines */
    uint64_t *bytes;       /* total bytes of all lines */
    uint64_t *starts;      /* count + 1: start of each line, from the start of its group */
    uint64_t *groups;      /* group_count: starts of groups */
    uint64_t group_count;  /* for the lines and the end after them */
    uint64_t *first_lines; /* one for each tile of the output, and the last line */
    atomic_count *totals;  /* both checksums of the output, and the first line out of order */
};

constexpr unsigned GATHER_TOTALS = 3;

constexpr unsigned GATHER_WORD_BYTES = sizeof(uint4);

/* Words that a lane reads at a time in the search for the end of a long line: a bit of a mask of 64
 * bits for each byte. */
constexpr unsigned GATHER_LANE_WORDS = 4;
constexpr unsigned GATHER_SEARCH_BYTES = THREADS_PER_WARP * GATHER_LANE_WORDS * GATHER_WORD_BYTES;

/* A group: the lines that a block measures. Their starts are relative to that of the group. */
constexpr unsigned GATHER_GROUP_LINES = GATHER_MEASURE_THREADS * GATHER_MEASURE_LINES;

/* Returns the start of the line in the output; line <= count. */
__device__ __forceinline__ uint64_t thread_line_start(const struct gather_view &view, uint64_t line)
{
    return view.groups[line / GATHER_GROUP_LINES] + view.starts[line];
}

/* ---- the ends of lines ---- */

/* Returns the word at `at`, a multiple of its size, within the text or its slack. */
__device__ __forceinline__ uint4 thread_load_text(const struct gather_view &view, uint64_t at)
{
    return __ldg(reinterpret_cast<const uint4 *>(view.text.text + at));
}

/* Returns the position of the first terminator from `from` on. `from` is a multiple of
 * GATHER_WORD_BYTES, and the same in all lanes of the warp, which call this together. A lane reads
 * several words at a time, so that a long line takes few steps. */
__device__ __forceinline__ uint64_t warp_find_line_end(const struct gather_view &view,
                                                       uint64_t from)
{
    for (; from < view.text.bytes; from += GATHER_SEARCH_BYTES) {
        const uint64_t at = from + thread_lane() * GATHER_LANE_WORDS * GATHER_WORD_BYTES;
        unsigned long long matches = 0;
#pragma unroll
        for (unsigned i = 0; i < GATHER_LANE_WORDS; i++)
            if (at + i * GATHER_WORD_BYTES < view.text.bytes)
                matches |= static_cast<unsigned long long>(thread_match_bytes(
                               thread_load_text(view, at + i * GATHER_WORD_BYTES),
                               view.text.order.terminators))
                           << i * GATHER_WORD_BYTES;
        const unsigned lanes = __ballot_sync(ALL_LANES, matches != 0);
        if (lanes) {
            const uint64_t found = at + static_cast<unsigned>(__ffsll(matches)) - 1;
            return __shfl_sync(ALL_LANES, found, __ffs(static_cast<int>(lanes)) - 1);
        }
    }
    return view.text.bytes; /* never reached: the last line has a terminator */
}

/* ---- lengths ---- */

/* The lines of a thread: their positions in the text, and their lengths with terminator. */
struct gather_lengths {
    uint64_t begins[GATHER_MEASURE_LINES];
    uint64_t bytes[GATHER_MEASURE_LINES]; /* 0: not measured yet, or no line */
    unsigned left;                        /* a bit for each line still to be measured */
};

/* Reads the lines thread, thread + GATHER_MEASURE_THREADS, ... of the group. Lowers totals[2] to
 * the number, counted from 1, of a line whose key is less than the key of the line before. */
__device__ __forceinline__ struct gather_lengths thread_read_lines(const struct gather_view &view)
{
    const uint64_t first = static_cast<uint64_t>(blockIdx.x) * GATHER_GROUP_LINES + threadIdx.x;
    struct gather_lengths lines = {};
#pragma unroll
    for (unsigned i = 0; i < GATHER_MEASURE_LINES; i++) {
        const uint64_t line = first + i * GATHER_MEASURE_THREADS;
        if (line < view.count) {
            lines.begins[i] = line_offset(view.items[line]);
            lines.left |= 1u << i;
            if (line > 0 && view.items[line].key < view.items[line - 1].key)
                atomicMin(&view.totals[2], static_cast<atomic_count>(line + 1));
        }
    }
    return lines;
}

/* Searches the first words of all lines, one word of each line at a time. */
__device__ __forceinline__ void thread_walk_lines(const struct gather_view &view,
                                                  struct gather_lengths &lines)
{
    for (unsigned step = 0; step < GATHER_WALK_WORDS && lines.left; step++) {
        uint4 words[GATHER_MEASURE_LINES] = {};
#pragma unroll
        for (unsigned i = 0; i < GATHER_MEASURE_LINES; i++)
            if (lines.left >> i & 1)
                words[i] = thread_load_text(view, (lines.begins[i] / GATHER_WORD_BYTES + step) *
                                                      GATHER_WORD_BYTES);
#pragma unroll
        for (unsigned i = 0; i < GATHER_MEASURE_LINES; i++) {
            const unsigned before =
                static_cast<unsigned>(lines.begins[i]) % GATHER_WORD_BYTES; /* not in the line */
            const unsigned matches = thread_match_bytes(words[i], view.text.order.terminators) &
                                     (step == 0 ? ~0u << before : ~0u);
            if (!(lines.left >> i & 1) || !matches)
                continue;
            lines.bytes[i] = step * GATHER_WORD_BYTES - before +
                             static_cast<unsigned>(__ffs(static_cast<int>(matches)));
            lines.left &= ~(1u << i);
        }
    }
}

/* Measures the remaining lines of the warp, one after the other. */
__device__ __forceinline__ void warp_measure_rest(const struct gather_view &view,
                                                  struct gather_lengths &lines)
{
#pragma unroll
    for (unsigned i = 0; i < GATHER_MEASURE_LINES; i++) {
        const uint64_t walked =
            (lines.begins[i] / GATHER_WORD_BYTES + GATHER_WALK_WORDS) * GATHER_WORD_BYTES;
        unsigned lanes = __ballot_sync(ALL_LANES, lines.left >> i & 1);
        for (; lanes; lanes &= lanes - 1) {
            const int lane = __ffs(static_cast<int>(lanes)) - 1;
            const uint64_t end = warp_find_line_end(view, __shfl_sync(ALL_LANES, walked, lane));
            if (thread_lane() == static_cast<unsigned>(lane))
                lines.bytes[i] = end + 1 - lines.begins[i];
        }
    }
}

/* Measures a group per block. The end after the last line counts as a line of 0 bytes. */
static __global__ void __launch_bounds__(GATHER_MEASURE_THREADS)
    gather_measure_kernel(struct gather_view view)
{
    __shared__ uint64_t warp_sums[GATHER_MEASURE_LINES][THREADS_PER_WARP];
    struct gather_lengths lines = thread_read_lines(view);
    thread_walk_lines(view, lines);
    warp_measure_rest(view, lines);
    const uint64_t first = static_cast<uint64_t>(blockIdx.x) * GATHER_GROUP_LINES + threadIdx.x;
    uint64_t before = 0;
#pragma unroll
    for (unsigned i = 0; i < GATHER_MEASURE_LINES; i++) {
        uint64_t row_bytes = 0;
        const uint64_t start = before + block_exclusive_scan<GATHER_MEASURE_THREADS>(
                                            lines.bytes[i], warp_sums[i], &row_bytes);
        if (first + i * GATHER_MEASURE_THREADS <= view.count)
            view.starts[first + i * GATHER_MEASURE_THREADS] = start;
        before += row_bytes;
    }
    if (threadIdx.x == 0)
        view.groups[blockIdx.x] = before;
}

/* ---- starts ---- */

/* Returns the line that contains a byte of the output. */
__device__ __forceinline__ uint64_t thread_find_line(const struct gather_view &view, uint64_t byte)
{
    const uint64_t none = 0;
    const uint64_t group = thread_rank(view.groups, none, view.group_count, byte, true) - 1;
    const uint64_t first = group * GATHER_GROUP_LINES;
    const uint64_t left = view.count - first;
    const uint64_t lines = left < GATHER_GROUP_LINES ? left : GATHER_GROUP_LINES;
    return first - 1 +
           thread_rank(view.starts + first, none, lines, byte - view.groups[group], true);
}

/* Finds the first line of each tile. One thread per tile of the output, and one for the last line.
 */
static __global__ void __launch_bounds__(THREADS_PER_BLOCK)
    gather_find_kernel(struct gather_view view, uint64_t tiles)
{
    const uint64_t tile = static_cast<uint64_t>(blockIdx.x) * THREADS_PER_BLOCK + threadIdx.x;
    if (tile <= tiles)
        view.first_lines[tile] =
            tile < tiles ? thread_find_line(view, tile * GATHER_TILE_BYTES) : view.count - 1;
}

/* ---- host ---- */

/* Returns the parts of a workspace, and adds their bytes to *used. */
static inline struct gather_view gather_view_lay(size_t text_bytes, size_t count, void *memory,
                                                 size_t *used)
{
    struct gather_view view = {};
    view.count = count;
    view.group_count = launch_blocks(count + 1, GATHER_GROUP_LINES);
    view.bytes = workspace_take<uint64_t>(memory, used, 1);
    view.totals = workspace_take<atomic_count>(memory, used, GATHER_TOTALS);
    view.starts = workspace_take<uint64_t>(memory, used, count + 1);
    view.groups = workspace_take<uint64_t>(memory, used, view.group_count);
    view.first_lines =
        workspace_take<uint64_t>(memory, used, launch_blocks(text_bytes, GATHER_TILE_BYTES) + 1);
    return view;
}

static inline struct gather_view gather_view_make(const struct cuda_gather *gather)
{
    const struct cuda_text *const text = gather->text;
    size_t used = 0;
    struct gather_view view = gather_view_lay(text->bytes, gather->count, gather->workspace, &used);
    view.text = *text;
    view.items = gather->items;
    return view;
}

#endif
