/* SPDX-License-Identifier: Apache-2.0 */
/* lines_refine.cu - see cuda_lines.h.
 *
 *   items --mark--> tie groups that are not in order, as bits: for the device, for the host
 *
 *   for the device   load: (tie group, word 0 of the line, its offset), and the item's position
 *                    rounds: sort; the offsets go back to the positions; tie groups that still hold
 *                            different lines, now smaller, are loaded with the next word
 *                    tie groups that remain after the last round are marked for the host
 *   for the host     gathered, sorted by the helper, put back to the same positions
 *   unique           the first item of each tie group, except those of the host, and the items that
 *                    the host kept, are moved together
 *
 * A tie group is sorted here if its keys are exact, or are the bytes of whole lines, and if only
 * the bytes of its lines decide. All others that are not in order are for the host. The order after
 * a round is final, except among lines that share all words so far. The items of a tie group have
 * equal keys, so only their indices move.
 *
 * Source: rounds over the open tie groups are the radix form of J. L. Bentley, R. Sedgewick, "Fast
 * algorithms for sorting and searching strings", SODA 1997, breadth first.
 */
#include "cuda/engine/cuda_device.h"
#include "cuda/engine/cuda_lines.h"

#include "cuda/block/launch.cuh"
#include "cuda/block/thread_key.cuh"
#include "cuda/text/refine_ties.cuh"

#include <algorithm>
#include <stdint.h>
#include <stdlib.h>

/* ---- kernels: rounds ---- */

/* The data of a round: its items, and for each slot the position in the result. */
struct refine_round {
    struct key_index *items;
    unsigned *positions;
};

/* Loads the chosen items of the view, to be sorted by their next word. The view is of all items,
 * with `positions` NULL, or of a sorted round, with its positions. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_load_kernel(struct refine_view view, struct refine_marks marks,
                       const unsigned *positions, struct refine_round next)
{
    warp_visit_chosen(marks, marks.device, [&](size_t i, unsigned slot, unsigned tie) {
        const struct key_index item = view.items[i];
        const size_t place = thread_line_place(view, item) + view.depth;
        const uint64_t word = thread_line_word(view.text, place) ^ view.complement;
        next.items[slot] =
            thread_round_item(tie, word & REFINE_WORD_MASK, item.index & view.place_mask);
        next.positions[slot] = positions ? positions[i] : static_cast<unsigned>(i);
    });
}

/* Writes the offsets of a sorted round's lines to their positions. One thread per item. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_place_kernel(struct refine_round round, size_t count, struct key_index *items)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * REFINE_THREADS + threadIdx.x;
    if (i < count)
        items[round.positions[i]].index = round.items[i].index & REFINE_PLACE_MASK;
}

/* Marks the positions of a round's chosen items for the host. One thread per item. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_leave_kernel(const unsigned *chosen, const unsigned *positions, size_t count,
                        unsigned *host)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * REFINE_THREADS + threadIdx.x;
    if (i < count && (chosen[i / 32] >> i % 32 & 1) != 0)
        atomicOr(&host[positions[i] / 32], 1u << positions[i] % 32);
}

/* ---- kernels: tie groups for the host ---- */

/* Copies the chosen items to `target`, without gaps. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_gather_kernel(struct refine_marks marks, const unsigned *chosen,
                         const struct key_index *items, struct key_index *target)
{
    warp_visit_chosen(marks, chosen,
                      [&](size_t i, unsigned slot, unsigned) { target[slot] = items[i]; });
}

/* Sets the indices of the chosen items from `source`, which has no gaps. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_scatter_kernel(struct refine_marks marks, const unsigned *chosen,
                          const struct key_index *source, struct key_index *items)
{
    warp_visit_chosen(marks, chosen, [&](size_t i, unsigned slot, unsigned) {
        items[i].index = source[slot].index;
    });
}

/* ---- kernels: unique ---- */

