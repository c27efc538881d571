/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_top.h - what cuda/top does for the engine: finds the first items in order among many, in
 * about one read of them; and checks sorted items.
 */
#ifndef CUDA_CUDA_TOP_H
#define CUDA_CUDA_TOP_H

#include "core/check/tap.h"
#include "cuda/cuda_sort.h"
#include "cuda/engine/cuda_worker.h"

/* ---- top_select.cu ----
 *
 * top_select gathers a few items that include the wanted ones. cuda_top sorts these by a path.
 * Unlike most paths, both wait for the device, because each step depends on the result of the one
 * before.
 */

/* Returns the maximum number of items that top_select gathers to find the first `top` of `count`.
 * It is `count` if too many are wanted, or there are too few, for a selection to pay. */
size_t top_room(size_t count, size_t top);

/* Gathers *found of sort->items in sort->scratch, as stored bits and in any order: at most top_room
 * items, which include the first min(top, count) of all. If two samples mislead, sorts all items by
 * small_sort(), so sort->items may be in another order afterwards. The workspace has
 * cuda_top_workspace_bytes; status is not used. Waits for the counts; its last copy or kernel may
 * still be in flight on return. */
bool top_select(const struct cuda_sort *sort, size_t top, size_t *found, struct error *error);

/* Returns the bytes that a selection needs in sort->workspace. */
size_t cuda_top_workspace_bytes(void);

/* Writes the first *found = min(top, count) of sort->items, sorted by the path, to the start of
 * sort->scratch. The workspace is enough for top_select, and for the path and top_room items.
 * Overwrites sort->items. Waits for the stream. */
bool cuda_top(const struct cuda_sort *sort, size_t top, const struct cuda_path *path, size_t *found,
              struct error *error);

/* ---- items_proof.cu: checks items in device memory, as core/check/check.h does on the host ----
 */

/* Sets *sum to the number of items and the sum of their hashes, and *disorder to the first item,
 * counted from 1, that belongs before the item before it; 0: none. Waits for the result. The items
 * are as stored, not as ordered bits. */
bool cuda_proof_items(const struct cuda_sort *sort, struct check_sum *sum, uint64_t *disorder,
                      struct error *error);

#endif
