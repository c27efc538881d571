/* SPDX-License-Identifier: Apache-2.0 */
/* lines_gather.cu - see cuda_lines.h.
 *
 *   items --gather_measure_kernel--> starts of lines within their group, and bytes of the groups
 *         --scan_kernel--> starts of groups, and total bytes
 *         --gather_find_kernel--> for each tile of the output, the line of its first byte
 *         --gather_copy_kernel, a block per tile of the output:
 *             one thread per line: the part of it in the tile; short parts go into the stage
 *             one warp per piece: the long parts go into the stage
 *             the stage: stored to the output by words of 16 bytes; then its checksums
 *
 * A block makes GATHER_TILE_BYTES of the output in shared memory (the stage), whatever the number
 * of lines in it. So lines of one byte and one line of the whole text are both distributed evenly.
 * Lines may be anywhere in the text. Reads are of aligned words, and the bytes around the line are
 * dropped. The copy gets the lengths of lines from their starts, which have 64 bits and so need no
 * special case for long lines.
 */
#include "core/check/check_kernels.h"
#include "cuda/block/block_scan.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/block/thread_bits.cuh"
#include "cuda/block/thread_key.cuh"
#include "cuda/engine/cuda_lines.h"

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

/* ---- the ends of lines ----
 *
 * Lines are at random positions, so each costs one or two sectors of memory, and its length is
 * found only once. No thread reads far: it reads a few words of a line, and its warp searches the
 * rest together. */

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

/* ---- checksums ----
 *
 * The checksums of a tile of the output are for the proof of output (core/check/check.h): of its
 * bytes by their positions in the text, and by their positions in the output. The first, summed
 * over all tiles, equals that of the input text if each line is in the output exactly once.
 *
 *   stage -> words of 8 bytes of the text, or of the output, by threads -> block -> two sums */

/* A thread's part of both sums. */
struct gather_sums {
    uint64_t source, output;
};

/* Returns the 8 bytes at `at` in the stage. */
__device__ __forceinline__ uint64_t thread_load_stage(const unsigned *parts, unsigned at)
{
    const unsigned shift = 8 * (at % 4);
    const unsigned *const part = parts + at / 4;
    const unsigned a = part[0], b = part[1];
    const unsigned c = shift ? part[2] : 0;
    const unsigned low = __funnelshift_r(a, b, shift), high = __funnelshift_r(b, c, shift);
    return static_cast<uint64_t>(high) << 32 | low;
}

/* Returns the contribution of word `word` of a text to its sum, as far as the word is within bytes
 * [from, from + bytes). These bytes are in the stage from `place` on, which is at least 8. */
__device__ __forceinline__ uint64_t thread_sum_word(const unsigned *parts, uint64_t from,
                                                    unsigned place, unsigned bytes, uint64_t word)
{
    const int64_t begin = static_cast<int64_t>(8 * word - from); /* may be before the first byte */
    const unsigned skipped = begin < 0 ? static_cast<unsigned>(-begin) : 0;
    const int64_t left = static_cast<int64_t>(bytes) - begin;
    uint64_t mask = ~0ull << 8 * skipped;
    if (left < 8)
        mask &= ~0ull >> 8 * (8 - left);
    const unsigned at = static_cast<unsigned>(static_cast<int64_t>(place) + begin);
    return (thread_load_stage(parts, at) & mask) * check_text_factor(word);
}

/* Returns the sum of every step-th word of the bytes, starting with number `first`. */
__device__ __forceinline__ uint64_t thread_sum_words(const unsigned *parts, uint64_t from,
                                                     unsigned place, unsigned bytes, unsigned first,
                                                     unsigned step)
{
    uint64_t sum = 0;
    for (uint64_t word = from / 8 + first; 8 * word < from + bytes; word += step)
        sum += thread_sum_word(parts, from, place, bytes, word);
    return sum;
}

/* Adds the sums of all threads of the block to totals[0] and totals[1]. `warp_sums` is in shared
 * memory, one per warp. All threads call it once. */
__device__ __forceinline__ void block_add_sums(struct gather_sums sums,
                                               struct gather_sums *warp_sums, atomic_count *totals)
{
    for (unsigned distance = THREADS_PER_WARP / 2; distance > 0; distance /= 2) {
        sums.source += __shfl_down_sync(ALL_LANES, sums.source, distance);
        sums.output += __shfl_down_sync(ALL_LANES, sums.output, distance);
    }
    if (thread_lane() == 0)
        warp_sums[threadIdx.x / THREADS_PER_WARP] = sums;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (unsigned warp = 1; warp < GATHER_THREADS / THREADS_PER_WARP; warp++) {
        sums.source += warp_sums[warp].source;
        sums.output += warp_sums[warp].output;
    }
    atomicAdd(&totals[0], static_cast<atomic_count>(sums.source));
    atomicAdd(&totals[1], static_cast<atomic_count>(sums.output));
}