/* Sets marks.device, no longer needed, to the items to keep: the first of each tie group, except
 * in those of the host. One thread per word of marks. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_keep_kernel(struct refine_marks marks, size_t count)
{
    const size_t word = static_cast<size_t>(blockIdx.x) * REFINE_THREADS + threadIdx.x;
    if (word * 32 >= count)
        return;
    const unsigned present = count - word * 32 >= 32 ? ALL_LANES : (1u << count % 32) - 1;
    marks.device[word] = ~marks.same[word] & ~marks.host[word] & present;
}

/* Stores the items that the host kept of each tie group at its front, and marks them as kept. One
 * thread per item. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_keep_hosts_kernel(const struct key_index *source, size_t source_count,
                             struct key_index *items, size_t count, unsigned *kept)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * REFINE_THREADS + threadIdx.x;
    if (i >= source_count)
        return;
    const key_u128 key = static_cast<key_u128>(source[i].key) << 64; /* index 0: goes first */
    const auto rank_in = [=](const struct key_index *array, size_t length) {
        return thread_rank(reinterpret_cast<const key_u128 *>(array), size_t{0}, length, key,
                           false);
    };
    const size_t position = rank_in(items, count) + i - rank_in(source, source_count);
    items[position].index = source[i].index;
    atomicOr(&kept[position / 32], 1u << position % 32);
}

/* ---- sizes ---- */

static struct refine_marks refine_lay_marks(size_t count, void *memory, size_t *used)
{
    struct refine_marks marks;
    marks.tiles = launch_blocks(count, REFINE_TILE);
    const size_t words = marks.tiles * REFINE_TILE_WORDS;
    marks.same = workspace_take<unsigned>(memory, used, words);
    marks.device = workspace_take<unsigned>(memory, used, words);
    marks.host = workspace_take<unsigned>(memory, used, words);
    marks.tie_differs = workspace_take<unsigned>(memory, used, words);
    marks.tie_hosts = workspace_take<unsigned>(memory, used, words);
    marks.offsets = workspace_take<refine_pair>(memory, used, marks.tiles);
    marks.totals = workspace_take<struct refine_totals>(memory, used, 1);
    return marks;
}

size_t cuda_refine_workspace_bytes(size_t count)
{
    size_t used = 0;
    (void)refine_lay_marks(count, NULL, &used);
    return used;
}

/* The memory of the rounds. */
struct refine_memory {
    struct refine_marks marks;
    struct key_index *items;
    unsigned *positions[2];
    void *workspace; /* of the path */
};

/* Lays out the memory of the rounds for `count` lines, from memory + *used on. */
static struct refine_memory refine_lay_rounds(const struct cuda_refine *refine, size_t count,
                                              void *memory, size_t *used)
{
    const size_t path_bytes =
        refine->path->workspace_bytes(count, refine->sort.tile_size, sizeof(struct key_index));
    struct refine_memory rounds;
    rounds.marks = refine_lay_marks(count, memory, used);
    rounds.items = workspace_take<struct key_index>(memory, used, count);
    rounds.positions[0] = workspace_take<unsigned>(memory, used, count);
    rounds.positions[1] = workspace_take<unsigned>(memory, used, count);
    rounds.workspace = workspace_take<unsigned char>(memory, used, path_bytes);
    return rounds;
}

/* ---- steps ---- */

/* One call of cuda_lines_refine(). */
struct refine_call {
    const struct cuda_refine *refine;
    struct refine_marks marks;
    struct refine_memory rounds;
    struct refine_view view; /* all items */
    struct key_index *items;
    struct key_index *scratch;
    unsigned device;
    cudaStream_t stream;
    size_t hosts; /* number of items for the host */
};

static struct launch refine_launch(const struct refine_call &call, const char *name, size_t blocks)
{
    return launch_for(call, name, blocks, REFINE_THREADS);
}

/* Fetches the totals of `count` items, for which it waits, and checks them. */
static bool refine_fetch_totals(const struct refine_call &call, const struct refine_marks &marks,
                                size_t count, struct refine_totals *totals, struct error *error)
{
    if (!cuda_fetch(call, totals, marks.totals, sizeof *totals, error))
        return false;
    totals->chosen &= UINT32_MAX; /* without the tie groups */
    return cuda_check_value(totals->device, count, call.device, "number of lines to order",
                            error) &&
           cuda_check_value(totals->host, count - totals->device, call.device,
                            "number of lines for the host", error) &&
           cuda_check_value(totals->chosen, count, call.device, "number of lines to keep", error);
}

