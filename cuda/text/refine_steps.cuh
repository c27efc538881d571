/* SPDX-License-Identifier: Apache-2.0 */
/* refine_steps.cuh - kernels that move chosen items (refine_runs.cuh): into rounds, to the host and
 * back, and together if only some are kept.
 */
#ifndef CUDA_REFINE_STEPS_CUH
#define CUDA_REFINE_STEPS_CUH

#include "cuda/text/refine_runs.cuh"

/* ---- rounds ---- */

/* Loads chosen items, to be sorted by word 0 of their lines. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_load_kernel(struct refine_view view, struct refine_marks marks, size_t tiles,
                       struct key_index *target, unsigned *positions)
{
    warp_visit_chosen(marks, marks.device, tiles, [&](size_t i, unsigned slot, unsigned run) {
        const struct key_index item = view.items[i];
        const uint64_t word = thread_line_word(view.text, line_offset(item)) ^ view.complement;
        target[slot] = thread_round_item(run, word & REFINE_WORD_MASK, item.index);
        positions[slot] = static_cast<unsigned>(i);
    });
}

/* The data of a round: its items, and for each slot the position in the result. */
struct refine_round {
    struct key_index *items;
    unsigned *positions;
};

/* Loads the chosen items of a sorted round, to be sorted by their next word. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_reload_kernel(struct refine_view view, struct refine_marks marks, size_t tiles,
                         const unsigned *positions, struct refine_round next)
{
    warp_visit_chosen(marks, marks.device, tiles, [&](size_t i, unsigned slot, unsigned run) {
        const struct key_index item = view.items[i];
        const size_t place = thread_line_place(view, item) + view.depth;
        const uint64_t word = thread_line_word(view.text, place) ^ view.complement;
        next.items[slot] =
            thread_round_item(run, word & REFINE_WORD_MASK, item.index & view.place_mask);
        next.positions[slot] = positions[i];
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

/* ---- host ---- */

/* Marks the device's runs for the host. One thread per word of marks. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_leave_all_kernel(struct refine_marks marks, size_t words)
{
    const size_t word = static_cast<size_t>(blockIdx.x) * REFINE_THREADS + threadIdx.x;
    if (word < words)
        marks.host[word] |= marks.device[word];
}

/* Copies the chosen items to `target`, without gaps. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_gather_kernel(struct refine_marks marks, const unsigned *chosen, size_t tiles,
                         const struct key_index *items, struct key_index *target)
{
    warp_visit_chosen(marks, chosen, tiles,
                      [&](size_t i, unsigned slot, unsigned) { target[slot] = items[i]; });
}

/* Sets the indices of the chosen items from `source`, which has no gaps. One warp per tile. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_scatter_kernel(struct refine_marks marks, const unsigned *chosen, size_t tiles,
                          const struct key_index *source, struct key_index *items)
{
    warp_visit_chosen(marks, chosen, tiles, [&](size_t i, unsigned slot, unsigned) {
        items[i].index = source[slot].index;
    });
}

/* ---- unique ---- */

/* Sets marks.device, no longer needed, to the items to keep: the first of each run, except in the
 * host's runs. One thread per word of marks. */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_keep_kernel(struct refine_marks marks, size_t count)
{
    const size_t word = static_cast<size_t>(blockIdx.x) * REFINE_THREADS + threadIdx.x;
    if (word * 32 >= count)
        return;
    const unsigned present = count - word * 32 >= 32 ? ALL_LANES : (1u << count % 32) - 1;
    marks.device[word] = ~marks.same[word] & ~marks.host[word] & present;
}

/* Returns the number of items, sorted by key, with a smaller key. */
__device__ __forceinline__ size_t thread_count_below(const struct key_index *items, size_t count,
                                                     uint64_t key)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (items[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Stores the items that the host kept of each run at the front of the run, and marks them as kept.
 * One thread per item.
 */
__global__ void __launch_bounds__(REFINE_THREADS)
    refine_keep_hosts_kernel(const struct key_index *source, size_t source_count,
                             struct key_index *items, size_t count, unsigned *kept)
{
    const size_t i = static_cast<size_t>(blockIdx.x) * REFINE_THREADS + threadIdx.x;
    if (i >= source_count)
        return;
    const uint64_t key = source[i].key;
    const size_t position =
        thread_count_below(items, count, key) + i - thread_count_below(source, source_count, key);
    items[position].index = source[i].index;
    atomicOr(&kept[position / 32], 1u << position % 32);
}

#endif
