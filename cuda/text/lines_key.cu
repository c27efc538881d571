/* SPDX-License-Identifier: Apache-2.0 */
/* lines_key.cu - makes the items of a text's lines on the device; see cuda_lines.h.
 *
 *   tiles of the text, a block each -> number of lines of each
 *                                   -> scan: the number of each tile's first line
 *   tile -> shared memory, with the positions at which lines start
 *        -> a thread per line: its image -> items, and the number of flagged items of the tile
 *   flagged items per tile -> scan -> flagged items, copied out in order
 *
 * A line belongs to the tile that contains the terminator before it, and the first line to the
 * first tile. Only a tile's last line may extend past the tile, or start right after it. That line
 * is read from the text itself, up to LINES_WALK_BYTES.
 */
#include "core/byte_words.h"
#include "cuda/block/block_scan.cuh"
#include "cuda/block/launch.cuh"
#include "cuda/block/thread_bits.cuh"
#include "cuda/engine/cuda_lines.h"
#include "cuda/text/thread_line_image.cuh"

#include <algorithm>
#include <stdlib.h>

/* Bytes of a tile per thread: a bit for each in a mask. */
constexpr unsigned THREAD_BYTES = 32;
constexpr unsigned LINES_TILE_BYTES = LINES_THREADS * THREAD_BYTES;
static_assert(LINES_TILE_BYTES <= UINT16_MAX, "where a line starts in its tile is a uint16_t");

/* In the workspace; each array has count + 1 entries. */
struct lines_tiles {
    size_t count;
    uint64_t *lines_before; /* number of lines of all tiles before */
    uint64_t *flagged_before;
};

/* ---- where lines start ---- */

/* Sets *bytes to the 16 bytes at `place` of the text, a multiple of 16. Returns a bit for each
 * terminator among them. */
__device__ __forceinline__ unsigned thread_find_terminators(const struct cuda_text &text,
                                                            uint4 *bytes, size_t place)
{
    *bytes = *reinterpret_cast<const uint4 *>(text.text + place);
    return thread_match_bytes(*bytes, text.order.terminators);
}

/* Returns a bit for each of the thread's bytes after which a line starts. Copies the tile's bytes
 * to `staged`, which may be NULL. */
__device__ __forceinline__ unsigned thread_find_ends(const struct cuda_text &text, size_t tile,
                                                     uint4 *staged)
{
    unsigned ends = 0;
#pragma unroll
    for (unsigned i = 0; i < THREAD_BYTES / 16; i++) {
        const size_t in_tile = threadIdx.x * THREAD_BYTES + i * 16;
        const size_t place = tile * LINES_TILE_BYTES + in_tile;
        if (place >= text.bytes)
            break;
        uint4 bytes;
        unsigned found = thread_find_terminators(text, &bytes, place);
        if (staged != NULL)
            staged[in_tile / 16] = bytes;
        /* No line starts after the last byte of the text. The bytes after it are no text. */
        if (text.bytes - place <= 16)
            found &= (1u << (text.bytes - place - 1)) - 1;
        ends |= found << (i * 16);
    }
    return ends;
}

/* Returns true if the first line of the text belongs to this thread. */
__device__ __forceinline__ bool thread_has_first_line(size_t tile)
{
    return tile == 0 && threadIdx.x == 0;
}

/* lines[tile]: the number of lines of the tile. One block per tile. */
__global__ void __launch_bounds__(LINES_THREADS)
    lines_count_kernel(const struct cuda_text text, uint64_t *lines)
{
    __shared__ unsigned warp_sums[THREADS_PER_WARP];
    const size_t tile = blockIdx.x;
    const unsigned ends = thread_find_ends(text, tile, NULL);
    const unsigned own = static_cast<unsigned>(__popc(ends)) + thread_has_first_line(tile);
    unsigned total;
    block_exclusive_scan<LINES_THREADS>(own, warp_sums, &total);
    if (threadIdx.x == 0)
        lines[tile] = total;
}