/* Returns the launch of a kernel with one warp per tile of the marks. */
static struct launch refine_visit(const struct refine_call &call, const char *name,
                                  const struct refine_marks &marks)
{
    return refine_launch(call, name, launch_blocks(marks.tiles, REFINE_WARPS));
}

/* Counts the chosen items, for a kernel that visits them. */
static bool refine_choose(const struct refine_call &call, const struct refine_marks &marks,
                          const unsigned *chosen, struct error *error)
{
    return launch_kernel(refine_visit(call, "refine_count_kernel", marks), error,
                         refine_count_kernel, marks, chosen) &&
           launch_kernel(launch_for(call, "scan_kernel", 1, BLOCK_SCAN_THREADS), error,
                         scan_kernel<refine_pair>, marks.offsets, marks.tiles,
                         &marks.totals->chosen);
}

/* Marks the items of the view for the device or for the host. Waits. */
static bool refine_mark(const struct refine_call &call, const struct refine_view &view,
                        const struct refine_marks &marks, struct refine_totals *totals,
                        struct error *error)
{
    const size_t bits_bytes = marks.tiles * REFINE_TILE_WORDS * sizeof(unsigned);
    return cuda_fill(call, marks.totals, 0, sizeof *marks.totals, error) &&
           cuda_fill(call, marks.tie_differs, 0, bits_bytes, error) &&
           cuda_fill(call, marks.tie_hosts, 0, bits_bytes, error) &&
           launch_kernel(refine_launch(call, "refine_compare_kernel", marks.tiles), error,
                         refine_compare_kernel, view, marks) &&
           refine_choose(call, marks, marks.same, error) &&
           launch_kernel(refine_visit(call, "refine_unite_kernel", marks), error,
                         refine_unite_kernel, marks) &&
           launch_kernel(refine_visit(call, "refine_class_kernel", marks), error,
                         refine_class_kernel, marks) &&
           refine_fetch_totals(call, marks, view.count, totals, error);
}

/* ---- rounds ---- */

static struct refine_view refine_round_view(const struct refine_call &call,
                                            const struct refine_round &round, size_t count,
                                            unsigned rounds)
{
    struct refine_view view = call.view;
    view.items = round.items;
    view.count = count;
    view.place_mask = REFINE_PLACE_MASK;
    view.depth = static_cast<size_t>(rounds) * REFINE_WORD_BYTES;
    view.is_round = true;
    return view;
}

/* Loads the chosen items of a view into the next round, with their next word. */
static bool refine_load(const struct refine_call &call, const struct refine_view &view,
                        const struct refine_marks &marks, const unsigned *positions,
                        const struct refine_round &next, struct error *error)
{
    return refine_choose(call, marks, marks.device, error) &&
           launch_kernel(refine_visit(call, "refine_load_kernel", marks), error, refine_load_kernel,
                         view, marks, positions, next);
}

/* Sorts a round, waits, and starts to write its lines' offsets to their positions. */
static bool refine_sort(const struct refine_call &call, const struct refine_round &round,
                        void *scratch, size_t count, struct error *error)
{
    struct cuda_sort sort = call.refine->sort;
    sort.items = round.items;
    sort.scratch = scratch;
    sort.workspace = call.rounds.workspace;
    sort.count = count;
    const struct launch place =
        refine_launch(call, "refine_place_kernel", launch_blocks(count, REFINE_THREADS));
    return cuda_path_sort(call.refine->path, &sort, error) &&
           launch_kernel(place, error, refine_place_kernel, round, count, call.items);
}

/* Marks the chosen items of a round, `left` of `count`, for the host. */
static bool refine_leave(struct refine_call *call, const struct refine_round &round, size_t count,
                         size_t left, struct error *error)
{
    call->hosts += left;
    return launch_kernel(
        refine_launch(*call, "refine_leave_kernel", launch_blocks(count, REFINE_THREADS)), error,
        refine_leave_kernel, call->rounds.marks.device, round.positions, count, call->marks.host);
}