/* ---- a tile of the output ---- */

/* Maximum number of pieces: the long spans of a tile, plus the cuts between their pieces. */
constexpr unsigned GATHER_PIECES =
    GATHER_TILE_BYTES / (GATHER_SHORT_BYTES + 1) + GATHER_TILE_BYTES / GATHER_PIECE_BYTES;

/* Bytes of the text, and their position in the stage. */
struct gather_span {
    uint64_t source;
    unsigned place;
    unsigned bytes; /* 0: none */
};

/* A block's part of the output, and the lines that may be in it. */
struct gather_tile {
    uint64_t begin, end;
    uint64_t line, line_end;
    unsigned place; /* of its first byte in the stage */
};

/* Reads may pass the end of the stage by part of a word. */
constexpr unsigned GATHER_STAGE_WORDS = GATHER_TILE_BYTES / GATHER_WORD_BYTES + 3;

/* In shared memory. A byte has the same position modulo a word as in the target. One word comes
 * before the first byte, so that the position of a line's first word is never below 0. */
struct gather_stage {
    union {
        uint4 words[GATHER_STAGE_WORDS];
        unsigned parts[GATHER_STAGE_WORDS * 4];
        unsigned char bytes[GATHER_STAGE_WORDS * GATHER_WORD_BYTES];
    };
    struct gather_span pieces[GATHER_PIECES];
    unsigned piece_count;
    struct gather_sums warp_sums[GATHER_THREADS / THREADS_PER_WARP];
};

/* Returns the block's tile of the output [begin, end), which is stored to target. */
__device__ __forceinline__ struct gather_tile block_gather_tile(const struct gather_view &view,
                                                                uint64_t begin, uint64_t end,
                                                                const unsigned char *target)
{
    const uint64_t number = begin / GATHER_TILE_BYTES + blockIdx.x;
    struct gather_tile tile;
    tile.begin = max(number * GATHER_TILE_BYTES, begin);
    tile.end = min((number + 1) * GATHER_TILE_BYTES, end);
    tile.line = view.first_lines[number];
    tile.line_end = view.first_lines[number + 1] + 1;
    const uintptr_t address = reinterpret_cast<uintptr_t>(target + (tile.begin - begin));
    tile.place = GATHER_WORD_BYTES + static_cast<unsigned>(address % GATHER_WORD_BYTES);
    return tile;
}

/* Returns the part of the line that is in the tile. */
__device__ __forceinline__ struct gather_span
thread_gather_span(const struct gather_view &view, const struct gather_tile &tile, uint64_t line)
{
    const uint64_t source = line_offset(view.items[line]);
    const uint64_t start = thread_line_start(view, line);
    const uint64_t from = max(start, tile.begin);
    const uint64_t to = min(thread_line_start(view, line + 1), tile.end);
    return {source + (from - start), tile.place + static_cast<unsigned>(from - tile.begin),
            from < to ? static_cast<unsigned>(to - from) : 0};
}

/* ---- short spans ---- */

/* Stores the bytes of a word of the text that belong to the span in the stage, one by one. `at` is
 * the position of the word's first byte. */