/* ---- items ---- */

/* Copies the tile to `staged`, and the starts of its lines to `starts`, relative to the tile's
 * first byte. One start may be right after the tile's last byte. Returns the number of lines. All
 * threads call it. */
__device__ __forceinline__ unsigned block_find_lines(const struct cuda_text &text, size_t tile,
                                                     uint4 *staged, uint16_t *starts)
{
    __shared__ unsigned warp_sums[THREADS_PER_WARP];
    const bool has_first = thread_has_first_line(tile);
    unsigned ends = thread_find_ends(text, tile, staged), total;
    const unsigned own = static_cast<unsigned>(__popc(ends)) + has_first;
    unsigned place = block_exclusive_scan<LINES_THREADS>(own, warp_sums, &total);
    if (has_first)
        starts[place++] = 0;
    for (; ends != 0; ends &= ends - 1) {
        const unsigned end = static_cast<unsigned>(__ffs(static_cast<int>(ends)) - 1);
        starts[place++] = static_cast<uint16_t>(threadIdx.x * THREAD_BYTES + end + 1);
    }
    __syncthreads();
    return total;
}

/* Returns the position of the first terminator in [begin, limit), or `limit` if there is none. */
__device__ __forceinline__ size_t thread_find_line_end(const struct cuda_text &text, size_t begin,
                                                       size_t limit)
{
    unsigned before = (1u << begin % 16) - 1;
    for (size_t place = begin - begin % 16; place < limit; place += 16, before = 0) {
        uint4 bytes;
        const unsigned found = thread_find_terminators(text, &bytes, place) & ~before;
        if (found != 0)
            return min(limit, place + static_cast<size_t>(__ffs(static_cast<int>(found)) - 1));
    }
    return limit;
}

template <enum line_kind KIND>
__device__ __forceinline__ struct key_index thread_last_item(const struct cuda_text &text,
                                                             size_t begin)
{
    const size_t limit = min(text.bytes, begin + LINES_WALK_BYTES);
    const size_t end = thread_find_line_end(text, begin, limit);
    return thread_make_item<KIND>(text.order, reinterpret_cast<const char *>(text.text + begin),
                                  end - begin, end == limit, begin);
}

/* Makes the items of a tile's lines, and sets flagged_before[tile] to the number of those that are
 * flagged; a scan then makes of it the number in the tiles before. One block per tile. */