/* Sorts `count` items of the device's tie groups by their lines. */
static bool refine_rounds(struct refine_call *call, void *memory, size_t count, struct error *error)
{
    size_t used = 0;
    call->rounds = refine_lay_rounds(call->refine, count, memory, &used);
    struct refine_round round = {call->scratch, call->rounds.positions[0]};
    struct refine_round next = {call->rounds.items, call->rounds.positions[1]};
    if (!refine_load(*call, call->view, call->marks, NULL, round, error))
        return false;
    for (unsigned rounds = 1;; rounds++) {
        const struct refine_view view = refine_round_view(*call, round, count, rounds);
        struct refine_totals totals = {};
        call->rounds.marks.tiles = launch_blocks(count, REFINE_TILE);
        if (!refine_sort(*call, round, next.items, count, error) ||
            !refine_mark(*call, view, call->rounds.marks, &totals, error))
            return false;
        const size_t left = static_cast<size_t>(totals.device);
        if (left == 0)
            return true;
        if (rounds == REFINE_ROUNDS)
            return refine_leave(call, round, count, left, error);
        if (!refine_load(*call, view, call->rounds.marks, round.positions, next, error))
            return false;
        std::swap(round, next);
        count = left;
    }
}

/* Marks all tie groups that are not in order once more, all of them for the host. Waits. */
static bool refine_leave_all(struct refine_call *call, struct error *error)
{
    struct refine_totals totals = {};
    call->view.is_hosts = true;
    const bool is_marked = refine_mark(*call, call->view, call->marks, &totals, error);
    call->hosts = static_cast<size_t>(totals.host);
    return is_marked;
}

/* Sorts the device's tie groups, `count` items, or leaves all to the host if there is no memory. */
static bool refine_on_device(struct refine_call *call, size_t count, struct error *error)
{
    size_t bytes = 0, free_bytes = 0;
    struct cuda_array memory = {};
    struct error shortage = {};
    (void)refine_lay_rounds(call->refine, count, NULL, &bytes);
    if (count == 0)
        return true;
    if (!cuda_memory_free_bytes(call->device, &free_bytes, error))
        return false;
    const bool has_room =
        (call->refine->pool->spec->device_count > 1 || bytes <= free_bytes / 16 * 15) &&
        cuda_array_allocate(call->refine->pool, bytes, false, &memory, &shortage);
    const bool is_sorted = cuda_device_use(call->device, error) &&
                           (has_room ? refine_rounds(call, memory.memory, count, error)
                                     : refine_leave_all(call, error));
    (void)cudaStreamSynchronize(call->stream);
    cuda_array_free(&memory);
    return is_sorted;
}

/* ---- tie groups for the host ---- */

/* Copies the host's items to host memory, in order. Waits. */
static bool refine_take_hosts(const struct refine_call &call, struct key_index *items,
                              struct error *error)
{
    const struct refine_marks &marks = call.marks;
    return refine_choose(call, marks, marks.host, error) &&
           launch_kernel(refine_visit(call, "refine_gather_kernel", marks), error,
                         refine_gather_kernel, marks, marks.host, call.view.items, call.scratch) &&
           cuda_fetch(call, items, call.scratch, call.hosts * sizeof *items, error);
}

/* Copies the items back to their positions, or, if the order is unique, to the front of their tie
 * groups. Waits. */
static bool refine_put_hosts(const struct refine_call &call, const struct key_index *items,
                             size_t kept, struct error *error)
{
    const struct refine_marks &marks = call.marks;
    const size_t count = call.view.count;
    if (!cuda_copy(call, call.scratch, items, kept * sizeof *items, error))
        return false;
    const struct launch keep =
        refine_launch(call, "refine_keep_hosts_kernel", launch_blocks(kept, REFINE_THREADS));
    const bool is_put =
        call.refine->text->order.unique
            ? launch_kernel(keep, error, refine_keep_hosts_kernel, call.scratch, kept, call.items,
                            count, marks.device)
            : launch_kernel(refine_visit(call, "refine_scatter_kernel", marks), error,
                            refine_scatter_kernel, marks, marks.host, call.scratch, call.items);
    return is_put && cuda_wait(call, error);
}

static bool refine_with_host(const struct refine_call &call, struct key_index *items,
                             struct error *error)
{
    size_t kept = call.hosts;
    const struct line_helper *const helper = call.refine->helper;
    if (!refine_take_hosts(call, items, error) ||
        !cuda_lines_check_items(call.refine->text, items, call.hosts, error) ||
        !helper->refine(helper->context, items, &kept, error))
        return false;
    if (kept > call.hosts || (kept < call.hosts && !call.refine->text->order.unique))
        return error_set(error, "device %u: of %zu lines to be ordered, %zu came back", call.device,
                         call.hosts, kept);
    return refine_put_hosts(call, items, kept, error);
}