__device__ __forceinline__ void thread_put_bytes(struct gather_stage &stage,
                                                 const struct gather_span &span, unsigned at,
                                                 const uint4 &word)
{
    const unsigned parts[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
    for (unsigned i = 0; i < GATHER_WORD_BYTES; i++)
        if (at + i - span.place < span.bytes)
            stage.bytes[at + i] = static_cast<unsigned char>(parts[i / 4] >> 8 * (i % 4));
}

/* Copies the span. The next word is loaded while one is stored. */
__device__ __forceinline__ void thread_copy_span(const struct gather_view &view,
                                                 struct gather_stage &stage,
                                                 const struct gather_span &span)
{
    const unsigned before = static_cast<unsigned>(span.source % GATHER_WORD_BYTES);
    const unsigned end = span.place + span.bytes;
    uint64_t source = span.source - before;
    uint4 word = thread_load_text(view, source);
    for (unsigned at = span.place - before; at < end; at += GATHER_WORD_BYTES) {
        uint4 next = {};
        source += GATHER_WORD_BYTES;
        if (at + GATHER_WORD_BYTES < end)
            next = thread_load_text(view, source);
        thread_put_bytes(stage, span, at, word);
        word = next;
    }
}

/* ---- long spans ---- */

__device__ __forceinline__ void thread_list_pieces(struct gather_stage &stage,
                                                   const struct gather_span &span)
{
    const unsigned count = (span.bytes + GATHER_PIECE_BYTES - 1) / GATHER_PIECE_BYTES;
    const unsigned slot = atomicAdd(&stage.piece_count, count);
#pragma unroll 1
    for (unsigned i = 0; i < count; i++) {
        const unsigned begin = i * GATHER_PIECE_BYTES;
        const struct gather_span piece = {span.source + begin, span.place + begin,
                                          min(GATHER_PIECE_BYTES, span.bytes - begin)};
        stage.pieces[slot + i] = piece;
    }
}

/* Returns four bytes of the text from any position. */
__device__ __forceinline__ unsigned thread_load_part(const struct gather_view &view, uint64_t from)
{
    const unsigned *const parts = reinterpret_cast<const unsigned *>(view.text.text + from / 4 * 4);
    const unsigned shift = 8 * static_cast<unsigned>(from % 4);
    return shift == 0 ? __ldg(parts) : __funnelshift_r(__ldg(parts), __ldg(parts + 1), shift);
}

/* Each lane copies every 32nd part of 4 bytes of the stage. Only the first and the last part may be
 * copied byte by byte. */
__device__ __forceinline__ void warp_copy_piece(const struct gather_view &view,
                                                struct gather_stage &stage,
                                                const struct gather_span &piece)
{
    const unsigned end = piece.place + piece.bytes;
#pragma unroll 4
    for (unsigned at = piece.place / 4 * 4 + 4 * thread_lane(); at < end;
         at += 4 * THREADS_PER_WARP) {
        const uint64_t from = piece.source + at - piece.place;
        if (at >= piece.place && at + 4 <= end) {
            stage.parts[at / 4] = thread_load_part(view, from);
            continue;
        }
        for (unsigned i = 0; i < 4; i++)
            if (at + i - piece.place < piece.bytes)
                stage.bytes[at + i] = __ldg(view.text.text + (from + i));
    }
}

/* ---- the block ---- */

/* Copies short spans, and lists the pieces of the long ones. */
__device__ __forceinline__ void block_copy_spans(const struct gather_view &view,
                                                 struct gather_stage &stage,
                                                 const struct gather_tile &tile)
{
    for (uint64_t line = tile.line + threadIdx.x; line < tile.line_end; line += GATHER_THREADS) {
        const struct gather_span span = thread_gather_span(view, tile, line);
        if (span.bytes > GATHER_SHORT_BYTES)
            thread_list_pieces(stage, span);
        else if (span.bytes > 0)
            thread_copy_span(view, stage, span);
    }
}

__device__ __forceinline__ void block_copy_pieces(const struct gather_view &view,
                                                  struct gather_stage &stage)
{
    for (unsigned i = threadIdx.x / THREADS_PER_WARP; i < stage.piece_count;
         i += GATHER_THREADS / THREADS_PER_WARP)
        warp_copy_piece(view, stage, stage.pieces[i]);
}

/* Stores the tile to the output, by words except at its ends. */
__device__ __forceinline__ void
block_store_stage(struct gather_stage &stage, const struct gather_tile &tile, unsigned char *target)
{
    const unsigned bytes = static_cast<unsigned>(tile.end - tile.begin);
    for (unsigned word = 1 + threadIdx.x; word * GATHER_WORD_BYTES < tile.place + bytes;
         word += GATHER_THREADS) {
        const unsigned at = word * GATHER_WORD_BYTES;
        if (at >= tile.place && at + GATHER_WORD_BYTES <= tile.place + bytes) {
            __stcs(reinterpret_cast<uint4 *>(target + (at - tile.place)), stage.words[word]);
            continue;
        }
        for (unsigned i = 0; i < GATHER_WORD_BYTES; i++)
            if (at + i - tile.place < bytes)
                target[at + i - tile.place] = stage.bytes[at + i];
    }
}

/* Adds up the checksums of the stage, by positions in the text and in the output. */
__device__ __forceinline__ void block_check_stage(const struct gather_view &view,
                                                  struct gather_stage &stage,
                                                  const struct gather_tile &tile)
{
    const unsigned *const parts = stage.parts;
    struct gather_sums sums = {0, 0};
    for (uint64_t line = tile.line + threadIdx.x; line < tile.line_end; line += GATHER_THREADS) {
        const struct gather_span span = thread_gather_span(view, tile, line);
        if (span.bytes <= GATHER_SHORT_BYTES)
            sums.source += thread_sum_words(parts, span.source, span.place, span.bytes, 0, 1);
    }
    for (unsigned i = threadIdx.x / THREADS_PER_WARP; i < stage.piece_count;
         i += GATHER_THREADS / THREADS_PER_WARP) {
        const struct gather_span &piece = stage.pieces[i];
        sums.source += thread_sum_words(parts, piece.source, piece.place, piece.bytes,
                                        thread_lane(), THREADS_PER_WARP);
    }
    sums.output =
        thread_sum_words(parts, tile.begin, tile.place,
                         static_cast<unsigned>(tile.end - tile.begin), threadIdx.x, GATHER_THREADS);
    block_add_sums(sums, stage.warp_sums, view.totals);
}

/* Copies the output [begin, end) to target. One block per tile of the output. */
static __global__ void __launch_bounds__(GATHER_THREADS, GATHER_BLOCKS)
    gather_copy_kernel(struct gather_view view, uint64_t begin, uint64_t end, unsigned char *target)
{
    __shared__ struct gather_stage stage;
    const struct gather_tile tile = block_gather_tile(view, begin, end, target);
    if (threadIdx.x == 0)
        stage.piece_count = 0;
    __syncthreads();
    block_copy_spans(view, stage, tile);
    __syncthreads();
    block_copy_pieces(view, stage);
    __syncthreads();
    block_store_stage(stage, tile, target + (tile.begin - begin));
    block_check_stage(view, stage, tile);
}

/* ---- the interface ---- */

/* Returns the parts of a workspace, and adds their bytes to *used. */
static struct gather_view gather_view_lay(size_t text_bytes, size_t count, void *memory,
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

static struct gather_view gather_view_make(const struct cuda_gather *gather)
{
    const struct cuda_text *const text = gather->text;
    size_t used = 0;
    struct gather_view view = gather_view_lay(text->bytes, gather->count, gather->workspace, &used);
    view.text = *text;
    view.items = gather->items;
    return view;
}

size_t cuda_gather_workspace_bytes(size_t text_bytes, size_t count)
{
    size_t used = 0;
    (void)gather_view_lay(text_bytes, count, NULL, &used);
    return used;
}

/* Returns the launch of a kernel that has a thread for each of `count` things. */
static struct launch gather_launch(const struct cuda_gather *gather, const char *name, size_t count,
                                   unsigned threads)
{
    return launch_for(*gather->text, name, launch_blocks(count, threads), threads);
}

bool cuda_gather_start_check(const struct cuda_gather *gather, struct error *error)
{
    return cuda_fill(*gather->text, gather_view_make(gather).totals, 0, 2 * sizeof(atomic_count),
                     error);
}

bool cuda_gather_finish_check(const struct cuda_gather *gather, struct text_proof *proof,
                              struct error *error)
{
    atomic_count totals[GATHER_TOTALS] = {};
    if (!cuda_fetch(*gather->text, totals, gather_view_make(gather).totals, sizeof totals, error))
        return false;
    proof->gathered = {gather->bytes, totals[0]};
    proof->given = {gather->bytes, totals[1]};
    proof->disorder = totals[2] == UINT64_MAX ? 0 : totals[2];
    return true;
}

bool cuda_gather_measure(struct cuda_gather *gather, struct error *error)
{
    const struct cuda_text &text = *gather->text;
    const struct gather_view view = gather_view_make(gather);
    uint64_t bytes = 0;
    gather->bytes = 0;
    if (gather->count == 0)
        return true;
    if (!cuda_fill(text, view.totals + 2, 0xff, sizeof *view.totals, error) ||
        !launch_kernel(gather_launch(gather, "gather_measure_kernel",
                                     view.group_count * GATHER_MEASURE_THREADS,
                                     GATHER_MEASURE_THREADS),
                       error, gather_measure_kernel, view) ||
        !launch_kernel(gather_launch(gather, "scan_kernel", 1, BLOCK_SCAN_THREADS), error,
                       scan_kernel<uint64_t>, view.groups, static_cast<size_t>(view.group_count),
                       view.bytes) ||
        !cuda_fetch(text, &bytes, view.bytes, sizeof bytes, error) ||
        !cuda_check_value(bytes, text.bytes, text.device, "length of the lines", error))
        return false;
    gather->bytes = bytes;
    const uint64_t tiles = launch_blocks(gather->bytes, GATHER_TILE_BYTES);
    return launch_kernel(gather_launch(gather, "gather_find_kernel", tiles + 1, THREADS_PER_BLOCK),
                         error, gather_find_kernel, view, tiles);
}

bool cuda_gather_copy(const struct cuda_gather *gather, size_t begin, size_t end,
                      unsigned char *target, struct error *error)
{
    const size_t tiles =
        begin < end ? (end - 1) / GATHER_TILE_BYTES - begin / GATHER_TILE_BYTES + 1 : 0;
    return launch_kernel(
        gather_launch(gather, "gather_copy_kernel", tiles * GATHER_THREADS, GATHER_THREADS), error,
        gather_copy_kernel, gather_view_make(gather), begin, end, target);
}
