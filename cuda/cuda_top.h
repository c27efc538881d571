/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_top.h - the first items in order, of many on a device: found in about one read of them.
 *
 * top_select gathers a few items among which the wanted ones are; cuda_top lets a path sort these.
 * Unlike a path, both wait for the device: what they start next depends on what was found.
 */
#ifndef CUDA_CUDA_TOP_H
#define CUDA_CUDA_TOP_H

#include "cuda/cuda_paths.h"

/* The most items that top_select gathers to find the first `top` of `count`; `count` where too many
 * are wanted, or too few there, for a selection to pay. */
size_t top_room(size_t count, size_t top);

/* Gathers in sort->scratch, with room for top_room items, *found of sort->items, in any order, as
 * stored bits. The first min(top, count) of all are among them, and *found is at least so many.
 * items, aligned to 16 bytes, stay as they are. The workspace is as for cuda_top; tile_size and
 * note are not used. Waits for all that was started on the stream. */
bool top_select(const struct cuda_sort *sort, size_t top, size_t *found, struct error *error);

/* Items that cuda_top needs room for in sort->scratch, for `count` or fewer: what top_select
 * gathers, and as many again for the path. */
size_t cuda_top_scratch_items(size_t count, size_t top);

/* Bytes that it needs as sort->workspace, for sort->count items or fewer. */
size_t cuda_top_workspace_bytes(const struct cuda_path *path, const struct cuda_sort *sort,
                                size_t top);

/* Brings the first *found = min(top, count) of sort->items, sorted, to the start of sort->scratch,
 * by the path with sort->tile_size and sort->note. items stay as they are. Waits. */
bool cuda_top(const struct cuda_sort *sort, size_t top, const struct cuda_path *path, size_t *found,
              struct error *error);

#endif