template <enum line_kind KIND>
__global__ void __launch_bounds__(LINES_THREADS, LINES_KEY_BLOCKS)
    lines_key_kernel(const struct cuda_text text, const struct lines_tiles tiles,
                     struct key_index *items)
{
    __shared__ __align__(16) unsigned char staged[LINES_TILE_BYTES];
    __shared__ uint16_t starts[LINES_TILE_BYTES + 1];
    __shared__ unsigned flagged;
    const size_t tile = blockIdx.x, tile_begin = tile * LINES_TILE_BYTES;
    if (threadIdx.x == 0)
        flagged = 0;
    const unsigned count = block_find_lines(text, tile, reinterpret_cast<uint4 *>(staged), starts);
    /* Written by one store of 16 bytes each. */
    ulonglong2 *const own_items = reinterpret_cast<ulonglong2 *>(items) + tiles.lines_before[tile];
    for (unsigned line = threadIdx.x; line < count; line += LINES_THREADS) {
        const unsigned start = starts[line];
        const struct key_index item =
            line + 1 < count
                ? thread_make_item<KIND>(text.order, reinterpret_cast<const char *>(staged + start),
                                         starts[line + 1] - start - 1u, false, tile_begin + start)
                : thread_last_item<KIND>(text, tile_begin + start);
        own_items[line] = make_ulonglong2(item.index, item.key);
        if (line_item_is_flagged(item))
            atomicAdd(&flagged, 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        tiles.flagged_before[tile] = flagged;
}

/* ---- flagged items ---- */

/* Flagged items that are copied out for the host to key. */
struct lines_taken {
    struct key_index *items;   /* array of `room` items */
    uint64_t *lines;           /* array of `room` positions in the array of all items */
    struct key_index *on_host; /* copies of the items, in host memory */
    size_t room;
};

/* Maximum number of flagged lines that the host keys at a time. */
constexpr size_t LINES_TAKEN_MOST = (size_t)1 << 22;

/* Copies the tile's flagged items among the requested ones. Items before number `first` are no
 * longer flagged: they were put back. So the first flagged item of a tile is number max(first,
 * flagged_before[tile]). One block per tile. */
__global__ void __launch_bounds__(LINES_THREADS)
    lines_take_kernel(const struct lines_tiles tiles, const struct key_index *items, uint64_t first,
                      const struct lines_taken taken)
{
    __shared__ unsigned warp_sums[THREADS_PER_WARP];
    const size_t tile = blockIdx.x;
    const uint64_t end = first + taken.room, rank_end = tiles.flagged_before[tile + 1];
    uint64_t rank = max(first, tiles.flagged_before[tile]);
    if (rank >= rank_end || rank >= end)
        return;
    const uint64_t line_end = tiles.lines_before[tile + 1];
    for (uint64_t line = tiles.lines_before[tile]; line < line_end; line += LINES_THREADS) {
        const uint64_t own = line + threadIdx.x;
        struct key_index item = {};
        if (own < line_end)
            item = items[own];
        const bool is_flagged = line_item_is_flagged(item);
        unsigned total;
        const uint64_t place =
            rank + block_exclusive_scan<LINES_THREADS>(is_flagged ? 1u : 0u, warp_sums, &total);
        if (is_flagged && place < end) {
            taken.items[place - first] = item;
            taken.lines[place - first] = own;
        }
        rank += total;
        __syncthreads();
    }
}

/* Sets items[taken.lines[i]] = taken.items[i], i < count. One thread per item. */
__global__ void __launch_bounds__(LINES_THREADS)
    lines_put_kernel(const struct lines_taken taken, size_t count, struct key_index *items)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * LINES_THREADS + threadIdx.x;
    if (i < count)
        items[taken.lines[i]] = taken.items[i];
}

/* ---- host ---- */

struct cuda_line_order cuda_line_order_make(const struct line_order *order)
{
    return {order->keys[0], order->key_count, order->separator, byte_in_all(order->terminator),
            order->reverse, order->stable,    order->unique};
}

size_t cuda_lines_workspace_bytes(size_t bytes)
{
    return 2 * (launch_blocks(bytes, LINES_TILE_BYTES) + 1) * sizeof(uint64_t);
}

static struct lines_tiles lines_tiles_of(const struct cuda_text *text, void *workspace)
{
    const size_t count = launch_blocks(text->bytes, LINES_TILE_BYTES);
    uint64_t *const lines_before = static_cast<uint64_t *>(workspace);
    return {count, lines_before, lines_before + count + 1};
}

/* Scans sums[0..count) and waits for the total, named `what` in errors, which must be at most
 * `most`. */
static bool lines_scan(const struct cuda_text *text, uint64_t *sums, size_t count, const char *what,
                       size_t most, size_t *total, struct error *error)
{
    uint64_t sum = 0;
    if (!launch_kernel(launch_for(*text, "scan_kernel", 1, BLOCK_SCAN_THREADS), error,
                       scan_kernel<uint64_t>, sums, count, sums + count) ||
        !cuda_fetch(*text, &sum, sums + count, sizeof sum, error))
        return false;
    *total = sum;
    return cuda_check_value(sum, most, text->device, what, error);
}

bool cuda_lines_count(struct cuda_text *text, void *workspace, struct error *error)
{
    const struct lines_tiles tiles = lines_tiles_of(text, workspace);
    return launch_kernel(launch_for(*text, "lines_count_kernel", tiles.count, LINES_THREADS), error,
                         lines_count_kernel, *text, tiles.lines_before) &&
           lines_scan(text, tiles.lines_before, tiles.count, "number of lines", text->bytes,
                      &text->count, error);
}

static auto lines_key_kernel_of(enum line_kind kind)
{
    switch (kind) {
    case LINE_STRICT:
        return lines_key_kernel<LINE_STRICT>;
    case LINE_GENERAL:
        return lines_key_kernel<LINE_GENERAL>;
    case LINE_NUMERIC:
        return lines_key_kernel<LINE_NUMERIC>;
    case LINE_HUMAN:
        return lines_key_kernel<LINE_HUMAN>;
    case LINE_BYTES:
        break;
    }
    return lines_key_kernel<LINE_BYTES>;
}

bool cuda_lines_key(const struct cuda_text *text, void *workspace, struct key_index *items,
                    size_t *flagged, struct error *error)
{
    const struct lines_tiles tiles = lines_tiles_of(text, workspace);
    return launch_kernel(launch_for(*text, "lines_key_kernel", tiles.count, LINES_THREADS), error,
                         lines_key_kernel_of(text->order.key.kind), *text, tiles, items) &&
           lines_scan(text, tiles.flagged_before, tiles.count, "number of lines to key",
                      text->count, flagged, error);
}

bool cuda_lines_check_items(const struct cuda_text *text, const struct key_index *items,
                            size_t count, struct error *error)
{
    size_t last = 0;
    for (size_t i = 0; i < count; i++)
        last = std::max(last, line_offset(items[i]));
    return count == 0 ||
           cuda_check_value(last, text->bytes - 1, text->device, "beginning of a line", error);
}

/* Lets the helper key the flagged items, taken.room at a time. Copies them to `taken`, to the host,
 * and back. */
static bool lines_key_taken(const struct cuda_text *text, void *workspace, struct key_index *items,
                            const struct cuda_flagged *flagged, const struct lines_taken &taken,
                            struct error *error)
{
    const struct lines_tiles tiles = lines_tiles_of(text, workspace);
    const struct line_helper *const helper = flagged->helper;
    const struct launch take = launch_for(*text, "lines_take_kernel", tiles.count, LINES_THREADS);
    for (uint64_t first = 0; first < flagged->count; first += taken.room) {
        const size_t count = std::min<size_t>(taken.room, flagged->count - first);
        const size_t bytes = count * sizeof *items;
        const struct launch put = launch_for(*text, "lines_put_kernel",
                                             launch_blocks(count, LINES_THREADS), LINES_THREADS);
        if (!launch_kernel(take, error, lines_take_kernel, tiles, items, first, taken) ||
            !cuda_fetch(*text, taken.on_host, taken.items, bytes, error) ||
            !cuda_lines_check_items(text, taken.on_host, count, error) ||
            !helper->key(helper->context, taken.on_host, count, error) ||
            !cuda_copy(*text, taken.items, taken.on_host, bytes, error) ||
            !launch_kernel(put, error, lines_put_kernel, taken, count, items) ||
            !cuda_wait(*text, error))
            return false;
    }
    return true;
}

bool cuda_lines_key_flagged(const struct cuda_text *text, void *workspace, struct key_index *items,
                            const struct cuda_flagged *flagged, struct error *error)
{
    struct lines_taken taken = {};
    if (flagged->count == 0)
        return true;
    taken.room = std::min({flagged->count, LINES_TAKEN_MOST,
                           flagged->scratch_bytes / (sizeof *taken.items + sizeof *taken.lines)});
    taken.items = static_cast<struct key_index *>(flagged->scratch);
    taken.lines = reinterpret_cast<uint64_t *>(taken.items + taken.room);
    taken.on_host = static_cast<struct key_index *>(malloc(taken.room * sizeof *taken.on_host));
    const bool is_keyed =
        taken.on_host ? lines_key_taken(text, workspace, items, flagged, taken, error)
                      : error_set(error, "out of memory: no room for %zu lines", taken.room);
    free(taken.on_host);
    return is_keyed;
}