/* Sorts the host's tie groups by the helper. */
static bool refine_on_host(const struct refine_call &call, struct error *error)
{
    if (call.hosts == 0)
        return true;
    struct key_index *const items =
        static_cast<struct key_index *>(malloc(call.hosts * sizeof *items));
    if (!items)
        return error_set(error, "no memory to order %zu equal lines", call.hosts);
    const bool is_refined = refine_with_host(call, items, error);
    free(items);
    return is_refined;
}

/* ---- unique ---- */

static bool refine_mark_kept(const struct refine_call &call, struct error *error)
{
    const size_t words = launch_blocks(call.view.count, 32);
    return launch_kernel(
        refine_launch(call, "refine_keep_kernel", launch_blocks(words, REFINE_THREADS)), error,
        refine_keep_kernel, call.marks, call.view.count);
}

/* Closes the gaps left by items that are not kept. Waits. */
static bool refine_gather_kept(const struct refine_call &call, size_t *kept, struct error *error)
{
    const struct refine_marks &marks = call.marks;
    const size_t count = call.view.count;
    struct refine_totals totals = {};
    if (!refine_choose(call, marks, marks.device, error) ||
        !launch_kernel(refine_visit(call, "refine_gather_kernel", marks), error,
                       refine_gather_kernel, marks, marks.device, call.view.items, call.scratch) ||
        !refine_fetch_totals(call, marks, count, &totals, error))
        return false;
    *kept = static_cast<size_t>(totals.chosen);
    return cuda_fetch(call, call.items, call.scratch, *kept * sizeof(struct key_index), error);
}

/* ---- all ---- */

/* Returns true if the only key is the bytes of the whole line. Then bytes decide between equal
 * images too, exact or not, and equal lines have the same bytes and keep their input order. False
 * if the order is unique: then the host drops lines. */
static bool refine_is_by_bytes(const struct cuda_line_order &order)
{
    return order.key_count == 1 && order.key.kind == LINE_BYTES && line_key_is_whole(&order.key) &&
           !order.unique;
}

static struct refine_call refine_open(const struct cuda_refine *refine)
{
    const struct cuda_text *const text = refine->text;
    const struct cuda_line_order &order = text->order;
    struct refine_call call = {};
    size_t used = 0;
    call.refine = refine;
    call.marks = refine_lay_marks(text->count, refine->sort.workspace, &used);
    call.items = static_cast<struct key_index *>(refine->sort.items);
    call.scratch = static_cast<struct key_index *>(refine->sort.scratch);
    call.device = text->device;
    call.stream = text->stream;
    call.view.items = call.items;
    call.view.count = text->count;
    call.view.place_mask = UINT64_MAX;
    call.view.text = *text;
    call.view.is_by_bytes = refine_is_by_bytes(order);
    call.view.complement =
        (call.view.is_by_bytes ? order.key.reverse : order.reverse) ? REFINE_WORD_MASK : 0;
    call.view.is_hosts = order.key_count > 1;
    call.view.keeps_exact = order.key_count == 1 && (order.stable || order.unique);
    return call;
}

/* Runs all steps and waits for the stream. */
static bool refine_all(struct refine_call *call, size_t *count, struct error *error)
{
    const bool is_unique = call->refine->text->order.unique;
    struct refine_totals totals = {};
    if (!refine_mark(*call, call->view, call->marks, &totals, error))
        return false;
    call->hosts = static_cast<size_t>(totals.host);
    return refine_on_device(call, static_cast<size_t>(totals.device), error) &&
           (!is_unique || refine_mark_kept(*call, error)) && refine_on_host(*call, error) &&
           (!is_unique || refine_gather_kept(*call, count, error)) && cuda_wait(*call, error);
}

bool cuda_lines_refine(const struct cuda_refine *refine, size_t *count, struct error *error)
{
    struct refine_call call = refine_open(refine);
    *count = call.view.count;
    if (*count > UINT32_MAX)
        return error_set(error, "device %u: %zu lines are more than are put in order here",
                         call.device, *count);
    return *count == 0 || refine_all(&call, count, error);
}
